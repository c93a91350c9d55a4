#include "sim/window.h"

#include <math.h>

#include "tests/kit/rig.h"
#include "tests/kit/suite.h"

#define RTT_S 0.05
#define RATE  1e8 /* bytes/s: 5 MB a round trip */

static void near(double found, double expected) /* but for rounding */
{
    CU_ASSERT_DOUBLE_EQUAL(found, expected, 1e-12 * fmax(1, fabs(expected)));
}

static struct strait_window cold(struct strait_tcp tcp)
{
    struct strait_window w;
    strait_window_init(&w, RTT_S, RATE, &tcp, true);
    return w;
}

/* Send bytes from now_s on at the given rate, alone on the link. Returns when the last left. */
static double send(struct strait_window *w, double now_s, double bytes, double bytes_per_s,
                   int *n_flows)
{
    while (bytes > 0) {
        double part;
        const double at_s = strait_window_next(w, now_s, bytes, &part);
        if (part <= 0) {
            CU_ASSERT(at_s > now_s);
            now_s = at_s;
            continue;
        }
        strait_window_sent(w, now_s, now_s + part / bytes_per_s, part);
        now_s += part / bytes_per_s;
        bytes -= part;
        (*n_flows)++;
    }
    return now_s;
}

static void doubling(void)
{
    struct strait_window w = cold(strait_rig_tcp());
    int n = 0;
    /* 4 MB = 276 windows of 14480: 1 + 2 + ... + 128 = 255 in 8 round trips, the rest after */
    const double end_s = send(&w, 0, 4e6, RATE, &n);
    near(end_s, 8 * RTT_S + (4e6 - 255 * 14480.0) / RATE);
    CU_ASSERT_EQUAL(n, 9);
}

static void connections(void)
{
    struct strait_tcp tcp = strait_rig_tcp();
    struct strait_window w;
    int n = 0;
    tcp.n_connections = 4;
    /* 4 MB on 4 connections: 1 MB each, 1 + 2 + ... + 32 = 63 windows of 14480 in 6 round trips */
    w = cold(tcp);
    near(send(&w, 0, 4e6, RATE, &n), 6 * RTT_S + (4e6 - 4 * 63 * 14480.0) / RATE);
    CU_ASSERT_EQUAL(n, 7);
    /* 100 kB each and twice that after 10 s of silence: all four begin anew, 3 and 4 round trips */
    w = cold(tcp);
    n = 0;
    near(send(&w, 0, 400e3, RATE, &n), 2 * RTT_S + (400e3 - 4 * 3 * 14480.0) / RATE);
    CU_ASSERT_EQUAL(n, 3);
    near(send(&w, 10, 800e3, RATE, &n), 10 + 3 * RTT_S + (800e3 - 4 * 7 * 14480.0) / RATE);
    CU_ASSERT_EQUAL(n, 7);
    /* receive windows of 500 kB, four of them: 2 MB a round trip where the path holds 5 MB */
    tcp.initial_window_bytes = tcp.window_bytes = 5e5;
    w = cold(tcp);
    near(send(&w, 0, 10e6, RATE, &n), 4 * RTT_S + 2e6 / RATE);
}

/* Four windows of 14480 take 0.5792 ms of the link. Of the next ones 4000 bytes go, in 40 us; but
 * the last connection's acknowledgements came back three quarters of 0.5792 ms after the first. */
static void last_connection(void)
{
    struct strait_tcp tcp = strait_rig_tcp();
    int n = 0;
    tcp.n_connections = 4;
    struct strait_window w = cold(tcp);
    double end_s = send(&w, 0, 57920, RATE, &n);
    near(end_s, 0.5792e-3);
    near(strait_window_left_s(&w, end_s), end_s);
    end_s = send(&w, end_s, 4000, RATE, &n);
    near(end_s, RTT_S + 40e-6);
    near(strait_window_left_s(&w, end_s), RTT_S + 0.4344e-3 + 10e-6);
    end_s = send(&w, 1, 4000, RATE, &n); /* all acknowledgements are there */
    near(strait_window_left_s(&w, end_s), end_s);
    tcp.n_connections = 1;
    w = cold(tcp);
    end_s = send(&w, 0, 15480, RATE, &n);
    near(strait_window_left_s(&w, end_s), end_s);
}

