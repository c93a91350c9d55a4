/* SWARM parallelism (Ryabinin et al., ICML 2023): stages of unreliable peers. A trainer on rank 0
 * sends every microbatch to one peer of each stage after another, forward and back; the peer of the
 * last stage does both at once. Which peer that is follows from its speed: to a peer's priority is
 * added what it takes to answer, a moving average, whenever it is given work, and the least is next
 * (stochastic wiring). Two stages of two peers, the second of each half as fast:
 *
 *     stage 0   A  0 1 3 4 6 ..        stage 1   C  . 0 1 3 4 ..      (forward passes alone)
 *               B  2 . 5 .                       D  . . . 2 . 5
 *
 * Peers remember nothing of a microbatch: a backward pass gets inputs and gradients, and computes
 * its activations again, so that any peer of the stage will do. A peer that does not answer within
 * `timeout` is passed by and its work given to another. When all microbatches are through, the
 * trainer asks who is there, and these sum the gradients of their stage by a ring and step. Who
 * comes back gets the parameters from the first of these. Passed on are packets as they came. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "swarm.h"
#include "workloads/ask/experiment.h"
#include "workloads/train/collectives/collectives.h"
#include "workloads/train/collectives/legal.h"
#include "workloads/train/plans/fragments.h"

/* Peers are dealt to stages in turn. */
static int stage_of(int n_stages, int rank)
{
    return (rank - 1) % n_stages;
}

struct stage {
    int n_stages, stage, n_micro, first, end; /* layers [first, end) */
    int n_stepped;                            /* batches */
    struct strait_codec *codec;
    struct strait_tensor *in, *out, *back; /* activations of a batch, which keep their values */
    struct strait_tensor *w, *gradient, *sum[2]; /* alternating: views may still be read */
};

static struct stage stage_begin(struct strait_rank *r)
{
    const struct strait_model *m = strait_model(r);
    struct stage s = {.n_stages = strait_swarm_stages(strait_experiment(r)),
                      .n_micro = (int)strait_param(r, "microbatches"),
                      .codec = strait_codec(r, "up")};
    size_t *ns = strait_alloc(r, m->n_layers, sizeof(*ns));
    int *first = strait_alloc(r, (size_t)s.n_stages + 1, sizeof(*first));
    for (size_t l = 0; l < m->n_layers; l++)
        ns[l] = (size_t)(1e9 * (m->layers[l].fwd_s_p50 + m->layers[l].bwd_s_p50));
    strait_cut_fragments(first, s.n_stages, ns, (int)m->n_layers);
    s.stage = stage_of(s.n_stages, strait_me(r));
    s.first = first[s.stage];
    s.end = first[s.stage + 1];
    s.w = strait_tensor(r, STRAIT_WEIGHTS, s.first, s.end);
    s.gradient = strait_tensor(r, STRAIT_GRADIENTS, s.first, s.end);
    s.out = strait_scratch_of(r, (size_t)(strait_param(r, "activation") / 4), s.gradient);
    s.in = strait_like(r, s.out);
    s.back = strait_like(r, s.out);
    for (int i = 0; i < 2; i++)
        s.sum[i] = strait_like(r, s.gradient);
    return s;
}

/* Take inputs or gradients, which follow the word of what to do. */
static void take(struct strait_rank *r, const struct stage *s, struct strait_tensor *x, int micro)
{
    struct strait_message m = strait_recv(r, SWARM_TRAINER, SWARM_WORK);
    if (strait_is_away(r))
        strait_drop(r, m.packet);
    else
        strait_decode(r, strait_slice(r, x, micro, s->n_micro), m.packet);
}

