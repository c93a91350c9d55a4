/* Encoded tensors as packets: the room that they are written into, who counts them, and when they
 * are given back. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codecs/reference.h"
#include "core/buffer.h"
#include "coding.h"

enum { DOWN = 1 };

bool strait_codec_is_none(const struct strait_codec *c)
{
    return c->is_none;
}

bool strait_sends_views(const struct strait_codec *c)
{
    return strait_codec_is_none(c);
}

bool strait_line_keeps(const struct strait_codec *c)
{
    return c->number == DOWN || c->choice->own;
}

size_t strait_line_head_bytes(const struct strait_codec *c, size_t n_slices)
{
    return c->choice->reference ? strait_reference_head_bytes(n_slices) : 0;
}

bool strait_codec_made(const struct strait_rank_state *w, const struct strait_packet *p)
{
    const struct strait_codec *c = p->owner;
    return c >= w->codecs && c < w->codecs + STRAIT_N_CODECS;
}

void strait_packet_release_view(struct strait_packet *p)
{
    free(p);
}

bool strait_packet_is_view(const struct strait_packet *p)
{
    return p->release == strait_packet_release_view;
}

/* In the footprint: one waits, others are given back. */
static void count_free_room(struct strait_codec *c)
{
    if (c->memory->has_room)
        strait_footprint_buffers(strait_codec_owner(c)->footprint, -1, c->memory->room_bytes);
    c->memory->has_room = true;
}

static void release_encoded(struct strait_packet *p)
{
    struct strait_codec *c = p->owner;
    unsigned char *none = NULL;
    strait_rank_state_hold_in_room(strait_codec_owner(c), -(double)p->payload_bytes);
    if (strait_codec_owner(c)->footprint)
        count_free_room(c);
    if (p->data && !atomic_compare_exchange_strong(&c->memory->spare, &none, p->data))
        strait_buffer_free(p->data);
    free(p);
}

/* For packets with memory of their own. */
static void release_own(struct strait_packet *p)
{
    struct strait_codec *c = p->owner;
    strait_rank_state_hold_in_room(strait_codec_owner(c), -(double)p->payload_bytes);
    strait_buffer_free(p->data);
    free(p);
}

/* In the footprint: the room that waits, or one more; of a larger one the largest so far. */
static void count_room(struct strait_codec *c, size_t room_bytes)
{
    if (room_bytes > c->memory->room_bytes) {
        const size_t before_bytes = c->memory->larger_bytes;
        c->memory->larger_bytes = room_bytes > before_bytes ? room_bytes : before_bytes;
        strait_footprint_add(strait_codec_owner(c)->footprint,
                             (double)(c->memory->larger_bytes - before_bytes));
        return;
    }
    if (!c->memory->has_room)
        strait_footprint_buffers(strait_codec_owner(c)->footprint, 1, c->memory->room_bytes);
    c->memory->has_room = false;
}

/* Where the room's pages come as they are written. */
void strait_codec_written(struct strait_codec *c, size_t n_bytes)
{
    if (!c->memory || !c->memory->is_untouched || n_bytes <= c->memory->written_bytes)
        return;
    strait_footprint_add(strait_codec_owner(c)->footprint,
                         (double)(n_bytes - c->memory->written_bytes));
    c->memory->written_bytes = n_bytes;
}

/* Where time is simulated nothing is gained by memory that is there already, and all ranks of the
 * run share a process: then a packet has memory of its own, as much as it may need. */
struct strait_packet *strait_codec_packet(struct strait_rank *r, struct strait_codec *c,
                                          size_t *room_bytes)
{
    struct strait_packet *p = strait_packet_new(0);
    if (!p)
        strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "an encoded tensor does not fit in memory");
    p->has_one_thread = strait_rank_state_has_one_thread(r);
    if (r->run->real_payload && !r->run->measured_cost) {
        p->data = malloc(*room_bytes);
        p->release = release_own;
        p->owner = c;
        if (!p->data)
            strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "an encoded tensor does not fit in memory");
        return p;
    }
    if (!c->memory) {
        p->release = release_encoded;
        p->owner = c;
        return p;
    }
    if (*room_bytes < c->memory->room_bytes)
        *room_bytes = c->memory->room_bytes;
    if (strait_rank_state_of(r)->footprint)
        count_room(c, *room_bytes);
    if (r->run->real_payload) {
        if (*room_bytes == c->memory->room_bytes)
            p->data = atomic_exchange(&c->memory->spare, NULL);
        if (!p->data)
            p->data = strait_buffer_new(*room_bytes);
    }
    if (r->run->real_payload && !p->data)
        strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "an encoded tensor does not fit in memory");
    p->release = *room_bytes > c->memory->room_bytes ? release_own : release_encoded;
    p->owner = c;
    return p;
}