static void full_pipe(void)
{
    struct strait_window w = cold(strait_rig_tcp());
    int n = 0;
    /* 14480 x 2^8 = 3.7 MB < 5 MB <= 14480 x 2^9: nine windows wait, the tenth part is the rest */
    const double end_s = send(&w, 0, 100e6, RATE, &n);
    near(end_s, 9 * RTT_S + (100e6 - 511 * 14480.0) / RATE);
    CU_ASSERT_EQUAL(n, 10);
}

static void slow_share(void)
{
    struct strait_window w = cold(strait_rig_tcp());
    int n = 0;
    /* At 500 kB/s 14480 bytes take 29 ms, 28960 take 58: after the second window nothing waits. */
    const double end_s = send(&w, 0, 1e6, 5e5, &n);
    near(end_s, RTT_S + (1e6 - 14480) / 5e5);
    CU_ASSERT_EQUAL(n, 3);
}

/* 4 MB in windows of 1, 2, 4 ... 128 times 14480 and a last one of 307600 bytes, which were waited
 * for: after all acknowledgements the window is 14480 + 4e6, and holds another 4 MB. */
static void second_message(void)
{
    struct strait_window w = cold(strait_rig_tcp());
    int n = 0;
    const double end_s = send(&w, 0, 4e6, RATE, &n) + RTT_S;
    n = 0;
    near(send(&w, end_s, 4e6, RATE, &n), end_s + 4e6 / RATE);
    CU_ASSERT_EQUAL(n, 1);
}

static void split_messages(void)
{
    struct strait_window a = cold(strait_rig_tcp()), b = a;
    int n = 0;
    const double whole_s = send(&a, 0, 2e6, RATE, &n);
    double parts_s = 0;
    for (int i = 0; i < 80; i++)
        parts_s = send(&b, parts_s, 25e3, RATE, &n);
    near(parts_s, whole_s);
    near(b.cwnd_bytes, a.cwnd_bytes);
}

static void warm(void)
{
    struct strait_window w = cold(strait_rig_tcp());
    int n = 0;
    double end_s = send(&w, 0, 100e6, RATE, &n);
    end_s += 0.1; /* far from any RTO */
    n = 0;
    near(send(&w, end_s, 100e6, RATE, &n), end_s + 1);
    CU_ASSERT_EQUAL(n, 1);
}

static void cap(void)
{
    struct strait_tcp tcp = strait_rig_tcp();
    tcp.initial_window_bytes = tcp.window_bytes = 1e6;
    struct strait_window w = cold(tcp);
    int n = 0;
    /* 1 MB a round trip, although the path holds 5 MB: 9 x 50 ms, then the last 1 MB */
    near(send(&w, 0, 10e6, RATE, &n), 9 * RTT_S + 1e6 / RATE);
    CU_ASSERT_EQUAL(n, 10);
    CU_ASSERT(w.cwnd_bytes <= 2e6);
}

/* After 100 MB the window is the cap's double, 64 MB; the cap kept 32 MB in flight, which take
 * 0.32 s: RTO 0.52 s, and the last send was 0.27 s before the last byte left the queue. */
static struct strait_window used(enum strait_congestion congestion, bool after_idle, double *end_s)
{
    struct strait_tcp tcp = strait_rig_tcp();
    tcp.congestion = congestion;
    tcp.slow_start_after_idle = after_idle;
    struct strait_window w = cold(tcp);
    int n = 0;
    *end_s = send(&w, 0, 100e6, RATE, &n);
    near(w.cwnd_bytes, 64e6);
    near(w.rto_s, 0.52);
    return w;
}

static void idle(void)
{
    double end_s, bytes;
    struct strait_window w = used(STRAIT_RENO, true, &end_s);
    strait_window_next(&w, end_s - 0.27 + 0.51, 1, &bytes);
    near(w.cwnd_bytes, 64e6); /* not yet */
    w = used(STRAIT_RENO, true, &end_s);
    strait_window_next(&w, end_s - 0.27 + 1.57, 1, &bytes);
    near(w.cwnd_bytes, 8e6); /* three RTOs */
    w = used(STRAIT_RENO, true, &end_s);
    strait_window_next(&w, end_s + 1e6, 1, &bytes);
    near(w.cwnd_bytes, 14480); /* never below the initial one */
}

