/* Decoupled DiLoCo (Douillard et al., 2026): learners train on clocks of their own, and a syncer on
 * rank 0 keeps the model, in P equal parts of which one is synchronised after each H / P steps. A
 * learner sends how far it has moved the part, goes on, and takes the result `overlap_steps` later;
 * then alone it may wait. Two parts, H = 4, overlap 1:
 *
 *     learner   s s 0> s <0 s 1> s <1 s 0> ..        s: a step; 0>: part 0 sent, <0: taken
 *     syncer        |merge 0|   |merge 1|            a quorum of learners, and who comes in time
 *
 * The syncer waits for a quorum, and then for others for as long as nobody has to wait for it:
 * `grace` times the slack, overlap_steps x step - time to the quorum - time to synchronise
 * (equation 3). Who comes later has worked for nothing on this part: it takes the result and
 * goes on as if it had sent when the first of the others did. A part of a learner weighs by tokens
 * x tokens / steps (section 3.2), so with equal batches by its steps. */
#include <math.h>
#include <stdio.h>

#include "federated.h"
#include "merging.h"
#include "workloads/ask/experiment.h"

enum { SYNCER = STRAIT_STAR_SERVER, DOWN = STRAIT_STAR_DOWN, UP = STRAIT_STAR_UP };
/* A tag is a synchronisation, part tag mod P; words of a learner: */
enum { STEPS, NEEDED_BY_S, SENT_AT_S };

struct parts {
    int n, n_steps, n_syncs;
};

static struct parts parts_of(struct strait_rank *r)
{
    const int n = (int)strait_param(r, "fragments");
    return (struct parts){n, (int)strait_param(r, "local_steps"),
                          n * (int)strait_param(r, "rounds")};
}

static int quorum_of(const struct strait_experiment *e)
{
    const int asked = (int)strait_experiment_param(e, "quorum");
    return asked > 0 ? asked : e->n_clients;
}

/* --- The syncer. */

struct syncer {
    struct parts parts;
    int n_learners, quorum;
    struct strait_tensor *model, *momentum, *merged, **theirs;
    struct strait_packet **came; /* P x learners: what has come of the next P synchronisations */
    int *n_came;                 /* of each part */
    struct strait_tensor **x;    /* of those that count, in the order of ranks, */
    double *w;
    double slack_s, merge_s; /* the least slack of those that came; of the last merge */
};

static struct syncer begin(struct strait_rank *r)
{
    const size_t n = (size_t)strait_n_ranks(r) - 1;
    struct syncer s = {.parts = parts_of(r),
                       .n_learners = (int)n,
                       .quorum = quorum_of(strait_experiment(r)),
                       .model = strait_tensor(r, STRAIT_WEIGHTS, 0, STRAIT_ALL_LAYERS),
                       .momentum = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS),
                       .merged = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS),
                       .theirs = strait_alloc(r, n, sizeof(*s.theirs)),
                       .x = strait_alloc(r, n, sizeof(*s.x)),
                       .w = strait_alloc(r, n, sizeof(*s.w))};
    s.came = strait_alloc(r, n * (size_t)s.parts.n, sizeof(struct strait_packet *));
    s.n_came = strait_alloc(r, (size_t)s.parts.n, sizeof(*s.n_came));
    for (size_t i = 0; i < n; i++)
        s.theirs[i] = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
    strait_learns(r, s.model);
    return s;
}

/* What is for a later synchronisation waits; what is for an earlier one comes too late. */
static void sort_in(struct strait_rank *r, struct syncer *s, int sync, struct strait_message m)
{
    const int p = m.tag % s->parts.n;
    if (m.tag < sync) {
        strait_drop(r, m.packet);
        return;
    }
    s->came[p * s->n_learners + m.src - 1] = m.packet;
    s->n_came[p]++;
}

/* How long others may still come once the quorum is there. */
static double grace_s(struct strait_rank *r, const struct syncer *s, int p)
{
    double slack_s = INFINITY;
    const double now_s = strait_now_s(r);
    for (int i = 0; i < s->n_learners; i++) {
        const struct strait_packet *packet = s->came[p * s->n_learners + i];
        if (packet) /* the way back takes what the way here took */
            slack_s = fmin(slack_s, packet->words[NEEDED_BY_S] - now_s - s->merge_s -
                                        (now_s - packet->words[SENT_AT_S]));
    }
    return strait_param(r, "grace") * fmax(0, slack_s);
}