void strait_codec_label(struct strait_packet *p, const struct strait_codec *c, double bound,
                        const struct strait_tensor *x)
{
    const size_t n_elems = x->hi - x->lo;
    p->raw_bytes = 4 * n_elems;
    p->n_elems = n_elems;
    p->codec_id = c->choice->spec.ops->id;
    p->flags = STRAIT_PACKET_CODEC * c->number;
    if (c->choice->reference)
        p->flags |= STRAIT_PACKET_REFERS | (strait_line_keeps(c) ? 0 : STRAIT_PACKET_COMES_BACK);
    p->bound = c->choice->spec.bound;
    if (!isnan(bound))
        p->bound.value = bound;
}

struct strait_packet *strait_keep(struct strait_packet *p)
{
    return strait_packet_keep(p);
}

/* Received packets are counted until decoded or dropped; packets encoded here are counted until
 * their last reference is dropped. */
bool strait_packet_is_received(const struct strait_rank_state *w, const struct strait_packet *p)
{
    return !strait_codec_made(w, p) && p->payload_bytes > 0;
}

void strait_drop(struct strait_rank *r, struct strait_packet *p)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    if (p && strait_packet_is_away(p))
        strait_rank_state_fail(
            r, STRAIT_ERR_BACKEND,
            "drops a packet that it does not hold any more: each send and each drop "
            "takes a reference, strait_keep makes one");
    if (p && strait_packet_is_received(w, p))
        strait_rank_state_hold(w, -(double)p->payload_bytes);
    strait_packet_drop(p);
}

/* Bytes [at, at + n_bytes) of a packet, padded with zeros. In a run of sizes alone a packet has no
 * data, and neither have its parts. */
static struct strait_packet *cut(struct strait_rank *r, const struct strait_packet *p, size_t at,
                                 size_t n_bytes, size_t raw_bytes)
{
    const size_t left_bytes = at < p->payload_bytes ? p->payload_bytes - at : 0;
    struct strait_packet *part = strait_filler(r, n_bytes);
    part->raw_bytes = raw_bytes;
    part->codec_id = p->codec_id;
    part->flags = p->flags;
    part->bound = p->bound;
    part->n_elems = p->n_elems;
    memcpy(part->words, p->words, sizeof(p->words));
    if (p->data && part->data && left_bytes > 0)
        memcpy(part->data, p->data + at, left_bytes < n_bytes ? left_bytes : n_bytes);
    return part;
}

struct strait_packet *strait_half(struct strait_rank *r, const struct strait_packet *p, int i,
                                  size_t padded_bytes)
{
    const size_t at = i == 0 ? 0 : padded_bytes / 2;
    return cut(r, p, at, i == 0 ? padded_bytes / 2 : padded_bytes - at,
               i == 0 ? p->raw_bytes / 2 : p->raw_bytes - p->raw_bytes / 2);
}

struct strait_packet *strait_piece(struct strait_rank *r, const struct strait_packet *p, size_t lo,
                                   size_t hi)
{
    return cut(r, p, lo, hi - lo, lo == 0 ? p->raw_bytes : 0);
}

struct strait_packet *strait_empty_like(struct strait_rank *r, const struct strait_packet *piece,
                                        size_t n_bytes)
{
    struct strait_packet *p = cut(r, piece, piece->payload_bytes, n_bytes, 0);
    strait_rank_state_hold(strait_rank_state_of(r), (double)n_bytes);
    return p;
}

void strait_put_piece(struct strait_rank *r, struct strait_packet *p, size_t at,
                      struct strait_packet *taken)
{
    const size_t left_bytes = at < p->payload_bytes ? p->payload_bytes - at : 0,
                 n_bytes = left_bytes < taken->payload_bytes ? left_bytes : taken->payload_bytes;
    if (p->data && n_bytes > 0)
        memcpy(p->data + at, taken->data, n_bytes);
    p->raw_bytes += taken->raw_bytes;
    strait_drop(r, taken);
}

struct strait_packet *strait_whole(struct strait_rank *r, struct strait_packet *const halves[2],
                                   size_t n_bytes)
{
    struct strait_packet *p = strait_empty_like(r, halves[0], n_bytes);
    const size_t first_bytes = halves[0]->payload_bytes;
    strait_put_piece(r, p, 0, halves[0]);
    strait_put_piece(r, p, first_bytes, halves[1]);
    return p;
}
