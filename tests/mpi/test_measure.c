/* What links give, by a clock that a network of closed forms passes; what a collective takes beside
 * its steps. */
#include <math.h>
#include <string.h>
#include "mpi/measure.h"
#include "tests/kit/failing/set_clock.h"
#include "tests/kit/suite.h"

/* 9 ms less 6 ms are 3 ms; independent errors of 0.5 and 1.2 ms are 1.3 ms together. */
static void beside(void)
{
    const struct strait_mpi_figure call = {9e-3, 0.5e-3, 5}, steps = {6e-3, 1.2e-3, 5};
    const struct strait_mpi_figure f = strait_mpi_beside(call, steps);
    CU_ASSERT_DOUBLE_EQUAL(f.value, 3e-3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(f.error, 1.3e-3, 1e-12);
    CU_ASSERT_EQUAL(f.n, 5);
    CU_ASSERT_EQUAL(strait_mpi_beside(steps, call).value, 0); /* never less than none */
}

/* --- the network ------------------------------------------------------------------------------ */

enum { ORDER, BULK, REPLY, STEP, FIGURE, MAX_RANKS = 5, MAX_REQUESTS = 1 << 16, MAX_WORDS = 16 };
static const double MB = 1e6, MIB = 1048576;

struct path { /* between rank 0 and another */
    double rtt_s, out_bytes_per_s, in_bytes_per_s;
    double late_s;    /* of 41 echoes in a row one comes so much later, one twice as much, ... */
    bool halves_late; /* a bulk that is smaller than one before takes a second more */
};

static struct {
    struct path paths[MAX_RANKS];
    double port_bytes_per_s, message_s; /* rank 0 sends no faster in all; each message costs */
    double step_s, call_s, others_rtt_s;
    unsigned n_echoes; /* that rank 1 asks of rank 2 */
    int me, n;
    /* what happens */
    uint64_t orders[MAX_RANKS][3], n_orders[MAX_RANKS], n_bulks[MAX_RANKS][2];
    uint64_t most[MAX_RANKS][2], sum[MAX_RANKS][2]; /* bytes of bulk, out and in */
    double path_free_s[MAX_RANKS], port_free_s;
    double done_s[MAX_REQUESTS];
    size_t n_requests, n_calls, fails; /* this call fails, from 1 */
    unsigned n_reduced, n_steps;
    double wait_s; /* passes with every test, which never succeeds */
    /* of another rank than 0: what it is told, and all that it is asked to send and to take */
    uint64_t script[MAX_WORDS][3];
    size_t at;
    int peers[MAX_WORDS], froms[MAX_WORDS]; /* of steps */
    uint64_t took[MAX_WORDS], gave[MAX_WORDS];
    size_t n_took, n_gave;
    int master;
    struct strait_mpi_figure told; /* to rank 0 */
    bool is_told_end;
} net;

static bool fails(void)
{
    return ++net.n_calls == net.fails;
}

static void later(struct strait_mpi_request *request, double done_s)
{
    CU_ASSERT_FATAL(net.n_requests < MAX_REQUESTS);
    net.done_s[net.n_requests] = done_s;
    request->handle = net.n_requests++;
}

/* How much longer this order takes than it should. */
static double disturbed_s(int rank)
{
    const uint64_t *o = net.orders[rank];
    const bool out = o[0] > 1000, in = o[2] > 1000;
    const struct path *p = &net.paths[rank];
    double s = 0;
    if (!out && !in && o[1] == 0)
        s = (double)(net.n_orders[rank] * 7 % 41) * p->late_s;
    for (int way = 0; way < 2; way++) {
        const uint64_t bytes = way == 0 ? o[0] : o[2];
        if (!(way == 0 ? out : in))
            continue;
        net.n_bulks[rank][way]++;
        net.sum[rank][way] += bytes;
        s += p->halves_late && bytes < net.most[rank][way] ? 1 : 0;
        net.most[rank][way] = bytes > net.most[rank][way] ? bytes : net.most[rank][way];
    }
    return s;
}

static int net_isend(void *of, struct strait_mpi_request *request, enum strait_mpi_way way,
                     const void *data, size_t n_bytes, int dst, int tag)
{
    (void)of;
    const double now_s = strait_test_clock_now_s();
    double done_s = now_s;
    CU_ASSERT_EQUAL(way, STRAIT_MPI_PAYLOADS);
    if (tag == STEP) {
        if (net.n_steps < MAX_WORDS)
            net.peers[net.n_steps] = dst;
        done_s += net.step_s;
    } else if (tag == FIGURE) {
        CU_ASSERT(net.me == 1 && dst == 0);
        memcpy(&net.told, data, sizeof(net.told));
    } else if (net.me == 1 && dst == 2) {
        CU_ASSERT_EQUAL(tag, ORDER);
        net.n_echoes += ((const uint64_t *)data)[2] == 1;
        net.is_told_end = ((const uint64_t *)data)[2] == 0;
    } else if (net.me != 0) {
        CU_ASSERT(tag == REPLY && dst == net.master);
        if (net.n_gave < MAX_WORDS)
            net.gave[net.n_gave++] = n_bytes;
    } else if (tag == ORDER) {
        CU_ASSERT_EQUAL_FATAL(n_bytes, sizeof(net.orders[dst]));
        memcpy(net.orders[dst], data, n_bytes);
        net.n_orders[dst]++;
        net.path_free_s[dst] = now_s;
        net.port_free_s = fmax(net.port_free_s, now_s);
    } else {
        CU_ASSERT_EQUAL(tag, BULK);
        CU_ASSERT_EQUAL(n_bytes, net.orders[dst][0]);
        const double way_s = net.message_s + (double)n_bytes / net.paths[dst].out_bytes_per_s;
        net.port_free_s = fmax(net.port_free_s, now_s) + (double)n_bytes / net.port_bytes_per_s;
        net.path_free_s[dst] = fmax(net.port_free_s, fmax(net.path_free_s[dst], now_s) + way_s);
        done_s = net.path_free_s[dst];
    }
    later(request, done_s);
    return fails() ? -1 : 0;
}

static int net_irecv(void *of, struct strait_mpi_request *request, enum strait_mpi_way way,
                     void *data, size_t n_bytes, int src, int tag)
{
    (void)of;
    double done_s = strait_test_clock_now_s();
    CU_ASSERT_EQUAL(way, STRAIT_MPI_PAYLOADS);
    if (tag == STEP) {
        if (net.n_steps < MAX_WORDS)
            net.froms[net.n_steps] = src;
        net.n_steps++;
    } else if (tag == FIGURE) {
        CU_ASSERT(net.me == 0 && src == 1);
        const struct strait_mpi_figure f = {net.others_rtt_s, 1e-5, 41};
        memcpy(data, &f, n_bytes);
    } else if (net.me == 1 && src == 2) {
        CU_ASSERT(tag == REPLY && n_bytes == 1);
        done_s += net.others_rtt_s;
    } else if (net.me != 0) {
        CU_ASSERT_EQUAL(src, net.master);
        if (tag == ORDER)
            memcpy(data, net.script[net.at++], n_bytes);
        else if (net.n_took < MAX_WORDS)
            net.took[net.n_took++] = n_bytes;
        if (tag == ORDER && net.me == 2 && net.script[net.at - 1][2] == 0)
            net.master = 1; /* from now on */
    } else {
        CU_ASSERT(tag == REPLY && n_bytes == net.orders[src][2]);
        const struct path *p = &net.paths[src];
        done_s = fmax(done_s, net.path_free_s[src]) + p->rtt_s + disturbed_s(src) +
                 (double)n_bytes / p->in_bytes_per_s;
    }
    later(request, done_s);
    return fails() ? -1 : 0;
}

static int net_test(void *of, struct strait_mpi_request *request)
{
    (void)of;
    if (net.wait_s > 0) {
        strait_test_clock_pass(net.wait_s);
        return 0;
    }
    const double left_s = net.done_s[request->handle] - strait_test_clock_now_s();
    strait_test_clock_pass(fmax(0, left_s));
    return fails() ? -1 : 1;
}

static int net_all_reduce(void *of, float *x, int n)
{
    (void)of;
    CU_ASSERT(*x == 1 && n == 1);
    net.n_reduced++;
    strait_test_clock_pass(net.call_s);
    return fails() ? -1 : 0;
}

static const struct strait_mpi_calls calls = {.version = STRAIT_MPI_CALLS_VERSION,
                                              .isend = net_isend,
                                              .irecv = net_irecv,
                                              .test = net_test,
                                              .all_reduce = net_all_reduce};

static void begin(int me, int n)
{
    memset(&net, 0, sizeof(net));
    net.me = me;
    net.n = n;
    net.port_bytes_per_s = INFINITY;
    for (int i = 0; i < MAX_RANKS; i++)
        net.paths[i] = (struct path){1e-3, 100 * MB, 100 * MB, 0, false};
    strait_test_clock_set(1000);
}

static int measure(struct strait_mpi_links *links, struct strait_error *err)
{
    struct strait_mpi_world world = {.calls = &calls, .me = net.me, .n = net.n};
    const int failed = strait_mpi_measure(&world, links, err);
    strait_test_clock_real();
    return failed;
}

/* --- what is measured ------------------------------------------------------------------------- */

/* Clocks count nanoseconds, and an echo holds one byte. */
#define ABOUT(found, wanted) CU_ASSERT_DOUBLE_EQUAL(found, wanted, 1e-4 * (wanted))

/* Two others behind a port of 150 MB/s: one far away, whose echoes take 0, 1, ... 40 us
 * more, and one near. A bulk doubles from 1 MiB until it takes 0.1 s and 15 round trips, to
 * both at once eight times as long. */
static void two_paths(void)
{
    struct strait_mpi_path paths[2];
    struct strait_mpi_links links = {.paths = paths};
    struct strait_error err = {0};
    begin(0, 3);
    net.port_bytes_per_s = 150 * MB;
    net.message_s = 10e-6;
    net.step_s = 1e-3;
    net.call_s = 3e-3;
    net.others_rtt_s = 20.1e-3;
    net.paths[1] = (struct path){20e-3, 100 * MB, 50 * MB, 1e-6, false};
    net.paths[2] = (struct path){0.5e-3, 400 * MB, 400 * MB, 0, false};
    CU_ASSERT_EQUAL_FATAL(measure(&links, &err), 0);

    ABOUT(paths[0].rtt_s.value, 20e-3 + 20e-6);
    CU_ASSERT_EQUAL(paths[0].rtt_s.n, 41);
    CU_ASSERT_DOUBLE_EQUAL(paths[0].rtt_s.error, 3e-6, 2e-9); /* sqrt(41) / 2 is about 3 */
    ABOUT(paths[0].message_s.value, 10e-6 + 64 / (100 * MB) - 20e-6 / 400);
    CU_ASSERT_EQUAL(paths[0].message_s.n, 5);
    ABOUT(paths[0].out_bytes_per_s.value, 100 * MB);
    ABOUT(paths[0].in_bytes_per_s.value, 50 * MB);
    CU_ASSERT_EQUAL(paths[0].out_bytes_per_s.n, 5);
    CU_ASSERT(paths[0].out_bytes_per_s.error < 1e-6 * 100 * MB);
    ABOUT(paths[1].rtt_s.value, 0.5e-3);
    ABOUT(paths[1].message_s.value, 10e-6 + 64 / (400 * MB));
    ABOUT(paths[1].out_bytes_per_s.value, 150 * MB); /* the port's */
    ABOUT(paths[1].in_bytes_per_s.value, 400 * MB);
    ABOUT(links.together_bytes_per_s.value, 150 * MB);
    ABOUT(links.others_rtt_s.value, 20.1e-3);
    ABOUT(links.steps_s.value, 2e-3); /* three ranks: two steps */
    ABOUT(links.collective_s.value, 3e-3);
    CU_ASSERT_EQUAL(links.collective_s.n, 5);

    CU_ASSERT_EQUAL(net.most[1][0], 64 * MIB); /* to both: 0.9 s at 150 MB/s; 32 MiB: 0.45 s */
    CU_ASSERT_EQUAL(net.most[1][1], 16 * MIB); /* 0.36 s; 8 MiB: 0.19 s */
    CU_ASSERT_EQUAL(net.most[2][0], 64 * MIB);
    CU_ASSERT_EQUAL(net.most[2][1], 64 * MIB); /* 0.17 s at 400 MB/s */
    /* 1, 2, ... 16 MiB, five halves and wholes; and to both at once 1, 2, ... 64 */
    CU_ASSERT_EQUAL(net.n_bulks[2][0], 5 + 10 + 7 + 10);
    CU_ASSERT_EQUAL(net.n_bulks[2][1], 7 + 10);
    CU_ASSERT_EQUAL(net.sum[1][1], (1 + 2 + 4 + 8 + 16 + 5 * (8 + 16)) * MIB);
    for (int i = 1; i <= 2; i++)
        CU_ASSERT_EQUAL(net.orders[i][0] + net.orders[i][1] + net.orders[i][2],
                        0);                 /* that was all */
    CU_ASSERT_EQUAL(net.n_reduced, 6 * 20); /* the first 20 do not count */
    CU_ASSERT_EQUAL(net.n_steps, 6 * 20 * 2);
}

/* Where a half takes longer than the whole, which then says all there is: 16 MiB in 0.168 s and a
 * round trip of 1 ms. Where no bulk is long enough, 256 MiB are. */
static void odd_paths(void)
{
    struct strait_mpi_path path;
    struct strait_mpi_links links = {.paths = &path};
    struct strait_error err = {0};
    begin(0, 2);
    net.paths[1].halves_late = true;
    CU_ASSERT_EQUAL_FATAL(measure(&links, &err), 0);
    ABOUT(path.out_bytes_per_s.value, 16 * MIB / (16 * MIB / (100 * MB) + 1e-3));
    ABOUT(path.in_bytes_per_s.value, 16 * MIB / (16 * MIB / (100 * MB) + 1e-3));

    begin(0, 2);
    net.paths[1] = (struct path){1e-3, 1e12, 1e12, 0, false};
    CU_ASSERT_EQUAL_FATAL(measure(&links, &err), 0);
    CU_ASSERT_EQUAL(net.most[1][0], 256 * MIB);
    CU_ASSERT_EQUAL(net.n_bulks[1][1], 8 + 10);
}

/* Rank 1 of five takes and gives what each order says, until one asks for no reply. Then 120 times
 * words to the ranks 1, 2 and 4 further, and 120 collectives. */
static void another_rank(void)
{
    static const uint64_t script[][3] = {
        {0, 0, 1}, {64, 3, 1}, {0, 0, 500}, {2000, 1, 7}, {9, 1, 0}};
    static const uint64_t took[] = {64, 64, 64, 2000, 9}, gave[] = {1, 1, 500, 7};
    static const int to[] = {2, 3, 0}, from[] = {0, 4, 2};
    struct strait_error err = {0};
    struct strait_mpi_links links = {0};
    begin(1, 5);
    memcpy(net.script, script, sizeof(script));
    net.others_rtt_s = 7e-3;
    CU_ASSERT_EQUAL_FATAL(measure(&links, &err), 0);
    CU_ASSERT_EQUAL(net.at, 5);
    CU_ASSERT_EQUAL(net.n_echoes, 41);
    CU_ASSERT(net.is_told_end);
    ABOUT(net.told.value, 7e-3);
    CU_ASSERT_EQUAL(net.n_took, 5);
    CU_ASSERT_EQUAL(net.n_gave, 4);
    CU_ASSERT(memcmp(net.took, took, sizeof(took)) == 0);
    CU_ASSERT(memcmp(net.gave, gave, sizeof(gave)) == 0);
    CU_ASSERT_EQUAL(net.n_steps, 120 * 3);
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(net.peers[3 + i], to[i]);
        CU_ASSERT_EQUAL(net.froms[3 + i], from[i]);
    }
    CU_ASSERT_EQUAL(net.n_reduced, 120);
}

