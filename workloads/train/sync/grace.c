/* GRACE (Xu et al., ICDCS 2021): each gradient tensor separately, in the order of the backward
 * pass. A hook compensates and compresses it as soon as it is ready (error feedback is the
 * codec's); its own collective sends it during the backward pass; after that, every tensor is
 * decompressed and aggregated. If the encoded tensor is only moved, each rank decodes what all P of
 * them sent and adds in rank order; if it is reduced on the way, the collective does the coding. */
#include <math.h>
#include <string.h>

#include "workloads/train/collectives/collectives.h"
#include "workloads/ask/experiment.h"
#include "workloads/train/collectives/legal.h"
#include "workloads/ask/strategy.h"

enum { DATA = 0, TO_COMM = 1, EXCHANGED = 2, END = -1 };
enum exchange { AUTO, ALL_REDUCE, ALL_GATHER, BROADCAST, ALL_TO_ALL };

/* Gradients alternate between two tensors: others may still read the last round's; but once all
 * take part in this round's exchanges they have finished reading the one before. */
struct grace {
    enum exchange how;
    bool beside;               /* exchanges overlap backward pass and codec */
    struct strait_group world; /* of the exchanging lane */
    struct strait_agreement *agreement;
    struct strait_codec *codec;
    struct strait_tensor *whole[2], *total; /* gradients; the sum of all ranks' packets */
    struct strait_tensor **layers[2];       /* gradients by alternating tensor, then by layer */
    struct strait_tensor **gradient[2];     /* the same by row */
    struct strait_tensor **sum;             /* by row, if every rank decodes all packets */
    struct strait_packet ***packets;        /* by row, then by rank */
    int turn;
};

/* GRACE's collective for a codec: all-reduce for codecs that can add, else all-gather. */
static enum exchange exchange_of(double asked, bool none, bool adds)
{
    return (enum exchange)asked != AUTO ? (enum exchange)asked
           : none || adds               ? ALL_REDUCE
                                        : ALL_GATHER;
}

static bool is_reduced(enum exchange how)
{
    return how == ALL_REDUCE || how == ALL_TO_ALL;
}

/* The hook of one tensor. */
static void compress(struct strait_rank *r, const struct grace *g, int row)
{
    if (!is_reduced(g->how)) /* otherwise the collective encodes */
        g->packets[row][strait_me(r)] = strait_encode(r, g->codec, NAN, g->gradient[g->turn][row]);
}

static void start_exchange(struct strait_rank *r, const struct grace *g, int row)
{
    strait_post(r, TO_COMM, 2 * row + g->turn);
}

/* Of a packet of this row, whoever sends it; 0: it follows from the values. */
static size_t known_bytes(struct strait_rank *lane, const struct grace *g, int row, int turn)
{
    return strait_size_is_fixed(lane, g->codec, g->gradient[turn][row])
               ? g->packets[row][g->world.me]->payload_bytes
               : 0;
}

static void exchange(struct strait_rank *lane, struct grace *g, int row, int turn)
{
    struct strait_tensor *gradient = g->gradient[turn][row];
    strait_launch(lane);
    switch (g->how) {
    case AUTO:
    case ALL_REDUCE: /* plain values, or encoded tensors added encoded */
        strait_all_reduce(lane, g->world, g->codec, gradient,
                          g->world.library != STRAIT_TEXTBOOK ? strait_library_sum(g->world.library)
                          : strait_sends_views(g->codec)      ? STRAIT_AR_RING
                                                              : STRAIT_AR_RING_ENCODED);
        return;
    case ALL_TO_ALL:
        strait_all_reduce(lane, g->world, g->codec, gradient, STRAIT_AR_ALL_TO_ALL);
        return;
    case ALL_GATHER: /* sizes that do not follow from the shape are exchanged first */
        if (!strait_size_is_fixed(lane, g->codec, gradient))
            strait_launch(lane);
        strait_gather_packets(lane, g->world, g->packets[row],
                              !strait_size_is_fixed(lane, g->codec, gradient));
        return;
    case BROADCAST: /* one from each rank */
        for (int root = 0; root < g->world.n; root++) {
            if (root > 0)
                strait_launch(lane);
            g->packets[row][root] = strait_broadcast_packet(
                lane, g->world, root, root == g->world.me ? g->packets[row][root] : NULL,
                known_bytes(lane, g, row, turn));
        }
        return;
    }
}

