/* Decoupled DiLoCo: bytes in closed form, times against an event simulation of its own, quorums,
 * grace and leaving learners, and real training against the algorithm in double precision. */
#include <unistd.h>
#include "tests/kit/live_world.h"
#include "tests/kit/strategy_world.h"

#define PLAIN "{\"name\":\"decoupled-diloco\",\"merge\":\"mean\",\"rounds\":3,"

/* Every learner sends and gets every fragment once a round. */
static void bytes(void)
{
    for (int n = 1; n <= 7; n += 2) {
        struct strait_outcome o =
            star_run(PLAIN "\"local_steps\":9,\"fragments\":5}", n, NULL, &strait_fluid, false);
        strait_test_context("%d learners", n);
        CU_ASSERT_EQUAL(o.n_messages, 3 * 5 * 2 * (uint64_t)n);
        CU_ASSERT_EQUAL(o.payload_bytes, 3 * 2 * (uint64_t)n * 4 * CNN_ELEMS);
        strait_outcome_free(&o);
    }
    strait_test_context("%s", "");
}

/* Learners with their own speed on links of their own, a syncer that waits for all: when the last
 * result is on its way. Copies: of what moved, of each packet decoded (no codec), the mean, the
 * momentum and the result; what a learner keeps. Parts differ by an element at most. */
struct setting {
    int n, n_rounds, n_steps, n_parts, overlap;
    const double *slow;
};

static double expected_s(const struct setting *s, const struct costs *c)
{
    enum { MAX = 256 };
    static double sent[MAX][8], result[MAX]; /* arrivals at the syncer; departures from it */
    const int n_syncs = s->n_rounds * s->n_parts;
    const double part = 1.0 / s->n_parts,
                 hop_s = (c->model_bytes * part + 96) / c->rate_bytes_per_s + 0.01,
                 merge_s = part * ((s->n + 3) * c->add_s + (s->n + 3) * c->copy_s),
                 take_s = part * (2 * c->copy_s + c->add_s);
    double now[8] = {0};
    int step[8] = {0}, at[8] = {0}, taken[8] = {0};
    long sent_at[8][MAX];
    for (int k = 0; k < n_syncs; k++) {
        const int due =
            k / s->n_parts * s->n_steps + (k % s->n_parts + 1) * s->n_steps / s->n_parts;
        result[k] = k > 0 ? result[k - 1] : 0;
        for (int i = 0; i < s->n; i++) {
            while (step[i] < due) { /* take what is due before the next step */
                for (; taken[i] < at[i] && step[i] >= sent_at[i][taken[i]] + s->overlap; taken[i]++)
                    now[i] = fmax(now[i], result[taken[i]] + hop_s) + take_s;
                now[i] += c->step_s * s->slow[i];
                step[i]++;
            }
            now[i] += part * c->copy_s;
            sent[k][i] = now[i] + hop_s;
            sent_at[i][at[i]++] = step[i];
            result[k] = fmax(result[k], sent[k][i]);
        }
        result[k] += merge_s;
    }
    return result[n_syncs - 1];
}

static void times(void)
{
    static const double equal[] = {1, 1, 1, 1}, unequal[] = {1, 2.5, 1.25, 7};
    static const struct setting settings[] = {
        {1, 3, 4, 1, 1, equal},  {3, 3, 24, 4, 2, equal},    {4, 2, 9, 5, 0, unequal},
        {4, 3, 40, 8, 9, equal}, {4, 3, 24, 12, 5, unequal}, {2, 5, 30, 3, 29, unequal},
    };
    char path[] = "/tmp/strait-decoupled-XXXXXX";
    CU_ASSERT_FATAL(close(mkstemp(path)) == 0);
    for (size_t k = 0; k < sizeof(settings) / sizeof(*settings); k++) {
        const struct setting *s = &settings[k];
        char strategy[256], lines[128] = "";
        for (int i = 0; i < s->n; i++)
            sprintf(lines + strlen(lines), "%g\n", s->slow[i]);
        write_slowness(path, lines);
        snprintf(strategy, sizeof(strategy),
                 "{\"name\":\"decoupled-diloco\",\"merge\":\"mean\",\"rounds\":%d,"
                 "\"local_steps\":%d,\"fragments\":%d,\"overlap_steps\":%d}",
                 s->n_rounds, s->n_steps, s->n_parts, s->overlap);
        struct strait_outcome o =
            star_run(strategy, s->n, json_pack("{s:{s:s}}", "/device", "slowness", path),
                     &strait_fluid, false);
        const struct costs c = costs_of(&o);
        const double expected = expected_s(s, &c);
        strait_test_context("setting %zu: expected %.9g, found %.9g", k, expected, o.total_s);
        CU_ASSERT_DOUBLE_EQUAL(o.total_s, expected, 1e-6 * expected);
        strait_outcome_free(&o);
    }
    unlink(path);
    strait_test_context("%s", "");
}