/* Rank 2 then replies to rank 1, too. */
static void the_second_rank(void)
{
    static const uint64_t script[][3] = {{0, 0, 1}, {0, 0, 0}, {0, 0, 3}, {0, 0, 0}};
    struct strait_error err = {0};
    struct strait_mpi_links links = {0};
    begin(2, 3);
    memcpy(net.script, script, sizeof(script));
    CU_ASSERT_EQUAL_FATAL(measure(&links, &err), 0);
    CU_ASSERT_EQUAL(net.at, 4);
    CU_ASSERT(net.n_gave == 2 && net.gave[0] == 1 && net.gave[1] == 3);
}

/* Round trips of a tree: ports of 3, 5 and 7 ms make 8, 10 and 12. */
static void own_port(void)
{
    struct strait_mpi_path paths[] = {{.rtt_s = {8e-3, 0, 41}}, {.rtt_s = {10e-3, 0.8e-3, 41}}};
    struct strait_mpi_links links = {.paths = paths, .others_rtt_s = {12e-3, 0.6e-3, 41}};
    CU_ASSERT_DOUBLE_EQUAL(strait_mpi_own_rtt(&links).value, 3e-3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_mpi_own_rtt(&links).error, 0.5e-3, 1e-12);
    CU_ASSERT_EQUAL(strait_mpi_own_rtt(&links).n, 41);
    links.others_rtt_s.value = 30e-3; /* no tree has these */
    CU_ASSERT_EQUAL(strait_mpi_own_rtt(&links).value, 0);
    links.others_rtt_s.value = 1e-3;
    CU_ASSERT_EQUAL(strait_mpi_own_rtt(&links).value, 8e-3);
    links.others_rtt_s.value = NAN;
    CU_ASSERT(isnan(strait_mpi_own_rtt(&links).value));
}

