/* Parameter servers behind the backward pass: how long pushes and pulls take, by recurrences and
 * closed forms, and what credit does to the order on the wire. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "workloads/rank/rank_state.h"
#include "servers_run.h"
#include "tests/kit/suite.h"

#define SCHEDULE "tests/data/schedule.csv"
enum { N_LAYERS = 6, ROUNDS = 3 };

/* tests/data/schedule.csv, with the iterations' totals: 6 and 12 ms for 5.7 and 11.15 ms. */
static const double elems[N_LAYERS] = {120000, 24, 360000, 2400, 600000, 240000};
static const double bwd_s[N_LAYERS] = {1.7e-3 * 12 / 11.15, .25e-3 * 12 / 11.15,
                                       4.4e-3 * 12 / 11.15, .7e-3 * 12 / 11.15,
                                       3.1e-3 * 12 / 11.15, 1e-3 * 12 / 11.15};
static const double FWD_S = 6e-3, OPT_S = 1.2e-3, PATH_S = 1e-4;

static double wire_s(double n_elems)
{
    return (4 * n_elems + 96) / (1e9 / 8 * 1448 / 1538);
}

/* One server, w workers in step. A piece goes through the server's port w times, is added w - 1
 * times, comes back w times and is copied: four stages, each after the piece before it. */
static double wfbp_s(int w, const struct strait_trial *p)
{
    double ready_s = FWD_S, in_s = 0, added_s = 0, out_s = 0, copied_s = 0;
    for (int l = N_LAYERS - 1; l >= 0; l--) {
        ready_s += bwd_s[l];
        in_s = fmax(in_s, ready_s) + w * wire_s(elems[l]);
        added_s = fmax(added_s, in_s + PATH_S) + (w - 1) * 4 * elems[l] / p->add_bytes_per_s;
        out_s = fmax(out_s, added_s) + w * wire_s(elems[l]);
        copied_s = fmax(copied_s, out_s + PATH_S) + 4 * elems[l] / p->copy_bytes_per_s;
    }
    return copied_s + OPT_S;
}

static void wfbp_times(void)
{
    for (int w = 1; w <= 5; w++) {
        const struct setting s = {"\"name\":\"wfbp\",\"rounds\":3,\"exchange\":\"servers\","
                                  "\"partition\":\"1 GB\"",
                                  w + 1, 1, 1, true};
        struct strait_outcome o = run_at("1 Gbps", SCHEDULE, &s, "\"none\"", &strait_fluid, false);
        CU_ASSERT_DOUBLE_EQUAL(o.total_s, ROUNDS * wfbp_s(w, o.point), 1e-9 * o.total_s);
        strait_outcome_free(&o);
    }
}

/* Nothing overlaps: E elements up, sum, down. One co-located server of n: its port takes n - 1
 * models each way; all servers: n - 1 parts; two behind w workers: its port w halves, or a worker's
 * two. What is alike happens at once; a rank's own part is neither added to itself nor copied. */
static double ps_s(const struct setting *s, const struct strait_trial *p)
{
    const double E = 1322424, add_s = 4 / p->add_bytes_per_s, copy_s = 4 / p->copy_bytes_per_s;
    const double w = s->n - (s->separate ? s->n_servers : 0), part = E / s->n_servers;
    double s_ = 0;
    if (s->separate)
        s_ = 2 * (PATH_S + fmax(w, s->n_servers) * wire_s(part)) + (w - 1) * part * add_s +
             s->n_servers * part * copy_s;
    else if (s->n > 1)
        s_ = 2 * (PATH_S + (w - 1) * wire_s(part)) + (w - 1) * part * add_s +
             (s->n_servers == 1 ? 1 : w - 1) * part * copy_s;
    return FWD_S + 12e-3 + s_ + OPT_S;
}

/* A thread moves 1 MB/s, far less than the wire, and a server has one for each worker node but one:
 * all that two others push and pull, 4 E bytes each way, comes one after another with two worker
 * nodes, and on two threads with three; what the wire takes hides behind it but for the first push
 * and the last pull. With two accelerators a node two lanes share that rate. */