static void collect(struct strait_rank *r, struct syncer *s, int sync)
{
    struct strait_message m;
    const int p = sync % s->parts.n;
    double deadline_s = INFINITY;
    while (s->n_came[p] < s->n_learners) {
        if (s->n_came[p] >= s->quorum && isinf(deadline_s))
            deadline_s = strait_now_s(r) + grace_s(r, s, p);
        if (!strait_recv_by(r, &m, STRAIT_ANY, UP, deadline_s))
            return;
        sort_in(r, s, sync, m);
    }
}

static void synchronise(struct strait_rank *r, struct syncer *s, int sync)
{
    const int p = sync % s->parts.n;
    struct strait_tensor *out = strait_slice(r, s->merged, p, s->parts.n),
                         *w = strait_slice(r, s->model, p, s->parts.n);
    int n = 0;
    collect(r, s, sync);
    const double start_s = strait_now_s(r);
    double sent_at_s = start_s;
    for (int i = 0; i < s->n_learners; i++) {
        struct strait_packet **packet = &s->came[p * s->n_learners + i];
        if (!*packet)
            continue;
        s->x[n] = strait_slice(r, s->theirs[i], p, s->parts.n);
        s->w[n] = (*packet)->words[STEPS];
        sent_at_s = fmin(sent_at_s, (*packet)->words[SENT_AT_S]);
        strait_decode(r, s->x[n++], *packet);
        *packet = NULL;
    }
    s->n_came[p] = 0;
    strait_merge_changes(r, (enum strait_merge)strait_param(r, "merge"), out, s->x, s->w, n,
                         strait_part_start(strait_n_elems(s->model), p, s->parts.n));
    strait_outer_step(r, w, strait_slice(r, s->momentum, p, s->parts.n), out);
    struct strait_packet *result = strait_snapshot(r, strait_codec(r, "down"), NAN, w);
    result->words[SENT_AT_S] = sent_at_s;
    for (int i = 1; i <= s->n_learners; i++)
        strait_send(r, i, DOWN, sync, strait_keep(result));
    strait_drop(r, result);
    s->merge_s = strait_now_s(r) - start_s;
}

/* --- A learner. */

struct learner {
    struct parts parts;
    struct strait_tensor *local, *base, *update, *moved[2];
    int next, n_taken; /* synchronisations: the next to take part in; those whose result is here */
    long step, due;    /* its own; that after which it sends the next */
    struct strait_message *came; /* results that are not taken yet, by part */
    int n_came;
    long *sent, *since; /* of each part: the step after which it was sent, or last taken */
    bool copies;        /* a late packet may still be unread when its part moves again */
};

static int gap(const struct parts *parts, int sync)
{
    const int p = sync % parts->n;
    return (p + 1) * parts->n_steps / parts->n - p * parts->n_steps / parts->n;
}

static void send_part(struct strait_rank *r, struct learner *l)
{
    const int p = l->next % l->parts.n, n = l->parts.n;
    struct strait_tensor *moved = strait_slice(r, l->moved[l->next / n % 2], p, n);
    struct strait_codec *codec = strait_codec(r, "up");
    strait_set_change(r, moved, strait_slice(r, l->local, p, n), strait_slice(r, l->base, p, n),
                      strait_slice(r, l->update, p, n));
    struct strait_packet *packet =
        l->copies ? strait_snapshot(r, codec, NAN, moved) : strait_encode(r, codec, NAN, moved);
    packet->words[STEPS] = (double)(l->step - l->since[p]);
    packet->words[SENT_AT_S] = strait_now_s(r);
    packet->words[NEEDED_BY_S] =
        packet->words[SENT_AT_S] + strait_param(r, "overlap_steps") * strait_train_step_s(r);
    strait_send(r, SYNCER, UP, l->next, packet);
    l->sent[p] = l->step;
    l->due += gap(&l->parts, ++l->next);
}

