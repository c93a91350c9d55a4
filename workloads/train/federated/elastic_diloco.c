/* DiLoCo on ranks that join, leave and fall behind, as PRIME ran it over continents (INTELLECT-1,
 * Jaghouar et al. 2024): the ring is formed anew in each outer step, of those who are there. Rank
 * 0, which stays, calls them together. Four ranks, of which 2 leaves in an outer step and comes
 * back in the next:
 *
 *     rank 0   |train|..grace..| ring 0 1 3 |step|train        | ring 0 1 2 3 |step|
 *     rank 1   |train|         | ring 0 1 3 |step|train        | ring 0 1 2 3 |step|
 *     rank 2   |tra                        |here |<- model of 1| ring 0 1 2 3 |step|
 *     rank 3   |train|         | ring 0 1 3 |step|train        | ring 0 1 2 3 |step|
 *
 * Rank 0 waits for those of the last ring for `grace` after its own steps, then goes without them:
 * who comes later has fallen behind, and its steps are lost. Whoever is behind is sent the model
 * and the momentum by a member of the ring, after the outer step, beside the inner steps of the
 * others, and brings zeros to the next ring. In a ring whoever hears nothing from the rank before
 * for `timeout` calls it broken, and all hear so from rank 0; those who answer form another one of
 * the same changes. Only when all members have the mean do they step. */
#include <string.h>

#include "elastic.h"
#include "federated.h"
#include "workloads/ask/experiment.h"
#include "workloads/train/collectives/legal.h"

static const char *const orders[] = {"ranks", "network", NULL};

/* --- a rank that may leave ------------------------------------------------------------------ */

static void say(struct strait_rank *r, int what, double word)
{
    strait_send(r, 0, ELASTIC_ANSWER, what, strait_control(r, word));
}

/* What rank 0 has to say, until this rank leaves or comes back. */
static bool listen(struct strait_rank *r, int *what, double *words)
{
    struct strait_message from;
    if (!strait_recv_by(r, &from, 0, ELASTIC_CALL, strait_next_presence_s(r)))
        return false;
    memcpy(words, from.packet->words, STRAIT_N_WORDS * sizeof(*words));
    *what = from.tag;
    strait_drop(r, from.packet);
    return true;
}

static void take_state(struct strait_rank *r, struct strait_elastic *m, const double *words)
{
    const int donor = (int)words[ELASTIC_MEMBERS];
    strait_decode(r, m->w, strait_recv(r, donor, ELASTIC_STATE).packet);
    strait_decode(r, m->momentum, strait_recv(r, donor, ELASTIC_STATE).packet);
    m->version = (int)words[ELASTIC_STEP];
    m->has_change = false;
}

/* From its word that it is here to the next outer step that it has taken. False: it left. */
static bool take_part(struct strait_rank *r, struct strait_elastic *m, bool *is_over)
{
    double words[STRAIT_N_WORDS];
    int what;
    say(r, ELASTIC_HERE, m->version);
    while (listen(r, &what, words)) {
        if (what == ELASTIC_STOP) {
            *is_over = true;
            return true;
        }
        if (strait_is_away(r))
            return false;
        if (what == ELASTIC_JOIN) {
            take_state(r, m, words);
            if (strait_is_away(r))
                return false;
            say(r, ELASTIC_HERE, m->version);
        } else if (what == ELASTIC_FORM && m->version == (int)words[ELASTIC_STEP]) {
            const int attempt = (int)words[ELASTIC_ATTEMPT];
            const bool done = strait_elastic_average(r, m, words[ELASTIC_MEMBERS], attempt);
            if (strait_is_away(r))
                return false;
            say(r, done ? ELASTIC_DONE : ELASTIC_BROKEN, attempt);
        } else if (what == ELASTIC_COMMIT && m->version == (int)words[ELASTIC_STEP]) {
            strait_elastic_step(r, m, words[ELASTIC_MEMBERS], words[ELASTIC_NEWCOMERS]);
            return true;
        }
    }
    return false;
}