static void communicate(struct strait_rank *lane, void *arg)
{
    struct grace *g = arg;
    g->world = strait_world_by_library(lane, DATA);
    g->world.agreement = g->agreement;
    for (int word; (word = strait_pend(lane, TO_COMM)) != END;) {
        exchange(lane, g, word / 2, word % 2);
        strait_post(lane, EXCHANGED, word);
    }
}

/* Decompress all ranks' packets, including its own, and add them. */
static void aggregate(struct strait_rank *r, struct grace *g, int row)
{
    const int n = strait_n_ranks(r);
    for (int i = 0; i < n && !is_reduced(g->how); i++) {
        struct strait_tensor *y = i == 0 ? g->sum[row] : strait_spare(r, g->sum[row]);
        strait_decode(r, y, g->packets[row][i]);
        if (i > 0)
            strait_add(r, g->sum[row], y, 1);
    }
}

/* Handles of all rows, or all layers, of x, made before there are two lanes. */
static struct strait_tensor **parts_of(struct strait_rank *r, struct strait_tensor *x, bool rows)
{
    const struct strait_model *m = strait_model(r);
    const size_t n = rows ? m->n_rows : m->n_layers;
    struct strait_tensor **parts = strait_alloc(r, n, sizeof(struct strait_tensor *));
    for (size_t i = 0, lo = 0, hi; i < n; i++, lo = hi) {
        hi = lo + (rows ? m->rows[i].n_elems : m->layers[i].n_elems);
        parts[i] = strait_range(r, x, lo, hi);
    }
    return parts;
}

static struct grace set_up(struct strait_rank *r)
{
    const size_t n_rows = strait_model(r)->n_rows, n = (size_t)strait_n_ranks(r);
    struct grace g = {.codec = strait_codec(r, "up"), .beside = strait_param(r, "overlap") == 0};
    g.how = exchange_of(strait_param(r, "exchange"), strait_sends_views(g.codec),
                        strait_adds_encoded(g.codec));
    for (int turn = 0; turn < 2; turn++) {
        struct strait_tensor *x = strait_tensor(r, STRAIT_GRADIENTS, 0, STRAIT_ALL_LAYERS);
        g.whole[turn] = x;
        g.layers[turn] = parts_of(r, x, false);
        g.gradient[turn] = parts_of(r, x, true);
    }
    if (g.how == ALL_REDUCE)
        g.agreement = strait_agreement_of(r, g.codec, (int)n);
    if (is_reduced(g.how))
        return g;
    g.total = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
    g.sum = parts_of(r, g.total, true);
    g.packets = strait_alloc(r, n_rows, sizeof(struct strait_packet **));
    for (size_t i = 0; i < n_rows; i++)
        g.packets[i] = strait_alloc(r, n, sizeof(struct strait_packet *));
    return g;
}

/* Layer by layer from the last, each followed by its tensors' hooks. */
static void backward(struct strait_rank *r, struct grace *g)
{
    const struct strait_model *m = strait_model(r);
    for (size_t l = m->n_layers; l-- > 0;) {
        strait_backward_into(r, (int)l, g->layers[g->turn][l]);
        for (int k = (int)m->layers[l].n_rows; k-- > 0;) {
            const int row = (int)m->layers[l].first_row + k;
            compress(r, g, row);
            if (g->beside)
                start_exchange(r, g, row);
        }
    }
    for (int row = (int)m->n_rows; row-- > 0 && !g->beside;)
        start_exchange(r, g, row);
}

static void grace(struct strait_rank *r)
{
    struct grace g = set_up(r);
    const int n_rows = (int)strait_model(r)->n_rows;
    struct strait_rank *lane = strait_spawn(r, communicate, &g);
    while (strait_round(r)) {
        strait_forward(r, STRAIT_ALL_LAYERS);
        backward(r, &g);
        for (int row = n_rows; row-- > 0;) {
            strait_pend(r, EXCHANGED);
            if (g.beside)
                aggregate(r, &g, row);
        }
        for (int row = n_rows; row-- > 0 && !g.beside;)
            aggregate(r, &g, row);
        strait_step(r, g.total ? g.total : g.whole[g.turn], 1.0 / strait_n_ranks(r));
        g.turn = !g.turn;
    }
    strait_post(r, TO_COMM, END);
    strait_join(r, lane);
}

