/* NCCL's all-reduce between nodes of one accelerator each (NVIDIA/nccl at 5067397c): its tuning
 * chooses ring or tree, and how data are guarded; the ring then goes in loops of chunks.
 *
 * The choice (src/graph/tuning.cc): of each pair of algorithm and protocol a time, latency + bytes
 * / bandwidth, for a network card of one of the speeds that it knows, whatever the round trips are.
 * LL sends a flag of 4 bytes beside every 4 bytes; Simple sends slices as they are. LL128, which
 * depends on where card and accelerator are plugged in, is not considered.
 *
 * The ring (src/device/all_reduce.h, runRing), three ranks, one loop, capitals are sums. A chunk
 * goes in two slices, each passed on when it has been added:
 *
 *             rank 0       rank 1       rank 2
 *   start     a0 a1 a2     b0 b1 b2     c0 c1 c2        rank i sends chunk i - 1
 *   step 1    a0 ac1 .     .  b1 ab2    bc0 .  c2       adds chunk i - 2, sends it on
 *   step 2    S0 .  .      .  S1 .      .  .  S2        adds chunk i, which is whole, sends it on
 *   step 3    S0 .  S2     S0 S1 .      .  S1 S2        keeps chunk i - 1, sends it on
 *   step 4    S0 S1 S2     S0 S1 S2     S0 S1 S2        keeps chunk i + 1
 *
 * The next loop begins when the last chunk is there. Two such rings, for halves of the tensor, go
 * side by side over one connection here. Sum order of chunk p: rank p + 1 first. Buffers of
 * 4 MiB, which a sender fills before it waits for room, are taken to have room. */
#include <math.h>

#include "workloads/ask/experiment.h"
#include "parts.h"

/* Sources: NCCL_STEPS and buffers (device.h, init.cc), ALLREDUCE_CHUNKSTEPS and _SLICESTEPS
 * (collectives.h), the least slice (prims_simple.h); LL: 8 lines of 8 data bytes a thread and step,
 * half of a step a chunk (calcCollChunking in enqueue.cc). */
enum {
    SLICE_BYTES = 1 << 20,
    SLICES = 2,
    LL_CHUNK_BYTES = 32 << 10,
    MIN_SLICE_BYTES = 32 << 10,
    /* Threads times bytes of a thread under which a sum takes one channel less (comm.h, tuning.cc):
     * Simple, slow cards; LL, times the ranks of a ring. */
    SIMPLE_CHANNEL_BYTES = 256 * 64,
    LL_CHANNEL_BYTES = 512 * 8
};

/* Source: speedArrayInter of src/graph/search.cc, GB/s. */
static const double card_gbytes_per_s[] = {48, 30, 28, 24, 20, 18,  15,  12,   10,  9,
                                           7,  6,  5,  4,  3,  2.4, 1.2, 0.24, 0.12};
/* Source: ncclTunerConstantsDefaults and treeCorrectionFactor of tuning.cc; us; LL, Simple. With
 * one accelerator a node a ring's step has the tree's latency, and Simple's ring 1.4 times that. */
static const double tree_base_us[] = {6.8, 8.4}, ring_base_us[] = {6.6, 8.4}, hop_us[] = {5.0, 14};
static const double PLATEAU = 1.4, MIN_PLATEAU_BYTES = 64;
static const double tree_factor[2][24] = {
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
     .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}};

static double slowest_gbytes_per_s(const struct strait_network *n)
{
    double bits_per_s = INFINITY;
    for (int i = 0; i < 2 * n->n_ranks; i++)
        bits_per_s = fmin(bits_per_s, strait_network_link(n, i)->rate_bits_per_s);
    const size_t n_speeds = sizeof(card_gbytes_per_s) / sizeof(*card_gbytes_per_s);
    size_t i = 0;
    while (i + 1 < n_speeds && card_gbytes_per_s[i] > bits_per_s / 8e9)
        i++;
    return card_gbytes_per_s[i];
}

static double ring_us(int n, double bytes, double gbytes_per_s, bool ll)
{
    const int n_steps = 2 * (n - 1);
    const double algorithm_gbytes_per_s = gbytes_per_s * (ll ? 0.5 : 1) * n / n_steps;
    double us = ring_base_us[!ll] + n_steps * hop_us[!ll];
    if (!ll && bytes / (STRAIT_NCCL_CHANNELS * n) >= MIN_PLATEAU_BYTES)
        us *= PLATEAU;
    return us + bytes / (1000 * algorithm_gbytes_per_s);
}

static double tree_us(int n, double bytes, double gbytes_per_s, bool ll)
{
    const double log_size = floor(log2(fmax(bytes, 64) / 64));
    double algorithm_gbytes_per_s = gbytes_per_s * 0.92 * (ll ? 1 / 3.8 : 1) * 0.85 * 0.5;
    if (log_size < 23)
        algorithm_gbytes_per_s *= tree_factor[!ll][(int)log_size];
    return tree_base_us[!ll] + 2 * floor(log2(n)) * hop_us[!ll] +
           bytes / (1000 * algorithm_gbytes_per_s);
}

struct strait_nccl_plan strait_nccl_plan(const struct strait_network *network, int n,
                                         size_t n_elems)
{
    const double bytes = 4.0 * (double)n_elems, gbytes_per_s = slowest_gbytes_per_s(network);
    struct strait_nccl_plan best = {.us = INFINITY};
    for (int tree = 0; tree < 2; tree++)
        for (int ll = 0; ll < 2; ll++) {
            const double us = (tree ? tree_us : ring_us)(n, bytes, gbytes_per_s, ll);
            if (us < best.us)
                best = (struct strait_nccl_plan){.is_tree = tree, .is_ll = ll, .us = us};
        }
    const double least_bytes =
        best.is_ll ? LL_CHANNEL_BYTES * (best.is_tree ? 1.0 : n) : SIMPLE_CHANNEL_BYTES;
    best.n_channels = bytes < STRAIT_NCCL_CHANNELS * least_bytes ? 1 : STRAIT_NCCL_CHANNELS;
    best.chunk_elems = (size_t)(best.is_ll ? LL_CHUNK_BYTES : SLICES * SLICE_BYTES) / 4;
    return best;
}

