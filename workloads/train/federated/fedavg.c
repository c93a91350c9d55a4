/* Federated averaging (McMahan et al., AISTATS 2017) as deployed (Bonawitz et al., MLSys 2019): the
 * server asks some clients, possibly more than it needs, and closes the round when enough updates
 * have arrived or time is up. Clients may be slow or stop responding.
 *
 * The server steps along the mean update: plainly, with momentum (FedAvgM: Hsu et al., 2019),
 *     m <- beta1 m + mean;  w <- w + lr m,
 * or by Adam (FedAdam: Reddi et al., ICLR 2021, algorithm 2), v beginning at tau^2:
 *     m <- beta1 m + (1 - beta1) mean;  v <- beta2 v + (1 - beta2) mean^2;
 *     w <- w + lr m / (sqrt(v) + tau).
 *
 * With `tiers` it asks all in the first round and then, each round, clients of one tier alone,
 * drawn from those as fast as one another (TiFL: Chai et al., HPDC 2020).
 *
 * The server decodes on `decode_cores` cores and adds in rank order. With more than one of
 * `pieces`, a client sends each piece while it encodes the next, and the server decodes it while
 * the next arrives: a round then takes the slowest of the three stages plus one piece. */
#include <math.h>
#include <stdlib.h>

#include "workloads/ask/experiment.h"
#include "federated.h"
#include "robust.h"
#include "server_step.h"
#include "workloads/train/plans/selection.h"

enum {
    SERVER = STRAIT_STAR_SERVER,
    MODEL = STRAIT_STAR_DOWN,
    UPDATE = STRAIT_STAR_UP,
    STOP = -1
}; /* two channels; a tag is the round */

struct update { /* of one of the asked clients */
    struct strait_tensor *y;
    struct strait_task **decoding; /* n_pieces */
    int n_here;
};

struct server {
    struct strait_server_step step;
    int n_wanted, n_asked, n_pieces, n_clients, n_tiers;
    double *took_s; /* each client, with tiers */
    int *order;
    struct strait_robust robust;
    struct strait_tensor **whole; /* scratch of a robust mean */
    double limit_s;               /* of a round; INFINITY: none */
    double update_s, round_s;     /* what its software takes beside decoding and adding */
    int *asked;                   /* clients from 0, ascending */
    struct update *updates, **of_client;
};

static struct strait_tensor *piece_of(struct strait_rank *r, struct strait_tensor *x, int i, int n)
{
    return n > 1 ? strait_slice(r, x, i, n) : x;
}

static struct server begin(struct strait_rank *r)
{
    const int n_clients = strait_n_ranks(r) - 1;
    const int per_round = (int)strait_param(r, "clients_per_round");
    struct server s = {.n_wanted = per_round > 0 ? per_round : n_clients,
                       .n_clients = n_clients,
                       .n_tiers = (int)strait_param(r, "tiers"),
                       .n_pieces = (int)strait_param(r, "pieces"),
                       .limit_s = strait_param(r, "deadline"),
                       .update_s = strait_param(r, "server_update"),
                       .round_s = strait_param(r, "server_round")};
    if (!(s.limit_s > 0))
        s.limit_s = INFINITY;
    const enum strait_mean how = (enum strait_mean)(int)strait_param(r, "mean");
    s.step = strait_server_step_of(r, how != STRAIT_MEAN);
    s.n_asked = s.n_tiers > 1
                    ? n_clients
                    : strait_n_asked(per_round, strait_param(r, "over_selection"), n_clients);
    if (s.n_tiers > 1) {
        s.took_s = strait_alloc(r, (size_t)n_clients, sizeof(*s.took_s));
        s.order = strait_alloc(r, (size_t)n_clients, sizeof(*s.order));
    }
    s.robust = strait_robust_of(r, how, (int)strait_param(r, "bad"), s.n_asked);
    s.whole = strait_alloc(r, (size_t)s.n_asked, sizeof(struct strait_tensor *));
    s.asked = strait_alloc(r, (size_t)s.n_asked, sizeof(*s.asked));
    s.updates = strait_alloc(r, (size_t)s.n_asked, sizeof(*s.updates));
    s.of_client = strait_alloc(r, (size_t)n_clients, sizeof(*s.of_client));
    for (int i = 0; i < s.n_asked; i++) {
        s.updates[i].y = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
        s.updates[i].decoding = strait_alloc(r, (size_t)s.n_pieces, sizeof(*s.updates[i].decoding));
    }
    return s;
}

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Whom to ask and how many of them to wait for. */
static void choose(struct strait_rank *r, struct server *s, int round)
{
    const int per_round = (int)strait_param(r, "clients_per_round");
    const bool has_tiers = s->took_s && s->order;
    int lo = 0, n = s->n_clients;
    if (has_tiers && round == 0) {
        for (int i = 0; i < n; i++)
            s->took_s[i] = INFINITY;
        s->n_wanted = s->n_asked = n;
    } else if (has_tiers) {
        const int tier = (int)(strait_draw(r, "tier") * s->n_tiers);
        if (round == 1)
            strait_order_by_time(s->order, s->took_s, n);
        lo = (int)((long)tier * n / s->n_tiers);
        n = (int)((long)(tier + 1) * n / s->n_tiers) - lo;
        s->n_wanted = per_round > 0 && per_round < n ? per_round : n;
        s->n_asked = strait_n_asked(s->n_wanted, strait_param(r, "over_selection"), n);
    }
    strait_choose_clients(s->asked, s->n_asked, n,
                          s->n_asked < n ? strait_draw(r, "selection") : 0);
    for (int i = 0; i < s->n_asked && has_tiers && round > 0; i++)
        s->asked[i] = s->order[lo + s->asked[i]];
    if (has_tiers)
        qsort(s->asked, (size_t)s->n_asked, sizeof(*s->asked), ascending);
}

