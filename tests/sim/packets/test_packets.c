/* TCP packet by packet, against closed forms of windows, losses, queues and delays, and against
 * what the kernel's TCP did in virtual time. */
#include "packet_world.h"

/* 4 MB are 276.2 first windows of 14480 B, 255 of them in 8 round trips; the rest fills the link:
 * slow start's last window is 256 of them, 61 ms at 1 Gbps and thus above 50. All alike without
 * losses; BBR paces and its rate is an estimate, so it may take some per cent longer. Two packets
 * of 12 us on two links, one before the sender starts, and acknowledgements of two segments each:
 * within 1 ms. */
static void slow_start(void)
{
    static const enum strait_congestion all[] = {STRAIT_RENO, STRAIT_CUBIC, STRAIT_BBR};
    const double expected_s = 8 * RTT_S + (4e6 - 255 * 14480.0) / goodput(RATE) + RTT_S / 2;
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        struct world w = open_world(&(struct setting){all[i], RATE, RTT_S, .seed = 1});
        const double within_s = all[i] == STRAIT_BBR ? 0.06 * expected_s : 1e-3;
        strait_test_context("%s", strait_congestion_name(all[i]));
        CU_ASSERT_DOUBLE_EQUAL(send(&w, 0, 4e6), expected_s, within_s);
        close_world(&w);
    }
}

/* BBR's first window is 11 segments, one more than 10 by the connection's greeting. At 500 Mbps a
 * piece of what was written has 10 segments, so that 9 of the second one are left when the first
 * ones are acknowledged after a round trip: super-packets of 2, 2, 2, 2 and 1. At 2885 / 1000 + 1 /
 * 256 times 0.99 times 10 segments in 60 ms each pair takes 4.19 ms, of which the first one saves
 * half: the last one leaves 3.5 pairs after the round trip. The kernel, in virtual time, took 104.5
 * ms a way. Each packet takes 25 us on a link, two links. */
static void bbr_begins_in_pairs(void)
{
    struct world w =
        open_world(&(struct setting){STRAIT_BBR, 500e6, 0.06, .keeps_window = true, .seed = 1});
    const double pair_s = 2 / ((2.885 + 1.0 / 256) * 0.99 * 10 / 0.06);
    CU_ASSERT_DOUBLE_EQUAL(send(&w, 0, 20 * SEGMENT), 0.09 + 3.5 * pair_s, 0.3e-3);
    close_world(&w);
}

/* By how much drops of its queue move a message: against a queue that holds everything. */
static double moved_s(struct setting s, double bytes)
{
    double took_s[2];
    for (int i = 0; i < 2; i++) {
        struct world w = open_world(&s);
        took_s[i] = send(&w, 0, bytes);
        close_world(&w);
        s.queue_bytes = 1e12;
    }
    return fabs(took_s[0] - took_s[1]);
}

/* At 1 Gbps and 50 ms the path holds 4129 packets, its queue 2500. HyStart ends slow start after
 * acknowledgements for half a round trip and half a millisecond: 2105 segments of the window of
 * 2560, when as many wait, and at 4665 of the 6629 that fit. So nothing is dropped; without HyStart
 * the next window, 10240, overflows the queue. */
static void hystart(void)
{
    struct setting s = {STRAIT_CUBIC,    RATE,     RTT_S, .queue_bytes = 2500 * (SEGMENT + HEADER),
                        .hystart = true, .seed = 1};
    CU_ASSERT_DOUBLE_EQUAL(moved_s(s, 40e6), 0, 1e-12);
    s.hystart = false;
    CU_ASSERT_AT_LEAST(moved_s(s, 40e6), 1e-3);
}

/* After an idle second at 50 ms, four time-outs of 250 ms (no fifth has passed entirely: RFC 5681
 * 4.1, Linux halves once for each), the window is an eighth of what it was; without the rule it is
 * whole and the message takes what the link needs. */
