/* Federated averaging with adaptive error bounds and compression on idle cores (FedCSpc, IEEE TPDS
 * 2025, and FedEFsz, IEEE TPDS 2025, both on SZ3). The server encodes the parameters and announces
 * the round's bound. Clients decode and train on their accelerator, while a second lane encodes and
 * sends the previous round's update on otherwise idle cores. The server decodes on `decode_cores`
 * cores and adds in rank order.
 *
 *     round      0        1                   2 (the last)
 *     client     train 0  train 1, send 0     train 2, send 1; send 2
 *     server              adds 0              adds 1, adds 2
 *
 * Neither the papers' rules for the bound nor FedCSpc's schedule are public: the policies are ours
 * (policy.h), and an update that counts one round late is our reading of compression that overlaps
 * training. `overlap` "none" encodes after training, as FedSZ does (arXiv 2312.13461). */
#include <math.h>
#include <string.h>

#include "core/random.h"
#include "workloads/ask/experiment.h"
#include "adaptive_bounds.h"
#include "federated.h"
#include "workloads/rank/rank.h"

enum {
    SERVER = STRAIT_STAR_SERVER,
    MODEL = STRAIT_STAR_DOWN,
    UPDATE = STRAIT_STAR_UP,
    TO_CODEC = 2,
    DONE = 3,
    STOP = -1
};
enum { BOUND, LOSS, MEAN_LOSS, IS_LAST }; /* words of a model; an update has the client's LOSS */
enum { NONE, TRAIN };
static const char *const overlaps[] = {"none", "train", NULL};
enum { ONCE, EACH };
static const char *const encodings[] = {"once", "each", NULL};

static bool reads_losses(const struct strait_policy *p)
{
    return p->kind == STRAIT_POLICY_LOSS_ADAPTIVE || p->kind == STRAIT_POLICY_FAIRNESS ||
           p->kind == STRAIT_POLICY_SENSITIVITY || p->kind == STRAIT_POLICY_SLOPE;
}

/* --- server ------------------------------------------------------------------------------- */

/* Updates of two rounds can be under way at once: an odd and an even round. */
struct server {
    int n_clients;
    struct strait_adaptive_way up, down;
    struct strait_curves *curves; /* NULL: no policy reads recorded losses */
    const struct strait_curve *series;
    double mean_loss, first_loss; /* of the losses that clients reported; NAN: none yet */
    double slope, first_slope, noise;
    struct strait_tensor *before; /* parameters a round before; NULL: no policy asks */
    struct wave {
        struct strait_tensor **y;      /* n_clients */
        struct strait_task **decoding; /* n_clients */
        double loss_sum;
        int n_here;
    } waves[2];
};

static void load_curves(struct strait_rank *r, struct server *s)
{
    struct strait_error err = {0};
    if (strait_trains(r) || !(reads_losses(&s->up.policy) || reads_losses(&s->down.policy)))
        return;
    if (strait_curves_load(&s->curves, NULL, &err) != 0)
        strait_fail(r, &err);
    s->series = strait_curves_find(s->curves, (unsigned)strait_param(r, "curve_clients"), 1,
                                   "update", "none", 0, false);
}

static struct server begin(struct strait_rank *r)
{
    struct server s = {.n_clients = strait_n_ranks(r) - 1,
                       .mean_loss = NAN,
                       .first_loss = NAN,
                       .slope = NAN,
                       .first_slope = NAN,
                       .noise = NAN};
    strait_adaptive_begin(r, &s.up, STRAIT_ADAPTIVE_UP);
    strait_adaptive_begin(r, &s.down, STRAIT_ADAPTIVE_DOWN);
    for (int k = 0; k < 2; k++) {
        s.waves[k].y = strait_alloc(r, (size_t)s.n_clients, sizeof(struct strait_tensor *));
        s.waves[k].decoding = strait_alloc(r, (size_t)s.n_clients, sizeof(struct strait_task *));
        for (int i = 0; i < s.n_clients; i++)
            s.waves[k].y[i] = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
    }
    if (strait_trains(r) && (s.up.probe || s.up.policy.kind == STRAIT_POLICY_NOISE ||
                             s.down.unit == STRAIT_UNIT_UPDATE_RMS))
        s.before = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
    load_curves(r, &s);
    return s;
}