static void take(struct strait_rank *r, struct learner *l, struct strait_message m)
{
    const int p = m.tag % l->parts.n, n = l->parts.n;
    const double own = strait_param(r, "mixing");
    struct strait_tensor *base = strait_slice(r, l->base, p, n),
                         *local = strait_slice(r, l->local, p, n);
    const double sent_at_s = m.packet->words[SENT_AT_S];
    strait_decode(r, base, m.packet);
    strait_set(r, local, local, own);
    strait_add(r, local, base, 1 - own);
    l->since[p] = l->step;
    l->n_taken = m.tag + 1;
    if (l->next < l->n_taken) { /* the others did not wait for it */
        l->next = l->n_taken;
        l->due = l->step + gap(&l->parts, l->next) -
                 (long)((strait_now_s(r) - sent_at_s) / strait_train_step_s(r));
    }
}

/* A result that is not due yet waits. One of a synchronisation in which this learner has not taken
 * part says that it is late: it takes up with all that has come. */
static void look(struct strait_rank *r, struct learner *l)
{
    struct strait_message m;
    while (strait_recv_by(r, &m, SYNCER, DOWN, -INFINITY)) {
        l->came[l->n_came++ % l->parts.n] = m;
        while (m.tag >= l->next && l->n_taken < l->n_came)
            take(r, l, l->came[l->n_taken % l->parts.n]);
    }
}

/* Take what is due, waiting for it. */
static void take_due(struct strait_rank *r, struct learner *l)
{
    const long overlap = (long)strait_param(r, "overlap_steps");
    while (l->n_taken < l->next && l->step >= l->sent[l->n_taken % l->parts.n] + overlap) {
        if (l->n_taken == l->n_came)
            l->came[l->n_came++ % l->parts.n] = strait_recv(r, SYNCER, DOWN);
        take(r, l, l->came[l->n_taken % l->parts.n]);
    }
}

/* Where it trains, events of the network take a learner away; what comes meanwhile is taken. */
static void wait_away(struct strait_rank *r, struct learner *l)
{
    struct strait_message m;
    while (strait_is_away(r) && l->n_taken < l->parts.n_syncs) {
        while (l->n_taken < l->n_came)
            take(r, l, l->came[l->n_taken % l->parts.n]);
        if (strait_recv_by(r, &m, SYNCER, DOWN, strait_next_presence_s(r)))
            l->came[l->n_came++ % l->parts.n] = m;
    }
}

static void learn(struct strait_rank *r)
{
    const size_t n = (size_t)strait_param(r, "fragments");
    struct learner l = {.parts = parts_of(r),
                        .local = strait_tensor(r, STRAIT_WEIGHTS, 0, STRAIT_ALL_LAYERS),
                        .base = strait_tensor(r, STRAIT_WEIGHTS, 0, STRAIT_ALL_LAYERS),
                        .update = strait_tensor(r, STRAIT_UPDATE, 0, STRAIT_ALL_LAYERS),
                        .came = strait_alloc(r, n, sizeof(struct strait_message)),
                        .sent = strait_alloc(r, n, sizeof(long)),
                        .since = strait_alloc(r, n, sizeof(long)),
                        .copies = quorum_of(strait_experiment(r)) < strait_n_ranks(r) - 1};
    for (int i = 0; i < 2; i++)
        l.moved[i] = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
    strait_owns(r, l.local);
    strait_straggle(r, true);
    l.due = gap(&l.parts, 0);
    for (wait_away(r, &l); l.n_taken < l.parts.n_syncs; wait_away(r, &l)) {
        strait_enter_round(r, l.next / l.parts.n);
        strait_straggle(r, false);
        strait_train(r, NULL, l.update, 1);
        l.step++;
        look(r, &l);
        while (l.step >= l.due && l.next < l.parts.n_syncs && !strait_is_away(r))
            send_part(r, &l);
        take_due(r, &l);
    }
}

static void decoupled_diloco(struct strait_rank *r)
{
    if (strait_me(r) != SYNCER) {
        learn(r);
        return;
    }
    struct syncer s = begin(r);
    for (int round = 0; strait_round(r); round++)
        for (int p = 0; p < s.parts.n; p++)
            synchronise(r, &s, round * s.parts.n + p);
}