/* Send the model, encoded once; the flows share the server's port. If a round may close before all
 * clients have the model, it is still under way while the next one is made. */
static void ask(struct strait_rank *r, struct server *s, struct strait_tensor *w, int round)
{
    struct strait_codec *codec = strait_codec(r, "down");
    choose(r, s, round);
    const bool may_close_early = s->n_asked > s->n_wanted || !isinf(s->limit_s);
    for (int i = 0; i < s->n_asked; i++)
        strait_reach(r, codec, 1 + s->asked[i]);
    struct strait_packet *model =
        may_close_early ? strait_snapshot(r, codec, NAN, w) : strait_encode(r, codec, NAN, w);
    for (int i = 0; i < s->n_asked; i++) {
        s->of_client[s->asked[i]] = &s->updates[i];
        strait_send(r, 1 + s->asked[i], MODEL, round, strait_keep(model));
    }
    strait_drop(r, model);
}

/* Decode updates as they arrive, k cores: k at a time. */
static void collect(struct strait_rank *r, struct server *s, int round)
{
    const double begin_s = strait_now_s(r), deadline_s = begin_s + s->limit_s;
    struct strait_message m;
    int n_whole = 0;
    while (n_whole < s->n_wanted && strait_recv_by(r, &m, STRAIT_ANY, UPDATE, deadline_s)) {
        if (m.tag != round) { /* late: its bytes were sent, its work is lost */
            strait_drop(r, m.packet);
            continue;
        }
        struct update *u = s->of_client[m.src - 1];
        u->decoding[u->n_here] =
            strait_decode_start(r, piece_of(r, u->y, u->n_here, s->n_pieces), m.packet);
        n_whole += ++u->n_here == s->n_pieces; /* pieces arrive in order */
        if (s->took_s && round == 0)
            s->took_s[m.src - 1] = m.arrived_s - begin_s;
    }
    strait_note_missing(r, s->n_wanted - n_whole);
}

static void spend(struct strait_rank *r, double time_s)
{
    if (time_s > 0)
        strait_work(r, STRAIT_SPAN_AGGREGATE, STRAIT_CPU, time_s, NULL, NULL);
}

/* All that are whole, each weighing alike. */
static void robust_mean(struct strait_rank *r, struct server *s)
{
    int n = 0;
    for (int i = 0; i < s->n_asked; i++) {
        struct update *u = &s->updates[i];
        for (int piece = 0; piece < u->n_here; piece++)
            strait_wait(r, u->decoding[piece]);
        if (u->n_here == s->n_pieces) {
            s->whole[n++] = u->y;
            spend(r, s->update_s);
        }
        u->n_here = 0;
    }
    strait_set(r, s->step.mean, s->step.mean, 0);
    if (n > 0)
        strait_robust_mean(r, &s->robust, s->step.mean, s->whole, n);
}