/* Silent until it is back; what it had is old. False: the run is over. */
static bool come_back(struct strait_rank *r, struct strait_elastic *m)
{
    double words[STRAIT_N_WORDS];
    int what = 0;
    m->version = -1;
    while (strait_is_away(r))
        if (listen(r, &what, words) && what == ELASTIC_STOP)
            return false;
    return true;
}

static void follow(struct strait_rank *r)
{
    struct strait_elastic m = strait_elastic_begin(r);
    for (bool is_over = false; !is_over;) {
        strait_enter_round(r, m.version > 0 ? m.version : 0);
        if (m.version >= 0 && !strait_is_away(r) && !strait_elastic_train(r, &m))
            m.version = -1;
        if (strait_is_away(r) || !take_part(r, &m, &is_over))
            if (!come_back(r, &m))
                return;
    }
}

static void elastic_diloco(struct strait_rank *r)
{
    if (strait_me(r) == 0)
        strait_elastic_lead(r);
    else
        follow(r);
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    const bool anyone = strait_experiment_param(e, "grace") > 0; /* may be left out */
    if (channel == ELASTIC_CALL || channel == ELASTIC_ANSWER)
        return channel == ELASTIC_CALL ? src == 0 : dst == 0;
    if (channel == ELASTIC_STATE)
        return anyone && dst != 0;
    return channel == ELASTIC_RING &&
           (anyone || (int)strait_experiment_param(e, "order") == ELASTIC_BY_NETWORK ||
            dst == (src + 1) % e->n_ranks);
}

static int check(const struct strait_experiment *e, struct strait_error *err)
{
    if (e->n_ranks > ELASTIC_MOST)
        return strait_refuse_at(err, e->file, "/clients", "expected at most %d ranks, found %d",
                                ELASTIC_MOST, e->n_ranks);
    if (e->network->presences && !(strait_experiment_param(e, "grace") > 0))
        return strait_refuse_at(err, e->file, "/strategy/grace",
                                "expected a time such as \"30 s\" beside ranks that leave, since "
                                "nothing else ends the wait for them");
    if (e->network->out[0].present)
        return strait_refuse_at(err, e->file, "/network/events",
                                "expected the first rank to stay, which calls the others together, "
                                "found that it leaves");
    if (strait_feedback_needed(&e->up.spec))
        return strait_refuse_at(err, e->file, "/codec",
                                "expected a sender that remembers nothing (\"error_feedback\": "
                                "false), since a broken ring encodes again, found \"%s\"",
                                e->up.spec.ops->name);
    return strait_ring_check(e, err);
}

static const struct strait_param params[] = {
    {"rounds", "outer steps", STRAIT_PARAM_INTEGER, .min = 1, .max = 1e6, .fallback = 5},
    {"local_steps", "inner steps between two outer steps", STRAIT_PARAM_INTEGER, .min = 0,
     .max = 1e9, .fallback = 500},
    {"order", "of the ring: as ranks are numbered, or what is fastest on the network",
     STRAIT_PARAM_CHOICE, .min = 0, .max = ELASTIC_BY_NETWORK, .choices = orders},
    {"grace",
     "how long the first rank waits for others after its own inner steps; 0: for all, who "
     "then may not leave",
     STRAIT_PARAM_TIME, .min = 0, .max = 1e6},
    {"timeout",
     "in a ring, after which a rank that sends nothing is done without; above a step of the "
     "ring and a word",
     STRAIT_PARAM_TIME, .min = 1e-6, .max = 1e6, .fallback = 60},
    STRAIT_STRAGGLER_PARAMS,
    STRAIT_OUTER_PARAMS,
};
const struct strait_strategy strait_strategy_elastic_diloco = {
    .name = "elastic-diloco",
    .summary = "DiLoCo whose ring is formed anew in each outer step, of those who are there",
    .source = "Jaghouar et al., INTELLECT-1, 2024 (arXiv 2412.01152): elastic device mesh",
    .trains = true,
    .sums = true,
    .leaving = STRAIT_LEAVING_IF_ONE_STAYS,
    .has_one_lane = true,
    .uplink_kind = "update",
    STRAIT_PARAMS(params),
    .check = check,
    .uses_stream = uses_stream,
    .rank_main = elastic_diloco,
};
