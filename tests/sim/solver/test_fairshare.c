#include "sim/solver/fairshare.h"

#include <math.h>
#include <stdlib.h>

#include "core/random.h"
#include "tests/kit/suite.h"

enum { MAX_LINKS = 256 };

struct planned {
    int link[5], n_links;
    double begin_s, bytes;
    double left_bytes, rate, end_s; /* of the reference */
};

/* The reference: everything worked out anew at every event, by the definition of max-min. */
static void fill(struct planned *p, int n, const double *bytes_per_s, int n_links, double now_s)
{
    double free[MAX_LINKS];
    int n_open[MAX_LINKS] = {0}, n_left = 0;
    for (int l = 0; l < n_links; l++)
        free[l] = bytes_per_s[l];
    for (int i = 0; i < n; i++) {
        const bool on = p[i].begin_s <= now_s && isnan(p[i].end_s);
        p[i].rate = on ? -1 : 0;
        for (int s = 0; s < p[i].n_links && on; s++)
            n_open[p[i].link[s]]++;
        n_left += on;
    }
    while (n_left > 0) {
        int least = -1;
        for (int l = 0; l < n_links; l++)
            if (n_open[l] > 0 && (least < 0 || free[l] / n_open[l] < free[least] / n_open[least]))
                least = l;
        if (least < 0)
            break;
        const double rate = free[least] / n_open[least];
        for (int i = 0; i < n; i++) {
            bool uses = false;
            for (int s = 0; s < p[i].n_links; s++)
                uses |= p[i].link[s] == least;
            if (p[i].rate >= 0 || !uses)
                continue;
            p[i].rate = rate;
            n_left--;
            for (int s = 0; s < p[i].n_links; s++) {
                free[p[i].link[s]] -= rate;
                n_open[p[i].link[s]]--;
            }
        }
    }
}

static void solve_by_definition(struct planned *p, int n, const double *bytes_per_s, int n_links)
{
    double now_s = 0;
    for (int i = 0; i < n; i++) {
        p[i].left_bytes = p[i].bytes;
        p[i].end_s = NAN;
    }
    for (int n_ended = 0; n_ended < n;) {
        fill(p, n, bytes_per_s, n_links, now_s);
        double next_s = INFINITY;
        for (int i = 0; i < n; i++) {
            if (p[i].begin_s > now_s)
                next_s = fmin(next_s, p[i].begin_s);
            else if (isnan(p[i].end_s))
                next_s = fmin(next_s, now_s + p[i].left_bytes / p[i].rate);
        }
        for (int i = 0; i < n; i++) {
            if (p[i].begin_s > now_s || !isnan(p[i].end_s))
                continue;
            p[i].left_bytes -= p[i].rate * (next_s - now_s);
            if (p[i].left_bytes <= p[i].rate * 1e-12) {
                p[i].end_s = next_s;
                n_ended++;
            }
        }
        now_s = next_s;
    }
}

/* The largest relative difference of an end from the reference's; begin_s ascends. */
static double worst_difference(struct planned *p, int n, const double *bytes_per_s, int n_links)
{
    struct strait_flow *flows = calloc((size_t)n, sizeof(*flows));
    struct strait_fairshare *fs = strait_fairshare_new(n_links, bytes_per_s);
    double worst = 0;
    if (!flows || !fs)
        abort();
    solve_by_definition(p, n, bytes_per_s, n_links);
    for (int begun = 0, ended = 0; ended < n;) {
        const double flow_s = strait_fairshare_next_s(fs);
        const double begin_s = begun < n ? p[begun].begin_s : INFINITY;
        const double now_s = fmin(flow_s, begin_s);
        if (isinf(now_s) || isnan(now_s))
            abort(); /* flows are left and none ends */
        for (struct strait_flow *f; (f = strait_fairshare_ended(fs, now_s)); ended++) {
            const struct planned *q = f->owner;
            worst = fmax(worst, fabs(now_s - q->end_s) / q->end_s);
        }
        for (; begun < n && p[begun].begin_s <= now_s; begun++) {
            flows[begun].owner = &p[begun];
            strait_fairshare_start(fs, &flows[begun], p[begun].link, p[begun].n_links,
                                   p[begun].bytes, now_s);
        }
    }
    strait_fairshare_free(fs);
    free(flows);
    return worst;
}