static bool is_none(const struct strait_experiment *e)
{
    return strcmp(e->up.spec.ops->name, "none") == 0;
}

static enum exchange asked_for(const struct strait_experiment *e)
{
    return exchange_of(strait_experiment_param(e, "exchange"), is_none(e),
                       strait_codec_adds(&e->up.spec));
}

/* Any codec is legal where packets are only moved. */
static int check(const struct strait_experiment *e, struct strait_error *err)
{
    const enum exchange how = asked_for(e);
    const int library = (int)strait_experiment_param(e, "library");
    if (library != STRAIT_TEXTBOOK && how == ALL_REDUCE)
        return strait_all_reduce_check(e, strait_library_sum((enum strait_library)library),
                                       strait_libraries[library], err);
    if (library != STRAIT_TEXTBOOK && how == ALL_TO_ALL)
        return strait_refuse_at(err, e->file, "/strategy/library",
                                "expected \"none\" where \"exchange\" is \"all_to_all\", found "
                                "\"%s\"",
                                strait_libraries[library]);
    switch (how) {
    case ALL_REDUCE:
        return is_none(e) ? 0
                          : strait_all_reduce_check(e, STRAIT_AR_RING_ENCODED, "allreduce", err);
    case ALL_TO_ALL:
        return strait_all_reduce_check(e, STRAIT_AR_ALL_TO_ALL, "all_to_all", err);
    case AUTO:
    case ALL_GATHER:
    case BROADCAST:
        return 0;
    }
    return 0;
}

/* Packets that are moved as they are. */
static bool tracks(const struct strait_experiment *e)
{
    return asked_for(e) == ALL_GATHER || asked_for(e) == BROADCAST;
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    if (channel == STRAIT_AGREEING)
        return asked_for(e) == ALL_REDUCE && strait_spec_agrees(&e->up.spec);
    if (strait_has_library(e))
        return strait_library_uses(e, channel, DATA, src, dst);
    if (channel != DATA)
        return false;
    switch (asked_for(e)) {
    case AUTO:
    case ALL_REDUCE:
    case ALL_GATHER:
        return strait_all_reduce_uses(STRAIT_AR_RING, e->n_ranks, src, dst);
    case ALL_TO_ALL:
        return strait_all_reduce_uses(STRAIT_AR_ALL_TO_ALL, e->n_ranks, src, dst);
    case BROADCAST:
        return strait_tree_uses(e->n_ranks, src, dst);
    }
    return false;
}

static const char *const exchanges[] = {"auto",      "allreduce",  "allgather",
                                        "broadcast", "all_to_all", NULL};
static const char *const overlaps[] = {"yes", "no", NULL};
static const struct strait_param params[] = {
    STRAIT_ROUNDS_PARAM,
    {"exchange",
     "the collective of each tensor; auto: allreduce where encoded tensors add up, else allgather",
     STRAIT_PARAM_CHOICE, .min = 0, .max = 4, .fallback = AUTO, .choices = exchanges},
    {"overlap",
     "collectives run beside compute and codec; no: compress, exchange and decompress all, one "
     "after another",
     STRAIT_PARAM_CHOICE, .min = 0, .max = 1, .choices = overlaps},
    STRAIT_LAUNCH_PARAM,
    STRAIT_UPDATE_PARAM,
    STRAIT_LIBRARY_PARAMS,
};
const struct strait_strategy strait_strategy_grace = {
    .name = "grace",
    .summary = "compressed data parallelism, tensor by tensor beside the backward pass",
    .source = "Xu et al., GRACE, ICDCS 2021",
    .trains = true,
    .uplink_kind = "grad",
    .tracks = tracks,
    STRAIT_PARAMS(params),
    .check = check,
    .uses_stream = uses_stream,
    .carrier = strait_library_carrier,
    .needs_packets = strait_library_needs_packets,
    .period = strait_strategy_repeats,
    .rank_main = grace,
};
