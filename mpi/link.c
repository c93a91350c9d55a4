#include "link.h"

#include <stdlib.h>
#include <sys/mman.h>
#include "link_parts.h"

int strait_mpi_link_new(struct strait_mpi_link **out, struct strait_mpi_world *world,
                        struct strait_proc_rank *rank,
                        void (*note)(void *of, const struct strait_mpi_note *note), void *of,
                        struct strait_error *err)
{
    const size_t n_streams = (size_t)rank->run->n_ranks * STRAIT_MAX_CHANNELS;
    struct strait_mpi_link *l = calloc(1, sizeof(*l));
    *out = l;
    if (!l)
        return strait_error_memory(err, NULL);
    l->world = world;
    l->rank = rank;
    l->note = note;
    l->of = of;
    l->posted_end = &l->posted;
    l->part_bytes = (size_t)1 << 30;
    pthread_mutex_init(&l->lock, NULL);
    l->outs = calloc(n_streams, sizeof(struct out *));
    l->ins = calloc(n_streams, sizeof(struct in *));
    l->noise = mmap(NULL, STRAIT_PROC_MAX_PAYLOAD_BYTES, PROT_READ,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (l->noise == MAP_FAILED)
        l->noise = NULL;
    return l->outs && l->ins && l->noise
               ? 0
               : strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out for %zu streams",
                                  n_streams);
}

void strait_mpi_link_unasked(struct strait_mpi_link *l)
{
    l->part_bytes = l->world->part_bytes;
}

/* --- sending ------------------------------------------------------------------------------ */

static struct out *out_of(struct strait_mpi_link *l, int dst, int channel, struct strait_error *err)
{
    struct out **at = &l->outs[dst * STRAIT_MAX_CHANNELS + channel];
    if (!*at && (*at = calloc(1, sizeof(**at)))) {
        **at = (struct out){.next = l->used_outs, .dst = dst, .channel = channel};
        (*at)->end = &(*at)->first;
        (*at)->acks_end = &(*at)->acks;
        l->used_outs = *at;
    }
    if (!*at)
        strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out for a stream");
    return *at;
}

int strait_mpi_link_post(struct strait_mpi_link *l, int dst, int channel, int tag,
                         struct strait_packet *packet, double posted_s, void *ticket,
                         struct strait_error *err)
{
    struct sending *s = strait_mpi_sending_new(err);
    if (!s)
        return -1;
    s->packet = packet;
    s->tag = tag;
    s->posted_s = posted_s;
    s->ticket = ticket;
    pthread_mutex_lock(&l->lock);
    s->stream = out_of(l, dst, channel, err);
    if (s->stream) {
        *l->posted_end = s;
        l->posted_end = &s->next;
    }
    pthread_mutex_unlock(&l->lock);
    if (s->stream)
        return 0;
    free(s);
    return -1;
}

int strait_mpi_link_note(struct strait_mpi_link *l, int dst, const struct strait_mpi_note *note,
                         struct strait_error *err)
{
    struct sending *s = strait_mpi_sending_new(err);
    if (!s)
        return -1;
    s->note = *note;
    strait_mpi_sending_activate(l, s);
    return strait_mpi_sending_letter(l, s, &s->note, sizeof(s->note), dst, STRAIT_MPI_TAG_NOTE,
                                     err);
}

static int begin(struct strait_mpi_link *l, struct out *o, struct strait_error *err)
{
    struct sending *s = o->first;
    const struct strait_packet *p = s->packet;
    const size_t n = p->payload_bytes;
    if (n > STRAIT_PROC_MAX_PAYLOAD_BYTES)
        return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                "expected a payload of at most %llu bytes, found %zu",
                                (unsigned long long)STRAIT_PROC_MAX_PAYLOAD_BYTES, n);
    o->first = s->next;
    if (!o->first)
        o->end = &o->first;
    strait_proc_wire_pack(s->letter.frame, p, s->tag);
    s->letter.envelope =
        (struct envelope){s->posted_s, p->data ? 0 : n, s->ticket != NULL, l->part_bytes};
    l->figures.bytes_sent += sizeof(s->letter) + n;
    l->figures.sent_checksum += strait_proc_wire_checksum(s->letter.frame);
    o->n_begun++;
    o->begun = s;
    strait_mpi_sending_activate(l, s);
    if (s->ticket) { /* outlives s */
        struct sending *a = strait_mpi_sending_new(err);
        if (!a)
            return -1;
        a->ticket = s->ticket;
        *o->acks_end = a;
        o->acks_end = &a->next;
    }
    return strait_mpi_sending_letter(l, s, &s->letter, sizeof(s->letter), o->dst, o->channel, err);
}