/* One of the rings side by side: a part of the tensor, and how far it is. */
struct channel {
    size_t end, lo, hi; /* of the part; of the loop */
    int index, step, slice;
};

struct ring {
    struct strait_group g;
    struct strait_codec *none;
    struct strait_tensor *x;
    struct strait_nccl_plan plan;
    int next, previous, n_open;
};

/* Of a loop's chunk, by its number: elements [lo, hi). */
static void chunk_of(size_t *lo, size_t *hi, const struct ring *ring, const struct channel *c,
                     int step)
{
    const int chunk = strait_around(ring->g.me - 1 - step, ring->g.n);
    *lo = c->lo + strait_part_start(c->hi - c->lo, chunk, ring->g.n);
    *hi = c->lo + strait_part_start(c->hi - c->lo, chunk + 1, ring->g.n);
}

static int n_slices(const struct ring *ring, size_t n_elems)
{
    return !ring->plan.is_ll && 4 * n_elems > MIN_SLICE_BYTES ? SLICES : 1;
}

static void pass(struct strait_rank *r, const struct ring *ring, const struct channel *c,
                 struct strait_packet *packet)
{
    const size_t flags_bytes = ring->plan.is_ll ? packet->payload_bytes : 0;
    strait_send(r, ring->next, ring->g.channel, c->index, packet);
    if (flags_bytes > 0)
        strait_send(r, ring->next, ring->g.channel, STRAIT_NCCL_CHANNELS,
                    strait_filler(r, flags_bytes));
}

/* The channel's next loop: as many chunks as ranks. */
static void begin_loop(struct strait_rank *r, struct ring *ring, struct channel *c)
{
    const size_t most = (size_t)ring->g.n * ring->plan.chunk_elems;
    size_t lo, hi;
    c->lo = c->hi;
    c->hi = c->end - c->lo < most ? c->end : c->lo + most;
    if (c->lo == c->hi) {
        ring->n_open--;
        return;
    }
    chunk_of(&lo, &hi, ring, c, 0);
    for (int i = 0, n = n_slices(ring, hi - lo); i < n; i++)
        pass(r, ring, c,
             strait_encode(r, ring->none, NAN,
                           strait_range(r, ring->x, lo + strait_part_start(hi - lo, i, n),
                                        lo + strait_part_start(hi - lo, i + 1, n))));
    c->step = 1;
    c->slice = 0;
}

/* A slice has come: it is added or kept, and passed on but in the last step. */
static void take(struct strait_rank *r, struct ring *ring, struct channel *c,
                 struct strait_packet *packet)
{
    const int n = ring->g.n;
    size_t lo, hi;
    chunk_of(&lo, &hi, ring, c, c->step);
    const int n_here = n_slices(ring, hi - lo);
    struct strait_tensor *mine =
        strait_range(r, ring->x, lo + strait_part_start(hi - lo, c->slice, n_here),
                     lo + strait_part_start(hi - lo, c->slice + 1, n_here));
    if (c->step < n) {
        struct strait_tensor *theirs = strait_spare(r, mine);
        strait_decode(r, theirs, packet);
        strait_add(r, mine, theirs, 1);
        pass(r, ring, c, strait_encode(r, ring->none, NAN, mine));
    } else {
        if (c->step < 2 * n - 2)
            pass(r, ring, c, strait_keep(packet));
        strait_decode(r, mine, packet);
    }
    if (++c->slice < n_here)
        return;
    c->slice = 0;
    if (++c->step > 2 * n - 2)
        begin_loop(r, ring, c);
}

void strait_all_reduce_by_nccl(struct strait_rank *r, struct strait_group g,
                               struct strait_codec *none, struct strait_tensor *x)
{
    const size_t n_elems = strait_n_elems(x);
    struct ring ring = {.g = g, .none = none, .x = x};
    struct channel channels[STRAIT_NCCL_CHANNELS];
    if (g.n == 1)
        return;
    ring.plan = strait_nccl_plan(strait_network(r), g.n, n_elems);
    if (ring.plan.is_tree) {
        strait_all_reduce_by_trees(r, g, none, x);
        return;
    }
    ring.next = g.ranks[strait_around(g.me + 1, g.n)];
    ring.previous = g.ranks[strait_around(g.me - 1, g.n)];
    ring.n_open = ring.plan.n_channels;
    for (int i = 0; i < ring.plan.n_channels; i++) {
        channels[i] =
            (struct channel){.index = i,
                             .hi = strait_part_start(n_elems, i, ring.plan.n_channels),
                             .end = strait_part_start(n_elems, i + 1, ring.plan.n_channels)};
        begin_loop(r, &ring, &channels[i]);
    }
    while (ring.n_open > 0) {
        struct strait_message m = strait_recv(r, ring.previous, g.channel);
        if (m.tag == STRAIT_NCCL_CHANNELS)
            strait_drop(r, m.packet);
        else
            take(r, &ring, &channels[m.tag], m.packet);
    }
}

bool strait_nccl_uses(const struct strait_network *network, int n, size_t n_elems, int channel,
                      int src, int dst)
{
    if (strait_nccl_plan(network, n, n_elems).is_tree)
        return channel < 2 && strait_double_tree_uses(n, channel, src, dst);
    return channel == 0 && src != dst && dst == (src + 1) % n;
}