/* Of this very run if it trains; else of a recorded one. */
static struct strait_state state_of(const struct strait_rank *r, const struct server *s, int round)
{
    if (!s->series)
        return (struct strait_state){.round = round,
                                     .rms = 1,
                                     .loss = strait_trains(r) ? s->mean_loss : 0,
                                     .first_loss = s->first_loss,
                                     .client_loss = NAN,
                                     .mean_loss = NAN,
                                     .slope = s->slope,
                                     .first_slope = s->first_slope,
                                     .noise = s->noise};
    struct strait_state state = strait_state_of_curve(s->series, round);
    state.client_loss = state.mean_loss = NAN; /* the server's bound is for all clients */
    return state;
}

/* Encode once, or for every client as simple runners do; the flows share the server's port. */
static void send_model(struct strait_rank *r, struct server *s, struct strait_tensor *w, int round)
{
    const bool each = (int)strait_param(r, "encode") == EACH;
    const struct strait_state state = state_of(r, s, round);
    strait_adaptive_probe(r, &s->down, w, w, NULL);
    const double bound = strait_adaptive_bound(&s->up, state),
                 down_bound = strait_adaptive_bound(&s->down, state);
    struct strait_packet *model = NULL;
    strait_note_bound(r, isnan(bound) ? down_bound : bound);
    for (int i = 1; i <= s->n_clients; i++) {
        if (!model) {
            if (each)
                strait_address(r, s->down.codec, i);
            model =
                strait_adaptive_encode(r, &s->down, down_bound, w, round > 0 ? s->before : NULL);
            model->words[BOUND] = isnan(bound) ? 0 : bound;
            model->words[LOSS] = state.loss;
            model->words[MEAN_LOSS] = s->mean_loss;
            model->words[IS_LAST] = strait_is_last_round(r);
        }
        strait_send(r, i, MODEL, round, strait_keep(model));
        if (each || i == s->n_clients) {
            strait_drop(r, model);
            model = NULL;
        }
    }
}

/* For the guard of what goes up: the mean change, through the codec. */
static void probe_updates(struct strait_rank *r, struct server *s, struct strait_tensor *w)
{
    if (!s->up.probe)
        return;
    if (strait_adaptive_sends_parameters(strait_experiment(r), STRAIT_ADAPTIVE_UP)) {
        strait_adaptive_probe(r, &s->up, w, w, NULL);
        return;
    }
    struct strait_tensor *change = strait_spare(r, w);
    strait_set(r, change, w, 1);
    strait_add(r, change, s->before, -1);
    strait_adaptive_probe(r, &s->up, change, w, s->before);
}

/* The mean of all clients, weighted by their data, in rank order: of updates, added, or of trained
 * parameters. */
static void average(struct strait_rank *r, struct server *s, struct strait_tensor *w,
                    struct wave *wave)
{
    const bool replaces =
        strait_adaptive_sends_parameters(strait_experiment(r), STRAIT_ADAPTIVE_UP);
    double n_examples = 0;
    for (int i = 0; i < s->n_clients; i++)
        n_examples += strait_n_examples(r, 1 + i);
    for (int i = 0; i < s->n_clients; i++) {
        const double share = strait_n_examples(r, 1 + i) / n_examples;
        strait_wait(r, wave->decoding[i]);
        if (replaces && i == 0)
            strait_set(r, w, wave->y[i], share);
        else
            strait_add(r, w, wave->y[i], share);
    }
}

