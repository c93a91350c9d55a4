/* TCP over a path that loses packets, against closed forms of how often and how much windows are
 * cut. */
#include "sim/lossy.h"

#include <math.h>

#include "tests/kit/rig.h"
#include "tests/kit/suite.h"

static const double RTT_S = 0.05, RATE = 1e8; /* bytes/s: 3453 segments a round trip */

static struct strait_lossy cold(struct strait_tcp tcp, double loss_ratio, uint64_t key)
{
    struct strait_lossy w;
    strait_lossy_init(&w, RTT_S, RATE, loss_ratio, &tcp, true, key);
    return w;
}

/* Send so many bytes that arrive, alone on the link. Returns when the last one left; out: all that
 * was sent. */
static double send(struct strait_lossy *w, double now_s, double bytes, double queue_s, double *sent)
{
    while (bytes > 0) {
        double part;
        const double at_s = strait_lossy_next(w, now_s, bytes, &part);
        if (part <= 0) {
            CU_ASSERT(at_s > now_s);
            now_s = at_s;
            continue;
        }
        const double end_s = now_s + part / RATE;
        const double lost = strait_lossy_sent(w, now_s, end_s, part, queue_s, part < bytes);
        CU_ASSERT(lost >= 0 && lost <= part);
        bytes -= part - lost;
        *sent += part;
        now_s = end_s;
    }
    return now_s;
}

/* Without a loss it is slow start: 4 MB = 276 windows of 14480, 255 of them in 8 round trips. */
static void as_without(void)
{
    double sent = 0;
    struct strait_lossy w = cold(strait_rig_tcp(), 0, 1);
    const double end_s = send(&w, 0, 4e6, INFINITY, &sent);
    CU_ASSERT_DOUBLE_EQUAL(end_s, 8 * RTT_S + (4e6 - 255 * 14480.0) / RATE, 1e-12);
    CU_ASSERT_EQUAL(sent, 4e6);
}

/* Mean window of Reno with losses drawn apart from each other: sqrt(3 / (2 p)) segments where each
 * loss halves (Mathis et al. 1997); 1.22 of it a round trip. The slow start before is left out: the
 * second of two transfers counts. Two thousand losses: a standard error of some per cent. */
static void square_root_law(void)
{
    static const double loss[] = {1e-3, 3e-3, 1e-2};
    for (size_t i = 0; i < sizeof(loss) / sizeof(*loss); i++) {
        double sent = 0;
        struct strait_tcp tcp = strait_rig_tcp();
        struct strait_lossy w = cold(tcp, loss[i], strait_test_seed() + i);
        const double bytes = 2000 / loss[i] * 1448;
        const double from_s = send(&w, 0, bytes, INFINITY, &sent);
        sent = 0;
        const double took_s = send(&w, from_s, bytes, INFINITY, &sent) - from_s;
        const double window = bytes / 1448 / (took_s / RTT_S);
        strait_test_context("loss %g seed %u", loss[i], (unsigned)strait_test_seed());
        CU_ASSERT_DOUBLE_EQUAL(window, sqrt(1.5 / loss[i]), 0.15 * sqrt(1.5 / loss[i]));
        /* n segments that arrive take n / (1 - p) sent ones */
        CU_ASSERT_DOUBLE_EQUAL(sent / bytes, 1 / (1 - loss[i]), 5 * sqrt(loss[i] / 2000 * loss[i]));
    }
}

/* RFC 9438, section 5.2: mean window of CUBIC 1.054 RTT^0.75 / p^0.75 = 315 segments where losses
 * come at equal distances. Where they are drawn it is larger, since windows grow ever faster: W(t)
 * integrated in steps of a tenth of a round trip over 4000 losses with exponential distances, with
 * fast convergence and Reno's growth beside it, gives 359 (and 308 at equal distances). */
