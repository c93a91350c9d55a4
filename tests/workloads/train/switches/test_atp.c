/* ATP: bytes and times in closed form, sums whoever finds a slot, and what is refused. */
#include "tests/kit/live_world.h"
#include "tests/kit/strategy_world.h"

/* Workers at 100 Mbps and 10 ms a way; servers and switches at 100 Gbps without delay. */
static struct strait_outcome run(const char *settings, int n_workers, int n_others, bool real,
                                 const struct strait_backend *backend)
{
    char text[1024];
    snprintf(text, sizeof(text),
             "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"seed\":3,\"clients\":%d,"
             "\"strategy\":{\"name\":\"atp\",\"rounds\":2%s},\"network\":{\"overhead\":"
             "\"24 B\",\"client\":[{\"count\":%d,\"rate\":\"100 Mbps\",\"rtt\":\"20 ms\"},"
             "{\"count\":%d,\"rate\":\"100 Gbps\",\"rtt\":\"0 ms\"}],"
             "\"tcp\":{\"initial_window\":\"1 GB\"}}}",
             n_workers + n_others, settings, n_workers, n_others);
    return strait_outcome_of(text, json_object(), "default", backend,
                             (struct strait_trial_options){.real_payload = real});
}

/* Each worker sends the model up and gets it once; each rack but the server's sends one sum up and
 * gets one result; the server gets and sends one. */
static void bytes(void)
{
    static const struct {
        int racks, workers;
    } cases[] = {{1, 1}, {1, 4}, {2, 5}, {3, 7}};
    for (int i = 0; i < 4; i++) {
        char form[96];
        snprintf(form, sizeof(form), ",\"racks\":%d,\"slot\":\"4 KB\"", cases[i].racks);
        struct strait_outcome o =
            run(form, cases[i].workers, 1 + cases[i].racks, false, &strait_fluid);
        const uint64_t n = 2 * (uint64_t)(cases[i].workers + cases[i].racks - 1 + 1);
        strait_test_context("%d workers in %d racks", cases[i].workers, cases[i].racks);
        CU_ASSERT_EQUAL(o.payload_bytes, 2 * n * 4 * CNN_ELEMS);
        CU_ASSERT_EQUAL(o.n_messages, 2 * n * 106); /* pieces of 4000 of 423464 bytes */
        strait_outcome_free(&o);
    }
    strait_test_context("%s", "");
}

/* As SwitchML's (test_switchml.c): m pieces, s under way, L on the wire and C until a result is
 * back. The server copies a piece twice on the way. */
static void times(void)
{
    static const int windows[] = {1, 10, 106};
    enum { PIECE = 4000, M = 106, REST = 4 * CNN_ELEMS - 105 * PIECE };
    for (int i = 0; i < 3; i++) {
        char form[128];
        const int s = windows[i];
        snprintf(form, sizeof(form), ",\"slot\":\"%d B\",\"window\":\"%d B\"", PIECE, s * PIECE);
        struct strait_outcome o = run(form, 4, 2, false, &strait_fluid);
        const struct strait_model *m = o.experiment->model;
        const struct costs c = costs_of(&o);
        const double L = (PIECE + 96) / c.rate_bytes_per_s,
                     C = 2 * (L + 0.01) + 3 * PIECE / o.point->copy_bytes_per_s,
                     less = 2 * (PIECE - REST) / c.rate_bytes_per_s,
                     wait = s * L < C ? (M - 1) / s * C + (M - 1) % s * L + C : (M - 1) * L + C,
                     round_s = m->fwd_s + m->bwd_s + m->opt_s + wait - less;
        strait_test_context("%d under way: %.9g of %.9g s", s, o.total_s, 2 * round_s);
        /* ports of 100 Gbps, thrice on the way: below 2 us a piece */
        CU_ASSERT_DOUBLE_EQUAL(o.total_s, 2 * round_s, 2 * M * 2e-6);
        strait_outcome_free(&o);
    }
    strait_test_context("%s", "");
}

static const char *wrong;
static struct strait_trial *running;
enum { N_WORKERS = 3 };

/* Every worker of a job ends with the sum of its job, in any order: three numbers, each addition to
 * 2^-24. */
static void sums_main(struct strait_rank *r)
{
    static float parts[N_WORKERS][CNN_ELEMS];
    const int me = strait_me(r), first = me / N_WORKERS * N_WORKERS;
    scale_prepared(r, STRAIT_GRADIENTS);
    strait_rank_main(r);
    if (me >= 2 * N_WORKERS)
        return;
    for (int i = 0; i < N_WORKERS; i++)
        sent(parts[i], running, STRAIT_GRADIENTS, first + i);
    const float *found = whole_tensor(r, STRAIT_SCRATCH);
    for (int i = 0; found && i < CNN_ELEMS; i++) {
        const double a = (double)parts[0][i], b = (double)parts[1][i], c = (double)parts[2][i];
        if (fabs((double)found[i] - (a + b + c)) > 3e-7 * (fabs(a) + fabs(b) + fabs(c)))
            wrong = "a sum is not that of the job's workers";
    }
    if (!found)
        wrong = "a worker has no sum";
}

/* Two jobs of three workers in two racks: with slots for all; with one slot, which nearly all pass
 * by; and with a time-out shorter than a round trip, so that pieces are sent again and again. */
static void sums(void)
{
    static const char *const cases[] = {
        ",\"jobs\":2,\"racks\":2,\"slot\":\"4 KB\"",
        ",\"jobs\":2,\"racks\":2,\"slot\":\"4 KB\",\"pool\":\"4 KB\",\"timeout\":\"200 ms\"",
        ",\"jobs\":2,\"racks\":2,\"slot\":\"4 KB\",\"pool\":\"12 KB\",\"window\":\"16 KB\","
        "\"timeout\":\"15 ms\""};
    uint64_t n[3];
    for (int i = 0; i < 3; i++) {
        struct strait_outcome o = run(cases[i], 2 * N_WORKERS, 4, true, &strait_fluid);
        wrong = NULL;
        running = o.point;
        n[i] = o.n_messages;
        run_with(&o, sums_main);
        strait_test_context("case %d: %llu messages", i, (unsigned long long)n[i]);
        CU_ASSERT_PTR_NULL(wrong);
        strait_outcome_free(&o);
    }
    strait_test_context("%s", "");
    CU_ASSERT(n[1] > n[0] && n[2] > n[0]);
}

static void same_on_simgrid(void)
{
    double total_s[2];
    for (int b = 0; b < 2; b++) {
        struct strait_outcome o =
            run(",\"jobs\":2,\"racks\":2,\"pool\":\"64 KB\",\"slot\":\"32 KB\"", 6, 4, false,
                b == 0 ? &strait_fluid : &strait_sim);
        total_s[b] = o.total_s;
        strait_outcome_free(&o);
    }
    CU_ASSERT_DOUBLE_EQUAL(total_s[0], total_s[1], 1e-9 * total_s[0]);
}

static const struct strait_test tests[] = {
    {"racks send one sum each", bytes},
    {"a step takes what the window makes of it", times},
    {"all workers of a job have its sum, whoever found a slot", sums},
    {"jobs that share slots take the same time on SimGrid and fluid", same_on_simgrid},
};
STRAIT_SUITE("workloads/train/switches/atp", tests);
