/* Parameter servers behind the backward pass: who keeps what, bytes, sums and errors;
 * test_servers_times.c has how long it takes. */
#include "workloads/train/sync/servers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "workloads/rank/rank_state.h"
#include "servers_run.h"
#include "tests/kit/suite.h"

enum { CNN_ELEMS = 105866, MAX_RANKS = 9 };

/* --- who keeps what ----------------------------------------------------------------------- */

/* From the last piece on, to whom has least: 3 to A, 5 to B, 4 to A (7), 1 to B (6), 9 to B. */
static void assigned(void)
{
    static const double bytes[] = {9, 1, 4, 5, 3};
    static const int by_bytes[] = {1, 1, 0, 1, 0}, by_turns[] = {0, 1, 0, 1, 0};
    int owner[5];
    double load[3];
    strait_servers_assign(owner, load, 2, bytes, 5, true);
    CU_ASSERT_EQUAL(memcmp(owner, by_bytes, sizeof(owner)), 0);
    strait_servers_assign(owner, load, 2, bytes, 5, false);
    CU_ASSERT_EQUAL(memcmp(owner, by_turns, sizeof(owner)), 0);
    /* the one that took the last of its pieces had least before: at most mean + largest */
    strait_servers_assign(owner, load, 3, bytes, 5, true);
    for (int i = 0; i < 3; i++)
        CU_ASSERT(load[i] <= 22 / 3.0 + 9);
    CU_ASSERT_DOUBLE_EQUAL(load[0] + load[1] + load[2], 22, 1e-12);
}

/* --- bytes -------------------------------------------------------------------------------- */

/* Layers of cnn: 640, 18560, 401664 and 2600 bytes. */
static const double layer_elems[] = {160, 4640, 100416, 650};

/* Pieces of a round: of the whole at least one a server; of layers at 100 KB and k accelerators a
 * node, ceil(4 ceil(elems / k) / 100000) each. */
static uint64_t n_pieces(const struct setting *s, bool whole)
{
    uint64_t n = 0;
    for (int l = 0; l < 4; l++)
        n += (uint64_t)ceil(4 * ceil(layer_elems[l] / s->n_inside) / 1e5);
    return whole ? (uint64_t)(s->n_servers / s->n_inside) : n;
}

static const char *const strategies[] = {
    "\"name\":\"ps\",\"rounds\":2",
    "\"name\":\"wfbp\",\"rounds\":2,\"exchange\":\"servers\",\"partition\":\"100 KB\"",
    "\"name\":\"bytescheduler\",\"rounds\":2,\"exchange\":\"servers\",\"partition\":\"100 KB\"",
};
enum { N_STRATEGIES = sizeof(strategies) / sizeof(*strategies) };

