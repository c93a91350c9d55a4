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
#include "federated.h"
#include "workloads/train/plans/policy.h"
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

static struct strait_policy policy_of(const struct strait_experiment *e)
{
    return (struct strait_policy){.kind =
                                      (enum strait_policy_kind)strait_experiment_param(e, "policy"),
                                  .base = e->up.spec.bound.value, /* 0: the codec has none */
                                  .decay = strait_experiment_param(e, "decay"),
                                  .rms_factor = strait_experiment_param(e, "rms_factor"),
                                  .gain = strait_experiment_param(e, "gain"),
                                  .limit = strait_experiment_param(e, "limit")};
}

static bool reads_losses(const struct strait_policy *p)
{
    return p->kind == STRAIT_POLICY_LOSS_ADAPTIVE || p->kind == STRAIT_POLICY_FAIRNESS;
}

/* --- server ------------------------------------------------------------------------------- */

/* Updates of two rounds can be under way at once: an odd and an even round. */
struct server {
    int n_clients;
    struct strait_policy policy;
    struct strait_curves *curves; /* NULL: the policy reads none */
    const struct strait_curve *series;
    double mean_loss; /* of the losses that clients reported; NAN: none yet */
    struct wave {
        struct strait_tensor **y;      /* n_clients */
        struct strait_task **decoding; /* n_clients */
        double loss_sum;
        int n_here;
    } waves[2];
};

static struct server begin(struct strait_rank *r)
{
    struct strait_error err = {0};
    struct server s = {.n_clients = strait_n_ranks(r) - 1,
                       .policy = policy_of(strait_experiment(r)),
                       .mean_loss = NAN};
    for (int k = 0; k < 2; k++) {
        s.waves[k].y = strait_alloc(r, (size_t)s.n_clients, sizeof(struct strait_tensor *));
        s.waves[k].decoding = strait_alloc(r, (size_t)s.n_clients, sizeof(struct strait_task *));
        for (int i = 0; i < s.n_clients; i++)
            s.waves[k].y[i] = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
    }
    if (!reads_losses(&s.policy))
        return s;
    if (strait_curves_load(&s.curves, NULL, &err) != 0)
        strait_fail(r, &err);
    s.series = strait_curves_find(s.curves, (unsigned)strait_param(r, "curve_clients"), 1, "update",
                                  "none", 0, false);
    return s;
}

