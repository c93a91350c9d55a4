/* Elastic DiLoCo: what outer steps take and send where ranks leave, come back and fall behind, and
 * whose changes the model gets. */
#include <unistd.h>
#include "tests/kit/live_world.h"
#include "tests/kit/strategy_world.h"
#include "workloads/train/federated/elastic.h"

enum { STEPS = 140 }; /* about a second of the cnn */

/* The third of three ranks leaves and comes back when `away` says; local steps at this slowness. */
static struct strait_outcome run(const char *settings, const char *away, const char *device,
                                 const struct strait_backend *backend)
{
    char text[2048];
    snprintf(text, sizeof(text),
             "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"seed\":3,\"clients\":3,"
             "\"strategy\":{\"name\":\"elastic-diloco\",\"local_steps\":%d,\"rounds\":4%s}%s,"
             "\"network\":{\"overhead\":\"24 B\",\"client\":["
             "{\"count\":2,\"rate\":\"100 Mbps\",\"rtt\":\"20 ms\"},"
             "{\"count\":1,\"name\":\"third\",\"rate\":\"100 Mbps\",\"rtt\":\"20 ms\"}],"
             "\"tcp\":{\"initial_window\":\"1 GB\"},\"events\":[%s]}}",
             STEPS, settings, device, away);
    return strait_outcome_of(text, json_object(), "default", backend,
                             (struct strait_trial_options){0});
}

static struct strait_outcome run_away(const char *settings, double from_s, double to_s)
{
    char away[256];
    snprintf(away, sizeof(away),
             "{\"at\":\"%.6f s\",\"on\":\"third\",\"present\":false},"
             "{\"at\":\"%.6f s\",\"on\":\"third\",\"present\":true}",
             from_s, to_s);
    return run(settings, away, "", &strait_fluid);
}

/* From one rank to another 20 ms; a word takes below 10 us more. */
static const double WORD_S = 0.02;

/* A ring of n: its 2 (n - 1) steps of an n-th of the model. Beside them the changes are copied,
 * every part that is sent while it is summed and once more, and added: below 5 passes of 60 us. */
static double ring_s(const struct costs *c, int n)
{
    return 2 * (n - 1) * (c->model_bytes / n / c->rate_bytes_per_s + 0.02);
}

/* Rank 0 steps, and says so; the others step and say that they are here: 2 words. Then 2 words
 * around the ring. Before the first of R steps nobody had to be told. */
static double steps_s(const struct costs *c, int n, int n_rounds)
{
    return n_rounds * (STEPS * c->step_s + 4 * WORD_S + ring_s(c, n)) - WORD_S;
}

static uint64_t ring_bytes(int n)
{
    return 2 * (uint64_t)(n - 1) * 4 * CNN_ELEMS;
}

static void all_stay(void)
{
    struct strait_outcome o = run("", "", "", &strait_fluid);
    const struct costs c = costs_of(&o);
    CU_ASSERT_DOUBLE_EQUAL(o.total_s, steps_s(&c, 3, 4), 4e-3);
    CU_ASSERT_EQUAL(o.payload_bytes, 4 * ring_bytes(3));
    CU_ASSERT_EQUAL(o.point->logs[0].n_missing, 0);
    strait_outcome_free(&o);
}

/* It leaves in the inner steps of the second outer step, for good or until those of the third. Rank
 * 0 waits for it once, for the grace; a ring of two goes on. Who comes back gets the model and the
 * momentum from rank 0 after the third, beside the inner steps, and is in the fourth ring. */