/* Receive until all updates of this round are complete; some of the next one may be among them. */
static void collect(struct strait_rank *r, struct server *s, struct strait_tensor *w, int round)
{
    struct wave *wave = &s->waves[round % 2];
    while (wave->n_here < s->n_clients) {
        struct strait_message m = strait_recv(r, STRAIT_ANY, UPDATE);
        struct wave *of = &s->waves[m.tag % 2];
        of->loss_sum += m.packet->words[LOSS];
        of->decoding[m.src - 1] = strait_decode_start(r, of->y[m.src - 1], m.packet);
        of->n_here++;
    }
    if (s->before)
        strait_set(r, s->before, w, 1);
    average(r, s, w, wave);
    if (s->up.policy.kind == STRAIT_POLICY_NOISE && s->before)
        s->noise = strait_adaptive_noise(r, w, s->before, wave->y, s->n_clients);
    const double loss_before = s->mean_loss;
    s->mean_loss = wave->loss_sum / s->n_clients;
    if (isnan(s->first_loss))
        s->first_loss = s->mean_loss;
    else
        s->slope = strait_policy_slope(s->slope, loss_before, s->mean_loss);
    if (isnan(s->first_slope))
        s->first_slope = s->slope;
    wave->loss_sum = 0;
    wave->n_here = 0;
    probe_updates(r, s, w);
}

static void server(struct strait_rank *r)
{
    struct server s = begin(r);
    const bool late = (int)strait_param(r, "overlap") == TRAIN;
    struct strait_tensor *w = strait_tensor(r, STRAIT_WEIGHTS, 0, STRAIT_ALL_LAYERS);
    strait_learns(r, w);
    for (int round = 0; strait_round(r); round++) {
        send_model(r, &s, w, round);
        if (late && round > 0)
            collect(r, &s, w, round - 1);
        if (!late || strait_is_last_round(r))
            collect(r, &s, w, round);
        if (strait_param(r, "server_work") > 0)
            strait_work(r, STRAIT_SPAN_COMPUTE, STRAIT_TIMER, strait_param(r, "server_work"), NULL,
                        NULL);
    }
    strait_curves_free(s.curves);
}

/* --- client ------------------------------------------------------------------------------- */

struct client {
    struct strait_adaptive_way up;
    struct strait_tensor *w;         /* the server's parameters */
    struct strait_tensor *update[2]; /* of an even and of an odd round; or what was trained */
    double bound[2], loss[2];
};

static void compress(struct strait_rank *lane, void *arg)
{
    struct client *c = arg;
    for (int round; (round = strait_pend(lane, TO_CODEC)) != STOP;) {
        const int k = round % 2;
        struct strait_packet *p =
            strait_adaptive_encode(lane, &c->up, c->bound[k], c->update[k], c->w);
        p->words[LOSS] = c->loss[k];
        strait_send(lane, SERVER, UPDATE, round, p);
        strait_post(lane, DONE, round);
    }
}

/* This client's loss: only the mean is recorded, so clients differ by a factor drawn once,
 * log-uniform. */
static double loss_of(struct strait_rank *r, double mean_loss)
{
    const double spread = strait_param(r, "loss_spread");
    const double unit =
        strait_random_unit(strait_experiment(r)->seed, "client loss", (uint64_t)strait_me(r), 0);
    return mean_loss * exp(spread * sqrt(12) * (unit - 0.5)); /* unit standard deviation */
}

/* The announced bound; under the fairness policy this client's own, from the server's mean loss
 * over all clients and the loss that this client reported then (in the previous round; with
 * overlap, the one before that). NAN: the codec has no bound. */
static double bound_of(const struct strait_policy *p, const struct strait_packet *model,
                       double reported_loss)
{
    const struct strait_state own = {.client_loss = reported_loss,
                                     .mean_loss = model->words[MEAN_LOSS]};
    const double bound =
        p->kind == STRAIT_POLICY_FAIRNESS ? strait_policy_bound(p, &own) : model->words[BOUND];
    return bound > 0 ? bound : NAN;
}

/* On the cores that encode, each step is a job: the codec waits for at most one. Real training is
 * one job, since the optimiser begins anew at each call. */
static void train(struct strait_rank *r, const struct client *c, int k, bool shares_cores)
{
    const int n_steps = (int)strait_param(r, "local_steps");
    const bool by_step = shares_cores && !strait_trains(r);
    for (int i = 0; by_step && i < n_steps; i++)
        strait_train(r, c->w, c->update[k], 1);
    if (!by_step)
        strait_train(r, c->w, c->update[k], n_steps);
}

