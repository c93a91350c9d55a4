/* NCCL's rings (src/device/all_reduce.h, reduce_scatter.h and all_gather.h, runRing, of NVIDIA/nccl
 * at 5067397c). An all-reduce of three ranks, one loop, capitals are sums; a chunk goes in two
 * slices, each passed on when it has been added:
 *
 *             rank 0       rank 1       rank 2
 *   start     a0 a1 a2     b0 b1 b2     c0 c1 c2        rank i sends chunk i - 1
 *   step 1    a0 ac1 .     .  b1 ab2    bc0 .  c2       adds chunk i - 2, sends it on
 *   step 2    S0 .  .      .  S1 .      .  .  S2        adds chunk i, which is whole, sends it on
 *   step 3    S0 .  S2     S0 S1 .      .  S1 S2        keeps chunk i - 1, sends it on
 *   step 4    S0 S1 S2     S0 S1 S2     S0 S1 S2        keeps chunk i + 1
 *
 * A reduce-scatter has the steps to n - 1 of it, an all-gather those from there on, each with a
 * loop of one chunk of every rank's part. The next loop begins when the last chunk is there. Two
 * such rings, for halves of the tensor, go side by side over one connection here. Buffers of 4 MiB,
 * which a sender fills before it waits for room, are taken to have room. */
#include "nccl_ring.h"

/* Source: collectives.h; the least slice: prims_simple.h. */
enum { SLICES = 2, MIN_SLICE_BYTES = 32 << 10 };

/* One of the rings side by side: a part of what is cut, and how far it is. */
struct channel {
    size_t end, lo, hi; /* of the part; of the loop */
    int index, step, slice;
};

struct run {
    const struct strait_nccl_ring *ring;
    int next, previous, n_open;
};

void strait_nccl_pass(struct strait_rank *r, const struct strait_group *g,
                      const struct strait_nccl_plan *plan, int to, int channel,
                      struct strait_packet *taken)
{
    const size_t flags_bytes = plan->is_ll ? taken->payload_bytes : 0;
    if (flags_bytes > 0)
        strait_send(r, g->ranks[to], g->channel, STRAIT_NCCL_CHANNELS,
                    strait_filler(r, flags_bytes));
    strait_send(r, g->ranks[to], g->channel, channel, taken);
}

int strait_nccl_next(struct strait_rank *r, const struct strait_group *g, int from,
                     struct strait_packet **packet)
{
    struct strait_message m = strait_recv(r, g->ranks[from], g->channel);
    while (m.tag == STRAIT_NCCL_CHANNELS) {
        strait_drop(r, m.packet);
        m = strait_recv(r, g->ranks[from], g->channel);
    }
    *packet = m.packet;
    return m.tag;
}

/* The chunk of a step: of the loop's units one of n parts, or all of them of one rank's part. */
static struct strait_nccl_piece chunk_of(const struct strait_nccl_ring *ring,
                                         const struct channel *c, int step)
{
    const int part = strait_around(ring->first_chunk - (step - ring->first), ring->g.n);
    const size_t n_units = c->hi - c->lo;
    if (ring->is_spread)
        return (struct strait_nccl_piece){part, c->lo, c->hi};
    return (struct strait_nccl_piece){part, c->lo + strait_part_start(n_units, part, ring->g.n),
                                      c->lo + strait_part_start(n_units, part + 1, ring->g.n)};
}

static int n_slices(const struct strait_nccl_ring *ring, struct strait_nccl_piece chunk)
{
    return !ring->plan.is_ll && ring->unit_bytes * (chunk.hi - chunk.lo) > MIN_SLICE_BYTES ? SLICES
                                                                                           : 1;
}

static struct strait_nccl_piece slice_of(struct strait_nccl_piece chunk, int i, int n)
{
    const size_t n_units = chunk.hi - chunk.lo;
    return (struct strait_nccl_piece){chunk.part, chunk.lo + strait_part_start(n_units, i, n),
                                      chunk.lo + strait_part_start(n_units, i + 1, n)};
}

static void pass(struct strait_rank *r, const struct run *run, const struct channel *c,
                 struct strait_packet *taken)
{
    strait_nccl_pass(r, &run->ring->g, &run->ring->plan, run->next, c->index, taken);
}

/* The channel's next loop: as many chunks as ranks. */
static void begin_loop(struct strait_rank *r, struct run *run, struct channel *c)
{
    const struct strait_nccl_ring *ring = run->ring;
    const size_t chunk = ring->plan.chunk_bytes / ring->unit_bytes,
                 most = ring->is_spread ? chunk : (size_t)ring->g.n * chunk;
    c->lo = c->hi;
    c->hi = c->end - c->lo < most ? c->end : c->lo + most;
    if (c->lo == c->hi) {
        run->n_open--;
        return;
    }
    const struct strait_nccl_piece mine = chunk_of(ring, c, ring->first);
    for (int i = 0, n = n_slices(ring, mine); i < n; i++)
        pass(r, run, c, ring->give(r, ring->of, slice_of(mine, i, n)));
    c->step = ring->first + 1;
    c->slice = 0;
}

/* A slice has come: it is added or kept, and passed on but in the last step. */
static void take(struct strait_rank *r, struct run *run, struct channel *c,
                 struct strait_packet *packet)
{
    const struct strait_nccl_ring *ring = run->ring;
    const struct strait_nccl_piece chunk = chunk_of(ring, c, c->step);
    const int n_here = n_slices(ring, chunk);
    const struct strait_nccl_piece mine = slice_of(chunk, c->slice, n_here);
    const bool adds = c->step < ring->g.n && ring->first == 0, passes = c->step < ring->last;
    if (!adds && passes)
        pass(r, run, c, strait_keep(packet));
    ring->take(r, ring->of, mine, adds, packet);
    if (adds && passes)
        pass(r, run, c, ring->give(r, ring->of, mine));
    if (++c->slice < n_here)
        return;
    c->slice = 0;
    if (++c->step > ring->last)
        begin_loop(r, run, c);
}

void strait_nccl_run(struct strait_rank *r, const struct strait_nccl_ring *ring)
{
    struct channel channels[STRAIT_NCCL_CHANNELS];
    const int n_channels = ring->plan.n_channels;
    struct run run = {ring, strait_around(ring->g.me + 1, ring->g.n),
                      strait_around(ring->g.me - 1, ring->g.n), n_channels};
    for (int i = 0; i < n_channels; i++) {
        channels[i] = (struct channel){.index = i,
                                       .hi = strait_part_start(ring->n_units, i, n_channels),
                                       .end = strait_part_start(ring->n_units, i + 1, n_channels)};
        begin_loop(r, &run, &channels[i]);
    }
    while (run.n_open > 0) {
        struct strait_packet *packet;
        const int channel = strait_nccl_next(r, &ring->g, run.previous, &packet);
        take(r, &run, &channels[channel], packet);
    }
}