static void leaves_and_joins(void)
{
    struct strait_outcome whole = run("", "", "", &strait_fluid);
    const struct costs c = costs_of(&whole);
    const double first_s = steps_s(&c, 3, 1), train_s = STEPS * c.step_s, grace_s = 3,
                 second_s = train_s + grace_s + 2 * WORD_S + ring_s(&c, 2),
                 two_s = train_s + 4 * WORD_S + ring_s(&c, 2),
                 three_s = train_s + 4 * WORD_S + ring_s(&c, 3);
    for (int back = 0; back < 2; back++) {
        struct strait_outcome o = run_away(",\"grace\":\"3 s\"", first_s + train_s / 2,
                                           back ? first_s + second_s + train_s / 2 : 1e6);
        strait_test_context(back ? "for a while" : "for good");
        CU_ASSERT_DOUBLE_EQUAL(o.total_s, first_s + second_s + two_s + (back ? three_s : two_s),
                               4e-3);
        CU_ASSERT_EQUAL(o.payload_bytes,
                        ring_bytes(3) + 2 * ring_bytes(2) +
                            (back ? ring_bytes(3) + 2 * 4 * CNN_ELEMS : ring_bytes(2)));
        CU_ASSERT_EQUAL(o.point->logs[0].n_missing, 1);
        strait_outcome_free(&o);
    }
    strait_test_context("%s", "");
    strait_outcome_free(&whole);
}

/* It leaves in the second ring, after its first step: rank 0, which has had that, waits for the
 * time-out, and once more for what the ring's ranks say of it; then two sum the same changes. Of
 * the broken ring three parts went out in its first step, two in its second and, by rank 1, whose
 * sum was whole, one more. Parts are a value longer or shorter than a third. */
static void leaves_a_ring(void)
{
    struct strait_outcome whole = run("", "", "", &strait_fluid);
    const struct costs c = costs_of(&whole);
    const double first_s = steps_s(&c, 3, 1), train_s = STEPS * c.step_s,
                 formed_s = first_s + train_s + 3 * WORD_S, step_s = ring_s(&c, 3) / 4,
                 two_s = train_s + 4 * WORD_S + ring_s(&c, 2);
    struct strait_outcome o =
        run_away(",\"grace\":\"30 s\",\"timeout\":\"2 s\"", formed_s + step_s / 2, 1e6);
    CU_ASSERT_DOUBLE_EQUAL(
        o.total_s, formed_s + step_s + 2 * 2 + 2 * WORD_S + ring_s(&c, 2) + 2 * two_s, 4e-3);
    CU_ASSERT_DOUBLE_EQUAL((double)o.payload_bytes,
                           (double)(ring_bytes(3) + 3 * ring_bytes(2)) + 6 * c.model_bytes / 3, 24);
    CU_ASSERT_EQUAL(o.point->logs[0].n_missing, 0);
    strait_outcome_free(&o);
    strait_outcome_free(&whole);
}

static uint64_t n_states(const struct strait_outcome *o, int n_ranks)
{
    uint64_t n = 0;
    for (int r = 0; r < n_ranks; r++)
        for (size_t i = 0; i < o->point->logs[r].n_spans; i++) {
            const struct strait_span span = strait_spans_at(&o->point->logs[r].spans, i);
            n += span.kind == STRAIT_SPAN_TRANSFER && span.channel == ELASTIC_STATE;
        }
    return n;
}

/* The last of six leaves in the first of ten rings, whose steps take 27 ms. All others hear of it
 * from rank 0, though the time-out of 60 ms is short beside what the ring still has to
 * do: the nine rings after it, and the one that takes its place, are of five, and nobody has to
 * be sent the model. */