/* Add in rank order, whatever the order of arrival, each by its share of the data. */
static void average(struct strait_rank *r, struct server *s, struct strait_tensor *w)
{
    struct strait_tensor *sum = s->step.mean ? s->step.mean : w;
    const double lr = s->step.mean ? 1 : strait_param(r, "server_lr");
    double n_examples = 0;
    if (s->step.mean)
        strait_set(r, s->step.mean, s->step.mean, 0);
    for (int i = 0; i < s->n_asked; i++)
        if (s->updates[i].n_here == s->n_pieces)
            n_examples += strait_n_examples(r, 1 + s->asked[i]);
    for (int i = 0; i < s->n_asked; i++) {
        struct update *u = &s->updates[i];
        for (int piece = 0; piece < u->n_here; piece++)
            strait_wait(r, u->decoding[piece]);
        if (u->n_here == s->n_pieces)
            strait_add(r, sum, u->y, lr * (strait_n_examples(r, 1 + s->asked[i]) / n_examples));
        if (u->n_here == s->n_pieces)
            spend(r, s->update_s);
        u->n_here = 0;
    }
}

static void server(struct strait_rank *r)
{
    struct server s = begin(r);
    struct strait_tensor *w = strait_tensor(r, STRAIT_WEIGHTS, 0, STRAIT_ALL_LAYERS);
    strait_learns(r, w);
    for (int round = 0; strait_round(r); round++) {
        ask(r, &s, w, round);
        collect(r, &s, round);
        if (s.robust.how == STRAIT_MEAN)
            average(r, &s, w);
        else
            robust_mean(r, &s);
        strait_server_step(r, &s.step, w, round);
        spend(r, s.round_s);
    }
    strait_star_stop(r, STOP);
}

struct client {
    struct strait_tensor *w, *update;
    int n_pieces, local_steps;
    bool is_anew; /* how slow it is, each round */
    double dropout;
    double train_time_s; /* 0: local_steps */
};

/* Semi-synchronous (Stripelis, Thompson and Ambite, ACM TIST 2022): all train for the same time,
 * each as many steps as fit, so that no client waits for a slower one. */
static int n_steps(const struct strait_rank *r, const struct client *c)
{
    const double step_s = strait_train_step_s(r);
    if (!(c->train_time_s > 0) || !(step_s > 0))
        return c->local_steps;
    return (int)fmin(1e9, fmax(1, floor(c->train_time_s / step_s + 1e-9)));
}

/* Train on the server's model, and send the update. */
static bool answer(struct strait_rank *r, void *of, const struct strait_message *m)
{
    const struct client *c = of;
    if (m->tag == STOP) {
        strait_drop(r, m->packet);
        return false;
    }
    strait_enter_round(r, m->tag);
    if (c->is_anew)
        strait_straggle(r, false);
    strait_decode(r, c->w, m->packet);
    if (c->dropout > 0 && strait_draw(r, "dropout") < c->dropout)
        return true; /* silent: only the server's deadline notices */
    if (strait_is_away(r))
        return true;
    strait_train(r, c->w, c->update, n_steps(r, c));
    if (strait_is_away(r)) /* left meanwhile */
        return true;
    for (int i = 0; i < c->n_pieces; i++)
        strait_send(
            r, SERVER, UPDATE, m->tag,
            strait_encode(r, strait_codec(r, "up"), NAN, piece_of(r, c->update, i, c->n_pieces)));
    return true;
}

static void client(struct strait_rank *r)
{
    struct client *c = strait_alloc(r, 1, sizeof(*c));
    c->w = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
    c->update = strait_tensor(r, STRAIT_UPDATE, 0, STRAIT_ALL_LAYERS);
    c->n_pieces = (int)strait_param(r, "pieces");
    c->local_steps = (int)strait_param(r, "local_steps");
    c->is_anew = strait_straggles_anew(r);
    c->dropout = strait_param(r, "dropout");
    c->train_time_s = strait_param(r, "train_time");
    strait_straggle(r, true);
    strait_serve(r, SERVER, MODEL, answer, c);
}

static void fedavg(struct strait_rank *r)
{
    (strait_me(r) == SERVER ? server : client)(r);
}

static int check(const struct strait_experiment *e, struct strait_error *err)
{
    const int per_round = (int)strait_experiment_param(e, "clients_per_round");
    if (per_round > e->n_clients)
        return strait_refuse_at(err, e->file, "/strategy/clients_per_round",
                                "expected at most the %d clients that there are, found %d",
                                e->n_clients, per_round);
    if (per_round == 0 && strait_experiment_param(e, "over_selection") > 1)
        return strait_refuse_at(
            err, e->file, "/strategy/clients_per_round",
            "expected a number above 0 beside over_selection, found 0, which is all clients");
    if (strait_experiment_param(e, "tiers") > e->n_clients)
        return strait_refuse_at(err, e->file, "/strategy/tiers",
                                "expected at most the %d clients that there are, found %.0f",
                                e->n_clients, strait_experiment_param(e, "tiers"));
    return strait_star_check_dropout(e, err);
}