static void idle(void)
{
    double took_s[2];
    for (int keeps = 0; keeps < 2; keeps++) {
        struct world w = open_world(
            &(struct setting){STRAIT_RENO, RATE, RTT_S, .keeps_window = keeps, .seed = 1});
        took_s[keeps] = send(&w, send(&w, 0, 4e6) + 1, 2e6);
        close_world(&w);
    }
    /* 2 MB at 1 Gbps take 16.7 ms; the window of the first message had reached more than that */
    CU_ASSERT_DOUBLE_EQUAL(took_s[1], 2e6 / goodput(RATE) + RTT_S / 2, 1e-3);
    CU_ASSERT(took_s[0] > took_s[1] + RTT_S && took_s[0] < took_s[1] + 3.5 * RTT_S);
}

/* A handshake of 160 ms makes Linux wait 160 + 320 ms for an acknowledgement; of the 320, what is
 * above 200 falls by a quarter with each round trip. 70 segments are windows of 10, 20 and 40, so
 * that the time-out was lowered twice, by 30 and 22.5 ms, when the next message is sent: 427.5 ms,
 * 430 as the clock ticks. After less idleness the window of 80 is whole, after more it is 40: one
 * round trip more for 60 segments. By RFC 6298 without Linux' memory it would have been 360 ms. */
static void young_connections_are_patient(void)
{
    static const double idle_s[] = {0.41, 0.44}, rounds[] = {0, 1};
    for (int i = 0; i < 2; i++) {
        struct world w = open_world(&(struct setting){STRAIT_RENO, RATE, 0.16, .seed = 1});
        const double now_s = send(&w, 0, 70 * SEGMENT);
        const double took_s = send(&w, now_s - 0.08 + idle_s[i], 60 * SEGMENT);
        CU_ASSERT_DOUBLE_EQUAL(took_s, 0.08 + 0.16 * rounds[i], 3e-3);
        close_world(&w);
    }
}

/* Mean window of the second of two transfers, in segments. */
static double mean_window(const struct setting *s, double bytes)
{
    struct world w = open_world(s);
    const double from_s = send(&w, 0, bytes), took_s = send(&w, from_s, bytes);
    close_world(&w);
    return bytes / SEGMENT / (took_s / s->rtt_s);
}

/* Millions of packets for a mean: the code is the other tests'. */
static bool is_left_to_release(void)
{
    if (IS_SANITIZED)
        strait_test_skip("a mean over millions of packets takes too long under a sanitizer");
    return IS_SANITIZED;
}

/* Mathis et al. 1997: Reno's mean window is sqrt(3 / (2 p)) segments. A thousand losses each: a
 * standard error of some per cent, and recovery and time-outs, which the law leaves out, shorten
 * windows by some more at 1 %. */
static void square_root_law(void)
{
    static const double loss[] = {1e-3, 3e-3, 1e-2};
    if (is_left_to_release())
        return;
    for (size_t i = 0; i < sizeof(loss) / sizeof(*loss); i++) {
        const struct setting s = {STRAIT_RENO, 1e10, RTT_S, .loss_ratio = loss[i],
                                  .seed = strait_test_seed() + i};
        strait_test_context("loss %g seed %u", loss[i], (unsigned)strait_test_seed());
        CU_ASSERT_DOUBLE_EQUAL(mean_window(&s, 1000 / loss[i] * SEGMENT), sqrt(1.5 / loss[i]),
                               0.2 * sqrt(1.5 / loss[i]));
    }
}

/* CUBIC with losses drawn at p = 1e-4 and 200 ms: W(t) of RFC 9438 integrated in steps of a tenth
 * of a round trip over 4000 losses with exponential distances, with fast convergence and Reno's
 * growth beside it, gives a mean of 359 segments. */
static void cubic_law(void)
{
    const struct setting s = {STRAIT_CUBIC, 1e10, 0.2, .loss_ratio = 1e-4,
                              .seed = strait_test_seed()};
    if (is_left_to_release())
        return;
    strait_test_context("seed %u", (unsigned)strait_test_seed());
    CU_ASSERT_DOUBLE_EQUAL(mean_window(&s, 600 / 1e-4 * SEGMENT), 359, 0.2 * 359);
}

/* BBR keeps its rate: 2 % of loss cost Reno nine tenths of it (8.7 segments of 88 that the path
 * holds), BBR 2 % and some probing. */
