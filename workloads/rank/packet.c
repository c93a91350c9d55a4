/* Packets: immutable, reference-counted, shared by all who send or hold them. */
#include <assert.h>
#include <stdlib.h>

#include "backend.h"

static void release_heap(struct strait_packet *p)
{
    free(p->data);
    free(p);
}

struct strait_packet *strait_packet_new(size_t payload_bytes)
{
    struct strait_packet *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    if (payload_bytes > 0 && !(p->data = malloc(payload_bytes))) {
        free(p);
        return NULL;
    }
    p->payload_bytes = payload_bytes;
    p->release = release_heap;
    atomic_init(&p->n_refs, 1);
    return p;
}

/* References of messages are counted above the others, in one word: no reading falls between the
 * two. */
static const uint64_t ONE_MESSAGE = (uint64_t)1 << 32;

static bool is_all_away(uint64_t n_refs)
{
    return n_refs >> 32 >= (n_refs & UINT32_MAX);
}

/* Returns what was counted before. Where no other thread counts, nothing waits for stores before. */
static uint64_t count(struct strait_packet *p, uint64_t more)
{
    if (!p->has_one_thread)
        return atomic_fetch_add_explicit(&p->n_refs, more, memory_order_acq_rel);
    const uint64_t before = atomic_load_explicit(&p->n_refs, memory_order_relaxed);
    atomic_store_explicit(&p->n_refs, before + more, memory_order_relaxed);
    return before;
}

struct strait_packet *strait_packet_keep(struct strait_packet *p)
{
    count(p, 1);
    return p;
}

bool strait_packet_is_away(const struct strait_packet *p)
{
    return is_all_away(atomic_load_explicit(&p->n_refs, memory_order_relaxed));
}

void strait_packet_drop(struct strait_packet *p)
{
    if (!p)
        return;
    const uint64_t before = count(p, -(uint64_t)1);
    assert((before & UINT32_MAX) > 0);
    if ((before & UINT32_MAX) == 1)
        p->release(p);
}

int strait_stream_check(const struct strait_rank *r, int dst, int channel, struct strait_error *err)
{
    const struct strait_run *run = r->run;
    if (dst == r->me || !run->uses_stream || run->uses_stream(run, r->me, dst, channel))
        return 0;
    return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                            "rank %d sends to rank %d on channel %d, a stream that the run did not "
                            "declare",
                            r->me, dst, channel);
}

int strait_packet_post(struct strait_packet *p, const struct strait_rank *r, int dst, int channel,
                       struct strait_error *err)
{
    if (!is_all_away(count(p, ONE_MESSAGE)))
        return 0;
    return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                            "rank %d sends to rank %d on channel %d a packet that it does not hold "
                            "any more: each send and each drop takes a reference, strait_keep "
                            "makes one",
                            r->me, dst, channel);
}

void strait_packet_landed(struct strait_packet *p)
{
    count(p, -ONE_MESSAGE);
}