static int start(struct strait_fairshare *fs, struct strait_flow *flow, int a, int b, double bytes)
{
    return strait_fairshare_start(fs, flow, (const int[]){a, b}, 2, bytes, 0);
}

static void caps(void)
{
    /* A hub of 10 with private links of 1, 2 and 100, 14 bytes each: rates 1, 2, 7. The third ends
     * at 2; the level is free then, but the others are held by their own links: 7 and 14. */
    const double bytes_per_s[] = {10, 1, 2, 100};
    struct strait_flow flows[3] = {0};
    struct strait_fairshare *fs = strait_fairshare_new(4, bytes_per_s);
    const double ends_s[] = {2, 7, 14};
    for (int i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(start(fs, &flows[i], 0, 1 + i, 14), 0);
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_DOUBLE_EQUAL(strait_fairshare_next_s(fs), ends_s[i], 1e-12);
        CU_ASSERT_PTR_EQUAL(strait_fairshare_ended(fs, ends_s[i]), &flows[2 - i]);
        CU_ASSERT_PTR_NULL(strait_fairshare_ended(fs, ends_s[i]));
    }
    CU_ASSERT(isinf(strait_fairshare_next_s(fs)));
    strait_fairshare_free(fs);
}

/* 100 bytes over links of 10 and 20: alone at 10 to 2 s, when 80 are left and the first link falls
 * to 5; at 6 s, with 60 left, another flow of 10 bytes takes half of that for 4 s. 50 are left at
 * 10 s and end at 20 s. A third had begun beside them at 0 s, over a link that fell from 1 to 0.5
 * at that moment: 5 bytes to 10 s. */
static void alone(void)
{
    const double bytes_per_s[] = {10, 20, 30, 1, 100};
    struct strait_flow flows[3] = {0};
    struct strait_fairshare *fs = strait_fairshare_new(5, bytes_per_s);
    start(fs, &flows[0], 0, 1, 100);
    start(fs, &flows[2], 3, 4, 5);
    strait_fairshare_change(fs, 3, 0.5, 0);
    CU_ASSERT_DOUBLE_EQUAL(strait_fairshare_next_s(fs), 10, 1e-12);
    strait_fairshare_change(fs, 0, 5, 2);
    CU_ASSERT_DOUBLE_EQUAL(strait_fairshare_next_s(fs), 10, 1e-12);
    strait_fairshare_start(fs, &flows[1], (const int[]){0, 2}, 2, 10, 6);
    CU_ASSERT_DOUBLE_EQUAL(strait_fairshare_next_s(fs), 10, 1e-12);
    CU_ASSERT_PTR_EQUAL(strait_fairshare_ended(fs, 10), &flows[1]); /* beside what began first */
    CU_ASSERT_PTR_EQUAL(strait_fairshare_ended(fs, 10), &flows[2]);
    CU_ASSERT_PTR_NULL(strait_fairshare_ended(fs, 10));
    CU_ASSERT_DOUBLE_EQUAL(strait_fairshare_next_s(fs), 20, 1e-12);
    CU_ASSERT_PTR_EQUAL(strait_fairshare_ended(fs, 20), &flows[0]);
    CU_ASSERT(isinf(strait_fairshare_next_s(fs)));
    strait_fairshare_free(fs);
}

static void two_hops(void)
{
    /* Links A 6, B 4, D 10, E 10; flows A-D, A-E, B-D, B-E: 3 3 2 2. A-D with 3 bytes ends at 1;
     * then A-E has 6, D 2, E 8: the 27 bytes of A-E end at 1 + 24 / 6 = 5. */
    const double bytes_per_s[] = {6, 4, 10, 10};
    struct strait_flow flows[4] = {0};
    struct strait_fairshare *fs = strait_fairshare_new(4, bytes_per_s);
    start(fs, &flows[0], 0, 2, 3);
    start(fs, &flows[1], 0, 3, 27);
    start(fs, &flows[2], 1, 2, 100);
    start(fs, &flows[3], 1, 3, 100);
    CU_ASSERT_DOUBLE_EQUAL(strait_fairshare_next_s(fs), 1, 1e-12);
    CU_ASSERT_PTR_EQUAL(strait_fairshare_ended(fs, 1), &flows[0]);
    CU_ASSERT_DOUBLE_EQUAL(strait_fairshare_next_s(fs), 5, 1e-12);
    CU_ASSERT_PTR_EQUAL(strait_fairshare_ended(fs, 5), &flows[1]);
    CU_ASSERT_DOUBLE_EQUAL(strait_fairshare_next_s(fs), 50, 1e-12); /* 2 each all the time */
    strait_fairshare_free(fs);
}