static void bbr_keeps_its_rate(void)
{
    const struct setting s = {STRAIT_BBR, 2e7, RTT_S, .loss_ratio = 0.02, .seed = 3};
    CU_ASSERT(mean_window(&s, 2e7) > 0.85 * goodput(2e7) * RTT_S / SEGMENT);
}

/* A queue as long as the path keeps the link busy when the window halves. With none the window goes
 * from half of the path to all of it: three quarters; a queue of a tenth of the path adds some. */
static void full_queue(void)
{
    const double rate = 2e7, path_bytes = rate / 8 * RTT_S;
    const struct setting whole = {STRAIT_RENO, rate, RTT_S, .queue_bytes = path_bytes, .seed = 1},
                         none = {STRAIT_RENO, rate, RTT_S, .queue_bytes = path_bytes / 10,
                                 .seed = 1};
    const double full = goodput(rate) * RTT_S / SEGMENT;
    CU_ASSERT_DOUBLE_EQUAL(mean_window(&whole, 1e8) / full, 1, 0.02);
    CU_ASSERT_DOUBLE_EQUAL(mean_window(&none, 1e8) / full, 0.78, 0.05);
}

/* A window of one segment: each waits for the acknowledgement of the one before it. The receiver
 * acknowledges the first 15 at once (its window does not grow, being larger than that already),
 * then each after 40 ms, since no second one comes: 4 ticks of its clock and one more, since timers
 * are never early. The 16th segment comes at 15.5 round trips of 50 ms, within tick 77, and is
 * acknowledged at tick 82; the next ones come with a tick and wait five: 100 ms each. The 30th's
 * acknowledgement leaves at 0.82 s + 14 x 0.1 s, and the last segment comes a round trip later. The
 * message's end is acknowledged at once, so that the second message does not wait for it. */
static void delayed_acknowledgements(void)
{
    const struct setting s = {STRAIT_RENO,          1e10,     RTT_S, .window_bytes = SEGMENT,
                              .keeps_window = true, .seed = 1};
    struct world w = open_world(&s);
    const double took_s = send(&w, 0, 31 * SEGMENT);
    CU_ASSERT_DOUBLE_EQUAL(took_s, 0.82 + 14 * 0.1 + RTT_S, 1e-4);
    CU_ASSERT_DOUBLE_EQUAL(send(&w, took_s, 1000), RTT_S, 1e-3);
    close_world(&w);
}

/* A window of two segments and a half, five segments at once. On so short a path a super-packet may
 * hold more than three, so the first one is two segments and a half, and each of its parts makes
 * room for as much when it is acknowledged: two windows, a round trip and a half. In whole segments
 * it would be three windows. Three packets of 12 us on two links, twice, and their acknowledgements
 * are less than 0.15 ms. A path of 50 ms has super-packets of two: there the half does not fit
 * behind the first one, as the kernel begins none without room for a whole segment: two and a half
 * round trips. */
static void windows_in_bytes(void)
{
    static const double rtts_s[] = {1e-3, 0.05}, expected[] = {1.5, 2.5};
    for (int i = 0; i < 2; i++) {
        const struct setting s = {
            STRAIT_RENO,          RATE,     rtts_s[i], .window_bytes = 2.5 * SEGMENT,
            .keeps_window = true, .seed = 1};
        struct world w = open_world(&s);
        CU_ASSERT_DOUBLE_EQUAL(send(&w, 0, 5 * SEGMENT), expected[i] * rtts_s[i], 1.5e-4);
        close_world(&w);
    }
}

/* One segment that may be lost: it is sent again by a probe (RFC 8985) after two round trips and
 * the least time-out, 0.3 s, or a time-out where that is less, 0.05 + 0.2 s; then by time-outs that
 * double. In ticks of 10 ms, a tick later than asked for: 25 + 1, then 26 + 25 + 1, 52 + 50 + 1.
 * From 63 ticks on timers fire at multiples of 8, beyond what was asked for: 103 + 100 gives 208,
 * 208 + 200 416, 416 + 400 824; from 504 on of 64: 824 + 800 gives 1664 (Linux timer.c). */