/* Three learners, the last slower than the others, which a quorum of two does not wait for:
 * none of its parts comes before its result, so that it sends nothing, and the run takes as long as
 * one of two learners, but for the third copy of each result and no longer. Where the slack has
 * room for the last (many steps overlap) a grace waits for it. */
static void quorum(void)
{
    static const struct {
        const char *more, *slowness;
        uint64_t n_up; /* messages to the syncer */
    } cases[] = {{"\"local_steps\":8,\"overlap_steps\":1,\"quorum\":2", "1\n1\n30\n", 3 * 2 * 2},
                 {"\"local_steps\":8,\"overlap_steps\":1,\"quorum\":2,\"grace\":\"100 %\"",
                  "1\n1\n30\n", 3 * 2 * 2},
                 {"\"local_steps\":60,\"overlap_steps\":59,\"quorum\":2", "1\n1\n2\n", 3 * 2 * 2},
                 {"\"local_steps\":60,\"overlap_steps\":59,\"quorum\":2,\"grace\":\"90 %\"",
                  "1\n1\n1.2\n", 3 * 2 * 3}};
    char path[] = "/tmp/strait-decoupled-XXXXXX";
    CU_ASSERT_FATAL(close(mkstemp(path)) == 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char strategy[256];
        write_slowness(path, cases[i].slowness);
        snprintf(strategy, sizeof(strategy), PLAIN "\"fragments\":2,%s}", cases[i].more);
        struct strait_outcome o = star_run(
            strategy, 3, json_pack("{s:{s:s}}", "/device", "slowness", path), &strait_fluid, false);
        strait_test_context("case %zu", i);
        CU_ASSERT_EQUAL(o.n_messages, cases[i].n_up + 3 * 2 * 3);
        strait_outcome_free(&o);
    }
    unlink(path);
    strait_test_context("%s", "");
}

/* The mean, or for each of the four tensors of ten values the mean norm along the mean direction;
 * all weigh alike. */
static void merge_by_hand(double *out, double moved[WORKERS][DIM], int lo, int hi, bool radial)
{
    double length = 0, direction = 0;
    for (int i = lo; i < hi; i++)
        out[i] = 0;
    for (int k = 0; k < WORKERS; k++) {
        double norm2 = 0;
        for (int i = lo; i < hi; i++)
            norm2 += moved[k][i] * moved[k][i];
        length += sqrt(norm2) / WORKERS;
        for (int i = lo; i < hi; i++)
            out[i] += moved[k][i] / WORKERS / (radial ? sqrt(norm2) : 1);
    }
    for (int i = lo; i < hi; i++)
        direction += out[i] * out[i];
    for (int i = lo; i < hi && radial; i++)
        out[i] *= length / sqrt(direction);
}

/* Two parts of two tensors, after steps 3 and 6 of each round; results are taken a step later. */
static void by_hand(bool radial)
{
    enum { ROUNDS = 6, STEPS = 6, PARTS = 2 };
    static double local[WORKERS][DIM], base[WORKERS][DIM], m[WORKERS][DIM];
    double w[DIM] = {0}, momentum[DIM] = {0};
    struct live o;
    struct bowl b;
    memset(local, 0, sizeof(local));
    memset(base, 0, sizeof(base));
    memset(m, 0, sizeof(m));
    char strategy[256];
    snprintf(strategy, sizeof(strategy),
             "{\"name\":\"decoupled-diloco\",\"rounds\":6,\"local_steps\":6,\"fragments\":2,"
             "\"overlap_steps\":1,\"mixing\":0.25,\"outer_lr\":0.6,\"outer_momentum\":0.4,"
             "\"merge\":\"%s\"}",
             radial ? "radial" : "mean");
    if (!live_run(&o, strategy, "", &strait_fluid))
        return;
    bowl_of(&b, o.trial->learn);
    for (int step = 1, due = -1; step <= ROUNDS * STEPS; step++) {
        for (int k = 0; k < WORKERS; k++)
            bowl_train(&b, k, local[k], m[k], 1);
        for (int i = due * DIM / PARTS; due >= 0 && i < (due + 1) * DIM / PARTS; i++)
            for (int k = 0; k < WORKERS; k++) {
                base[k][i] = w[i];
                local[k][i] = 0.25 * local[k][i] + 0.75 * w[i];
            }
        due = -1;
        if (step % 3 != 0)
            continue;
        double moved[WORKERS][DIM], mean[DIM];
        due = step / 3 % 2 == 1 ? 0 : 1;
        for (int k = 0; k < WORKERS; k++)
            for (int i = 0; i < DIM; i++)
                moved[k][i] = local[k][i] - base[k][i];
        for (int i = due * 20; i < due * 20 + 20; i += 10)
            merge_by_hand(mean, moved, i, i + 10, radial);
        for (int i = due * 20; i < due * 20 + 20; i++) {
            momentum[i] = 0.4 * momentum[i] + mean[i];
            w[i] += 0.6 * (mean[i] + 0.4 * momentum[i]);
        }
        const double score = bowl_score(&b, w);
        if (due == 1)
            CU_ASSERT_DOUBLE_EQUAL(o.trial->logs[0].scored[step / STEPS - 1].loss, score,
                                   LIVE_RATIO * score);
    }
    live_free(&o);
}

