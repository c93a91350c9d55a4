/* Which algorithm and protocol NCCL's tuning takes (src/graph/tuning.cc of NVIDIA/nccl at
 * 5067397c): of each pair a time, latency + bytes / bandwidth, for a network card of one of the
 * speeds that it knows, whatever the round trips are. LL sends a flag of 4 bytes beside every 4
 * bytes; Simple sends slices as they are. LL128, which depends on where card and accelerator are
 * plugged in, is not considered. All-reduces go by rings or trees, reduce-scatters and all-gathers
 * by rings or PAT, broadcasts along a chain. */
#include <math.h>

#include "workloads/ask/experiment.h"
#include "nccl_ring.h"

/* Sources: NCCL_STEPS and buffers (device.h, init.cc), CHUNKSTEPS and SLICESTEPS (collectives.h); a
 * broadcast's chunk is one step; LL: 8 lines of 8 data bytes a thread and step, half of a step a
 * chunk (calcCollChunking in enqueue.cc). */
enum {
    CHUNK_BYTES = 2 << 20,
    BROADCAST_CHUNK_BYTES = 512 << 10,
    LL_CHUNK_BYTES = 32 << 10,
    /* Threads times bytes of a thread under which a call takes one channel less (comm.h,
     * tuning.cc): Simple, slow cards; LL, times the ranks of a ring. */
    SIMPLE_CHANNEL_BYTES = 256 * 64,
    LL_CHANNEL_BYTES = 512 * 8
};

/* Source: speedArrayInter of src/graph/search.cc, GB/s. */
static const double card_gbytes_per_s[] = {48, 30, 28, 24, 20, 18,  15,  12,   10,  9,
                                           7,  6,  5,  4,  3,  2.4, 1.2, 0.24, 0.12};
/* Source: ncclTunerConstantsDefaults and treeCorrectionFactor of tuning.cc; us; LL, Simple. With
 * one accelerator a node a ring's step has the tree's latency, but not in a broadcast, which takes
 * one; an all-reduce by Simple's ring takes 1.4 times that. */
static const double tree_base_us[] = {6.8, 8.4}, ring_base_us[] = {6.6, 8.4}, hop_us[] = {5.0, 14},
                    chain_us[] = {2.7, 14};
static const double PLATEAU = 1.4, MIN_PLATEAU_BYTES = 64;
static const double PAT_BASE_US = 8, PAT_HOP_US = 14 / 3.5, PAT_RANK_US = 2.8, PAT_PART = 0.75;
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

static double ring_us(enum strait_nccl_call call, int n, double bytes, double gbytes_per_s, bool ll)
{
    const int n_steps = call == STRAIT_NCCL_SUM         ? 2 * (n - 1)
                        : call == STRAIT_NCCL_BROADCAST ? n
                                                        : n - 1;
    const double algorithm_gbytes_per_s = gbytes_per_s * (ll ? 0.5 : 1) * n / n_steps;
    double us =
        ring_base_us[!ll] + (call == STRAIT_NCCL_BROADCAST ? chain_us[!ll] : n_steps * hop_us[!ll]);
    if (call == STRAIT_NCCL_SUM && !ll && bytes / (STRAIT_NCCL_CHANNELS * n) >= MIN_PLATEAU_BYTES)
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

static double pat_us(int n, double bytes, double gbytes_per_s)
{
    return PAT_BASE_US + floor(log2(n)) * PAT_HOP_US + n * PAT_RANK_US +
           bytes / (1000 * PAT_PART * gbytes_per_s);
}

static void offer(struct strait_nccl_plan *best, struct strait_nccl_plan plan)
{
    if (plan.us < best->us)
        *best = plan;
}

struct strait_nccl_plan strait_nccl_plan_of(enum strait_nccl_call call,
                                            const struct strait_network *network, int n,
                                            double bytes)
{
    const double gbytes_per_s = slowest_gbytes_per_s(network);
    struct strait_nccl_plan best = {.us = INFINITY};
    for (int ll = 1; ll >= 0; ll--)
        offer(&best, (struct strait_nccl_plan){.is_ll = ll,
                                               .us = ring_us(call, n, bytes, gbytes_per_s, ll)});
    for (int ll = 1; ll >= 0 && call == STRAIT_NCCL_SUM; ll--)
        offer(&best, (struct strait_nccl_plan){
                         .is_tree = true, .is_ll = ll, .us = tree_us(n, bytes, gbytes_per_s, ll)});
    if (call == STRAIT_NCCL_SPREAD)
        offer(&best,
              (struct strait_nccl_plan){.is_pat = true, .us = pat_us(n, bytes, gbytes_per_s)});
    const double least_bytes =
        best.is_ll ? LL_CHANNEL_BYTES * (best.is_tree ? 1.0 : n) : SIMPLE_CHANNEL_BYTES;
    best.n_channels = bytes < STRAIT_NCCL_CHANNELS * least_bytes ? 1 : STRAIT_NCCL_CHANNELS;
    best.chunk_bytes = best.is_ll                      ? LL_CHUNK_BYTES
                       : call == STRAIT_NCCL_BROADCAST ? BROADCAST_CHUNK_BYTES
                                                       : CHUNK_BYTES;
    return best;
}

struct strait_nccl_plan strait_nccl_plan(const struct strait_network *network, int n,
                                         size_t n_elems)
{
    return strait_nccl_plan_of(STRAIT_NCCL_SUM, network, n, 4.0 * (double)n_elems);
}
