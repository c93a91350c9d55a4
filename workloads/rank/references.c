/* Parameters coded against those that the receiver decoded last (codecs/reference.h), or gradients
 * against those that the same sender sent last (EF21, Richtarik, Sokolov and Fatkhullin, NeurIPS
 * 2021): which values a packet refers to, and who has them. */
#include <stdlib.h>
#include <string.h>

#include "codecs/reference.h"
#include "coding.h"

enum { FOR_ALL = -1, SOMEBODY = -2 };

void strait_reach(struct strait_rank *r, struct strait_codec *c, int dst)
{
    if (!c->choice->reference)
        return;
    if (!c->reached)
        c->reached = strait_alloc(r, (size_t)strait_n_ranks(r), sizeof(*c->reached));
    c->reached[dst] = true;
}

void strait_address(struct strait_rank *r, struct strait_codec *c, int dst)
{
    (void)r;
    c->addressed = dst;
}

static struct strait_line *find(struct strait_rank_state *w, int sender, int to,
                                const struct strait_tensor *x)
{
    struct strait_line *l = w->lines;
    while (l && (l->sender != sender || l->to != to || l->lo != x->lo || l->hi != x->hi))
        l = l->next;
    return l;
}

/* Find it, or make it; one for a single receiver begins as that for all, whose packets it got. */
static struct strait_line *line_of(struct strait_rank *r, int sender, int to,
                                   const struct strait_tensor *x)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    struct strait_error err = {0};
    const size_t n_elems = strait_n_elems(x);
    pthread_mutex_lock(&w->mutex);
    struct strait_line *l = find(w, sender, to, x);
    const bool is_new = !l;
    if (is_new && (l = calloc(1, sizeof(*l)))) {
        *l = (struct strait_line){.sender = sender, .to = to, .lo = x->lo, .hi = x->hi};
        if (r->run->real_payload)
            l->values = strait_reference_new(n_elems, strait_task_n_slices(w, x), &err);
        const struct strait_line *first = sender == w->me ? find(w, sender, FOR_ALL, x) : NULL;
        l->version = first ? first->version : 0;
        if (first && first->values && l->values)
            strait_reference_copy(l->values, first->values);
        l->next = w->lines;
        w->lines = l;
    }
    pthread_mutex_unlock(&w->mutex);
    if (!l || err.code != STRAIT_OK)
        strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "memory ran out");
    if (is_new)
        strait_rank_state_hold(w, (double)strait_reference_bytes(n_elems, sender == w->me));
    return l;
}

/* What came from another rank last: what goes up refers to it. */
static struct strait_line *newest_received(struct strait_rank *r, const struct strait_tensor *x)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    struct strait_line *l = w->lines;
    while (l && (l->sender == w->me || l->lo != x->lo || l->hi != x->hi))
        l = l->next;
    if (!l)
        strait_rank_state_fail(r, STRAIT_ERR_BACKEND,
                               "encodes parameters against some that never came");
    return l;
}

struct strait_line *strait_line_to_encode(struct strait_rank *r, struct strait_codec *c,
                                          const struct strait_tensor *x)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    if (!c->choice->reference)
        return NULL;
    if (!strait_line_keeps(c))
        return newest_received(r, x);
    struct strait_line *l = line_of(r, w->me, c->addressed, x);
    if (c->choice->own && l->values)
        strait_reference_always(l->values);
    if (c->reached && !l->has)
        l->has = strait_alloc(r, (size_t)strait_n_ranks(r), sizeof(*l->has));
    l->is_key = l->version == 0;
    for (int i = 0; c->reached && i < strait_n_ranks(r); i++)
        l->is_key |= c->reached[i] && l->has[i] != l->version;
    if (l->is_key && l->values)
        strait_reference_forget(l->values);
    return l;
}

void strait_line_encoded(struct strait_rank *r, struct strait_codec *c, struct strait_line *l)
{
    if (!strait_line_keeps(c))
        return;
    l->version++;
    for (int i = 0; c->reached && i < strait_n_ranks(r); i++) {
        if (c->reached[i])
            l->has[i] = l->version;
        c->reached[i] = false;
    }
    c->addressed = FOR_ALL;
}

struct strait_line *strait_line_to_decode(struct strait_rank *r, const struct strait_packet *p,
                                          const struct strait_tensor *y)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    uint32_t sender;
    if (!(p->flags & STRAIT_PACKET_REFERS))
        return NULL;
    if (!r->run->real_payload) /* no head tells the sender: memory is counted once for all */
        return p->flags & STRAIT_PACKET_COMES_BACK ? NULL : line_of(r, SOMEBODY, FOR_ALL, y);
    if (!strait_reference_sender(&sender, p->data, p->payload_bytes) ||
        sender >= (uint32_t)strait_n_ranks(r))
        strait_rank_state_fail(r, STRAIT_ERR_BACKEND, "a packet came without its sender");
    if (!(p->flags & STRAIT_PACKET_COMES_BACK))
        return line_of(r, (int)sender, FOR_ALL, y);
    struct strait_line *l = find(w, w->me, (int)sender, y);
    if (!l && !(l = find(w, w->me, FOR_ALL, y)))
        strait_rank_state_fail(r, STRAIT_ERR_BACKEND,
                               "a packet refers to parameters that this rank never sent");
    return l;
}

double strait_line_cost_s(const struct strait_rank_state *w, const struct strait_codec *c,
                          const struct strait_tensor *x, double decode_s)
{
    const double n_bytes = 4.0 * (double)strait_n_elems(x);
    if (!c->choice->reference)
        return 0;
    const double pass_s = n_bytes / w->add_bytes_per_s;
    return strait_line_keeps(c) ? decode_s + 2 * pass_s + n_bytes / w->copy_bytes_per_s : pass_s;
}

void strait_lines_free(struct strait_rank_state *w)
{
    for (struct strait_line *l = w->lines, *next; l; l = next) {
        next = l->next;
        strait_reference_free(l->values);
        free(l);
    }
    w->lines = NULL;
}
