/* Packets: immutable, counted, shared by all who send or hold them. */
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

struct strait_packet *strait_packet_keep(struct strait_packet *p)
{
    atomic_fetch_add_explicit(&p->n_refs, 1, memory_order_relaxed);
    return p;
}

void strait_packet_drop(struct strait_packet *p)
{
    if (!p)
        return;
    const unsigned before = atomic_fetch_sub_explicit(&p->n_refs, 1, memory_order_acq_rel);
    assert(before > 0);
    if (before == 1)
        p->release(p);
}
