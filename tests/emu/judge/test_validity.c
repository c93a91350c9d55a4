#include "emu/judge/validity.h"
#include <math.h>
#include <string.h>
#include "emu/host/dilation.h"
#include "emu/judge/watch.h"
#include "court.h"

static void nothing_speaks_against_a_quiet_run(void)
{
    struct court c;
    court_open(&c);
    expect(&c, NULL);
    court_close(&c);
}

static void late_jobs_are_a_sign(void)
{
    struct court c;
    court_open(&c);
    c.shared->ranks[1].slip_sum_s = 0.39; /* limit: 1 % of 40 s of real time */
    expect(&c, NULL);
    c.shared->ranks[1].slip_sum_s = 0.41;
    expect(&c, "padded jobs of rank 1 ended late: 410.0 ms in all");
    c.shared->ranks[1].slip_sum_s = c.shared->ranks[1].slip_max_s = 0.019; /* limit: 5 ms x 4 */
    expect(&c, NULL);
    c.shared->ranks[1].slip_sum_s = c.shared->ranks[1].slip_max_s = 0.021;
    expect(&c, "21.0 ms at most once");
    court_close(&c);
}

static void late_messages_are_a_sign(void)
{
    struct court c;
    court_open(&c);
    c.shared->ranks[2].write_late_max_s = 0.019;
    expect(&c, NULL);
    c.shared->ranks[2].write_late_max_s = 0.021;
    expect(&c, "rank 2 began to send a message 21.0 ms late");
    court_close(&c);
}

static void a_late_relay_is_a_sign(void)
{
    struct court c;
    court_open(&c);
    c.e.relay.late_p99_s = 0.0017;
    expect(&c, "p99 1.700 ms, limit 1.600 ms");
    c.e.dilation = 1; /* 1 % of 40 ms is below half a millisecond */
    c.e.relay.late_p99_s = 0.00049;
    c.e.probes[0].rtt_s = 0.04;
    expect(&c, NULL);
    court_close(&c);
}

/* 1 of 100 packets may be late, but not by more than 5 ms of virtual time: 20 ms. */
static void a_relay_that_stood_still_is_a_sign(void)
{
    struct court c;
    court_open(&c);
    c.e.relay.late_max_s = c.e.relay.gap_max_s = 0.019;
    expect(&c, NULL);
    c.e.relay.late_max_s = 0.021;
    expect(&c, "the relay stood still for 21.0 ms, limit 20.0 ms");
    c.e.relay.late_max_s = 0;
    c.e.relay.gap_max_s = 0.022; /* nothing was due meanwhile */
    expect(&c, "the relay stood still for 22.0 ms, limit 20.0 ms");
    c.e.realisation = STRAIT_EMU_KERNEL;
    c.e.relay.gap_max_s = NAN;
    c.e.relay.late_max_s = 0.023;
    expect(&c, "this machine stood still for 23.0 ms");
    c.e.relay.late_max_s = NAN; /* nobody knows */
    expect(&c, NULL);
    court_close(&c);
}

static void a_rank_that_stood_still_is_a_sign(void)
{
    struct court c;
    court_open(&c);
    c.shared->ranks[1].stall_max_s = 0.019;
    expect(&c, NULL);
    c.shared->ranks[1].stall_max_s = 0.021;
    expect(&c, "rank 1 stood still for 21.0 ms");
    court_close(&c);
}

static void a_stopped_process_is_a_sign(void)
{
    struct court c;
    court_open(&c);
    c.e.n_stops = 2;
    c.e.stopped_rank = 2;
    expect(&c, "rank 2 was stopped by a signal");
    c.e.stopped_rank = -1;
    expect(&c, "a process of the network was stopped by a signal");
    court_close(&c);
}

/* The kernel's links are held to the same limit by their sentinel; without one nobody knows. */
static void a_late_machine_is_a_sign(void)
{
    struct court c;
    court_open(&c);
    c.e.realisation = STRAIT_EMU_KERNEL;
    expect(&c, NULL);
    c.e.relay.late_p99_s = 0.0017;
    expect(&c, "this machine was late: p99 1.700 ms");
    c.e.relay.late_p99_s = NAN;
    expect(&c, NULL);
    court_close(&c);
}