/* Encode once, or for every client as simple runners do; the flows share the server's port. */
static void send_model(struct strait_rank *r, struct server *s, struct strait_tensor *w, int round)
{
    const bool each = (int)strait_param(r, "encode") == EACH;
    struct strait_state state = {.round = round, .rms = 1};
    if (s->series)
        state = strait_state_of_curve(s->series, round);
    struct strait_packet *model = NULL;
    for (int i = 1; i <= s->n_clients; i++) {
        if (!model) {
            model = strait_encode(r, strait_codec(r, "down"), NAN, w);
            model->words[BOUND] = strait_policy_bound(&s->policy, &state);
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
    for (int i = 0; i < s->n_clients; i++) {
        strait_wait(r, wave->decoding[i]);
        strait_add(r, w, wave->y[i], 1.0 / s->n_clients);
    }
    s->mean_loss = wave->loss_sum / s->n_clients;
    wave->loss_sum = 0;
    wave->n_here = 0;
}

static void server(struct strait_rank *r)
{
    struct server s = begin(r);
    const bool late = (int)strait_param(r, "overlap") == TRAIN;
    struct strait_tensor *w = strait_tensor(r, STRAIT_WEIGHTS, 0, STRAIT_ALL_LAYERS);
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
    struct strait_tensor *update[2]; /* of an even and of an odd round */
    double bound[2], loss[2];
};

static void compress(struct strait_rank *lane, void *arg)
{
    struct client *c = arg;
    for (int round; (round = strait_pend(lane, TO_CODEC)) != STOP;) {
        const int k = round % 2;
        struct strait_packet *p =
            strait_encode(lane, strait_codec(lane, "up"), c->bound[k], c->update[k]);
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

/* On the cores that encode, each step is a job: the codec waits for at most one. */
static void train(struct strait_rank *r, struct strait_tensor *update, bool shares_cores)
{
    const int n_steps = (int)strait_param(r, "local_steps");
    for (int i = 0; shares_cores && i < n_steps; i++)
        strait_train(r, NULL, update, 1);
    if (!shares_cores)
        strait_train(r, NULL, update, n_steps);
}

static void client(struct strait_rank *r)
{
    struct client c = {0};
    const struct strait_policy policy = policy_of(strait_experiment(r));
    const bool late = (int)strait_param(r, "overlap") == TRAIN;
    struct strait_tensor *w = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
    for (int k = 0; k < 2; k++)
        c.update[k] = strait_tensor(r, STRAIT_UPDATE, 0, STRAIT_ALL_LAYERS);
    struct strait_rank *lane = strait_spawn(r, compress, &c);
    for (bool last = false; !last;) {
        struct strait_message m = strait_recv(r, SERVER, MODEL);
        const int round = m.tag, k = round % 2;
        strait_enter_round(r, round);
        if (round > (late ? 1 : 0)) /* the update whose memory this round reuses is encoded */
            strait_pend(r, DONE);
        last = m.packet->words[IS_LAST] > 0;
        c.bound[k] = bound_of(&policy, m.packet, c.loss[late ? k : 1 - k]);
        c.loss[k] = loss_of(r, m.packet->words[LOSS]);
        strait_decode(r, w, m.packet);
        if (late && round > 0)
            strait_post(r, TO_CODEC, round - 1);
        train(r, c.update[k], late && round > 0 && strait_device(r) == STRAIT_CPU);
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

static bool bounds_of(double *least, double *most, const struct strait_experiment *e)
{
    const struct strait_policy p = policy_of(e);
    strait_policy_range(least, most, &p);
    return e->up.spec.bound.kind != STRAIT_BOUND_NONE;
}

static int check(const struct strait_experiment *e, struct strait_error *err)
{
    char where[512];
    const struct strait_policy p = policy_of(e);
    const int k = (int)strait_experiment_param(e, "curve_clients");
    const char *name = strait_policy_names[p.kind];
    const bool none =
        strcmp(e->up.spec.ops->name, "none") == 0; /* as a reference: no bound to set */
    if (!none && p.kind != STRAIT_POLICY_FIXED && e->up.spec.bound.kind == STRAIT_BOUND_NONE) {
        snprintf(where, sizeof(where), "%s#/codec/bound", e->file);
        return strait_error_set(err, STRAIT_ERR_INPUT, where,
                                "expected a codec with a bound such as {\"range\": 1e-3} for "
                                "policy \"%s\", found none",
                                name);
    }
    if (!none && p.kind == STRAIT_POLICY_RMS_ADAPTIVE &&
        e->up.spec.bound.kind != STRAIT_BOUND_RMS) {
        snprintf(where, sizeof(where), "%s#/codec/bound", e->file);
        return strait_error_set(err, STRAIT_ERR_INPUT, where,
                                "expected a bound {\"rms\": ...} for policy \"%s\", found \"%s\"",
                                name, strait_bound_kind_name(e->up.spec.bound.kind));
    }
    snprintf(where, sizeof(where), "%s#/strategy/curve_clients", e->file);
    if (k != 2 && k != 4 && k != 8 && k != 16)
        return strait_error_set(err, STRAIT_ERR_INPUT, where,
                                "expected a recorded number of clients, 2, 4, 8 or 16, found %d",
                                k);
    snprintf(where, sizeof(where), "%s#/strategy/encode", e->file);
    if ((int)strait_experiment_param(e, "encode") == EACH && strait_feedback_needed(&e->down.spec))
        return strait_error_set(err, STRAIT_ERR_INPUT, where,
                                "expected \"once\" where the download codec remembers what it "
                                "sent, found \"each\"");
    return 0;
}

static int period(const struct strait_experiment *e)
{
    const struct strait_policy p = policy_of(e);
    return p.kind == STRAIT_POLICY_FIXED || p.kind == STRAIT_POLICY_RMS_ADAPTIVE;
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
    {"policy", "how clients' bounds follow the training", STRAIT_PARAM_CHOICE, .min = 0, .max = 4,
     .fallback = STRAIT_POLICY_FIXED, .choices = strait_policy_names},
    {"decay", "schedule: factor of the bound a round", STRAIT_PARAM_NUMBER, .min = 1e-3, .max = 1e3,
     .fallback = 0.9},
    {"rms_factor", "rms-adaptive: wanted rms error over the rms of the update", STRAIT_PARAM_NUMBER,
     .min = 1e-6, .max = 10, .fallback = 0.5},
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
    .downlink_kind = "param",
    .params = params,
    .n_params = sizeof(params) / sizeof(params[0]),
    .check = check,
    .bounds_of = bounds_of,
    .uses_stream = strait_star_uses_stream,
    .period = period,
    .rank_main = adaptive,
};
