/* Asynchronous training: FedBuff and FedAsync in their steady states, to the byte, and real sums in
 * the order of arrival. */
#include "tests/kit/strategy_world.h"

/* When round n of rank 0, from 0, ended; NAN: there is none. */
static double round_end_s(const struct strait_log *log, int n)
{
    for (size_t i = 0; i < log->n_spans; i++)
        if (strait_spans_at(&log->spans, i).kind == STRAIT_SPAN_ROUND && n-- == 0)
            return strait_spans_at(&log->spans, i).end_s;
    return NAN;
}

/* Three equal clients, a buffer of three, links to themselves. The model is copied (c), and after a
 * cycle C of two hops and the training all three arrive at once. The first two are answered when
 * their turn comes, after none and one addition (a); the third gets the model after the step, which
 * is version 1, at c + C + 3a + c. It comes back after C, when the others have come and been added,
 * and again waits for its own addition and the copy: a version every C + a + c. */
static void fedbuff_steady_state(void)
{
    enum { ROUNDS = 5 };
    struct strait_outcome o = star_run("{\"name\":\"fedbuff\",\"rounds\":5,\"local_steps\":4,"
                                       "\"buffer\":3}",
                                       3, NULL, &strait_fluid, false);
    const struct costs c = costs_of(&o);
    const double cycle_s = 2 * c.hop_s + 4 * c.step_s;
    for (int k = 0; k < ROUNDS; k++)
        CU_ASSERT_DOUBLE_EQUAL(
            round_end_s(&o.point->logs[0], k),
            2 * c.copy_s + 3 * c.add_s + (k + 1) * cycle_s + k * (c.add_s + c.copy_s), 1e-9);
    strait_outcome_free(&o);
}

/* One client, a buffer of two: 1 + 2 R models, and 2 R updates: the last model is carried to its
 * end, then the client is cut off. No control messages. */
static void fedbuff_bytes(void)
{
    for (int rounds = 1; rounds <= 3; rounds++) {
        struct strait_outcome o =
            star_run("{\"name\":\"fedbuff\",\"rounds\":1,\"local_steps\":4,\"buffer\":2}", 1,
                     json_pack("{s:i}", "/strategy/rounds", rounds), &strait_fluid, false);
        CU_ASSERT_EQUAL(o.n_messages, 1 + 4 * (uint64_t)rounds);
        CU_ASSERT_EQUAL(o.payload_bytes, (1 + 4 * (uint64_t)rounds) * 4 * (uint64_t)CNN_ELEMS);
        strait_outcome_free(&o);
    }
}

/* The server sends n models at first and one for each update that it takes, for 1 to 9 clients. */
static void server_bytes(void)
{
    for (int n = 1; n <= 9; n++) {
        struct strait_outcome o =
            star_run("{\"name\":\"fedbuff\",\"rounds\":3,\"local_steps\":4,\"buffer\":5}", n, NULL,
                     &strait_fluid, false);
        CU_ASSERT_EQUAL(o.point->logs[0].n_messages, (uint64_t)n + 15);
        CU_ASSERT_EQUAL(o.point->logs[0].payload_bytes, ((uint64_t)n + 15) * 4 * CNN_ELEMS);
        strait_outcome_free(&o);
        o = star_run("{\"name\":\"fedasync\",\"rounds\":15,\"local_steps\":4}", n, NULL,
                     &strait_fluid, false);
        CU_ASSERT_EQUAL(o.point->logs[0].n_messages, (uint64_t)n + 15);
        CU_ASSERT_EQUAL(o.point->logs[0].payload_bytes, ((uint64_t)n + 15) * 4 * CNN_ELEMS);
        strait_outcome_free(&o);
    }
}

/* Two clients whose step takes 2 s; events say when b is there. */
static struct strait_outcome run_leaving(const char *strategy, const char *events, bool sim)
{
    json_t *settings = json_object(),
           *port = json_pack("{s:s, s:s}", "rate", "100 Mbps", "rtt", "20 ms"),
           *named = json_deep_copy(port);
    json_object_set_new(named, "name", json_string("b"));
    json_object_set_new(settings, "/network/client", json_pack("[o, o]", port, named));
    json_object_set_new(settings, "/network/events", json_loads(events, 0, NULL));
    json_object_set_new(settings, "/model", json_pack("{s:s, s:s}", "name", "cnn", "step", "2 s"));
    return star_run(strategy, 2, settings, sim ? &strait_sim : &strait_fluid, false);
}

/* a reports after c + C, and again every C + s (fedasync: s is the server's time for it). b is away
 * at first, comes back after 7 s, trains 2 s and is the fifth to report: a came after some 2.1,
 * 4.2, 6.3 and 8.4 s. Where b leaves for good while it trains, a reports twice. */