static int check(const struct strait_experiment *e, struct strait_error *err)
{
    const double n_parts = strait_experiment_param(e, "fragments"),
                 n_rounds = strait_experiment_param(e, "rounds"),
                 n_steps = strait_experiment_param(e, "local_steps");
    int n_stay = 0;
    for (int i = 1; i < e->n_ranks; i++)
        n_stay += !e->network->out[i].present;
    if (n_parts > (double)e->model->n_elems || n_parts * n_rounds > 1e9)
        return strait_refuse_at(
            err, e->file, "/strategy/fragments",
            "expected at most the model's %zu elements, and with the rounds 1e9 "
            "synchronisations, found %g",
            e->model->n_elems, n_parts);
    if (strait_experiment_param(e, "overlap_steps") >= n_steps)
        return strait_refuse_at(err, e->file, "/strategy/overlap_steps",
                                "expected fewer than the %g local_steps, since a fragment is taken "
                                "before it is sent again, found %g",
                                n_steps, strait_experiment_param(e, "overlap_steps"));
    if (quorum_of(e) > e->n_clients || (n_stay < e->n_clients && quorum_of(e) > n_stay))
        return strait_refuse_at(err, e->file, "/strategy/quorum",
                                "expected at most the %d learners that never leave, found %d%s",
                                n_stay, quorum_of(e),
                                strait_experiment_param(e, "quorum") > 0 ? "" : " (0: all)");
    return 0;
}

/* Without draws, and where all wait for all, rounds are alike. */
static int period(const struct strait_experiment *e)
{
    return quorum_of(e) == e->n_clients && !(strait_experiment_param(e, "straggler_spread") > 0);
}

/* H, P and the overlap are those of the paper's runs. */
static const struct strait_param params[] = {
    {"rounds", "times that every fragment is synchronised", STRAIT_PARAM_INTEGER, .min = 1,
     .max = 1e6, .fallback = 5},
    {"local_steps", "a learner's steps between two synchronisations of a fragment",
     STRAIT_PARAM_INTEGER, .min = 1, .max = 1e6, .fallback = 24},
    {"fragments", "equal parts of the model", STRAIT_PARAM_INTEGER, .min = 1, .max = 1e4,
     .fallback = 24},
    {"overlap_steps", "steps beside which a fragment is synchronised", STRAIT_PARAM_INTEGER,
     .min = 0, .max = 1e6, .fallback = 2},
    {"quorum", "learners that a synchronisation waits for; 0: all", STRAIT_PARAM_INTEGER, .min = 0,
     .max = 1e6},
    {"grace", "share of the slack for which it waits for more", STRAIT_PARAM_PERCENT, .min = 0,
     .max = 1},
    {"merge", "the weighted mean, or norms and directions each by itself", STRAIT_PARAM_CHOICE,
     .min = 0, .max = STRAIT_MERGE_RADIAL, .fallback = STRAIT_MERGE_RADIAL,
     .choices = strait_merges},
    {"mixing", "share that a learner keeps of what it trained meanwhile", STRAIT_PARAM_NUMBER,
     .min = 0, .max = 1, .fallback = 0.5},
    STRAIT_STRAGGLER_PARAMS,
    STRAIT_OUTER_PARAMS,
};
const struct strait_strategy strait_strategy_decoupled_diloco = {
    .name = "decoupled-diloco",
    .summary = "DiLoCo by fragments and a syncer that waits for a quorum: learners wait for nobody",
    .source = "Douillard et al., Decoupled DiLoCo, 2026 (arXiv 2604.21428)",
    .has_server = true,
    .leaving = STRAIT_LEAVING_IF_ONE_STAYS,
    .has_one_lane = true,
    .trains = true,
    .uplink_kind = "update",
    .downlink_kind = "param",
    STRAIT_PARAMS(params),
    .check = check,
    .uses_stream = strait_star_uses_stream,
    .needs_packets = strait_strategy_fills_both_ways,
    .period = period,
    .rank_main = decoupled_diloco,
};