static void transport(void)
{
    static const struct setting all[] = {
        {"\"name\":\"ps\",\"rounds\":1,\"transport\":\"1 MB/s\",\"partition\":\"1 MB\"", 3, 1, 1,
         true},
        {"\"name\":\"wfbp\",\"rounds\":1,\"exchange\":\"servers\",\"transport\":\"1 MB/s\"", 3, 1,
         1, true},
        {"\"name\":\"ps\",\"rounds\":1,\"transport\":\"1 MB/s\",\"partition\":\"1 MB\"", 6, 2, 2,
         true},
        {"\"name\":\"ps\",\"rounds\":1,\"transport\":\"1 MB/s\",\"partition\":\"1 MB\"", 3, 1, 1,
         false},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        struct strait_outcome o =
            run_at("10 Gbps", SCHEDULE, &all[i], "\"none\"", &strait_fluid, false);
        const double n_threads = all[i].separate ? 1 : 2,
                     moved_s = 2 * 2 * 4 * 1322424 / 1e6 / n_threads; /* there and back */
        CU_ASSERT(o.total_s > moved_s && o.total_s < moved_s + 0.05);
        if (!(o.total_s > moved_s && o.total_s < moved_s + 0.05))
            fprintf(stderr, "%zu: found %g s, expected a little more than %g s\n", i, o.total_s,
                    moved_s);
        strait_outcome_free(&o);
    }
}

static void ps_times(void)
{
    static const struct setting all[] = {
        {"\"name\":\"ps\",\"rounds\":3", 1, 1, 1, false},
        {"\"name\":\"ps\",\"rounds\":3", 2, 1, 1, false},
        {"\"name\":\"ps\",\"rounds\":3", 6, 1, 1, false},
        {"\"name\":\"ps\",\"rounds\":3", 2, 2, 1, false},
        {"\"name\":\"ps\",\"rounds\":3", 6, 6, 1, false},
        {"\"name\":\"ps\",\"rounds\":3", 2, 1, 1, true},
        {"\"name\":\"ps\",\"rounds\":3", 4, 2, 1, true},
        {"\"name\":\"ps\",\"rounds\":3", 8, 2, 1, true},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        struct strait_outcome o =
            run_at("1 Gbps", SCHEDULE, &all[i], "\"none\"", &strait_fluid, false);
        /* a run ends with rank 0: where it is the only server, before the others have the sum */
        const double back_s =
            PATH_S + (all[i].n - 1) * wire_s(1322424) + 4 * 1322424 / o.point->copy_bytes_per_s;
        const bool is_alone = all[i].n > 1 && all[i].n_servers == 1 && !all[i].separate;
        CU_ASSERT_DOUBLE_EQUAL(o.total_s, ROUNDS * ps_s(&all[i], o.point) - (is_alone ? back_s : 0),
                               1e-9 * o.total_s);
        strait_outcome_free(&o);
    }
}

/* A worker and a server, whole layers. At 100 Mbps the last layer's 960 KB take 82 ms, so that all
 * others are there when it is acknowledged; layer 4 is there 3.3 ms after it. Until then `credit`
 * pieces may have been sent: what is urgent overtakes all others, and no more than those. */
static void credit(void)
{
    static const double sent[3][N_LAYERS] = {{240000, 120000, 24, 360000, 2400, 600000},
                                             {240000, 600000, 120000, 24, 360000, 2400},
                                             {240000, 600000, 2400, 360000, 24, 120000}};
    static const int credits[] = {1, 2, 6};
    for (int k = 0; k < 3; k++) {
        char strategy[256];
        snprintf(strategy, sizeof(strategy),
                 "\"name\":\"bytescheduler\",\"rounds\":1,\"exchange\":\"servers\","
                 "\"partition\":\"1 GB\",\"credit\":%d",
                 credits[k]);
        const struct setting s = {strategy, 2, 1, 1, true};
        struct strait_outcome o =
            run_at("100 Mbps", SCHEDULE, &s, "\"none\"", &strait_fluid, false);
        const struct strait_log *log = &o.point->logs[1];
        int n = 0;
        for (size_t i = 0; i < log->n_spans; i++)
            if (strait_spans_at(&log->spans, i).kind == STRAIT_SPAN_TRANSFER && n < N_LAYERS)
                CU_ASSERT_EQUAL((double)strait_spans_at(&log->spans, i).bytes, 4 * sent[k][n++]);
        CU_ASSERT_EQUAL(n, N_LAYERS);
        strait_outcome_free(&o);
    }
}

static const struct strait_test tests[] = {
    {"WFBP over a server takes what its recurrence says", wfbp_times},
    {"pushes after the backward pass take what their closed forms say", ps_times},
    {"a server whose transport is slow takes what that moves, in and out", transport},
    {"what is urgent overtakes all but what credit has let out", credit},
};
STRAIT_SUITE("workloads/train/sync/servers_times", tests);
