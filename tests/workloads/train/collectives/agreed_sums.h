/* A program of ranks that sum recorded gradients with dynamiq, after they agreed on statistics, in
 * every collective that does so. Ranks compare with the plain sum, and have the same bits. */
#pragma once
#include "core/hash.h"
#include "collective_cases.h"
#include "workloads/train/federated/federated.h"

#define AGREED_CODEC "{\"name\":\"dynamiq\",\"profile\":\"shards\"}"

static inline void sum_agreed(struct strait_rank *r, enum collective kind, struct strait_tensor *x)
{
    struct strait_group world = strait_world(r, 0);
    struct strait_codec *c = strait_codec(r, "up");
    const struct strait_sites sites = {.n_ranks = world.n, .of = site_of};
    struct strait_hierarchy h = strait_hierarchy_of(r, sites, 0, 1);
    world.agreement = h.leaders.agreement = strait_statistics_of(r, c);
    if (kind == SITES)
        strait_all_reduce_by_sites(r, &h, c, x);
    else
        strait_all_reduce(r, world, c, x, (enum strait_all_reduce)kind);
}

/* 5 bits a value: squared errors are at most 0.2 % of the squares, where every hop's own statistics
 * leave 0.25 to 0.4 % (eight ranks), each tensor with a budget of its own. */
static inline void check_agreed(struct strait_rank *r)
{
    static const double MOST = 0.002;
    static const enum collective kinds[] = {RING,        HALVING, TREE, ALL_TO_ALL,
                                            DOUBLE_TREE, PAT,     SITES};
    struct strait_tensor *plain = strait_tensor(r, STRAIT_GRADIENTS, 0, STRAIT_ALL_LAYERS);
    const struct strait_group world = strait_world(r, 0);
    strait_values(r, plain); /* recorded, like all */
    for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
        struct strait_tensor *x = strait_tensor(r, STRAIT_GRADIENTS, 0, STRAIT_ALL_LAYERS);
        double off = 0, squares = 0;
        if (k == 0)
            strait_all_reduce(r, world, strait_codec(r, "none"), plain, STRAIT_AR_RING);
        barrier(r);
        sum_agreed(r, kinds[k], x);
        barrier(r);
        const float *y = strait_values(r, x), *exact = strait_values(r, plain);
        for (size_t i = 0; i < strait_n_elems(x); i++) {
            off += ((double)y[i] - (double)exact[i]) * ((double)y[i] - (double)exact[i]);
            squares += (double)exact[i] * (double)exact[i];
        }
        if (world.n > 1 && kinds[k] != SITES && !(off > 0))
            complain(r, kinds[k], "no error", off, 1e-3);
        if (!(off <= MOST * squares))
            complain(r, kinds[k], "error", off / squares, MOST);
        const double bits =
            (double)(strait_checksum(y, strait_n_elems(x) * sizeof(*y)) & 0xffffffff);
        if (strait_me(r) != 0)
            strait_send(r, 0, 0, 0, strait_control(r, bits));
        for (int i = 1; i < world.n && strait_me(r) == 0; i++) {
            struct strait_message m = strait_recv(r, i, 0);
            if (m.packet->words[0] != bits)
                complain(r, kinds[k], "other bits", m.packet->words[0], bits);
            strait_drop(r, m.packet);
        }
        barrier(r);
    }
}

/* A mean lies where one rank's values do, not where the sum's are coded: values about 3 that differ
 * by less than 1 cost no more than values about 0. Coded about the sum's 3 n, the mean of three
 * would be off by more than its deviations are. */
static inline void check_agreed_mean(struct strait_rank *r)
{
    static const double MOST = 0.06; /* of the deviations' squares, 5 bits a value */
    struct strait_tensor *x = strait_tensor(r, STRAIT_GRADIENTS, 0, STRAIT_ALL_LAYERS);
    struct strait_group world = strait_world(r, 0);
    float *y = strait_values(r, x);
    double off = 0, squares = 0;
    for (size_t i = 0; i < strait_n_elems(x); i++)
        y[i] = (float)(3 + cos(0.7 * (double)i + 0.1 * strait_me(r)));
    world.agreement = strait_statistics_of(r, strait_codec(r, "up"));
    strait_average(r, world, strait_codec(r, "up"), x);
    y = strait_values(r, x);
    for (size_t i = 0; i < strait_n_elems(x); i++) {
        double mean = 0;
        for (int k = 0; k < world.n; k++)
            mean += cos(0.7 * (double)i + 0.1 * k) / world.n;
        off += ((double)y[i] - 3 - mean) * ((double)y[i] - 3 - mean);
        squares += mean * mean;
    }
    if (!(off <= MOST * squares))
        complain(r, RING, "error of the mean", off / squares, MOST);
}
