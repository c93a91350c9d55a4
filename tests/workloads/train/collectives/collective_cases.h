/* Every collective by its kind, called alike: what the tests of collectives share. */
#pragma once
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "workloads/train/collectives/open_mpi.h"
#include "tests/kit/harness.h"
#include "tests/kit/suite.h"

enum {
    CNN_ELEMS = 105866,
    MAX_RANKS = 9,
    N_PIECES = 3,
    RANKS_A_SITE = 3,
    LAP = 9 /* channel between collectives */
};

enum collective {
    RING,
    HALVING,
    TREE,
    ALL_TO_ALL,
    RING_ENCODED,
    DOUBLE_TREE,
    GLOO,
    PAT,
    OPEN_MPI, /* as in enum strait_all_reduce up to here */
    SITES,
    SCATTER,   /* the ring's halves: rank i ends with the sum of part i + 1, */
    GATHER,    /* and here begins with that part */
    REDUCE,    /* to the last rank */
    CHAIN,     /* the same along a chain, in pieces */
    BROADCAST, /* from the last rank */
    PIPELINED,
    N_COLLECTIVES
};

static inline int site_of(const void *arg, int rank)
{
    (void)arg;
    return rank / RANKS_A_SITE;
}

static inline void call_collective(struct strait_rank *r, enum collective kind,
                                   struct strait_tensor *x)
{
    struct strait_group world = strait_world(r, 0);
    memset(strait_group_met(r, &world), true, (size_t)world.n); /* connections are open */
    struct strait_codec *c = strait_codec(r, "up");
    const struct strait_sites sites = {.n_ranks = world.n, .of = site_of};
    const struct strait_hierarchy h = strait_hierarchy_of(r, sites, 0, 1);
    switch (kind) {
    case RING:
    case HALVING:
    case TREE:
    case ALL_TO_ALL:
    case RING_ENCODED:
    case DOUBLE_TREE:
    case GLOO:
    case PAT:
    case OPEN_MPI:
        strait_all_reduce(r, world, c, x, (enum strait_all_reduce)kind);
        return;
    case SITES:
        strait_all_reduce_by_sites(r, &h, c, x);
        return;
    case SCATTER:
        strait_reduce_scatter(r, world, c, x);
        return;
    case GATHER:
        strait_all_gather(r, world, c, x);
        return;
    case CHAIN:
        strait_reduce_pipelined(r, world, world.n - 1, c, x, N_PIECES);
        return;
    case REDUCE:
        strait_reduce(r, world, world.n - 1, c, x);
        return;
    case BROADCAST:
        strait_broadcast(r, world, world.n - 1, c, x);
        return;
    case PIPELINED:
        strait_broadcast_pipelined(r, world, world.n - 1, c, x, N_PIECES);
        return;
    case N_COLLECTIVES:
        return;
    }
}

/* Which of n parts element i is in: floor(p N / n) <= i. */
static inline int part_with(size_t n_elems, size_t i, int n)
{
    int p = 0;
    while (p + 1 < n && (size_t)(p + 1) * n_elems / (size_t)n <= i)
        p++;
    return p;
}

/* Does this rank end with the result? */
static inline bool has_result(enum collective kind, int me, int n)
{
    return (kind != REDUCE && kind != CHAIN) || me == n - 1;
}

/* And with that of element i of n_elems? */
static inline bool has_element(enum collective kind, int me, int n, size_t n_elems, size_t i)
{
    return has_result(kind, me, n) && (kind != SCATTER || part_with(n_elems, i, n) == (me + 1) % n);
}

/* Twice around with an empty message: then all have left what was before. */
static inline void barrier(struct strait_rank *r)
{
    const int n = strait_n_ranks(r);
    for (int step = 0; step < 2 * n && n > 1; step++) {
        if (strait_me(r) == step % n)
            strait_send(r, (step + 1) % n, LAP, step, strait_control(r, 0));
        if (strait_me(r) == (step + 1) % n)
            strait_drop(r, strait_recv(r, step % n, LAP).packet);
    }
}

static inline void complain(struct strait_rank *r, enum collective kind, const char *what,
                            double found, double wanted)
{
    struct strait_error err = {0};
    strait_error_set(&err, STRAIT_ERR_BACKEND, "collective",
                     "kind %d, rank %d: %s: expected %.9g, found %.9g", (int)kind, strait_me(r),
                     what, wanted, found);
    r->backend->ops->fail(r, &err);
}

/* Where a program of the test's runs. */
struct ranks_on {
    const struct strait_backend *backend;
    const char *network; /* JSON */
};

/* A 100 Mbps star, 20 ms one way, without ramp. */
static const struct ranks_on simulated = {
    &strait_fluid, "{\"overhead\":\"24 B\",\"client\":{\"rate\":\"100 Mbps\",\"rtt\":\"20 ms\"},"
                   "\"tcp\":{\"initial_window\":\"1 GB\"}}"};

/* What the calls above need. */
static inline bool uses_collective_stream(const struct strait_run *run, int src, int dst,
                                          int channel)
{
    (void)run;
    return src != dst && (channel <= 1 || channel == LAP || channel == STRAIT_ANSWERING);
}

/* codec: JSON, NULL: none. */
static inline struct strait_outcome run_ranks_on(const struct ranks_on *on, int n,
                                                 bool real_payload,
                                                 void (*rank_main)(struct strait_rank *),
                                                 const char *codec)
{
    static const char *const text =
        "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"seed\":3,\"clients\":3,"
        "\"strategy\":{\"name\":\"bsp\",\"rounds\":1},"
        "\"network\":{\"client\":{\"rate\":\"100 Mbps\",\"rtt\":\"20 ms\"}}}";
    struct strait_error err = {0};
    const bool emulated = on->backend == &strait_emu;
    const struct strait_trial_options options = {
        .real_payload = real_payload, .measured_cost = emulated, .dilation = emulated};
    json_t *settings =
        json_pack("{s:i, s:o}", "/clients", n, "/network", json_loads(on->network, 0, NULL));
    if (codec)
        json_object_set_new(settings, "/codec", json_loads(codec, 0, NULL));
    struct strait_outcome o = strait_outcome_of(text, settings, "default", &strait_fluid,
                                                (struct strait_trial_options){0});
    strait_trial_free(o.point);
    CU_ASSERT_EQUAL_FATAL(strait_trial_new(&o.point, o.experiment, o.profile, &options, &err), 0);
    o.point->run.rank_main = rank_main;
    o.point->run.uses_stream = uses_collective_stream;
    o.point->run.memory_bytes = 1; /* asked for: no need to find out */
    CU_ASSERT_EQUAL(strait_trial_run(o.point, on->backend, &err), 0);
    if (err.code)
        fprintf(stderr, "%d ranks: %s: %s\n", n, err.where, err.text);
    o.payload_bytes = o.n_messages = 0;
    for (int i = 0; i < n; i++) {
        o.payload_bytes += o.point->logs[i].payload_bytes;
        o.n_messages += o.point->logs[i].n_messages;
    }
    return o;
}

static inline struct strait_outcome
run_ranks(int n, bool real_payload, void (*rank_main)(struct strait_rank *), const char *codec)
{
    return run_ranks_on(&simulated, n, real_payload, rank_main, codec);
}