/* Streams that carried something were declared; with every server in use, no more were. */
static void expect_streams(const struct strait_outcome *o, bool all)
{
    const struct strait_run *of = &o->point->run;
    const size_t n = (size_t)of->n_ranks, n_streams = n * n * STRAIT_MAX_CHANNELS;
    bool *used = calloc(n_streams, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(used);
    for (int dst = 0; dst < of->n_ranks; dst++)
        for (size_t i = 0; i < of->logs[dst].n_spans; i++) {
            const struct strait_span span = strait_spans_at(&of->logs[dst].spans, i), *s = &span;
            if (s->kind == STRAIT_SPAN_TRANSFER)
                used[((size_t)s->peer * n + (size_t)dst) * STRAIT_MAX_CHANNELS +
                     (size_t)s->channel] = true;
        }
    for (size_t i = 0; i < n_streams; i++) {
        const int src = (int)(i / STRAIT_MAX_CHANNELS / n),
                  dst = (int)(i / STRAIT_MAX_CHANNELS % n);
        const bool declared = of->uses_stream(of, src, dst, (int)(i % STRAIT_MAX_CHANNELS));
        CU_ASSERT(all ? declared == used[i] : declared || !used[i]);
    }
    free(used);
}

/* Inside of nodes of k a reduce-scatter and a gather, each (k - 1) times the model a node; between
 * m nodes, co-located, every piece m - 1 times there and back; separate: m times. */
static void expect_bytes(const struct setting *s, int strategy)
{
    struct setting of = *s;
    of.strategy = strategies[strategy];
    struct strait_outcome o = run(&of, &strait_fluid, false);
    const uint64_t k = (uint64_t)s->n_inside,
                   m = (uint64_t)(s->n - (s->separate ? s->n_servers : 0)) / k,
                   pieces = n_pieces(s, strategy == 0), layers = strategy == 0 ? 1 : 4,
                   between = s->separate ? 2 * m : 2 * (m - 1);
    CU_ASSERT_EQUAL(o.payload_bytes, 2 * (2 * m * (k - 1) + between) * 4 * CNN_ELEMS);
    CU_ASSERT_EQUAL(o.n_messages, 2 * (m * k * (k - 1) * layers + /* ring */
                                       m * k * (k - 1) * pieces + /* hand to neighbours */
                                       k * between * pieces));
    expect_streams(&o, pieces >= (uint64_t)(s->n_servers / s->n_inside));
    strait_outcome_free(&o);
}

static void bytes(void)
{
    for (int i = 0; i < N_STRATEGIES; i++) {
        for (int n = 1; n <= (IS_SANITIZED ? 5 : MAX_RANKS); n++)
            for (int s = 1; s <= n; s += 3) {
                expect_bytes(&(struct setting){NULL, n, s, 1, false}, i);
                if (s < n)
                    expect_bytes(&(struct setting){NULL, n, s, 1, true}, i);
            }
        expect_bytes(&(struct setting){NULL, 3, 3, 3, false}, i); /* one node */
        expect_bytes(&(struct setting){NULL, 6, 3, 3, false}, i);
        expect_bytes(&(struct setting){NULL, 8, 8, 2, false}, i);
        expect_bytes(&(struct setting){NULL, 9, 3, 3, true}, i);
    }
}

/* --- sums and errors ------------------------------------------------------------------------ */

static struct setting now; /* what runs, for its ranks; set before the run is forked */
static double bound;       /* 0: bit by bit */

/* What node w brings to share c: in ring order from accelerator c on. */
static float of_node(float *const *of, int w, int c, size_t i)
{
    const int k = now.n_inside;
    float sum = of[w * k + c][i];
    for (int j = 1; j < k; j++)
        sum = of[w * k + (c + j) % k][i] + sum;
    return sum;
}

/* Nodes in their order, a co-located owner's first. One server of each place, on node 0. */
static float expected(float *const *of, size_t lo, size_t n_elems, size_t i)
{
    const int k = now.n_inside, m = (now.n - (now.separate ? now.n_servers : 0)) / k;
    int c = 0;
    while (c + 1 < k && lo + (size_t)(c + 1) * n_elems / (size_t)k <= i)
        c++;
    float sum = of_node(of, 0, c, i);
    for (int w = 1; w < m; w++)
        sum += of_node(of, w, c, i);
    return sum;
}

/* Run the strategy, then look into every gradient that a rank that trains has written. */
static void checked(struct strait_rank *r)
{
    struct strait_error err = {0};
    const bool whole = strcmp(strait_experiment(r)->strategy->name, "ps") == 0;
    float *of[MAX_RANKS];
    double worst = 0;
    int n_checked = 0;
    strait_experiment(r)->strategy->rank_main(r);
    if (now.separate && strait_me(r) >= now.n - now.n_servers)
        return;
    for (int i = 0; i < now.n; i++) {
        of[i] = strait_alloc(r, CNN_ELEMS, sizeof(float));
        strait_recorded(of[i], strait_rank_state_of(r)->point, STRAIT_GRADIENTS, i);
    }
    for (const struct strait_tensor *t = strait_rank_state_of(r)->tensors; t; t = t->next) {
        if (t->kind != STRAIT_GRADIENTS || !t->values)
            continue;
        n_checked++;
        size_t lo = 0;
        for (int l = 0; l < (whole ? 1 : 4); l++) {
            const size_t n = whole ? CNN_ELEMS : (size_t)layer_elems[l];
            for (size_t i = lo; i < lo + n; i++)
                worst = fmax(worst, fabs((double)t->values[i] - (double)expected(of, lo, n, i)));
            lo += n;
        }
    }
    if (n_checked != 2 || worst > bound || (bound > 0 && now.n > 1 && worst < bound / 16))
        strait_error_set(&err, STRAIT_ERR_BACKEND, "sum", "rank %d of %d: %d gradients, off by %g",
                         strait_me(r), now.n, n_checked, worst);
    if (err.code != STRAIT_OK)
        strait_fail(r, &err);
}

static void expect_sums(struct setting s, const char *codec)
{
    for (int i = 0; i < N_STRATEGIES; i++) {
        struct strait_error err = {0};
        now = s;
        now.strategy = strategies[i];
        struct strait_outcome o = run_at("1 Gbps", "cnn", &now, codec, &strait_fluid, true);
        o.point->run.rank_main = checked;
        CU_ASSERT_EQUAL(strait_trial_run(o.point, &strait_fluid, &err), 0);
        if (err.code != STRAIT_OK)
            fprintf(stderr, "%s: %s\n", now.strategy, err.text);
        strait_outcome_free(&o);
    }
}

static void exact_sums(void)
{
    static const int counts[] = {1, 2, 3, 5};
    bound = 0;
    for (int k = 0; k < 4; k++) {
        expect_sums((struct setting){NULL, counts[k], 1, 1, false}, "\"none\"");
        if (counts[k] > 1)
            expect_sums((struct setting){NULL, counts[k], 1, 1, true}, "\"none\"");
    }
    expect_sums((struct setting){NULL, 6, 2, 2, false}, "\"none\"");
    expect_sums((struct setting){NULL, 9, 3, 3, true}, "\"none\"");
}

/* A push each but the owner's own, and one more for the sum unless it is plain; and roundings of
 * float sums, far below. Gradients of cnn are below 1: 1e-6 for sums of four. */
static void errors_add_up(void)
{
    static const char *const codec = "{\"name\":\"sz\",\"bound\":{\"abs\":1e-4}}";
    bound = 3 * 1e-4 + 1e-6; /* the download is plain */
    expect_sums((struct setting){NULL, 4, 1, 1, false}, codec);
    expect_sums((struct setting){NULL, 4, 1, 1, true}, codec);
    bound = 2 * 1e-4 + 1e-6; /* one push a node */
    expect_sums((struct setting){NULL, 6, 2, 2, true}, codec);
}

/* Every push is encoded, that of a co-located server to itself too, and what is pulled is the sum
 * of the packets: of m nodes m errors, and m - 1 additions of each partition at each of k positions
 * (ps has one partition a server here, the layers of cnn at 100 KB have 1, 1, 5 and 1). */
static void expect_encoded(struct setting s, int strategy)
{
    struct strait_error err = {0};
    char text[256];
    const int m = (s.n - (s.separate ? s.n_servers : 0)) / s.n_inside;
    uint64_t n_added = 0;
    snprintf(text, sizeof(text), "%s,\"sums\":\"encoded\"", strategies[strategy]);
    now = s;
    now.strategy = text;
    bound = m * 1e-4 + 1e-6;
    struct strait_outcome o = run_at(
        "1 Gbps", "cnn", &now, "{\"name\":\"sz\",\"bound\":{\"abs\":1e-4}}", &strait_fluid, true);
    o.point->run.rank_main = checked;
    CU_ASSERT_EQUAL(strait_trial_run(o.point, &strait_fluid, &err), 0);
    if (err.code != STRAIT_OK)
        fprintf(stderr, "%s: %s\n", now.strategy, err.text);
    for (int r = 0; r < s.n; r++)
        n_added += o.point->logs[r].n_added_encoded;
    CU_ASSERT_EQUAL(n_added, 2 * n_pieces(&s, strategy == 0) * (uint64_t)(s.n_inside * (m - 1)));
    strait_outcome_free(&o);
}

static void encoded_sums(void)
{
    for (int i = 0; i < N_STRATEGIES; i++) {
        expect_encoded((struct setting){NULL, 4, 1, 1, false}, i);
        expect_encoded((struct setting){NULL, 4, 1, 1, true}, i);
        expect_encoded((struct setting){NULL, 6, 2, 2, true}, i);
    }
}

/* EF21 with top-k: every round sends a fifth of what is missing of a gradient that stays the same
 * (differences from 0 are exact), at most 20083 of 100416 values, so that after five rounds and one
 * for what rounding down leaves, the sum is that of the gradients, bit by bit. */
static void own_references(void)
{
    static const char *const codec = "{\"name\":\"topk\",\"ratio\":0.2,\"reference\":\"own\","
                                     "\"profile\":\"tests/data/sketch-costs.json\"}";
    bound = 0;
    for (int i = 0; i < 2; i++) {
        struct strait_error err = {0};
        now = (struct setting){i == 0 ? "\"name\":\"ps\",\"rounds\":8"
                                      : "\"name\":\"wfbp\",\"rounds\":8,\"exchange\":\"servers\"",
                               3, 1, 1, i == 1};
        struct strait_outcome o = run_at("1 Gbps", "cnn", &now, codec, &strait_fluid, true);
        o.point->run.rank_main = checked;
        CU_ASSERT_EQUAL(strait_trial_run(o.point, &strait_fluid, &err), 0);
        if (err.code != STRAIT_OK)
            fprintf(stderr, "%s: %s\n", now.strategy, err.text);
        strait_outcome_free(&o);
    }
}

/* --- both simulations, and who trains --------------------------------------------------------- */

/* SimGrid's event loop gives the same, lanes, ramps and acknowledgements included. */
static void same_on_simgrid(void)
{
    static const struct setting all[] = {{NULL, 5, 2, 1, false}, {NULL, 6, 2, 2, true}};
    for (int i = 0; i < N_STRATEGIES; i++)
        for (int k = 0; k < 2; k++) {
            struct setting s = all[k];
            s.strategy = strategies[i];
            struct strait_outcome fluid = run(&s, &strait_fluid, false),
                                  sim = run(&s, &strait_sim, false);
            CU_ASSERT(fluid.total_s > 0);
            CU_ASSERT_DOUBLE_EQUAL(fluid.total_s, sim.total_s, 1e-9 * sim.total_s);
            strait_outcome_free(&fluid);
            strait_outcome_free(&sim);
        }
}

/* Of 8 clients 3 serve, if there are servers at all and they stand apart. */
static void who_trains(void)
{
    static const struct {
        const char *strategy;
        int n_training;
    } cases[] = {
        {"\"name\":\"ps\",\"servers\":3,\"placement\":\"separate\"", 5},
        {"\"name\":\"ps\",\"servers\":3", 8},
        {"\"name\":\"wfbp\",\"exchange\":\"servers\",\"servers\":3,\"placement\":\"separate\"", 5},
        {"\"name\":\"wfbp\",\"exchange\":\"servers\",\"servers\":3", 8},
        {"\"name\":\"wfbp\",\"servers\":3,\"placement\":\"separate\"", 8},
        {"\"name\":\"bsp\"", 8},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[1024];
        struct strait_error err = {0};
        struct strait_experiment *e = NULL;
        snprintf(text, sizeof(text),
                 "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"clients\":8,"
                 "\"strategy\":{%s},"
                 "\"network\":{\"client\":{\"rate\":\"1 Gbps\",\"rtt\":\"1 ms\"}}}",
                 cases[i].strategy);
        json_t *json = json_loads(text, 0, NULL);
        CU_ASSERT_EQUAL_FATAL(strait_experiment_read(&e, "t.json", json, &err), 0);
        CU_ASSERT_EQUAL(strait_servers_n_training(e), cases[i].n_training);
        json_decref(json);
        strait_experiment_free(e);
    }
}

/* --- what is refused ------------------------------------------------------------------------ */

static void refused(void)
{
    static const struct {
        const char *strategy, *where, *part;
    } cases[] = {
        {"\"servers\":5", "/strategy/servers", "at most 4 servers for 4 clients, found 5"},
        {"\"servers\":4,\"placement\":\"separate\"", "/strategy/servers",
         "at most 3 servers for 4 clients, of whom some have to train, found 4"},
        {"\"node_size\":3", "/strategy/node_size", "nodes of equal size for 4 clients, found 3"},
        {"\"node_size\":2", "/strategy/servers",
         "at most 4 servers for 4 clients, all accelerators of their nodes, found 1"},
        {"\"node_size\":4,\"servers\":4,\"placement\":\"separate\"", "/strategy/servers",
         "more clients to train beside the servers, found 4"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[1024], where[64];
        struct strait_error err = {0};
        struct strait_experiment *e = NULL;
        snprintf(text, sizeof(text),
                 "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"clients\":4,"
                 "\"strategy\":{\"name\":\"wfbp\",\"exchange\":\"servers\",%s},"
                 "\"network\":{\"client\":{\"rate\":\"1 Gbps\",\"rtt\":\"1 ms\"}}}",
                 cases[i].strategy);
        json_t *json = json_loads(text, 0, NULL);
        CU_ASSERT(strait_experiment_read(&e, "t.json", json, &err) != 0);
        snprintf(where, sizeof(where), "t.json#%s", cases[i].where);
        CU_ASSERT_STRING_EQUAL(err.where, where);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].part));
        json_decref(json);
        strait_experiment_free(e);
    }
}

static const struct strait_test tests[] = {
    {"pieces go to the server with the fewest bytes so far, or by turns", assigned},
    {"payload, frames and streams are those of the closed forms", bytes},
    {"sums are the float sums in their stated order, bit by bit", exact_sums},
    {"errors of bounded codecs add up to one a push at most", errors_add_up},
    {"packets that are added encoded have one error a push and none more", encoded_sums},
    {"EF21 arrives at a gradient that stays the same", own_references},
    {"SimGrid and fluid agree", same_on_simgrid},
    {"servers that stand apart do not train", who_trains},
    {"what does not fit is refused in one line", refused},
};
STRAIT_SUITE("workloads/train/sync/servers", tests);
