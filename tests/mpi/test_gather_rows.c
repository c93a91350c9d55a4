/* What ranks tell rank 0 after a run, by letter boxes in place of MPI, and what becomes of it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "mpi/link_parts.h"
#include "mpi/mpi_session.h"
#include "tests/kit/failing/set_clock.h"
#include "tests/kit/links/fake_mpi.h"
#include "tests/kit/suite.h"

enum { N = 3 };

static struct part {
    struct strait_mpi_world world;
    struct strait_run run;
    struct strait_mpi_session s;
    struct strait_log logs[N];
    struct strait_mpi_peer peers[N];
} parts[N];
static struct strait_facts facts;

static void begin(void)
{
    struct strait_error err = {0};
    fake_mpi_empty();
    memset(parts, 0, sizeof(parts));
    strait_test_clock_set(10);
    fake_mpi.step_s = 10;
    CU_ASSERT_EQUAL_FATAL(strait_facts_init(&facts, &err), 0);
    for (int i = 0; i < N; i++) {
        struct part *p = &parts[i];
        p->world = fake_mpi_world(i, N);
        p->run = (struct strait_run){.n_ranks = N, .logs = p->logs, .facts = &facts};
        p->s.world = &p->world;
        p->s.run = &p->run;
        p->s.peers = p->peers;
        p->s.rank.run = &p->run;
        CU_ASSERT_EQUAL_FATAL(
            strait_mpi_link_new(&p->s.link, &p->world, &p->s.rank, NULL, NULL, &err), 0);
    }
}

static void end(void)
{
    for (int i = 0; i < N; i++) {
        strait_mpi_link_free(parts[i].s.link);
        for (int k = 0; k < N; k++)
            strait_log_release(&parts[i].logs[k]);
    }
    strait_facts_release(&facts);
    unsetenv("STRAIT_NET_ON");
    fake_mpi_empty();
    strait_test_clock_real();
}

static void tell(int rank)
{
    struct strait_error err = {0};
    CU_ASSERT_EQUAL(strait_mpi_gather(&parts[rank].s, &err), 0);
}

/* Each figure of the ranks: bytes and checksums, jobs and their processor time are added, of lags
 * and slips the longest counts. */
static void figures(void)
{
    static const struct {
        uint64_t bytes, checksum, measured, slow;
        double returned_s, slip_sum_s, slip_max_s, lag_sum_s, lag_max_s, cpu_s;
        const char *on;
    } of[N] = {{1000, 0xf0, 5, 1, 10, 0.02, 0.011, 0.5, 0.25, 8, NULL},
               {20, 0x0f, 6, 0, 11, 0.0625, 0.002, 0.75, 0.125, 16, "client1"},
               {3, 0xff00, 7, 2, 12, 0.0625, 0.0115, 0.25, 0.0625, 32, "client1"}};
    static const int64_t offsets[N][2] = {{0}, {1000, 4000}, {-500, -4500}},
                         rtts[N] = {0, 30000, 8001};
    begin();
    char host[STRAIT_MPI_HOST_CHARS], here[STRAIT_MPI_HOST_CHARS];
    strait_mpi_world_host(here);
    for (int i = N - 1; i >= 0; i--) {
        struct strait_mpi_session *s = &parts[i].s;
        if (of[i].on)
            setenv("STRAIT_NET_ON", of[i].on, 1);
        else
            unsetenv("STRAIT_NET_ON");
        if (i == 1)
            strait_mpi_world_host(host);
        s->link->figures.bytes_sent = of[i].bytes;
        s->link->figures.sent_checksum = of[i].checksum;
        s->rank.slots.n_measured = of[i].measured;
        s->rank.slots.n_slow = of[i].slow;
        s->rank.slots.slip_sum_s = of[i].slip_sum_s;
        s->rank.slots.slip_max_s = of[i].slip_max_s;
        s->rank.slots.cpu_s = of[i].cpu_s;
        s->state.lag_sum_s = of[i].lag_sum_s;
        s->state.lag_max_s = of[i].lag_max_s;
        s->returned_s = of[i].returned_s;
        parts[i].logs[i].n_messages = (uint64_t)i + 40;
        memcpy(parts[0].peers[i].offset_ns, offsets[i], sizeof(offsets[i]));
        parts[0].peers[i].rtt_ns[0] = rtts[i];
        tell(i);
    }
    json_t *wanted = json_pack(
        "{s:s, s:{s:i, s:i}, s:{s:f, s:f}, s:f, s:i, s:s, s:i, s:i, s:f, s:f, s:f, s:f, s:f}",
        "library", "Letters 1.0", "hosts", here, 1, host, 2, "clock", "error_s", 1e-9 * 15000.0,
        "drift_s", 1e-9 * 4000.0, "run_s", 10.0, "sent_bytes", 1023, "sent_checksum",
        "000000000000ffff", "n_measured_jobs", 18, "n_slow_readings", 3, "job_cpu_s", 56.0,
        "slip_sum_s", 0.0625, "slip_max_s", 0.0115, "lag_sum_s", 0.75, "lag_max_s", 0.25);
    CU_ASSERT_EQUAL(json_equal(facts.report, wanted), 1);
    char *found = json_dumps(facts.report, JSON_SORT_KEYS),
         *expected = json_dumps(wanted, JSON_SORT_KEYS);
    CU_ASSERT_STRING_EQUAL(found, expected);
    free(found);
    free(expected);
    json_decref(wanted);
    CU_ASSERT_EQUAL(json_array_size(facts.flags), 0);
    for (int i = 1; i < N; i++)
        CU_ASSERT_EQUAL(parts[0].logs[i].n_messages, i + 40);
    end();
}