enum shape { STAR, RING, ANY_PAIR, SITES, SHAPES }; /* SITES: three of three, pairs 0 - 1 linked */

static void plan(struct planned *p, int n, int n_ranks, enum shape shape, uint64_t seed)
{
    double now_s = 0;
    for (uint64_t i = 0; i < (uint64_t)n; i++) {
        const int a = (int)(strait_random_unit(seed, "a", i, 0) * n_ranks);
        const int step = 1 + (int)(strait_random_unit(seed, "b", i, 0) * (n_ranks - 1));
        const int client = 1 + a % (n_ranks - 1);
        const bool up = strait_random_unit(seed, "up", i, 0) < 0.5;
        p[i] = (struct planned){.bytes = 1 + 1e6 * strait_random_unit(seed, "bytes", i, 0)};
        const int src = shape == STAR ? (up ? client : 0) : a;
        const int dst = shape == STAR   ? (up ? 0 : client)
                        : shape == RING ? (a + 1) % n_ranks
                                        : (a + step) % n_ranks;
        const int from = src % 3, to = dst % 3;
        p[i].link[p[i].n_links++] = 2 * src;
        if (shape == SITES && from != to) {
            p[i].link[p[i].n_links++] = 2 * n_ranks + 2 * from;
            if (from + to == 1)
                p[i].link[p[i].n_links++] = 2 * n_ranks + 6 + from;
            p[i].link[p[i].n_links++] = 2 * n_ranks + 2 * to + 1;
        }
        p[i].link[p[i].n_links++] = 2 * dst + 1;
        if (strait_random_unit(seed, "together", i, 0) < 0.7) /* the others start with the last */
            now_s += 0.3 * strait_random_unit(seed, "gap", i, 0);
        p[i].begin_s = 0.01 + now_s;
    }
}

static void random_traffic(void)
{
    enum { N = 150, N_RANKS = 9 };
    struct planned p[N];
    enum { N_LINKS = 2 * N_RANKS + 8 };
    double bytes_per_s[N_LINKS], worst = 0;
    for (uint64_t seed = 0; seed < 80; seed++) {
        for (uint64_t l = 0; l < N_LINKS; l++) /* every second time equal links, with ties */
            bytes_per_s[l] =
                seed % 2 ? 1e6 : 1e6 * (0.2 + 3 * strait_random_unit(seed, "link", l, 0));
        plan(p, N, N_RANKS, (enum shape)(seed % SHAPES), seed);
        worst = fmax(worst, worst_difference(p, N, bytes_per_s, N_LINKS));
    }
    CU_ASSERT(worst < 1e-10);
    if (!(worst < 1e-10))
        printf("    worst relative difference %g\n", worst);
}

static void crossing_caps(void)
{
    /* One hub, private links of very different rates: flows leave their caps and come back. */
    enum { N = 300, N_CLIENTS = 15 };
    struct planned p[N];
    double bytes_per_s[2 * N_CLIENTS + 2], worst = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        for (uint64_t l = 0; l < 2 * N_CLIENTS + 2; l++)
            bytes_per_s[l] = 1e5 * pow(30, strait_random_unit(seed, "link", l, 0));
        bytes_per_s[0] = bytes_per_s[1] = 2e6;
        plan(p, N, N_CLIENTS + 1, STAR, seed);
        worst = fmax(worst, worst_difference(p, N, bytes_per_s, 2 * N_CLIENTS + 2));
    }
    CU_ASSERT(worst < 1e-10);
    if (!(worst < 1e-10))
        printf("    worst relative difference %g\n", worst);
}

/* 60 clients in four sites and a server, in a site of its own or at the core; some sites have a
 * link of their own to it. Client i's port, in and out: 2 i, 2 i + 1. */
enum { SITE_CLIENTS = 60, SITES_LINKS = 2 * (SITE_CLIENTS + 1) + 20, N_SITE_FLOWS = 400 };