static void all_hear_of_it(void)
{
    for (int step = 0; step < 10; step++) {
        char text[1024];
        snprintf(text, sizeof(text),
                 "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"seed\":3,\"clients\":6,"
                 "\"strategy\":{\"name\":\"elastic-diloco\",\"local_steps\":0,\"rounds\":10,"
                 "\"timeout\":\"60 ms\",\"grace\":\"1 s\"},"
                 "\"network\":{\"client\":[{\"count\":5,\"rate\":\"100 Mbps\",\"rtt\":\"20 ms\"},"
                 "{\"count\":1,\"name\":\"last\",\"rate\":\"100 Mbps\",\"rtt\":\"20 ms\"}],"
                 "\"tcp\":{\"initial_window\":\"1 GB\"},"
                 "\"events\":[{\"at\":\"%g s\",\"on\":\"last\",\"present\":false}]}}",
                 2 * WORD_S + 0.027 * (step + 0.5));
        struct strait_outcome o = strait_outcome_of(text, json_object(), "default", &strait_fluid,
                                                    (struct strait_trial_options){0});
        strait_test_context("in step %d", step);
        CU_ASSERT_EQUAL(n_states(&o, 6), 0);
        CU_ASSERT(o.payload_bytes >= 10 * ring_bytes(5));
        CU_ASSERT(o.payload_bytes < 10 * ring_bytes(5) + ring_bytes(6));
        CU_ASSERT_EQUAL(o.point->logs[0].n_missing, 0);
        strait_outcome_free(&o);
    }
    strait_test_context("%s", "");
}

/* Five regions, of which one is never there: the ring of the others, in whatever order they are
 * numbered, is near the fastest of the six. The grace for the fifth is waited for once. */
static double regions_s(const int *order, const char *how)
{
    static const char *const names[] = {"London", "Tokyo", "Frankfurt", "Seoul"};
    char text[1024];
    snprintf(
        text, sizeof(text),
        "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"seed\":3,\"clients\":5,"
        "\"strategy\":{\"name\":\"elastic-diloco\",\"rounds\":1,\"local_steps\":0,"
        "\"grace\":\"1 s\",\"order\":\"%s\"},\"network\":{\"topology\":\"regions\",\"client\":["
        "{\"count\":4,\"rate\":\"10 Gbps\",\"rtt\":\"1 ms\"},"
        "{\"count\":1,\"name\":\"fifth\",\"rate\":\"10 Gbps\",\"rtt\":\"1 ms\"}],"
        "\"regions\":[{\"name\":\"%s\",\"ranks\":1},{\"name\":\"%s\",\"ranks\":1},"
        "{\"name\":\"%s\",\"ranks\":1},{\"name\":\"%s\",\"ranks\":1},"
        "{\"name\":\"Sydney\",\"ranks\":1}],"
        "\"events\":[{\"at\":\"0 s\",\"on\":\"fifth\",\"present\":false}]}}",
        how, names[order[0]], names[order[1]], names[order[2]], names[order[3]]);
    struct strait_outcome o = strait_outcome_of(text, json_object(), "default", &strait_fluid,
                                                (struct strait_trial_options){0});
    const double total_s = o.total_s;
    CU_ASSERT_EQUAL(o.payload_bytes, ring_bytes(4));
    strait_outcome_free(&o);
    return total_s - 1;
}

static void ring_order(void)
{
    static const int orders[][4] = {{0, 1, 2, 3}, {0, 1, 3, 2}, {0, 2, 1, 3},
                                    {0, 2, 3, 1}, {0, 3, 1, 2}, {0, 3, 2, 1}};
    double best_s = INFINITY, worst_s = 0;
    for (int i = 0; i < 6; i++) {
        const double s = regions_s(orders[i], "ranks");
        best_s = fmin(best_s, s);
        worst_s = fmax(worst_s, s);
    }
    CU_ASSERT(worst_s > 1.05 * best_s);
    for (int i = 0; i < 6; i++) {
        const double s = regions_s(orders[i], "network");
        strait_test_context("order %d: %.9g s; best %.9g, worst %.9g", i, s, best_s, worst_s);
        CU_ASSERT(s > 0.999 * best_s && s < 1.05 * best_s);
    }
    strait_test_context("%s", "");
}

/* The third rank takes two and a half times as long, and is waited for once: three rings are of
 * two. What it says in the third of these gets it the state, and it brings zeros to the fourth. The
 * grace of 50 ms takes the place of a word, and in the first outer step nobody had to be told. */