/* No sign of invalidity: what is charged is a quick one. */
static void slow_readings_are_flagged_and_nothing_else(void)
{
    struct court c;
    court_open(&c);
    c.shared->ranks[0].n_measured = c.shared->ranks[2].n_measured = 40;
    expect_in(&c, NULL, true);
    c.shared->ranks[2].n_slow = 7;
    expect_in(&c, "7 of 80 readings of work were more than 5 % above what is charged", true);
    court_close(&c);
}

static void messages_faster_than_light_are_a_sign(void)
{
    struct court c;
    court_open(&c);
    c.shared->ranks[1].n_too_fast = 2;
    c.shared->ranks[1].too_fast_bytes = 5000;
    c.shared->ranks[1].too_fast_took_s = 0.001;
    c.shared->ranks[1].too_fast_least_s = 0.02;
    expect(&c, "2 messages were faster than their links: 5000 bytes in 1.000 ms, at least 20.000");
    court_close(&c);
}

/* 5 % of 40 s of real time, and four times the 20 ms that a job may be late once: 2.08 s. */
static void work_outside_of_jobs_is_a_sign(void)
{
    struct court c;
    court_open(&c);
    c.shared->ranks[2].state.lag_sum_s = 2.07;
    expect(&c, NULL);
    c.shared->ranks[2].state.lag_sum_s = 2.09;
    expect(&c, "rank 2 spent 2090.0 ms outside of jobs, limit 2080.0 ms of real time");
    court_close(&c);
}

/* 1 % of 0.1 s x 4 is 4 ms; below the 5 ms that one job may be late nothing is asked. */
static void short_runs_have_five_milliseconds(void)
{
    struct court c;
    court_open(&c);
    c.e.run_s = 0.1;
    c.shared->ranks[0].slip_sum_s = 0.0049;
    expect(&c, NULL);
    c.shared->ranks[0].slip_sum_s = 0.0051;
    expect(&c, "padded jobs of rank 0 ended late: 5.1 ms in all");
    court_close(&c);
}

/* Of several causes each is said once, of the first rank that it struck. */
static void first_of_many(void)
{
    struct court c;
    court_open(&c);
    for (int i = 1; i < 3; i++) {
        c.shared->ranks[i].n_too_fast = (unsigned)i;
        c.shared->ranks[i].too_fast_bytes = 1000 * (uint64_t)i;
    }
    expect(&c, "3 messages were faster than their links: 1000 bytes");
    court_close(&c);
    court_open(&c);
    c.shared->ranks[1].slip_max_s = c.shared->ranks[2].slip_max_s = 1;
    expect(&c, "padded jobs of rank 1");
    court_close(&c);
    court_open(&c);
    c.shared->ranks[1].write_late_max_s = c.shared->ranks[2].write_late_max_s = 1;
    expect(&c, "rank 1 began to send");
    court_close(&c);
    court_open(&c);
    c.shared->ranks[0].state.lag_sum_s = c.shared->ranks[2].state.lag_sum_s = 9;
    expect(&c, "rank 0 spent");
    court_close(&c);
}

static bool is_star(const struct strait_run *run, int src, int dst, int channel)
{
    (void)run;
    return channel == 0 && (src == 0 || dst == 0);
}

static void dilation_follows_jobs_and_links(void)
{
    struct world w;
    world_init(&w, 9, 1e9, 0.05);
    w.run.uses_stream = is_star;
    /* Server out to one client and one client out to the server: 1 Gbps each at a time. */
    CU_ASSERT(strait_emu_active_bits_per_s(&w.run) == 2e9);
    w.run.uses_stream = NULL;
    /* All to all: pairs 0 1, 2 3, 4 5, 6 7 fill each other's ports; 8 finds them all taken. */
    CU_ASSERT(strait_emu_active_bits_per_s(&w.run) == 8e9);
    w.run.uses_stream = is_star;
    /* net_cpu = 0.1 + 8 x 0.015 = 0.22; 0.22 x 2 Gbps / (0.5 x 2) = 0.44; nine ranks that begin
     * take 0.5 ms each of two processors, 0.45 of the 5 ms by which none may be late */
    struct strait_emu_dilation d = strait_emu_dilation_choose(&w.run, 2);
    CU_ASSERT(d.k == 1 && fabs(d.k_net - 0.45) < 1e-12 && d.n_compute == 1);
    CU_ASSERT(!d.net_cpu_measured && fabs(d.net_cpu_s - 0.22) < 1e-12);
    w.run.net_cpu_s_per_gbit = 1.3; /* as measured: 1.3 x 2 Gbps / (0.5 x 2) = 2.6, and whole */
    d = strait_emu_dilation_choose(&w.run, 2);
    CU_ASSERT(d.k == 3 && fabs(d.k_net - 2.6) < 1e-12 && d.net_cpu_measured && d.net_cpu_s == 1.3);
    w.run.net_cpu_s_per_gbit = 1000; /* no round trip of 50 ms may take more than 2.5 s */
    CU_ASSERT(strait_emu_dilation_choose(&w.run, 2).k == 50);
    w.run.net_cpu_s_per_gbit = 0;
    w.run.measured_cost = true; /* 9 ranks on 0.75 x 1 processors; on 0.75 x 3 */
    CU_ASSERT(strait_emu_dilation_choose(&w.run, 2).k == 12);
    d = strait_emu_dilation_choose(&w.run, 4);
    CU_ASSERT(d.n_compute == 3 && d.k == 4);
    w.run.dilation = 2.5;
    CU_ASSERT(strait_emu_dilation_choose(&w.run, 2).k == 2.5);
    world_release(&w);
}