static void work(struct strait_rank *r, const struct stage *s, const double *words)
{
    const int micro = (int)words[SWARM_MICRO], step = (int)words[SWARM_STEP],
              last = s->n_stages - 1;
    const double share = 1.0 / s->n_micro;
    if (s->stage > 0)
        take(r, s, s->in, micro);
    if (step > last)
        take(r, s, s->back, micro);
    if (strait_is_away(r))
        return;
    strait_forward_share(r, s->first, s->end, share);
    if (step >= last)
        strait_backward_share(r, s->first, s->end, share);
    if (strait_is_away(r)) /* what it has computed is lost */
        return;
    struct strait_packet *packet =
        step < last || s->stage > 0
            ? strait_encode(r, s->codec, NAN, strait_slice(r, s->out, micro, s->n_micro))
            : strait_control(r, 0);
    packet->words[SWARM_MICRO] = words[SWARM_MICRO];
    packet->words[SWARM_ATTEMPT] = words[SWARM_ATTEMPT];
    strait_send(r, SWARM_TRAINER, SWARM_DONE, micro, packet);
}

static bool has_bit(double bits, int bit)
{
    return fmod(floor(ldexp(bits, -bit)), 2) == 1;
}

static void step_together(struct strait_rank *r, struct stage *s, const double *words)
{
    const int batch = (int)words[SWARM_BATCH], me = (strait_me(r) - 1) / s->n_stages;
    int ranks[SWARM_MAX_PEERS], n = 0;
    for (int bit = 0; bit < SWARM_MAX_PEERS; bit++)
        if (has_bit(words[SWARM_MEMBERS], bit))
            ranks[n++] = bit * s->n_stages + s->stage + 1;
    s->n_stepped = batch + 1;
    if (has_bit(words[SWARM_NEWCOMERS], me)) {
        strait_decode(r, s->w, strait_recv(r, ranks[0], SWARM_STATE).packet);
        return;
    }
    struct strait_tensor *sum = s->sum[batch % 2];
    if (n > 1) {
        strait_set(r, sum, s->gradient, 1);
        strait_all_reduce(r, strait_group_of(r, ranks, n, SWARM_GRADIENT), s->codec, sum,
                          STRAIT_AR_RING);
    }
    strait_step_layers(r, s->first, s->end, NULL, 1);
    for (int bit = 0; bit < SWARM_MAX_PEERS && strait_me(r) == ranks[0]; bit++)
        if (has_bit(words[SWARM_NEWCOMERS], bit))
            strait_send(r, bit * s->n_stages + s->stage + 1, SWARM_STATE, batch,
                        strait_snapshot(r, strait_codec(r, "none"), NAN, s->w));
}

static void serve(struct strait_rank *r)
{
    struct stage s = stage_begin(r);
    bool was_away = false;
    for (;;) {
        struct strait_message m;
        const bool away = strait_is_away(r);
        if (was_away && !away)
            strait_send(r, SWARM_TRAINER, SWARM_DONE, SWARM_BACK, strait_control(r, 0));
        was_away = away;
        if (!strait_recv_by(r, &m, SWARM_TRAINER, SWARM_WORK,
                            away ? strait_next_presence_s(r) : INFINITY))
            continue;
        double words[STRAIT_N_WORDS];
        memcpy(words, m.packet->words, sizeof(words));
        strait_drop(r, m.packet);
        if (m.tag == SWARM_STOP)
            return;
        strait_enter_round(r, s.n_stepped);
        if (m.tag == SWARM_SUM) {
            step_together(r, &s, words);
            strait_send(r, SWARM_TRAINER, SWARM_DONE, SWARM_SUM, strait_control(r, 0));
        } else if (m.tag >= 0)
            work(r, &s, words);
        else if (!strait_is_away(r))
            strait_send(r, SWARM_TRAINER, SWARM_DONE, SWARM_ASK,
                        strait_control(r, words[SWARM_BATCH] != s.n_stepped));
    }
}

static void swarm(struct strait_rank *r)
{
    if (strait_me(r) == SWARM_TRAINER)
        strait_swarm_train(r);
    else
        serve(r);
}

/* Stages whose peers all stay sum in their order; of others anybody may be left out. */
static bool uses_ring(const struct strait_experiment *e, int n_stages, int src, int dst)
{
    const int first = stage_of(n_stages, src) + 1, next = src + n_stages;
    for (int i = first; i < e->n_ranks; i += n_stages)
        if (e->network->out[i].present)
            return true;
    return dst == (next < e->n_ranks ? next : first);
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    const int n = strait_swarm_stages(e);
    if (channel == SWARM_WORK || channel == SWARM_DONE)
        return channel == SWARM_WORK ? src == SWARM_TRAINER : dst == SWARM_TRAINER;
    if (src == SWARM_TRAINER || dst == SWARM_TRAINER || stage_of(n, src) != stage_of(n, dst))
        return false;
    return channel == SWARM_GRADIENT ? uses_ring(e, n, src, dst)
                                     : channel == SWARM_STATE && e->network->out[dst].present;
}