static void leaving(void)
{
    static const char back[] = "[{\"at\":\"0 s\",\"on\":\"b\",\"present\":false},"
                               " {\"at\":\"7 s\",\"on\":\"b\",\"present\":true}]",
                      gone[] = "[{\"at\":\"1 s\",\"on\":\"b\",\"present\":false}]";
    for (int sim = 0; sim < 2; sim++) {
        struct strait_outcome o =
            run_leaving("{\"name\":\"fedasync\",\"rounds\":5,\"local_steps\":1}", back, sim);
        const struct costs c = costs_of(&o);
        const double mix_s = 2 * c.copy_s + c.add_s, cycle_s = 2 * c.hop_s + 2;
        CU_ASSERT_DOUBLE_EQUAL(o.total_s, 9 + c.hop_s + mix_s, 1e-6);
        strait_outcome_free(&o);
        o = run_leaving("{\"name\":\"fedasync\",\"rounds\":2,\"local_steps\":1}", gone, sim);
        CU_ASSERT_DOUBLE_EQUAL(o.total_s, c.copy_s + 2 * (cycle_s + mix_s), 1e-6);
        strait_outcome_free(&o);
        o = run_leaving("{\"name\":\"fedbuff\",\"rounds\":1,\"local_steps\":1,\"buffer\":2}", gone,
                        sim);
        CU_ASSERT_DOUBLE_EQUAL(o.total_s, 2 * c.copy_s + 2 * cycle_s + c.add_s, 1e-6);
        strait_outcome_free(&o);
    }
}

/* FedAsync, three equal clients: each update takes the server s = two copies (scaling, sending) and
 * an addition, so after the first arrival, together at c + C, they come s apart and never wait
 * again. The first three mixings end at c + C + 3s. A client comes back C after its answer: the
 * first at c + 2C + s, where the server is idle. Six mixings: c + 2C + 4s. */