static void a_stall_is_seen_at_the_second_look(void)
{
    struct world w;
    struct strait_error err = {.code = STRAIT_OK};
    struct strait_emu_watch watch = {.still = false};
    world_init(&w, 2, 1e9, 0.05);
    struct strait_emu_shared *s = strait_emu_shared_new(&w.run, 1, 1, NULL);
    CU_ASSERT_FATAL(s != NULL);
    atomic_store(&s->ranks[1].state.n_lanes, 2); /* rank 0 has returned */
    atomic_store(&s->ranks[1].state.n_stuck, 2);
    atomic_store(&s->ranks[1].state.stuck_src, STRAIT_ANY);
    atomic_store(&s->ranks[1].state.stuck_channel, 3);
    atomic_store(&s->ranks[0].state.n_sent, 1); /* its last message is still under way */
    CU_ASSERT(strait_emu_watch_under_way(s) == 1);
    for (int i = 0; i < 3; i++)
        CU_ASSERT(strait_emu_watch_look(&watch, s, &err) == 0);
    atomic_store(&s->ranks[1].state.n_landed, 1);
    CU_ASSERT(strait_emu_watch_look(&watch, s, &err) == 0);
    atomic_fetch_add(&s->ranks[1].state.progress, 1); /* it moved in between */
    CU_ASSERT(strait_emu_watch_look(&watch, s, &err) == 0);
    CU_ASSERT(strait_emu_watch_look(&watch, s, &err) == -1);
    CU_ASSERT(strcmp(err.text, "rank 1 waits for ever for a message from any rank on channel 3") ==
              0);
    atomic_store(&s->ranks[1].state.n_stuck, 1); /* one lane works */
    CU_ASSERT(strait_emu_watch_look(&watch, s, NULL) == 0);
    strait_emu_shared_free(s);
    world_release(&w);
}

static const struct strait_test tests[] = {
    {"a relay that stood still is a sign", a_relay_that_stood_still_is_a_sign},
    {"a rank that stood still is a sign", a_rank_that_stood_still_is_a_sign},
    {"a stopped process is a sign", a_stopped_process_is_a_sign},
    {"nothing speaks against a quiet run", nothing_speaks_against_a_quiet_run},
    {"late jobs are a sign", late_jobs_are_a_sign},
    {"late messages are a sign", late_messages_are_a_sign},
    {"a late relay is a sign", a_late_relay_is_a_sign},
    {"a machine that is late, as a sentinel tells", a_late_machine_is_a_sign},
    {"slow readings are flagged and nothing else", slow_readings_are_flagged_and_nothing_else},
    {"messages faster than their links are a sign", messages_faster_than_light_are_a_sign},
    {"work outside of jobs is a sign", work_outside_of_jobs_is_a_sign},
    {"in short runs jobs may be 5 ms late", short_runs_have_five_milliseconds},
    {"of many ranks the first is named, once a cause", first_of_many},
    {"dilation follows measured jobs and active links", dilation_follows_jobs_and_links},
    {"a stall is seen at the second look", a_stall_is_seen_at_the_second_look},
};
STRAIT_SUITE("emu/judge/validity", tests);