static int check_peers(const struct strait_experiment *e, int n_stages, struct strait_error *err)
{
    if (n_stages > e->n_clients || (size_t)n_stages > e->model->n_layers ||
        (e->n_clients - 1) / n_stages >= SWARM_MAX_PEERS)
        return strait_refuse_at(err, e->file, "/strategy/stages",
                                "expected at most the %d peers and the model's %zu layers, and at "
                                "most %d peers a stage, found %d",
                                e->n_clients, e->model->n_layers, SWARM_MAX_PEERS, n_stages);
    for (int stage = 0; stage < n_stages; stage++) {
        bool one_stays = false;
        for (int i = stage + 1; i < e->n_ranks; i += n_stages)
            one_stays = one_stays || !e->network->out[i].present;
        if (!one_stays)
            return strait_refuse_at(err, e->file, "/network/events",
                                    "expected a peer of each of the %d stages that never leaves, "
                                    "found none of stage %d",
                                    n_stages, stage);
    }
    return 0;
}

static int check(const struct strait_experiment *e, struct strait_error *err)
{
    const double n_micro = strait_experiment_param(e, "microbatches");
    if (strait_experiment_param(e, "activation") < 4 * n_micro)
        return strait_refuse_at(
            err, e->file, "/strategy/activation",
            "expected at least a value of 4 bytes for each of the %g microbatches, found %.0f B",
            n_micro, strait_experiment_param(e, "activation"));
    if (strait_feedback_needed(&e->up.spec))
        return strait_refuse_at(err, e->file, "/codec",
                                "expected a sender that remembers nothing (\"error_feedback\": "
                                "false), since no activations come again, found \"%s\"",
                                e->up.spec.ops->name);
    return check_peers(e, strait_swarm_stages(e), err) != 0 ? -1 : strait_ring_check(e, err);
}

/* The activation unless asked for: a sample of GPT-2 small, 1024 tokens of 768 values of 4
 * bytes. */
static const struct strait_param params[] = {
    STRAIT_ROUNDS_PARAM,
    {"stages",
     "parts of the model, to which peers are dealt in turn; 0: as many as peers and "
     "layers allow",
     STRAIT_PARAM_INTEGER, .min = 0, .max = 1e6},
    {"microbatches", "parts of the batch", STRAIT_PARAM_INTEGER, .min = 1, .max = 1e5,
     .fallback = 8},
    {"under_way", "microbatches at a time; 0: as many as peers", STRAIT_PARAM_INTEGER, .min = 0,
     .max = 1e5},
    {"activation", "bytes of a whole batch that a stage passes on, and of their gradients back",
     STRAIT_PARAM_BYTES, .min = 4, .max = 1e12, .fallback = 1024 * 768 * 4},
    {"timeout", "after which a peer that has not answered is passed by", STRAIT_PARAM_TIME,
     .min = 1e-6, .max = 1e6, .fallback = 30},
    {"smoothing", "weight of the last answer in how long a peer takes", STRAIT_PARAM_NUMBER,
     .min = 0, .max = 1, .fallback = 0.1},
};
const struct strait_strategy strait_strategy_swarm = {
    .name = "swarm",
    .summary = "stages of unreliable peers: microbatches go to those that are fast and there",
    .source = "Ryabinin et al., SWARM Parallelism, ICML 2023",
    .approximates = "activations and their gradients are coded as recorded gradients of "
                    "parameters are",
    .has_server = true,
    .leaving = STRAIT_LEAVING_IF_ONE_STAYS,
    .has_one_lane = true,
    .uplink_kind = "grad",
    STRAIT_PARAMS(params),
    .check = check,
    .uses_stream = uses_stream,
    .needs_packets = strait_strategy_fills_both_ways,
    .rank_main = swarm,
};