static void means(void)
{
    by_hand(false);
}

static void radial(void)
{
    by_hand(true);
}

/* A learner that is away from the second to the ninth round of ten, in a quorum of two of three:
 * it takes what came, and sends again. */
static void leaving(void)
{
    static const char events[] = "[{\"at\":\"%g s\",\"on\":\"third\",\"present\":false},"
                                 "{\"at\":\"%g s\",\"on\":\"third\",\"present\":true}]";
    static const char form[] =
        "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"seed\":3,\"clients\":3,"
        "\"strategy\":{\"name\":\"decoupled-diloco\",\"rounds\":10,\"local_steps\":40,"
        "\"fragments\":2,\"overlap_steps\":30,\"quorum\":2,\"grace\":\"50 %%\"},"
        "\"network\":{\"client\":[{\"count\":2,\"rate\":\"100 Mbps\",\"rtt\":\"20 ms\"},"
        "{\"count\":1,\"name\":\"third\",\"rate\":\"100 Mbps\",\"rtt\":\"20 ms\"}],"
        "\"server\":{\"rate\":\"100 Gbps\"},\"events\":%s}}";
    uint64_t n[3];
    double round_s = 0;
    for (int i = 0; i < 3; i++) { /* always there; away for a while; away from then on */
        char text[2048], when[256] = "[]";
        if (i > 0)
            snprintf(when, sizeof(when), events, 2.5 * round_s, i == 1 ? 7.5 * round_s : 1e6);
        snprintf(text, sizeof(text), form, when);
        struct strait_outcome o = strait_outcome_of(text, json_object(), "default", &strait_fluid,
                                                    (struct strait_trial_options){0});
        n[i] = o.n_messages;
        round_s = i == 0 ? o.total_s / 10 : round_s;
        CU_ASSERT_DOUBLE_EQUAL(o.total_s, 10 * round_s, 0.05 * 10 * round_s);
        strait_outcome_free(&o);
    }
    strait_test_context("%d, %d and %d messages", (int)n[0], (int)n[1], (int)n[2]);
    CU_ASSERT_EQUAL(n[0], 10 * 2 * (3 + 3));
    CU_ASSERT(n[1] >= n[0] - 6 * 2 && n[1] <= n[0] - 4 * 2); /* about five rounds of two parts */
    CU_ASSERT(n[2] >= n[0] - 8 * 2 && n[2] <= n[0] - 7 * 2);
}

static void refuses(void)
{
    live_refuses("{\"name\":\"decoupled-diloco\",\"quorum\":4}", "", "at most the 3 learners");
    live_refuses("{\"name\":\"decoupled-diloco\",\"fragments\":41}", "", "the model's 40 elements");
    live_refuses("{\"name\":\"decoupled-diloco\",\"overlap_steps\":24}", "",
                 "fewer than the 24 local_steps");
}

static const struct strait_test tests[] = {
    {"every learner sends and gets every fragment once a round", bytes},
    {"times are those of a simulation by events", times},
    {"a quorum waits for nobody, a grace for who comes within the slack", quorum},
    {"steps are those of the algorithm with the mean", means},
    {"steps are those of the algorithm with norms and directions apart", radial},
    {"a learner leaves, and comes back, while the others go on", leaving},
    {"quorums, fragments and overlaps that cannot be are refused", refuses},
};
STRAIT_SUITE("workloads/train/federated/decoupled", tests);