static void cubic_law(void)
{
    double sent = 0, loss = 1e-4;
    const double rtt_s = 0.2; /* with 0.05 Reno's own window, 122 segments, is larger */
    struct strait_tcp tcp = strait_rig_tcp();
    struct strait_lossy w;
    tcp.congestion = STRAIT_CUBIC;
    strait_lossy_init(&w, rtt_s, RATE, loss, &tcp, true, strait_test_seed());
    const double bytes = 4000 / loss * 1448, from_s = send(&w, 0, bytes, INFINITY, &sent);
    const double took_s = send(&w, from_s, bytes, INFINITY, &sent) - from_s;
    const double window = bytes / 1448 / (took_s / rtt_s);
    strait_test_context("seed %u", (unsigned)strait_test_seed());
    CU_ASSERT_DOUBLE_EQUAL(window, 359, 0.1 * 359);
}

/* BBR repeats what is lost and keeps its rate: 1 / (1 - p) of the time, and the wait for the last
 * losses, at most some round trips. */
static void bbr(void)
{
    double sent = 0;
    struct strait_tcp tcp = strait_rig_tcp();
    tcp.congestion = STRAIT_BBR;
    struct strait_lossy w = cold(tcp, 0.02, strait_test_seed());
    const double bytes = 1e9, took_s = send(&w, 0, bytes, INFINITY, &sent);
    const double ideal_s = bytes / 0.98 / RATE + 8 * RTT_S;
    CU_ASSERT(took_s > ideal_s - 2 * RTT_S && took_s < ideal_s + 12 * RTT_S);
}

/* The window never gets above what path and queue hold, so that a queue of the path's own size
 * keeps Reno's rate whole, and one without room halves it at each overflow: three quarters. */
static void full_queue(void)
{
    const double bytes = 20e9;
    for (int i = 0; i < 2; i++) {
        double sent = 0;
        struct strait_tcp tcp = strait_rig_tcp();
        struct strait_lossy w = cold(tcp, 0, 1);
        const double queue_s = i == 0 ? RTT_S : RTT_S / 1000;
        w.cwnd = w.ssthresh = 3453; /* congestion avoidance from the start */
        const double took_s = send(&w, 0, bytes, queue_s, &sent);
        CU_ASSERT_DOUBLE_EQUAL(bytes / RATE / took_s, i == 0 ? 1 : 0.75, i == 0 ? 0.01 : 0.04);
    }
}

/* A single segment that is lost: a probe after two round trips and the least time-out. Lost again:
 * the time-out, which doubles. */
static void tail(void)
{
    double part;
    struct strait_lossy w = cold(strait_rig_tcp(), 1 - 1e-9, 1);
    CU_ASSERT_EQUAL(strait_lossy_next(&w, 0, 1000, &part), 0);
    CU_ASSERT_EQUAL(strait_lossy_sent(&w, 0, 0.001, part, INFINITY, false), 1000);
    double at_s = strait_lossy_next(&w, 0.001, 1000, &part);
    CU_ASSERT_EQUAL(part, 0);
    CU_ASSERT_DOUBLE_EQUAL(at_s, 0.001 + 2 * RTT_S + 0.2, 1e-12);
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(strait_lossy_next(&w, at_s, 1000, &part), at_s);
        CU_ASSERT_EQUAL(part, 1000);
        strait_lossy_sent(&w, at_s, at_s, part, INFINITY, false);
        const double next_s = strait_lossy_next(&w, at_s, 1000, &part);
        CU_ASSERT_DOUBLE_EQUAL(next_s - at_s, (RTT_S + 0.2) * exp2(i), 1e-12);
        at_s = next_s;
    }
}

static const struct strait_test tests[] = {
    {"without losses it is slow start", as_without},
    {"Reno's mean window follows the square root law", square_root_law},
    {"CUBIC's mean window is that of its growth between drawn losses", cubic_law},
    {"BBR keeps its rate and repeats what was lost", bbr},
    {"a queue as long as the path keeps the rate whole, none loses a quarter", full_queue},
    {"a lost tail waits for a probe, then for time-outs that double", tail},
};
STRAIT_SUITE("sim/lossy", tests);
