/* What a supervisor leaves of its links, and what an onlooker gets of it. No run: readings by hand. */
#include "emu/judge/live_links.h"

#include <math.h>
#include <string.h>
#include "process/dilated_clock.h"
#include "tests/kit/emu_world.h"
#include "tests/kit/suite.h"

struct seen {
    int n;
    struct strait_live live;
};

static void look(const struct strait_run *run, const struct strait_live *live)
{
    struct seen *s = run->watcher;
    s->n++;
    s->live = *live;
}

/* Each link has figures of its own; in the network's order those of rank 0 come first, out, in. */
static void readings(void)
{
    struct world w;
    struct seen seen = {0};
    struct strait_live_link links[4];
    struct strait_emu_link_report out[2] = {
        {.carried_bytes = 1, .backlog_bytes = 2, .n_queue_drops = 3, .n_loss_drops = 4},
        {.carried_bytes = 10, .backlog_bytes = 20, .n_queue_drops = 30, .n_loss_drops = 40}};
    struct strait_emu_link_report in[2] = {
        {.carried_bytes = 100, .backlog_bytes = 200, .n_queue_drops = 300, .n_loss_drops = 400},
        {.carried_bytes = STRAIT_EMU_UNKNOWN, .n_loss_drops = 5}};
    const struct strait_emu_relay_report r = {
        .n_nodes = 2, .out = out, .in = in, .at_s = 2 + 1e-9 * (double)strait_proc_mono_ns()};
    world_init(&w, 2, 1e9, 0.04);
    w.run.watch = look;
    w.run.watcher = &seen;
    struct strait_emu_shared *s = strait_emu_shared_new(&w.run, 4, 1, NULL);
    CU_ASSERT_FATAL(s != NULL);
    CU_ASSERT_EQUAL(s->n_links, 4);

    strait_emu_live_show(&w.run, s, links); /* it has not begun, and nothing was read */
    CU_ASSERT_EQUAL(seen.n, 1);
    CU_ASSERT(isinf(seen.live.now_s) && seen.live.now_s < 0);
    CU_ASSERT(isnan(seen.live.read_at_s));

    atomic_store(&s->start_ns, (int64_t)llround(1e9 * r.at_s) - 8000000000); /* 8 s before */
    atomic_store(&s->ranks[0].state.n_rounds, 3);
    atomic_store(&s->ranks[0].state.rounds_s, 1.5);
    strait_emu_live_put(s, &r);
    CU_ASSERT_EQUAL(atomic_load(&s->n_readings), 2);
    strait_emu_live_show(&w.run, s, links);
    CU_ASSERT_EQUAL(seen.n, 2);
    CU_ASSERT_EQUAL(seen.live.dilation, 4);
    CU_ASSERT_EQUAL(seen.live.n_rounds, 3);
    CU_ASSERT_EQUAL(seen.live.rounds_s, 1.5);
    CU_ASSERT_DOUBLE_EQUAL(seen.live.read_at_s, 2, 1e-6); /* 8 s at k = 4 */
    CU_ASSERT_EQUAL(seen.live.n_links, 4);
    const double carried[] = {1, 100, 10}, queued[] = {2, 200, 20}, drops[] = {7, 700, 70};
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(links[i].carried_bytes, carried[i]);
        CU_ASSERT_EQUAL(links[i].queue_bytes, queued[i]);
        CU_ASSERT_EQUAL(links[i].n_drops, drops[i]);
    }
    CU_ASSERT(isnan(links[3].carried_bytes) && isnan(links[3].queue_bytes));
    CU_ASSERT_EQUAL(links[3].n_drops, 5);

    atomic_fetch_add(&s->n_readings, 1); /* a supervisor that is always in the middle of writing */
    strait_emu_live_show(&w.run, s, links);
    CU_ASSERT(isnan(seen.live.read_at_s));
    strait_emu_shared_free(s);
    world_release(&w);
}

/* Two sites: after the four links of the ranks come out and in of each site, then the four
 * pairs. */
static void between_sites(void)
{
    enum { N_BETWEEN = 8 };
    struct world w;
    struct seen seen = {0};
    int site[2] = {0, 1};
    struct strait_link ports[4] = {{.rate_bits_per_s = 1e9}}, pairs[4] = {{.rate_bits_per_s = 1e9}};
    struct strait_live_link links[4 + N_BETWEEN];
    struct strait_emu_link_report nodes[4] = {{.n_packets = 1}}, between[N_BETWEEN];
    for (int i = 0; i < N_BETWEEN; i++)
        between[i] = (struct strait_emu_link_report){.carried_bytes = 100 + (uint64_t)i};
    const struct strait_emu_relay_report r = {.n_nodes = 2,
                                              .out = nodes,
                                              .in = nodes + 2,
                                              .n_between = N_BETWEEN,
                                              .between = between,
                                              .at_s = 1e-9 * (double)strait_proc_mono_ns()};
    world_init(&w, 2, 1e9, 0.04);
    struct strait_network sites = *w.network;
    sites.n_sites = 2;
    sites.site = site;
    sites.site_out = ports;
    sites.site_in = ports + 2;
    sites.between = pairs;
    w.run.network = &sites;
    w.run.watch = look;
    w.run.watcher = &seen;
    struct strait_emu_shared *s = strait_emu_shared_new(&w.run, 1, 1, NULL);
    CU_ASSERT_FATAL(s != NULL);
    CU_ASSERT_EQUAL_FATAL(s->n_links, 4 + N_BETWEEN);
    strait_emu_live_put(s, &r);
    strait_emu_live_show(&w.run, s, links);
    CU_ASSERT_EQUAL(seen.live.n_links, 4 + N_BETWEEN);
    for (int i = 0; i < N_BETWEEN; i++)
        CU_ASSERT_EQUAL(links[4 + i].carried_bytes, 100 + i);
    strait_emu_shared_free(s);
    w.run.network = w.network;
    world_release(&w);
}

static const struct strait_test tests[] = {
    {"links of sites and between them follow those of the ranks", between_sites},
    {"readings are those of each link, in virtual time", readings},
};
STRAIT_SUITE("emu/judge/live_links", tests);