static void typical(void)
{
    static const struct {
        double rates[4];
        int n, wanted;
    } cases[] = {{{1, 3, 2}, 3, 2},    {{2, 1, 3}, 3, 0}, {{3, 2, 1}, 3, 1}, {{5, 5, 1, 7}, 4, 0},
                 {{7, 1, 5, 5}, 4, 2}, {{4, 4, 4}, 3, 1}, {{9}, 1, 0},       {{2, 1}, 2, 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct strait_mpi_path paths[4] = {0};
        for (int k = 0; k < cases[i].n; k++)
            paths[k].out_bytes_per_s.value = cases[i].rates[k];
        strait_test_context("case %zu", i);
        CU_ASSERT_EQUAL(strait_mpi_typical(paths, cases[i].n) - paths, cases[i].wanted);
    }
}

/* One call of some that fails: the first ones, the last ones of exchanges and collectives, and one
 * between. Few, since each measurement has 256 MiB, which the checks of `make mutants` fill. */
static void calls_that_fail(void)
{
    struct strait_mpi_path path;
    struct strait_mpi_links links = {.paths = &path};
    for (int me = 0; me < 2; me++) {
        size_t total = 0;
        for (int i = 0; i < 7; i++) {
            const size_t nths[] = {0, 1, 2, 4, total / 2, total - 121, total};
            struct strait_error err = {0};
            strait_test_context("rank %d, call %zu of %zu", me, nths[i], total);
            begin(me, 2);
            memcpy(net.script, (uint64_t[][3]){{64, 2, 1}, {0, 0, 0}}, 6 * sizeof(uint64_t));
            net.fails = nths[i];
            CU_ASSERT_EQUAL(measure(&links, &err), i == 0 ? 0 : -1);
            total = i == 0 ? net.n_calls : total;
            CU_ASSERT_EQUAL(net.n_calls, i == 0 ? total : nths[i]);
            CU_ASSERT_STRING_EQUAL(err.text, i == 0 ? "" : "MPI reports an error");
        }
        CU_ASSERT(total > 600);
    }
}

static void silence(void)
{
    struct strait_error err = {0};
    struct strait_mpi_path path;
    struct strait_mpi_links links = {.paths = &path};
    begin(0, 2);
    net.wait_s = 1;
    CU_ASSERT_EQUAL(measure(&links, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_BACKEND);
    CU_ASSERT_STRING_EQUAL(err.text, "rank 0 has waited for an answer for 120 s");
    CU_ASSERT_EQUAL(strait_test_clock_now_s(), 1000 + 121); /* the first look beyond it */
}

static const struct strait_test tests[] = {
    {"what a collective takes beside its steps has both errors", beside},
    {"paths give what their network has: round trip, messages, rates, a port's", two_paths},
    {"a half that was disturbed says nothing, and a bulk grows to 256 MiB", odd_paths},
    {"rank 0's own port has what the round trips to two others have in common", own_port},
    {"the rank with the median rate stands for all", typical},
    {"rank 2 replies to rank 0, then to rank 1", the_second_rank},
    {"another rank takes and gives what it is told, then meets all others", another_rank},
    {"a call that fails ends the measurement and is said", calls_that_fail},
    {"who is silent for two minutes ends the measurement", silence},
};
STRAIT_SUITE("mpi/measure", tests);
