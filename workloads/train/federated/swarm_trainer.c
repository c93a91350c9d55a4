/* The trainer of `swarm` (swarm.c): gives microbatches to peers and ends batches. */
#include <math.h>

#include "swarm.h"
#include "workloads/ask/experiment.h"

/* Way of a microbatch: forward through the stages but the last, both passes there, and back. */
static int stage_at(int n_stages, int step)
{
    return step < n_stages ? step : 2 * (n_stages - 1) - step;
}

int strait_swarm_stages(const struct strait_experiment *e)
{
    const int asked = (int)strait_experiment_param(e, "stages"), n_layers = (int)e->model->n_layers,
              n_peers = e->n_ranks - 1;
    return asked > 0 ? asked : n_peers < n_layers ? n_peers : n_layers;
}

struct peer {
    double takes_s, priority;
    bool is_here, is_back, stays; /* stays: it never leaves */
};

struct micro {
    int step, peer, attempt;
    double given_s;
    struct strait_packet **in; /* what each stage got; NULL: the first */
    struct strait_packet *gradient;
};

struct trainer {
    int n_stages, n_peers, n_micro, n_given, n_done;
    struct peer *peers; /* by rank - 1 */
    struct micro *micros;
};

static struct trainer begin(struct strait_rank *r)
{
    struct trainer t = {.n_stages = strait_swarm_stages(strait_experiment(r)),
                        .n_peers = strait_n_ranks(r) - 1,
                        .n_micro = (int)strait_param(r, "microbatches")};
    t.peers = strait_alloc(r, (size_t)t.n_peers, sizeof(*t.peers));
    t.micros = strait_alloc(r, (size_t)t.n_micro, sizeof(*t.micros));
    for (int i = 0; i < t.n_peers; i++)
        t.peers[i] = (struct peer){.takes_s = 1e-6, /* all are tried first */
                                   .is_here = true,
                                   .stays = !strait_network(r)->out[i + 1].present};
    for (int i = 0; i < t.n_micro; i++)
        t.micros[i].in = strait_alloc(r, (size_t)t.n_stages, sizeof(struct strait_packet *));
    return t;
}

static int choose(struct strait_rank *r, struct trainer *t, int stage)
{
    int best = -1;
    for (int i = stage; i < t->n_peers; i += t->n_stages)
        if (t->peers[i].is_here && (best < 0 || t->peers[i].priority < t->peers[best].priority))
            best = i;
    if (best < 0) {
        struct strait_error err = {0};
        strait_error_set(&err, STRAIT_ERR_BACKEND, "swarm",
                         "no peer of stage %d answers within "
                         "\"timeout\"",
                         stage);
        strait_fail(r, &err);
    }
    t->peers[best].priority += t->peers[best].takes_s;
    return best;
}

static void send_work(struct strait_rank *r, const struct micro *m, int number,
                      struct strait_packet *kept)
{
    struct strait_packet *packet = strait_control(r, number);
    packet->words[SWARM_STEP] = m->step;
    packet->words[SWARM_ATTEMPT] = m->attempt;
    strait_send(r, m->peer + 1, SWARM_WORK, number, packet);
    if (kept)
        strait_send(r, m->peer + 1, SWARM_WORK, number, strait_keep(kept));
}

/* A word of what to do, then inputs where there are some, then gradients on the way back. */
static void give(struct strait_rank *r, struct trainer *t, int number)
{
    struct micro *m = &t->micros[number];
    const int stage = stage_at(t->n_stages, m->step);
    m->peer = choose(r, t, stage);
    m->given_s = strait_now_s(r);
    m->attempt++;
    send_work(r, m, number, m->in[stage]);
    if (m->step >= t->n_stages)
        strait_send(r, m->peer + 1, SWARM_WORK, number, strait_keep(m->gradient));
}

static void forget(struct strait_rank *r, struct strait_packet **packet)
{
    if (*packet)
        strait_drop(r, *packet);
    *packet = NULL;
}

/* An answer in time moves its microbatch on; any other one is of a peer that was passed by. */
static void answer(struct strait_rank *r, struct trainer *t, struct strait_message a)
{
    const int number = (int)a.packet->words[SWARM_MICRO];
    struct micro *m = &t->micros[number];
    const double smoothing = strait_param(r, "smoothing");
    struct peer *p = &t->peers[m->peer];
    if (a.src != m->peer + 1 || (int)a.packet->words[SWARM_ATTEMPT] != m->attempt) {
        t->peers[a.src - 1].is_back = true;
        strait_drop(r, a.packet);
        return;
    }
    const double took_s = strait_now_s(r) - m->given_s;
    p->takes_s = p->takes_s <= 1e-6 ? took_s : (1 - smoothing) * p->takes_s + smoothing * took_s;
    if (m->step < t->n_stages - 1) {
        m->in[m->step + 1] = a.packet;
    } else {
        forget(r, &m->in[stage_at(t->n_stages, m->step)]);
        forget(r, &m->gradient);
        m->gradient = a.packet;
    }
    if (++m->step < 2 * t->n_stages - 1) {
        give(r, t, number);
        return;
    }
    forget(r, &m->gradient);
    m->attempt = 0;
    t->n_done++;
}