/* Spans travel whole, in both directions of what a log keeps. */
static void logs(void)
{
    begin();
    for (int i = 0; i < 300; i++) {
        const struct strait_span span = {.start_s = i, .end_s = i + 0.5, .rank = 2, .round = i};
        strait_log_add(&parts[2].logs[2], &span);
    }
    tell(1);
    tell(2);
    parts[0].run.facts = NULL; /* nobody asks for them */
    tell(0);
    CU_ASSERT_EQUAL(parts[0].logs[2].n_spans, 300);
    CU_ASSERT_EQUAL(parts[0].logs[1].n_spans, 0);
    CU_ASSERT_EQUAL(parts[0].logs[2].total_s[STRAIT_SPAN_COMPUTE],
                    parts[2].logs[2].total_s[STRAIT_SPAN_COMPUTE]);
    CU_ASSERT_EQUAL(json_object_size(facts.report), 0);
    end();
}

/* Jobs may end late by 1 % of the run, and by 5 ms once. */
static void flags_of(double run_s, int rank, double slip_sum_s, const char *text)
{
    begin();
    parts[0].s.returned_s = run_s;
    parts[rank].s.rank.slots.slip_sum_s = slip_sum_s;
    for (int i = N - 1; i >= 0; i--)
        tell(i);
    CU_ASSERT_EQUAL(json_array_size(facts.flags), text != NULL);
    if (text)
        CU_ASSERT_STRING_EQUAL(json_string_value(json_array_get(facts.flags, 0)), text);
    end();
}

static void flags(void)
{
    flags_of(10, 1, 0.0999, NULL);
    flags_of(10, 1, 0.1001,
             "jobs of rank 1 ended 100.1 ms late, in all: its processors had other work");
    flags_of(0.1, 2, 0.0049, NULL);
    flags_of(0.1, 2, 0.0051,
             "jobs of rank 2 ended 5.1 ms late, in all: its processors had other work");
    flags_of(0.5, 0, 0.006,
             "jobs of rank 0 ended 6.0 ms late, in all: its processors had other work");
    flags_of(1, 0, 0.006, NULL);
    begin(); /* of two that are as late the first is named */
    parts[0].s.returned_s = 0.5;
    for (int i = N - 1; i >= 0; i--) {
        parts[i].s.rank.slots.slip_sum_s = 0.006;
        tell(i);
    }
    CU_ASSERT_EQUAL(json_array_size(facts.flags), 1);
    CU_ASSERT_CONTAINS(json_string_value(json_array_get(facts.flags, 0)), "jobs of rank 0 ended");
    end();
}

static void gather_fails(enum strait_error_code code, const char *text)
{
    struct strait_error err = {0};
    CU_ASSERT_EQUAL(strait_mpi_gather(&parts[0].s, &err), -1);
    CU_ASSERT_EQUAL(err.code, code);
    CU_ASSERT_STRING_EQUAL(err.text, text);
    CU_ASSERT_EQUAL(json_object_size(facts.report), 0);
    end();
}

static void lacking(void)
{
    begin();
    parts[2].logs[2].no_memory = true;
    tell(1);
    tell(2);
    gather_fails(STRAIT_ERR_NOMEM, "memory ran out for spans");

    begin();
    parts[0].logs[0].no_memory = true;
    tell(1);
    tell(2);
    gather_fails(STRAIT_ERR_NOMEM, "memory ran out for spans");

    begin();
    tell(1);
    tell(2);
    fake_mpi.items[1].n_bytes--;
    gather_fails(STRAIT_ERR_BACKEND, "the log of rank 2 is cut off");

    begin();
    tell(1);
    fake_mpi.items[0].n_bytes = 8; /* less than the figures take */
    gather_fails(STRAIT_ERR_BACKEND, "the log of rank 1 is cut off");

    begin();
    tell(2);
    gather_fails(STRAIT_ERR_BACKEND, "rank 1 has not been heard for 120 s");
    CU_ASSERT_EQUAL(parts[0].logs[2].n_messages, 0);
}

static const struct strait_test tests[] = {
    {"figures of all ranks are added, or the longest is taken", figures},
    {"logs come whole to rank 0", logs},
    {"jobs that ended late are said of the rank where most did", flags},
    {"a log that lacks, or is cut off, is an error", lacking},
};
STRAIT_SUITE("mpi/gather_rows", tests);