static void falls_behind(void)
{
    char path[] = "/tmp/strait-slowness-XXXXXX", device[128];
    const int fd = mkstemp(path);
    CU_ASSERT_EQUAL_FATAL(write(fd, "slowness\n1\n1\n2.5\n", 17), 17);
    close(fd);
    snprintf(device, sizeof(device), ",\"device\":{\"slowness\":\"%s\"}", path);
    struct strait_outcome o = run(",\"grace\":\"50 ms\"", "", device, &strait_fluid);
    const struct costs c = costs_of(&o);
    CU_ASSERT_EQUAL(o.payload_bytes, 3 * ring_bytes(2) + ring_bytes(3) + 2 * 4 * CNN_ELEMS);
    CU_ASSERT_EQUAL(o.point->logs[0].n_missing, 1);
    CU_ASSERT_DOUBLE_EQUAL(o.total_s,
                           4 * STEPS * c.step_s + (2 + 3 * 4) * WORD_S + 0.05 + 3 * ring_s(&c, 2) +
                               ring_s(&c, 3),
                           4e-3);
    strait_outcome_free(&o);
    unlink(path);
}

/* Nobody else is left: rank 0 steps along its own changes. */
static void alone(void)
{
    struct strait_outcome o =
        star_run("{\"name\":\"elastic-diloco\",\"rounds\":3,\"local_steps\":7}", 1, NULL,
                 &strait_fluid, false);
    const struct costs c = costs_of(&o);
    CU_ASSERT_DOUBLE_EQUAL(o.total_s, 3 * (7 * c.step_s + 2 * c.copy_s + 3 * c.add_s), 1e-9);
    CU_ASSERT_EQUAL(o.n_messages, 0);
    strait_outcome_free(&o);
}

static void same_on_simgrid(void)
{
    double total_s[2];
    for (int b = 0; b < 2; b++) {
        struct strait_outcome o = run(",\"grace\":\"1 s\",\"order\":\"network\"",
                                      "{\"at\":\"1.7 s\",\"on\":\"third\",\"present\":false},"
                                      "{\"at\":\"3.9 s\",\"on\":\"third\",\"present\":true}",
                                      ",\"codec\":\"bf16\"", b == 0 ? &strait_fluid : &strait_sim);
        total_s[b] = o.total_s;
        strait_outcome_free(&o);
    }
    CU_ASSERT_DOUBLE_EQUAL(total_s[0], total_s[1], 1e-9 * total_s[0]);
}

/* --- real training --------------------------------------------------------------------------- */

/* The outer Nesterov step with its published values, 0.7 and 0.9, along the mean of n changes. */
static void outer_step(double *w, double *m, const double *sum, int n)
{
    for (int i = 0; i < DIM; i++) {
        m[i] = 0.9 * m[i] + sum[i] / n;
        w[i] += 0.7 * (sum[i] / n + 0.9 * m[i]);
    }
}

/* Words take 4 ms at 10 Mbps, 160 bytes hardly more, and steps nothing. First outer step: 3 words and 4 steps of
 * the ring, 28 ms. The third rank leaves 16 ms later, inside the second ring, which begins after 3
 * words; that is broken after two time-outs of 100 ms, and a ring of two ends at 28 + 12 + 4 + 200
 * + 16 = 260. In the third, from 264 on, the third rank comes back: the model that it gets is that
 * of three outer steps. To the fourth it brings zeros, to the fifth what it has learnt. Its inner
 * optimiser has made the steps that were lost. */