static void pass_by(struct strait_rank *r, struct trainer *t, double timeout_s)
{
    for (int i = 0; i < t->n_given; i++) {
        const struct micro *m = &t->micros[i];
        if (m->attempt > 0 && m->given_s + timeout_s <= strait_now_s(r)) {
            t->peers[m->peer].is_here = false;
            give(r, t, i);
        }
    }
}

/* Who is back has missed what the others stepped: it works from the next batch on. */
static void hear(struct strait_rank *r, struct trainer *t, struct strait_message a)
{
    t->peers[a.src - 1].is_back |= a.tag != SWARM_SUM;
    strait_drop(r, a.packet);
}

static void run_batch(struct strait_rank *r, struct trainer *t)
{
    const double timeout_s = strait_param(r, "timeout");
    const int asked = (int)strait_param(r, "under_way"), most = asked > 0 ? asked : t->n_peers;
    struct strait_message a;
    t->n_given = t->n_done = 0;
    while (t->n_done < t->n_micro) {
        double deadline_s = INFINITY;
        for (; t->n_given < t->n_micro && t->n_given - t->n_done < most; t->n_given++) {
            t->micros[t->n_given].step = 0;
            give(r, t, t->n_given);
        }
        for (int i = 0; i < t->n_given; i++)
            if (t->micros[i].attempt > 0)
                deadline_s = fmin(deadline_s, t->micros[i].given_s + timeout_s);
        if (!strait_recv_by(r, &a, STRAIT_ANY, SWARM_DONE, deadline_s))
            pass_by(r, t, timeout_s);
        else if (a.tag < 0)
            hear(r, t, a);
        else
            answer(r, t, a);
    }
}

static void tell(struct strait_rank *r, int peer, int order, int batch, double members,
                 double newcomers)
{
    struct strait_packet *p = strait_control(r, batch);
    p->words[SWARM_ORDER] = order;
    p->words[SWARM_MEMBERS] = members;
    p->words[SWARM_NEWCOMERS] = newcomers;
    strait_send(r, peer + 1, SWARM_WORK, order, p);
}

/* Ask all, and wait for those that should be there, for the time-out where they can leave. A
 * priority is what they say: 0: here, 1: it has missed a step; -1: nothing. */
static void ask(struct strait_rank *r, struct trainer *t, int batch)
{
    const double deadline_s = strait_now_s(r) + strait_param(r, "timeout");
    struct strait_message a;
    int n_left = 0, n_stay = 0;
    for (int i = 0; i < t->n_peers; i++) {
        struct peer *p = &t->peers[i];
        tell(r, i, SWARM_ASK, batch, 0, 0);
        p->is_here = p->is_here || p->is_back || p->stays;
        p->is_back = false;
        p->priority = -1;
        n_left += p->is_here;
        n_stay += p->stays;
    }
    while (n_left > 0 &&
           strait_recv_by(r, &a, STRAIT_ANY, SWARM_DONE, n_stay > 0 ? INFINITY : deadline_s)) {
        struct peer *p = &t->peers[a.src - 1];
        if (a.tag != SWARM_ASK || p->priority >= 0) {
            hear(r, t, a);
            continue;
        }
        p->priority = a.packet->words[SWARM_BATCH];
        n_left -= p->is_here;
        n_stay -= p->stays;
        strait_drop(r, a.packet);
    }
}

/* Those that were there all along sum and step, the others get the parameters; wait for all. */
static void end_batch(struct strait_rank *r, struct trainer *t, int batch)
{
    int n_told = 0;
    ask(r, t, batch);
    for (int stage = 0; stage < t->n_stages; stage++) {
        double bits[2] = {0, 0}; /* members, newcomers */
        for (int i = stage, bit = 0; i < t->n_peers; i += t->n_stages, bit++)
            if (t->peers[i].priority >= 0)
                bits[t->peers[i].priority > 0] += ldexp(1, bit);
        for (int i = stage; i < t->n_peers; i += t->n_stages) {
            struct peer *p = &t->peers[i];
            p->is_here = p->priority >= 0 && bits[0] > 0;
            p->priority = 0;
            if (p->is_here)
                tell(r, i, SWARM_SUM, batch, bits[0], bits[1]);
            n_told += p->is_here;
        }
    }
    while (n_told > 0) {
        struct strait_message a = strait_recv(r, STRAIT_ANY, SWARM_DONE);
        n_told -= a.tag == SWARM_SUM;
        hear(r, t, a);
    }
}

void strait_swarm_train(struct strait_rank *r)
{
    struct trainer t = begin(r);
    for (int batch = 0; strait_round(r); batch++) {
        run_batch(r, &t);
        end_batch(r, &t, batch);
    }
    for (int i = 0; i < t.n_peers; i++)
        tell(r, i, SWARM_STOP, 0, 0, 0);
}
