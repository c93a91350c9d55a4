#include "packet_run.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { CLASS_MIN = 8 };
static const size_t CAP_BYTES = (size_t)1 << 30;

void strait_emu_packet_runs_release(struct strait_emu_packet_runs *pool)
{
    for (int c = 0; c < STRAIT_EMU_POOL_CLASSES; c++)
        for (struct strait_emu_packet_run *t = pool->free[c], *next; t; t = next) {
            next = t->next;
            free(t);
        }
    *pool = (struct strait_emu_packet_runs){0};
}

struct strait_emu_packet_run *strait_emu_packet_run_new(struct strait_emu_packet_runs *pool,
                                                        size_t len_bytes)
{
    unsigned c = 0;
    while (((size_t)1 << (c + CLASS_MIN)) < len_bytes)
        c++;
    assert(c < STRAIT_EMU_POOL_CLASSES);
    struct strait_emu_packet_run *t = pool->free[c];
    if (t) {
        pool->free[c] = t->next;
    } else {
        const size_t size_bytes = sizeof(*t) + ((size_t)1 << (c + CLASS_MIN));
        if (pool->kept_bytes + size_bytes > CAP_BYTES || !(t = malloc(size_bytes)))
            return NULL;
        pool->kept_bytes += size_bytes;
    }
    t->pool_class = c;
    t->len_bytes = len_bytes;
    return t;
}

void strait_emu_packet_run_drop(struct strait_emu_packet_runs *pool,
                                struct strait_emu_packet_run *t)
{
    t->next = pool->free[t->pool_class];
    pool->free[t->pool_class] = t;
}

double strait_emu_packet_run_wire_bytes(const struct strait_emu_packet_runs *pool,
                                        const struct strait_emu_packet_run *t, unsigned first,
                                        unsigned n)
{
    return strait_emu_shape_wire_bytes(&t->shape, first, n, pool->frame_bytes);
}

double strait_emu_packet_run_there_s(const struct strait_emu_packet_runs *pool,
                                     const struct strait_emu_packet_run *t, unsigned j)
{
    return j == 0 ? t->first_s
                  : t->first_s + t->s_per_byte * strait_emu_packet_run_wire_bytes(pool, t, 1, j);
}

struct strait_emu_packet_run *strait_emu_packet_run_cut(struct strait_emu_packet_runs *pool,
                                                        const struct strait_emu_packet_run *t,
                                                        unsigned first, unsigned n)
{
    const struct strait_emu_shape *shape = &t->shape;
    struct strait_emu_packet_run *q = strait_emu_packet_run_new(
        pool, STRAIT_EMU_VNET_BYTES + shape->header_bytes + (size_t)n * shape->segment_bytes);
    if (!q)
        return NULL;
    q->len_bytes = strait_emu_shape_cut(q->bytes, &t->shape, t->bytes, first, n);
    q->dst = t->dst;
    memcpy(q->links, t->links, sizeof(q->links));
    q->n_hops = t->n_hops;
    q->hop = t->hop;
    q->key = t->key;
    q->number = t->number;
    q->shape = t->shape;
    q->shape.n_segments = n;
    if (first + n != t->shape.n_segments)
        q->shape.last_bytes = t->shape.segment_bytes;
    if (n == 1)
        q->shape.segment_bytes = q->shape.last_bytes;
    q->first_s = strait_emu_packet_run_there_s(pool, t, first);
    q->s_per_byte = t->s_per_byte;
    return q;
}