/* Give MPI as much as may be under way of the message that o has begun. */
static int go_on(struct strait_mpi_link *l, struct out *o, struct strait_error *err)
{
    struct sending *s = o->begun;
    const struct strait_mpi_calls *calls = l->world->calls;
    const size_t n = s->packet->payload_bytes;
    struct strait_mpi_request *request;
    while (s->n_asked < n && (request = strait_mpi_parts_push(&s->parts)) != NULL) {
        const size_t left = n - s->n_asked;
        const size_t n_part = left < l->part_bytes ? left : l->part_bytes;
        const unsigned char *data = s->packet->data ? s->packet->data : l->noise;
        if (calls->isend(l->world->mpi, request, STRAIT_MPI_PAYLOADS, data + s->n_asked, n_part,
                         o->dst, o->channel) != 0)
            return strait_mpi_broken(err);
        s->n_asked += n_part;
    }
    if (s->n_asked == n)
        o->begun = NULL; /* s may be gone soon */
    return 0;
}

/* Parts of a message follow each other; the next one's follow them. */
static int send_stream(struct strait_mpi_link *l, struct out *o, struct strait_error *err)
{
    do {
        if (o->begun && go_on(l, o, err) != 0)
            return -1;
        if (o->begun || !o->first || o->n_begun >= STRAIT_MPI_N_BEGUN)
            return 0;
    } while (begin(l, o, err) == 0);
    return -1;
}

/* Sort what lanes have posted into its streams. */
static bool collect(struct strait_mpi_link *l)
{
    pthread_mutex_lock(&l->lock);
    struct sending *s = l->posted;
    l->posted = NULL;
    l->posted_end = &l->posted;
    pthread_mutex_unlock(&l->lock);
    const bool any = s != NULL;
    while (s) {
        struct sending *next = s->next;
        s->next = NULL;
        *s->stream->end = s;
        s->stream->end = &s->next;
        s = next;
    }
    return any;
}

static int finish_sent(struct strait_mpi_link *l, bool *moved, struct strait_error *err)
{
    for (struct sending **at = &l->active, *s; (s = *at) != NULL;) {
        const unsigned n_under_way = s->parts.n;
        const int done = strait_mpi_parts_test(l, &s->parts);
        *moved = *moved || s->parts.n < n_under_way;
        if (done < 0)
            return strait_mpi_broken(err);
        if (!done || (s->packet && s->n_asked < s->packet->payload_bytes)) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        if (s->packet) {
            s->stream->n_begun--;
            strait_packet_landed(s->packet);
            strait_packet_drop(s->packet);
        }
        free(s);
    }
    return 0;
}

int strait_mpi_link_turn(struct strait_mpi_link *l, bool *moved, struct strait_error *err)
{
    *moved = collect(l);
    pthread_mutex_lock(&l->lock); /* lanes may add streams, at the front */
    struct out *outs = l->used_outs;
    pthread_mutex_unlock(&l->lock);
    for (struct out *o = outs; o; o = o->next)
        if (send_stream(l, o, err) != 0)
            return -1;
    return finish_sent(l, moved, err) != 0 || strait_mpi_take_letters(l, moved, err) != 0 ||
                   strait_mpi_finish_received(l, moved, err) != 0
               ? -1
               : 0;
}

bool strait_mpi_link_is_calm(struct strait_mpi_link *l)
{
    pthread_mutex_lock(&l->lock);
    bool calm = !l->posted && !l->active;
    for (const struct out *o = l->used_outs; o && calm; o = o->next)
        calm = !o->first;
    pthread_mutex_unlock(&l->lock);
    for (const struct in *in = l->used_ins; in && calm; in = in->next)
        calm = !in->first;
    return calm;
}

struct strait_mpi_figures strait_mpi_link_figures(const struct strait_mpi_link *l)
{
    return l->figures;
}

void strait_mpi_link_free(struct strait_mpi_link *l)
{
    if (!l)
        return;
    for (struct out *o = l->used_outs, *next; o; o = next) {
        next = o->next;
        for (struct sending *a = o->acks, *after; a; a = after) { /* the run ended before them */
            after = a->next;
            free(a);
        }
        free(o);
    }
    for (struct in *in = l->used_ins, *next; in; in = next) {
        next = in->next;
        free(in);
    }
    free(l->outs);
    free(l->ins);
    if (l->noise)
        munmap(l->noise, STRAIT_PROC_MAX_PAYLOAD_BYTES);
    pthread_mutex_destroy(&l->lock);
    free(l);
}