static void trains(void)
{
    static const int members[] = {3, 2, 2, 2, 3}, sizes[] = {3, 2, 2, 3, 3};
    struct bowl b;
    double w[DIM] = {0}, m[DIM] = {0}, inner[WORKERS][DIM] = {{0}};
    char text[1024];
    snprintf(text, sizeof(text),
             "{\"schema\":\"strait-experiment/1\",\"model\":\"%s\",\"seed\":5,\"clients\":3,"
             "\"device\":{\"speed\":1000000},"
             "\"strategy\":{\"name\":\"elastic-diloco\",\"rounds\":5,\"local_steps\":3,"
             "\"grace\":\"30 s\",\"timeout\":\"100 ms\"},"
             "\"network\":{\"client\":[{\"count\":2,\"rate\":\"10 Mbps\",\"rtt\":\"4 ms\"},"
             "{\"count\":1,\"name\":\"third\",\"rate\":\"10 Mbps\",\"rtt\":\"4 ms\"}],"
             "\"events\":[{\"at\":\"44 ms\",\"on\":\"third\",\"present\":false},"
             "{\"at\":\"270 ms\",\"on\":\"third\",\"present\":true}]},\"training\":%s}",
             LIVE_QUADRATIC.model, LIVE_QUADRATIC.training);
    struct strait_outcome o =
        strait_outcome_of(text, json_object(), "default", &strait_fluid,
                          (struct strait_trial_options){.real_payload = true, .n_threads = 1});
    const struct strait_log *log = &o.point->logs[0];
    bowl_of(&b, o.point->learn);
    CU_ASSERT_EQUAL_FATAL(log->n_scored, 5);
    for (int round = 0; round < 5; round++) {
        double sum[DIM] = {0};
        const int n_train = round == 1 ? 3 : members[round]; /* what the third did is lost */
        for (int k = 0; k < n_train; k++) {
            double v[DIM];
            memcpy(v, w, sizeof(v));
            bowl_train(&b, k, v, inner[k], 3);
            for (int i = 0; i < DIM && k < members[round]; i++)
                sum[i] += v[i] - w[i];
        }
        outer_step(w, m, sum, sizes[round]);
        strait_test_context("round %d", round);
        CU_ASSERT_DOUBLE_EQUAL(log->scored[round].loss, bowl_score(&b, w),
                               LIVE_RATIO * bowl_score(&b, w));
    }
    strait_test_context("%s", "");
    strait_outcome_free(&o);
}

static void refuses(void)
{
    live_refuses("{\"name\":\"elastic-diloco\"}",
                 ",\"codec\":{\"name\":\"qsgd\",\"error_feedback\":true}", "remembers nothing");
    static const char form[] =
        "{\"schema\":\"strait-experiment/"
        "1\",\"model\":\"cnn\",\"clients\":2,\"strategy\":{\"name\":"
        "\"elastic-diloco\"%s},\"network\":{\"client\":[{\"count\":1,\"name\":\"a\",\"rate\":"
        "\"1 Gbps\"},{\"count\":1,\"name\":\"b\",\"rate\":\"1 Gbps\"}],\"events\":[{\"at\":\"1 s\","
        "\"on\":\"%s\",\"present\":false}]}}";
    static const char *const cases[][3] = {{"", "b", "beside ranks that leave"},
                                           {",\"grace\":\"1 s\"", "a", "the first rank to stay"}};
    for (int i = 0; i < 2; i++) {
        struct strait_error err = {0};
        struct strait_experiment *e = NULL;
        char text[512];
        snprintf(text, sizeof(text), form, cases[i][0], cases[i][1]);
        json_t *resolved = json_loads(text, 0, NULL);
        CU_ASSERT_EQUAL(strait_experiment_read(&e, "t.json", resolved, &err), -1);
        CU_ASSERT_CONTAINS(err.text, cases[i][2]);
        strait_experiment_free(e);
        json_decref(resolved);
    }
}

static const struct strait_test tests[] = {
    {"where all stay an outer step takes four words and a ring", all_stay},
    {"who leaves is waited for once, and who joins gets the model", leaves_and_joins},
    {"a ring that a rank leaves is formed again without it", leaves_a_ring},
    {"all ranks of a broken ring hear of it, however short the time-out", all_hear_of_it},
    {"the ring's order by the network is that of those who are there", ring_order},
    {"who falls behind loses its steps", falls_behind},
    {"a rank alone steps along its own changes", alone},
    {"it takes the same time on SimGrid and fluid", same_on_simgrid},
    {"the model gets the changes of those who are there", trains},
    {"codecs whose sender remembers, and leaving without a grace, are refused", refuses},
};
STRAIT_SUITE("workloads/train/federated/elastic", tests);