static const struct strait_param params[] = {
    {"rounds", "rounds of the run", STRAIT_PARAM_INTEGER, .min = 1, .max = 1e6, .fallback = 5},
    {"local_steps", "training steps of a client in a round", STRAIT_PARAM_INTEGER, .min = 0,
     .max = 1e9, .fallback = 20},
    {"train_time", "instead: all train as long, each the steps that fit, at least one; 0 s: not",
     STRAIT_PARAM_TIME, .min = 0, .max = 1e9},
    {"pieces", "parts that a client encodes and sends one by one", STRAIT_PARAM_INTEGER, .min = 1,
     .max = 4096, .fallback = 1},
    {"decode_cores", "cores on which the server decodes", STRAIT_PARAM_CORES, .min = 1, .max = 1e6,
     .fallback = 1},
    {"clients_per_round", "updates that a round wants; 0: of all clients", STRAIT_PARAM_INTEGER,
     .min = 0, .max = 1e6},
    {"over_selection", "clients asked for each update wanted; the first ones count",
     STRAIT_PARAM_NUMBER, .min = 1, .max = 1e6, .fallback = 1},
    {"deadline", "a round takes what is there after this time; 0 s: it waits", STRAIT_PARAM_TIME,
     .min = 0, .max = 1e9},
    {"dropout", "probability that an asked client falls silent", STRAIT_PARAM_PERCENT, .min = 0,
     .max = 1},
    {"tiers",
     "of clients as fast as one another: a round asks one of these, the first all; 1: none",
     STRAIT_PARAM_INTEGER, .min = 1, .max = 1e6, .fallback = 1},
    {"mean", "of the updates: by data, or one that bad updates cannot move far, all alike",
     STRAIT_PARAM_CHOICE, .min = 0, .max = STRAIT_KRUM, .choices = strait_means},
    {"bad", "updates that a trimmed mean cuts off at each end, or that Krum takes for bad",
     STRAIT_PARAM_INTEGER, .min = 0, .max = 1e6, .fallback = 1},
    {"server_optimiser", "the server's step along the mean update: plain, FedAvgM or FedAdam",
     STRAIT_PARAM_CHOICE, .min = 0, .max = STRAIT_SERVER_ADAM, .choices = strait_server_optimisers},
    {"server_lr", "learning rate of the server", STRAIT_PARAM_NUMBER, .min = 0, .max = 100,
     .fallback = 1},
    {"server_momentum", "momentum of the server, beta1 of Adam", STRAIT_PARAM_NUMBER, .min = 0,
     .max = 0.9999, .fallback = 0.9},
    {"server_beta2", "beta2 of the server's Adam", STRAIT_PARAM_NUMBER, .min = 0, .max = 0.9999,
     .fallback = 0.99},
    {"server_tau", "what the server's Adam adds to the root of v", STRAIT_PARAM_NUMBER,
     .min = 1e-12, .max = 100, .fallback = 1e-3},
    {"server_update", "what the server's software takes for each update, one after another",
     STRAIT_PARAM_TIME, .min = 0, .max = 1e6},
    {"server_round", "and once a round: validation, bookkeeping", STRAIT_PARAM_TIME, .min = 0,
     .max = 1e6},
    STRAIT_STRAGGLER_PARAMS,
    {"share_spread", "in simulations clients' shares of a link are keyed draws of 1 +- this",
     STRAIT_PARAM_PERCENT, .min = 0, .max = 0.9},
};
const struct strait_strategy strait_strategy_fedavg = {
    .name = "fedavg",
    .summary = "federated averaging: broadcast, local steps, upload, average",
    .source = "McMahan et al., AISTATS 2017; train_time: Stripelis et al., ACM TIST 2022; tiers: "
              "Chai et al., HPDC 2020; mean: Yin et al., ICML 2018, Blanchard et al., NeurIPS 2017",
    .has_server = true,
    .leaving = STRAIT_LEAVING_BY_DEADLINE,
    .has_one_lane = true,
    .trains = true,
    .uplink_kind = "update",
    .downlink_kind = "param",
    .refers = strait_star_refers,
    STRAIT_PARAMS(params),
    .check = check,
    .uses_stream = strait_star_uses_stream,
    .period = strait_strategy_repeats,
    .rank_main = fedavg,
};