static void client(struct strait_rank *r)
{
    struct client c = {.w = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS)};
    const bool late = (int)strait_param(r, "overlap") == TRAIN;
    const bool replaces =
        strait_adaptive_sends_parameters(strait_experiment(r), STRAIT_ADAPTIVE_UP);
    strait_adaptive_begin(r, &c.up, STRAIT_ADAPTIVE_UP);
    for (int k = 0; k < 2; k++)
        c.update[k] =
            strait_tensor(r, replaces ? STRAIT_WEIGHTS : STRAIT_UPDATE, 0, STRAIT_ALL_LAYERS);
    struct strait_rank *lane = strait_spawn(r, compress, &c);
    for (bool last = false; !last;) {
        struct strait_message m = strait_recv(r, SERVER, MODEL);
        const int round = m.tag, k = round % 2;
        strait_enter_round(r, round);
        if (round > (late ? 1 : 0)) /* the update whose memory this round reuses is encoded */
            strait_pend(r, DONE);
        last = m.packet->words[IS_LAST] > 0;
        c.bound[k] = bound_of(&c.up.policy, m.packet, c.loss[late ? k : 1 - k]);
        c.loss[k] = loss_of(r, m.packet->words[LOSS]);
        strait_decode(r, c.w, m.packet);
        if (late && round > 0)
            strait_post(r, TO_CODEC, round - 1);
        train(r, &c, k, late && round > 0 && strait_device(r) == STRAIT_CPU);
        if (strait_trains(r))
            c.loss[k] = strait_train_loss(r);
        if (!late || last)
            strait_post(r, TO_CODEC, round);
    }
    strait_post(r, TO_CODEC, STOP);
    strait_join(r, lane);
}

static void adaptive(struct strait_rank *r)
{
    (strait_me(r) == SERVER ? server : client)(r);
}

/* --- declarations ------------------------------------------------------------------------- */

/* Bounds in other units than the codec's have no profile to look them up in. */
static bool bounds_of(double *least, double *most, const struct strait_experiment *e, int direction)
{
    const struct strait_policy p = strait_adaptive_policy(e, direction);
    const struct strait_codec_choice *c = direction == STRAIT_ADAPTIVE_UP ? &e->up : &e->down;
    strait_policy_range(least, most, &p);
    return c->spec.bound.kind != STRAIT_BOUND_NONE &&
           strait_policy_unit(&p, strait_adaptive_sends_parameters(e, direction)) ==
               STRAIT_UNIT_OF_CODEC;
}

static bool refers(const struct strait_experiment *e, int direction)
{
    return strait_adaptive_sends_parameters(e, direction);
}

static const char *uplink_kind_of(const struct strait_experiment *e)
{
    return strait_adaptive_sends_parameters(e, STRAIT_ADAPTIVE_UP) ? "param" : "update";
}

static int check(const struct strait_experiment *e, struct strait_error *err)
{
    const int k = (int)strait_experiment_param(e, "curve_clients");
    if (strait_adaptive_check(e, STRAIT_ADAPTIVE_UP, err) != 0 ||
        strait_adaptive_check(e, STRAIT_ADAPTIVE_DOWN, err) != 0)
        return -1;
    if (strait_adaptive_sends_parameters(e, STRAIT_ADAPTIVE_UP) &&
        (int)strait_experiment_param(e, "overlap") == TRAIN)
        return strait_refuse_at(
            err, e->file, "/strategy/overlap",
            "expected \"none\" where parameters go up: one round late they would "
            "undo the round between");
    if (k != 2 && k != 4 && k != 8 && k != 16)
        return strait_refuse_at(err, e->file, "/strategy/curve_clients",
                                "expected a recorded number of clients, 2, 4, 8 or 16, found %d",
                                k);
    if ((int)strait_experiment_param(e, "encode") == EACH && strait_feedback_needed(&e->down.spec))
        return strait_refuse_at(
            err, e->file, "/strategy/encode",
            "expected \"once\" where the download codec remembers what it sent, found \"each\"");
    return 0;
}

static bool is_steady(const struct strait_experiment *e, int direction)
{
    const struct strait_policy p = strait_adaptive_policy(e, direction);
    return p.kind == STRAIT_POLICY_FIXED || p.kind == STRAIT_POLICY_RMS_ADAPTIVE;
}

