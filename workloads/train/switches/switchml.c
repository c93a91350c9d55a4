/* SwitchML (Sapio et al., NSDI 2021): the switch adds. The last rank is the switch, the others are
 * workers, and nothing but its adders and a pool of slots is there: a slot holds one piece of the
 * gradient until all workers have sent theirs, then its sum goes to all, and a worker that has a
 * sum uses the slot again. So the pool is the window of all workers. Two slots, four pieces:
 *
 *     worker    0 1 . . 2 3 . .            sends the first two, then one for each sum
 *     switch    . S0 S1 . . S2 S3          adds at line rate: no time but the wire's
 *     worker    . . 0 1 . . 2 3            receives the sums
 *
 * The original sends integers of 32 bits scaled by the largest exponent of all workers, which
 * travels with the piece before; here numbers of as many bytes are added as they are. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "workloads/ask/experiment.h"
#include "workloads/train/collectives/legal.h"
#include "workloads/rank/rank.h"

enum { PIECE = 0, SUM }; /* channels; a tag is a piece */

struct pool {
    int n_workers, n_slots, n_pieces;
    size_t slot_elems;
    struct strait_codec *codec;
    struct strait_tensor *x[2]; /* alternating: views of the other may still be read */
};

static struct strait_tensor *piece(struct strait_rank *r, struct strait_tensor *x,
                                   const struct pool *p, int i)
{
    const size_t lo = (size_t)i * p->slot_elems, hi = lo + p->slot_elems, n = strait_n_elems(x);
    return strait_range(r, x, lo, hi < n ? hi : n);
}

static void send_piece(struct strait_rank *r, const struct pool *p, struct strait_tensor *x, int i)
{
    if (i < p->n_pieces)
        strait_send(r, p->n_workers, PIECE, i, strait_encode(r, p->codec, NAN, piece(r, x, p, i)));
}

/* A view that the switch has added is not read again, so a sum may take its piece's place. */
static void aggregate(struct strait_rank *r, const struct pool *p, struct strait_tensor *x)
{
    for (int i = 0; i < p->n_slots; i++)
        send_piece(r, p, x, i);
    for (int i = 0; i < p->n_pieces; i++) {
        struct strait_message m = strait_recv(r, p->n_workers, SUM);
        assert(m.tag == i);
        send_piece(r, p, x, i + p->n_slots);
        strait_decode(r, piece(r, x, p, i), m.packet);
    }
}

/* The sum of a piece, in the order of the workers. */
static struct strait_packet *sum_of(struct strait_rank *r, const struct pool *p,
                                    struct strait_tensor *x, int i)
{
    struct strait_tensor *mine = piece(r, x, p, i);
    struct strait_packet *sum = NULL;
    for (int worker = 0; worker < p->n_workers; worker++) {
        struct strait_packet *theirs = strait_recv(r, worker, PIECE).packet;
        if (!strait_sends_views(p->codec)) {
            sum = worker == 0 ? theirs : strait_add_encoded(r, p->codec, mine, sum, theirs);
        } else if (worker == 0) {
            strait_decode(r, mine, theirs);
        } else {
            struct strait_tensor *other = strait_spare(r, mine);
            strait_decode(r, other, theirs);
            strait_add(r, mine, other, 1);
        }
    }
    return sum ? sum : strait_encode(r, p->codec, NAN, mine);
}

static void add(struct strait_rank *r, const struct pool *p, struct strait_tensor *x)
{
    for (int i = 0; i < p->n_pieces; i++) {
        struct strait_packet *sum = sum_of(r, p, x, i);
        for (int worker = 0; worker < p->n_workers; worker++)
            strait_send(r, worker, SUM, i, strait_keep(sum));
        strait_drop(r, sum);
    }
}

static void switchml(struct strait_rank *r)
{
    const double slot_bytes = strait_param(r, "slot");
    struct pool p = {.n_workers = strait_n_ranks(r) - 1,
                     .n_slots = (int)fmax(1, floor(strait_param(r, "pool") / slot_bytes)),
                     .slot_elems = (size_t)(slot_bytes / 4),
                     .codec = strait_codec(r, "up")};
    const bool is_switch = strait_me(r) == p.n_workers;
    for (int i = 0; i < 2; i++)
        p.x[i] = strait_tensor(r, STRAIT_GRADIENTS, 0, STRAIT_ALL_LAYERS);
    p.n_pieces = (int)((strait_n_elems(p.x[0]) + p.slot_elems - 1) / p.slot_elems);
    if (is_switch)
        strait_use_memory(r, INFINITY);
    for (int round = 0; strait_round(r); round++) {
        struct strait_tensor *x = p.x[round % 2];
        if (is_switch) {
            add(r, &p, x);
        } else {
            strait_forward(r, STRAIT_ALL_LAYERS);
            strait_backward_into(r, STRAIT_ALL_LAYERS, x);
            aggregate(r, &p, x);
            strait_step(r, x, 1.0 / p.n_workers);
        }
    }
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    const int the_switch = e->n_ranks - 1;
    return (channel == PIECE && dst == the_switch) || (channel == SUM && src == the_switch);
}

static int n_workers(const struct strait_experiment *e)
{
    return e->n_ranks - 1;
}

static int check(const struct strait_experiment *e, struct strait_error *err)
{
    char found[STRAIT_SPEC_CHARS];
    if (e->n_ranks < 2)
        return strait_refuse_at(err, e->file, "/clients",
                                "expected at least 2, workers and the switch, found %d",
                                e->n_ranks);
    if (strait_experiment_param(e, "pool") < strait_experiment_param(e, "slot"))
        return strait_refuse_at(
            err, e->file, "/strategy/pool", "expected at least a slot of %.0f B, found %.0f B",
            strait_experiment_param(e, "slot"), strait_experiment_param(e, "pool"));
    if (strcmp(e->up.spec.ops->name, "none") != 0 &&
        !(e->up.spec.ops->flags & STRAIT_CODEC_LINEAR && strait_codec_adds(&e->up.spec)))
        return strait_refuse_at(err, e->file, "/codec",
                                "expected a codec whose bytes a switch can add (none, countsketch "
                                "without error feedback), found \"%s\"",
                                strait_codec_spec_text(found, &e->up.spec));
    return 0;
}

/* 128 slots of 32 integers of 4 bytes are the original's at 10 Gbps (section 3.6 and 5); coarser
 * ones of the same pool give the same rate for fewer messages. */
static const struct strait_param params[] = {
    STRAIT_ROUNDS_PARAM,
    {"pool", "bytes of the switch's slots: what a worker may have under way", STRAIT_PARAM_BYTES,
     .min = 4, .max = 1e12, .fallback = 1 << 20},
    {"slot", "bytes of a slot, one piece of the gradient", STRAIT_PARAM_BYTES, .min = 4,
     .max = 1e12, .fallback = 1 << 16},
};
const struct strait_strategy strait_strategy_switchml = {
    .name = "switchml",
    .summary = "in-network aggregation: the last rank is a switch that adds what the others send",
    .source = "Sapio et al., SwitchML, NSDI 2021",
    .approximates = "the switch adds numbers as they are, of as many bytes as its integers",
    .trains = true,
    .uplink_kind = "grad",
    STRAIT_PARAMS(params),
    .check = check,
    .uses_stream = uses_stream,
    .needs_packets = strait_strategy_fills_both_ways,
    .n_workers = n_workers,
    .period = strait_strategy_repeats,
    .has_one_lane = true,
    .rank_main = switchml,
};