static void plan_sites(struct planned *p, uint64_t seed)
{
    const int sites = 2 * (SITE_CLIENTS + 1), pairs = sites + 10;
    double now_s = 0;
    for (uint64_t i = 0; i < N_SITE_FLOWS; i++) {
        const int client = 1 + (int)(strait_random_unit(seed, "client", i, 0) * SITE_CLIENTS);
        const int site = 1 + client % 4, way = strait_random_unit(seed, "up", i, 0) < 0.8 ? 0 : 1;
        const bool has_pair = seed % 3 == 0 && site > 2, has_home = seed % 2 == 0;
        int *link = p[i].link, *n = &p[i].n_links;
        p[i] = (struct planned){.bytes = 1e3 + 1e6 * strait_random_unit(seed, "bytes", i, 0)};
        link[(*n)++] = 2 * client + way;
        link[(*n)++] = sites + 2 * site + way;
        if (has_pair)
            link[(*n)++] = pairs + 2 * site + way;
        if (has_home)
            link[(*n)++] = sites + way;
        link[(*n)++] = way;
        if (strait_random_unit(seed, "together", i, 0) < 0.5)
            now_s += 0.1 * strait_random_unit(seed, "gap", i, 0);
        p[i].begin_s = 0.01 + now_s;
    }
}

static void many_in_sites(void)
{
    struct planned p[N_SITE_FLOWS];
    double bytes_per_s[SITES_LINKS], worst = 0;
    for (uint64_t seed = 0; seed < 12; seed++) {
        for (uint64_t l = 0; l < SITES_LINKS;
             l++) /* ports that hold few, and ports that hold all */
            bytes_per_s[l] = 1e6 * pow(20, strait_random_unit(seed, "link", l, 0));
        if (seed >= 6) /* equal ports, so that all reach their caps together */
            for (int l = 0; l < SITES_LINKS; l++)
                bytes_per_s[l] = l < 2 ? 8e6 : l < 2 * (SITE_CLIENTS + 1) ? 1e6 : 4e6;
        plan_sites(p, seed);
        worst = fmax(worst, worst_difference(p, N_SITE_FLOWS, bytes_per_s, SITES_LINKS));
    }
    CU_ASSERT(worst < 1e-10);
    if (!(worst < 1e-10))
        printf("    worst relative difference %g\n", worst);
}

/* As many flows at once between any two of 40 ranks, over few shared links in the middle: classes
 * that form no tree. */
static void crosswise_classes(void)
{
    enum { N = 300, N_RANKS = 40, N_PORTS = 2 * N_RANKS, N_MIDDLE = 4 };
    struct planned p[N];
    double bytes_per_s[N_PORTS + 2 * N_MIDDLE], worst = 0;
    for (uint64_t seed = 0; seed < 8; seed++) {
        for (uint64_t l = 0; l < N_PORTS + 2 * N_MIDDLE; l++)
            bytes_per_s[l] =
                (l < N_PORTS ? 1e6 : 4e6) * pow(10, strait_random_unit(seed, "r", l, 0));
        for (uint64_t i = 0; i < N; i++) {
            const int src = (int)(strait_random_unit(seed, "src", i, 0) * N_RANKS),
                      step = 1 + (int)(strait_random_unit(seed, "dst", i, 0) * (N_RANKS - 1)),
                      dst = (src + step) % N_RANKS;
            p[i] = (struct planned){.link = {2 * src, N_PORTS + src % N_MIDDLE,
                                             N_PORTS + N_MIDDLE + dst % N_MIDDLE, 2 * dst + 1},
                                    .n_links = 4,
                                    .begin_s = 0.01 + 0.002 * (double)(i / 3),
                                    .bytes = 1e4 + 1e6 * strait_random_unit(seed, "b", i, 0)};
        }
        worst = fmax(worst, worst_difference(p, N, bytes_per_s, N_PORTS + 2 * N_MIDDLE));
    }
    CU_ASSERT(worst < 1e-10);
    if (!(worst < 1e-10))
        printf("    worst relative difference %g\n", worst);
}

static const struct strait_test tests[] = {
    {"flows with narrow links of their own leave the rest to the others", caps},
    {"a flow alone follows its links, and shares them with what comes later", alone},
    {"flows that share links crosswise get their max-min shares", two_hops},
    {"random traffic ends as progressive filling from scratch says", random_traffic},
    {"caps that come and go are followed exactly", crossing_caps},
    {"many clients of sites end as progressive filling from scratch says", many_in_sites},
    {"so do flows over few shared links in no tree", crosswise_classes},
};
STRAIT_SUITE("sim/solver/fairshare", tests);