static int period(const struct strait_experiment *e)
{
    return is_steady(e, STRAIT_ADAPTIVE_UP) && is_steady(e, STRAIT_ADAPTIVE_DOWN);
}

static const struct strait_param params[] = {
    {"rounds", "rounds of the run", STRAIT_PARAM_INTEGER, .min = 1, .max = 1e6, .fallback = 5},
    {"local_steps", "training steps of a client in a round", STRAIT_PARAM_INTEGER, .min = 0,
     .max = 1e9, .fallback = 20},
    {"decode_cores", "cores on which the server decodes", STRAIT_PARAM_CORES, .min = 1, .max = 1e6,
     .fallback = 1},
    {"overlap",
     "updates are encoded and sent beside the next round's training and count one round late, or "
     "after their own",
     STRAIT_PARAM_CHOICE, .min = 0, .max = 1, .fallback = TRAIN, .choices = overlaps},
    {"encode", "the server encodes the parameters once a round, or for each client",
     STRAIT_PARAM_CHOICE, .min = 0, .max = 1, .fallback = ONCE, .choices = encodings},
    {"server_work", "the server's own work in a round, such as validation", STRAIT_PARAM_TIME,
     .min = 0, .max = 1e6},
    {"sends", "clients send what training changed, or the trained parameters", STRAIT_PARAM_CHOICE,
     .min = 0, .max = 1, .choices = strait_adaptive_sends},
    {"policy", "how the bound of what clients send follows the training", STRAIT_PARAM_CHOICE,
     .min = 0, .max = STRAIT_POLICY_NOISE, .fallback = STRAIT_POLICY_FIXED,
     .choices = strait_policy_names},
    {"download_policy", "the same of what the server sends, around its codec's own bound",
     STRAIT_PARAM_CHOICE, .min = 0, .max = 9, .choices = strait_adaptive_download_policies},
    {"decay", "schedule: factor of the bound a round", STRAIT_PARAM_NUMBER, .min = 1e-3, .max = 1e3,
     .fallback = 0.9},
    {"rms_factor",
     "rms-adaptive, noise-adaptive: wanted rms error over the rms of the update, of its noise",
     STRAIT_PARAM_NUMBER, .min = 1e-6, .max = 10, .fallback = 0.5},
    {"alpha", "mean-abs: bound over the mean magnitude of a tensor", STRAIT_PARAM_NUMBER,
     .min = 1e-6, .max = 10, .fallback = 0.1},
    {"tolerance", "accuracy-guard: share of the held-out loss that compression may add",
     STRAIT_PARAM_NUMBER, .min = 1e-6, .max = 1, .fallback = 0.005},
    {"gain", "loss-adaptive, per-client-fairness: power of the ratio of losses",
     STRAIT_PARAM_NUMBER, .min = 0, .max = 10, .fallback = 1},
    {"limit", "bounds stay within this factor of the experiment's", STRAIT_PARAM_NUMBER, .min = 1,
     .max = 1e6, .fallback = 10},
    {"loss_spread", "standard deviation of the logarithm of a client's loss over the mean",
     STRAIT_PARAM_NUMBER, .min = 0, .max = 3, .fallback = 0.3},
    {"curve_clients", "clients of the recorded run whose losses stand for the training",
     STRAIT_PARAM_INTEGER, .min = 2, .max = 16, .fallback = 8},
};
const struct strait_strategy strait_strategy_adaptive = {
    .name = "adaptive",
    .summary = "federated averaging, bounds by a policy, updates encoded beside the training",
    .source = "after FedCSpc and FedEFsz, IEEE TPDS 2025, and FedSZ, arXiv 2312.13461",
    .has_server = true,
    .uplink_kind = "update",
    .uplink_kind_of = uplink_kind_of,
    .downlink_kind = "param",
    .refers = refers,
    .trains = true,
    STRAIT_PARAMS(params),
    .check = check,
    .bounds_of = bounds_of,
    .uses_stream = strait_star_uses_stream,
    .period = period,
    .rank_main = adaptive,
};
