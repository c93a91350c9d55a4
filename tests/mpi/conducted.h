/* Rank 0 conducts a run of ranks that are a script: what it asks of them and when, what it makes of
 * their answers, and how long it waits. Its clock passes as the test says. */
#pragma once
#include <stdlib.h>
#include <string.h>
#include "core/hash.h"
#include "mpi/link_parts.h"
#include "mpi/mpi_session.h"
#include "tests/kit/failing/set_clock.h"
#include "tests/kit/links/fake_mpi.h"
#include "tests/kit/suite.h"

enum { N = 3, N_WORDS = STRAIT_MPI_FAILED + 1, MAX_LOOKS = 64 };
static const double BEGAN_S = 100, AHEAD_S[N] = {0, 0.5, -2};
static const int64_t MS = 1000000;

static struct {
    struct strait_mpi_world world;
    struct strait_run run;
    struct strait_mpi_session s;
    struct strait_mpi_peer peers[N];
    /* what the others do: */
    double rtt_s[N]; /* the shortest; the n-th ping takes that and 0 to 23 times more_s */
    double more_s, ready_s[N], here_s[N];
    uint64_t clock_ids[N];
    bool is_dumb[N];
    struct strait_mpi_note (*status)(int rank, int n_looks);
    /* what they heard: */
    int n_heard[N][N_WORDS];
    struct strait_mpi_note last[N];
    double looked_s[MAX_LOOKS], ended_s;
} at;

static inline void heard(int src, int dst, const struct strait_mpi_note *note)
{
    struct strait_mpi_note reply = {.word = STRAIT_MPI_PONG};
    if (src != at.world.me)
        return;
    const int n = at.n_heard[dst][note->word]++;
    at.last[dst] = *note;
    if (at.is_dumb[dst])
        return;
    if (note->word == STRAIT_MPI_PING) {
        const double rtt_s = at.rtt_s[dst] + at.more_s * ((n * 7 + 5) % 24);
        reply.time_ns = (int64_t)(1e9 * (strait_test_clock_now_s() + rtt_s / 2 + AHEAD_S[dst]));
        fake_mpi_say(dst, 0, &reply, rtt_s);
    } else if (note->word == STRAIT_MPI_LOOK) {
        if (dst == 1 && n < MAX_LOOKS)
            at.looked_s[n] = strait_test_clock_now_s();
        reply = at.status(dst, n);
        reply.word = STRAIT_MPI_STATUS;
        fake_mpi_say(dst, 0, &reply, 1e-5);
    } else if (note->word == STRAIT_MPI_END) {
        at.ended_s = strait_test_clock_now_s();
    }
}

static inline void note(void *of, const struct strait_mpi_note *n)
{
    strait_mpi_conduct_note(of, n);
}

static inline void begin(int me, double step_s)
{
    struct strait_error err = {0};
    fake_mpi_empty();
    memset(&at, 0, sizeof(at));
    strait_test_clock_set(BEGAN_S);
    at.world = fake_mpi_world(me, N);
    at.run.n_ranks = N;
    at.s.world = &at.world;
    at.s.run = &at.run;
    at.s.peers = at.peers;
    at.s.rank.run = &at.run;
    at.s.began_ns = at.s.heard_0_ns = strait_proc_mono_ns();
    for (int i = 0; i < N; i++)
        at.clock_ids[i] = 77;
    CU_ASSERT_EQUAL_FATAL(strait_mpi_link_new(&at.s.link, &at.world, &at.s.rank, note, &at.s, &err),
                          0);
    fake_mpi.heard = heard;
    fake_mpi.step_s = step_s;
}

static inline void end(void)
{
    struct strait_error err = {0};
    fake_mpi.held = false;
    for (bool moved = true; moved;)
        CU_ASSERT_EQUAL_FATAL(strait_mpi_link_turn(at.s.link, &moved, &err), 0);
    strait_mpi_link_free(at.s.link);
    fake_mpi_empty();
    strait_test_clock_real();
}

/* The others say that they have come and that they are ready. */
static inline void come(void)
{
    for (int i = 1; i < N; i++) {
        const struct strait_mpi_note here = {.word = STRAIT_MPI_HERE},
                                     ready = {.word = STRAIT_MPI_READY,
                                              .clock_id = at.clock_ids[i]};
        fake_mpi_say(i, 0, &here, at.here_s[i]);
        fake_mpi_say(i, 0, &ready, at.ready_s[i]);
    }
}

static inline void silent(int (*what)(struct strait_mpi_session *s, struct strait_error *err),
                          double from_s, double to_s, const char *text)
{
    struct strait_error err = {0};
    CU_ASSERT_EQUAL(what(&at.s, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_BACKEND);
    CU_ASSERT_STRING_EQUAL(err.text, text);
    const double took_s = strait_test_clock_now_s() - BEGAN_S;
    CU_ASSERT_AT_LEAST(took_s, from_s);
    CU_ASSERT_AT_MOST(took_s, to_s);
    end();
}