/* 1 MB of a warm window of 5 MB and more goes at once and leaves in 10 ms at 100 MB/s: the last
 * byte was sent 10 ms before it left, RTO 50 + 10 + 200 ms. Of 12 MB the 8 MB in hand go at once;
 * the rest is sent at twice the rate from 50 ms on: the last byte at 50 + 20 ms, it leaves at 120
 * ms. */
static void queueing(void)
{
    struct strait_tcp tcp = strait_rig_tcp();
    int n = 0;
    struct strait_window w = cold(tcp);
    w.cwnd_bytes = 8e6;
    send(&w, 0, 1e6, RATE, &n);
    near(w.queue_s, 0.01);
    near(w.rto_s, 0.26);
    w = cold(tcp);
    w.cwnd_bytes = 8e6;
    send(&w, 0, 12e6, RATE, &n);
    near(w.queue_s, 0.05);
    near(w.rto_s, 0.3);
}

static void idle_without_restart(void)
{
    double end_s, bytes;
    struct strait_window w = used(STRAIT_RENO, false, &end_s);
    strait_window_next(&w, end_s + 1e6, 1, &bytes);
    near(w.cwnd_bytes, 64e6);
    w = used(STRAIT_BBR, true, &end_s);
    strait_window_next(&w, end_s + 1e6, 1, &bytes);
    near(w.cwnd_bytes, 64e6);
}

static void little_used(void)
{
    struct strait_window w = cold(strait_rig_tcp());
    int n = 0;
    for (int i = 0; i < 50; i++) /* 100 bytes every RTT */
        send(&w, i * 1.1 * RTT_S, 100, RATE, &n);
    near(w.cwnd_bytes, 14480); /* less than half of it used: no reason to grow */
}

static void no_ramp(void)
{
    const struct strait_tcp tcp = strait_rig_tcp();
    struct strait_window w;
    int n = 0;
    strait_window_init(&w, RTT_S, RATE, &tcp, false);
    near(send(&w, 0, 10e6, RATE, &n), 0.1);
    CU_ASSERT_EQUAL(n, 1);
    strait_window_init(&w, 0, RATE, &tcp, true); /* no round trip, nothing to wait for */
    near(send(&w, 0, 10e6, RATE, &n), 0.1);
    CU_ASSERT_EQUAL(n, 2);
}

/* After three years the clock has steps of 15 ns: start + RTT is rounded by more than a billionth
 * of the RTT, and who wakes then must find it reached, or sleeps until then for ever. */
static void after_years(void)
{
    const struct strait_tcp tcp = {.congestion = STRAIT_RENO,
                                   .segment_bytes = 1448,
                                   .initial_window_bytes = 14480,
                                   .window_bytes = INFINITY,
                                   .rto_min_s = 0.2};
    for (int i = 0; i < 1000; i++) {
        struct strait_window w = cold(tcp);
        double now_s = 99217500.19 + i * 1.7e-8, part;
        CU_ASSERT_EQUAL(strait_window_next(&w, now_s, 1e6, &part), now_s);
        strait_window_sent(&w, now_s, now_s, part);
        const double wake_s = strait_window_next(&w, now_s, 1e6, &part);
        CU_ASSERT_EQUAL(part, 0);
        strait_window_next(&w, wake_s, 1e6, &part);
        CU_ASSERT(part > 0);
    }
}

static const struct strait_test tests[] = {
    {"a round trip ends after years too", after_years},
    {"a cold window doubles every round trip", doubling},
    {"connections are as many windows", connections},
    {"the last connection's part leaves when its turn comes", last_connection},
    {"a window that fills the path never waits again", full_pipe},
    {"a share that is slower than the window ends the ramp", slow_share},
    {"messages posted at once are as one message", split_messages},
    {"what a full window held back makes it grow when it goes", second_message},
    {"a warm stream has no ramp", warm},
    {"a window smaller than the path goes once a round trip for ever", cap},
    {"silence halves the window every RTO, down to the initial one", idle},
    {"a queue delays the last byte and lengthens the time-out", queueing},
    {"silence changes nothing under BBR or without the restart", idle_without_restart},
    {"a window that is little used does not grow", little_used},
    {"an unlimited initial window and a path without delay have no ramp", no_ramp},
};
STRAIT_SUITE("sim/window", tests);