static void tail(void)
{
    const double late_s[] = {0, 0.26, 0.52, 1.03, 2.08, 4.16, 8.24, 16.64};
    enum { N_LATE = sizeof(late_s) / sizeof(*late_s) };
    int n[N_LATE] = {0}, n_known = 0, n_all = 60;
    for (int i = 0; i < n_all; i++) {
        struct world w = open_world(
            &(struct setting){STRAIT_RENO, RATE, RTT_S, .loss_ratio = 0.5, .seed = (uint64_t)i});
        const double took_s = send(&w, 0, 1000) - RTT_S / 2;
        for (int k = 0; k < N_LATE; k++)
            if (fabs(took_s - late_s[k]) < 1e-3) {
                n[k]++;
                n_known++;
            }
        close_world(&w);
    }
    CU_ASSERT_EQUAL(n_known, n_all);
    for (int k = 0; k < 3; k++) /* 30, 15 and 7.5 expected */
        CU_ASSERT(n[k] > 0 && n[k] >= n[k + 1]);
}

/* A packet's delay is uniform in 25 +- 10 ms: alone it comes within that. Packets keep their order,
 * so that of a thousand within 12 ms the last one waits for the latest of its predecessors: close
 * to 35 ms after those were sent. */
static void jitter(void)
{
    double least_s = INFINITY, most_s = 0;
    struct setting s = {STRAIT_RENO, RATE, RTT_S, .jitter_s = 0.01};
    for (s.seed = 0; s.seed < 50; s.seed++) {
        struct world w = open_world(&s);
        const double took_s = send(&w, 0, 1000);
        least_s = fmin(least_s, took_s);
        most_s = fmax(most_s, took_s);
        close_world(&w);
    }
    CU_ASSERT(least_s > 0.015 && least_s < 0.018);
    CU_ASSERT(most_s < 0.0351 && most_s > 0.032);
    struct world w = open_world(&s);
    double now_s = 0;
    for (int i = 0; i < 4; i++) /* the window opens */
        now_s += send(&w, now_s, 1.4e6);
    const double took_s = send(&w, now_s, 1.4e6);
    CU_ASSERT(took_s > 0.025 + 1.4e6 / goodput(RATE) && took_s < 0.0361 + 1.4e6 / goodput(RATE));
    close_world(&w);
}

/* The same seed gives the same digits, in whatever steps time passes; another seed another draw. */
static void seeds(void)
{
    double took_s[3];
    for (int i = 0; i < 3; i++) {
        struct world w = open_world(&(struct setting){STRAIT_CUBIC, RATE, RTT_S, .loss_ratio = 0.01,
                                                      .seed = i < 2 ? 7 : 8});
        struct strait_pipe *arrived = NULL;
        CU_ASSERT_EQUAL(strait_pipe_post(w.pipe, NULL, 0, 1e6), 0);
        for (double until_s = i == 0 ? 0.01 : INFINITY; !arrived; until_s += 0.01)
            took_s[i] = strait_packets_run(w.packets, until_s, &arrived);
        close_world(&w);
    }
    CU_ASSERT_EQUAL(took_s[0], took_s[1]);
    CU_ASSERT_NOT_EQUAL(took_s[0], took_s[2]);
}

static const struct strait_test tests[] = {
    {"without losses it is slow start", slow_start},
    {"BBR begins with its greeting's window and paces pairs", bbr_begins_in_pairs},
    {"HyStart ends slow start before a queue overflows", hystart},
    {"windows shrink while idle", idle},
    {"young connections are patient", young_connections_are_patient},
    {"Reno's mean window follows the square root law", square_root_law},
    {"CUBIC's mean window is that of its growth between drawn losses", cubic_law},
    {"BBR keeps its rate under losses", bbr_keeps_its_rate},
    {"a queue as long as the path keeps the rate whole, none loses a quarter", full_queue},
    {"acknowledgements wait only where Linux has them wait", delayed_acknowledgements},
    {"the receiver's window is filled to the last byte", windows_in_bytes},
    {"a lost segment waits for a probe, then for time-outs that double", tail},
    {"jitter moves packets within its bounds and keeps their order", jitter},
    {"a seed is a draw, repeatable in any steps", seeds},
};
STRAIT_SUITE("sim/packets/packets", tests);