static void fedasync_steady_state(void)
{
    struct strait_outcome o = star_run("{\"name\":\"fedasync\",\"rounds\":6,\"local_steps\":4}", 3,
                                       NULL, &strait_fluid, false);
    const struct costs c = costs_of(&o);
    const double cycle_s = 2 * c.hop_s + 4 * c.step_s, mix_s = 2 * c.copy_s + c.add_s;
    CU_ASSERT_DOUBLE_EQUAL(round_end_s(&o.point->logs[0], 2), c.copy_s + cycle_s + 3 * mix_s, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(o.total_s, c.copy_s + 2 * cycle_s + 4 * mix_s, 1e-9);
    strait_outcome_free(&o);
}

/* --- real values --------------------------------------------------------------------------- */

enum { N_CLIENTS = 3 };

/* Arrivals in their order, as the server logged them. Is it ever another order than by rank? */
static const char *arrivals(struct strait_rank *r, int *src, int *tag, int n)
{
    const struct strait_log *log = strait_rank_state_of(r)->log;
    int found = 0;
    double last_s = 0;
    bool mixed = false;
    for (size_t i = 0; i < log->n_spans && found < n; i++) {
        const struct strait_span span = strait_spans_at(&log->spans, i), *s = &span;
        if (s->kind != STRAIT_SPAN_TRANSFER)
            continue;
        if (s->end_s < last_s)
            return "updates are not taken as they arrive";
        last_s = s->end_s;
        src[found] = s->peer;
        tag[found] = s->tag;
        mixed |= found > 0 && src[found] != src[found - 1] % N_CLIENTS + 1;
        found++;
    }
    return found < n ? "updates are missing"
           : !mixed  ? "the order of arrival is that of ranks"
                     : NULL;
}

/* w after each arrival, by hand. */
static void step_fedbuff(float *w, const float *x, int k, int tag)
{
    const double weight = 0.5 / 4 / sqrt(1 + k / 4 - tag); /* server_lr 0.5, buffer 4 */
    for (int i = 0; i < CNN_ELEMS; i++)
        w[i] += (float)weight * x[i];
}

static void mixed_in(float *w, const float *x, double alpha)
{
    for (int i = 0; i < CNN_ELEMS; i++) {
        w[i] = (float)(1 - alpha) * w[i];
        w[i] += (float)alpha * x[i];
    }
}

/* alpha 0.6 by the age, which is the versions that have passed since the client got its model:
 * hinge with a = 2 and b = 1, polynomial with a = 2, constant. Up to b hinge gives 1, and so it
 * does in its other branch at b itself. */
static void step_hinge(float *w, const float *x, int k, int tag)
{
    const int age = k - tag;
    mixed_in(w, x, 0.6 * (age <= 1 ? 1 : 1 / (2.0 * (age - 1) + 1)));
}

static void step_polynomial(float *w, const float *x, int k, int tag)
{
    mixed_in(w, x, 0.6 / ((k - tag + 1) * (k - tag + 1)));
}

static void step_constant(float *w, const float *x, int k, int tag)
{
    (void)k, (void)tag;
    mixed_in(w, x, 0.6);
}

static const char *check_server(struct strait_rank *r, enum strait_tensor_kind kind, int n,
                                void (*step)(float *, const float *, int, int))
{
    const struct strait_trial *p = strait_rank_state_of(r)->point;
    int src[16], tag[16];
    const char *wrong = arrivals(r, src, tag, n);
    if (wrong)
        return wrong;
    float *w = malloc(CNN_ELEMS * sizeof(float)), *x = malloc(CNN_ELEMS * sizeof(float));
    strait_recorded(w, p, STRAIT_WEIGHTS, 0);
    for (int k = 0; k < n; k++) {
        sent(x, p, kind, src[k]);
        step(w, x, k, tag[k]);
    }
    const float *theirs = whole_tensor(r, STRAIT_WEIGHTS);
    if (!theirs || memcmp(w, theirs, CNN_ELEMS * sizeof(float)) != 0)
        wrong = "the server's model differs from the sum in order of arrival";
    free(w);
    free(x);
    return wrong;
}

static void fedbuff_main(struct strait_rank *r)
{
    if (strait_me(r) > 0)
        scale_prepared(r, STRAIT_UPDATE);
    strait_rank_state_of(r)->point->experiment->strategy->rank_main(r);
    const char *wrong = check_server(r, STRAIT_UPDATE, 12, step_fedbuff);
    if (wrong)
        fail_with(r, wrong);
}

static void fedasync_main(struct strait_rank *r)
{
    static void (*const steps[])(float *, const float *, int, int) = {
        step_constant, step_polynomial, step_hinge}; /* in the order of the strategy's choices */
    if (strait_me(r) > 0)
        scale_prepared(r, STRAIT_WEIGHTS);
    strait_rank_state_of(r)->point->experiment->strategy->rank_main(r);
    const char *wrong =
        check_server(r, STRAIT_WEIGHTS, 12, steps[(int)strait_param(r, "staleness")]);
    if (wrong)
        fail_with(r, wrong);
}

/* Clients of unequal speed, so that arrivals are not in rank order; 12 updates. */
static void arrival_order(void)
{
    struct strait_outcome o =
        star_run("{\"name\":\"fedbuff\",\"rounds\":3,\"buffer\":4,\"server_lr\":0.5,"
                 "\"local_steps\":20,\"straggler_spread\":0.8}",
                 N_CLIENTS, NULL, &strait_fluid, true);
    run_with(&o, fedbuff_main);
    strait_outcome_free(&o);
    static const char *const stalenesses[] = {"constant", "polynomial", "hinge"};
    for (int i = 0; i < 3; i++) {
        char strategy[256];
        snprintf(strategy, sizeof(strategy),
                 "{\"name\":\"fedasync\",\"rounds\":12,\"staleness\":\"%s\",\"a\":2,\"b\":1,"
                 "\"local_steps\":20,\"straggler_spread\":0.8}",
                 stalenesses[i]);
        o = star_run(strategy, N_CLIENTS, NULL, &strait_fluid, true);
        run_with(&o, fedasync_main);
        strait_outcome_free(&o);
    }
}

static void same_on_simgrid(void)
{
    static const char *const names[] = {"fedbuff", "fedasync"};
    for (int i = 0; i < 2; i++) {
        char strategy[128];
        double total_s[2];
        snprintf(strategy, sizeof(strategy),
                 "{\"name\":\"%s\",\"rounds\":7,\"straggler_spread\":0.5}", names[i]);
        for (int k = 0; k < 2; k++) {
            struct strait_outcome o =
                star_run(strategy, 4, json_pack("{s:s}", "/network/server/rate", "150 Mbps"),
                         k == 0 ? &strait_fluid : &strait_sim, false);
            total_s[k] = o.total_s;
            strait_outcome_free(&o);
        }
        CU_ASSERT_DOUBLE_EQUAL(total_s[0], total_s[1], 1e-9 * total_s[0]);
    }
}

static const struct strait_test tests[] = {
    {"a client may leave and come back, or not: the others go on", leaving},
    {"FedBuff's versions come once a cycle in the steady state", fedbuff_steady_state},
    {"FedBuff sends 1 + R b models and R b updates", fedbuff_bytes},
    {"an asynchronous server answers every update, to the byte", server_bytes},
    {"FedAsync's mixings follow each other without waiting", fedasync_steady_state},
    {"asynchronous sums are the float sums in order of arrival", arrival_order},
    {"SimGrid and fluid agree on both", same_on_simgrid},
};
STRAIT_SUITE("workloads/train/federated/fedbuff", tests);
