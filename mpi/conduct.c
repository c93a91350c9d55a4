/* Rank 0: when a run begins, whether it still can go on, and when it has ended. */
#include <stdio.h>
#include <string.h>
#include "mpi_session.h"

enum { N_PINGS = 24 };
static const int64_t MS = 1000000, SECOND = 1000000000;
/* So long nobody is silent who takes part in the run. */
static const int64_t LOST_S = 30;
/* From the last measured clock to time 0: for the notes, and for each rank's threads. */
static const int64_t WAKE_MS = 30, WAKE_RANK_MS = 2;
/* Between two looks around, while rank 0's program runs, at ranks near and far, and after. A look
 * breaks the idle time after which a connection's window is reset. */
static const int64_t LOOK_MS = 100, FAR_LOOK_MS = 5000, LAST_LOOKS_MS = 5;
/* From this round trip on it is seen whether MPI asks before it sends, and that windows are open
 * from the run before: they are left to close. Linux halves an idle one, down to ten segments, at
 * each time-out (tcp_cwnd_restart). */
static const int64_t FAR_NS = 1000000, RTO_MIN_NS = 200000000, N_HALVINGS = 8;
/* Beyond a multiple of what is expected, in real time. Source: as the emulation's, emu/judge. */
static const double SPARE_S = 300, LATE_RATIO = 10, DEFAULT_S = 3600;

void strait_mpi_conduct_note(struct strait_mpi_session *s, const struct strait_mpi_note *note)
{
    struct strait_mpi_peer *p = &s->peers[note->from];
    p->heard_ns = strait_proc_mono_ns();
    if (note->word == STRAIT_MPI_READY) {
        p->is_ready = true;
        p->clock_id = note->clock_id;
    } else if (note->word == STRAIT_MPI_PONG) {
        p->pong_here_ns = p->heard_ns;
        p->pong_there_ns = note->time_ns;
        p->n_pongs++;
    } else if (note->word == STRAIT_MPI_STATUS) {
        p->status = *note;
        p->n_statuses++;
    }
}

static int tell(struct strait_mpi_session *s, int rank, enum strait_mpi_word word,
                struct strait_error *err)
{
    const struct strait_mpi_note note = {.word = (int32_t)word};
    return strait_mpi_link_note(s->link, rank, &note, err);
}

static int tell_all(struct strait_mpi_session *s, enum strait_mpi_word word,
                    struct strait_error *err)
{
    int failed = 0;
    for (int i = 1; i < s->run->n_ranks && !failed; i++)
        failed = tell(s, i, word, err);
    return failed;
}

static int lost(int rank, int64_t for_s, struct strait_error *err)
{
    return strait_error_set(err, STRAIT_ERR_BACKEND, NULL, "rank %d has not answered for %lld s",
                            rank, (long long)for_s);
}

static int ping(struct strait_mpi_session *s, int rank, struct strait_error *err)
{
    s->peers[rank].n_pings++;
    return tell(s, rank, STRAIT_MPI_PING, err);
}

/* Until all pings so far are answered. */
static int hear_pongs(struct strait_mpi_session *s, int rank, struct strait_error *err)
{
    const int64_t asked_ns = strait_proc_mono_ns();
    while (s->peers[rank].n_pongs < s->peers[rank].n_pings) {
        if (strait_mpi_session_turn(s, err) != 0)
            return -1;
        if (strait_proc_mono_ns() - asked_ns > LOST_S * SECOND)
            return lost(rank, LOST_S, err);
    }
    return 0;
}

/* The shortest of some round trips says best how far the rank's clock is from this one. */
static int measure_clock(struct strait_mpi_session *s, int rank, int when, struct strait_error *err)
{
    struct strait_mpi_peer *p = &s->peers[rank];
    const bool same = p->clock_id != 0 && p->clock_id == strait_mpi_session_clock_id();
    if (same && when == 1)
        return 0;
    p->rtt_ns[when] = INT64_MAX;
    if (hear_pongs(s, rank, err) != 0) /* of those while it prepared */
        return -1;
    for (unsigned i = 0; i < N_PINGS; i++) {
        const int64_t sent_ns = strait_proc_mono_ns();
        if (ping(s, rank, err) != 0 || hear_pongs(s, rank, err) != 0)
            return -1;
        const int64_t rtt_ns = p->pong_here_ns - sent_ns;
        if (rtt_ns >= p->rtt_ns[when])
            continue;
        p->rtt_ns[when] = rtt_ns;
        p->offset_ns[when] = p->pong_there_ns - (sent_ns + rtt_ns / 2);
    }
    if (when == 0)
        p->away_ns = p->rtt_ns[0];
    if (same) /* the same machine: the clock is rank 0's */
        p->rtt_ns[0] = p->offset_ns[0] = 0;
    return 0;
}

double strait_mpi_conduct_silence_s(const struct strait_mpi_session *s, int rank, int64_t now_ns)
{
    const struct strait_mpi_peer *p = &s->peers[rank];
    const bool came = p->heard_ns > 0;
    const double left_s = came ? (double)LOST_S : (double)LOST_S + LATE_RATIO * s->came_after_s;
    return left_s - 1e-9 * (double)(now_ns - (came ? p->heard_ns : s->began_ns));
}

/* Ask all who are not ready whether they are there. They answer while they prepare, which another
 * thread of theirs does. Out: are all ready? */
static int ask_around(struct strait_mpi_session *s, bool *ready, struct strait_error *err)
{
    const int64_t now_ns = strait_proc_mono_ns();
    *ready = true;
    for (int i = 1; i < s->run->n_ranks; i++) {
        const struct strait_mpi_peer *p = &s->peers[i];
        if (p->is_ready)
            continue;
        *ready = false;
        if (strait_mpi_conduct_silence_s(s, i, now_ns) < 0)
            return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                    p->heard_ns > 0
                                        ? "rank %d has not answered while it prepared the run"
                                        : "rank %d has not come to the run that rank 0 announced",
                                    i);
        if (p->heard_ns > 0 && ping(s, i, err) != 0)
            return -1;
    }
    return 0;
}

static int wait_for_all(struct strait_mpi_session *s, struct strait_error *err)
{
    for (bool ready = false; !ready;) {
        const int64_t until_ns = strait_proc_mono_ns() + SECOND;
        int n_left = 0;
        if (ask_around(s, &ready, err) != 0)
            return -1;
        do {
            n_left = 0;
            for (int i = 1; i < s->run->n_ranks; i++)
                n_left += !s->peers[i].is_ready;
            if (n_left > 0 && strait_mpi_session_turn(s, err) != 0)
                return -1;
        } while (n_left > 0 && strait_proc_mono_ns() < until_ns);
    }
    return 0;
}

int strait_mpi_conduct_start(struct strait_mpi_session *s, struct strait_error *err)
{
    const int n = s->run->n_ranks;
    int64_t longest_ns = 0;
    if (wait_for_all(s, err) != 0)
        return -1;
    for (int i = 1; i < n; i++) {
        if (measure_clock(s, i, 0, err) != 0)
            return -1;
        if (s->peers[i].away_ns > longest_ns)
            longest_ns = s->peers[i].away_ns;
    }
    const bool far = s->far = longest_ns > FAR_NS;
    const int64_t rest_ns =
        far && s->world->n_runs > 0 ? N_HALVINGS * (RTO_MIN_NS + longest_ns) : 0;
    if (far)
        strait_mpi_link_unasked(s->link);
    s->start_ns =
        strait_proc_mono_ns() + (WAKE_MS + WAKE_RANK_MS * n) * MS + 2 * longest_ns + rest_ns;
    for (int i = 1; i < n; i++) {
        const struct strait_mpi_note start = {.word = STRAIT_MPI_START,
                                              .time_ns = s->start_ns + s->peers[i].offset_ns[0],
                                              .unasked = far};
        if (strait_mpi_link_note(s->link, i, &start, err) != 0)
            return -1;
    }
    return 0;
}

struct round { /* of looks */
    uint64_t mark;
    bool still; /* nothing was under way, and all lanes waited for others */
    bool over;
};

/* All statuses of one round are here: what do they say together? */
static struct round judge(struct strait_mpi_session *s)
{
    struct round r = {.still = true, .over = true};
    uint64_t sent = 0, landed = 0;
    s->peers[0].status = strait_mpi_session_status(s);
    for (int i = 0; i < s->run->n_ranks; i++) {
        const struct strait_mpi_note *n = &s->peers[i].status;
        sent += n->n_sent;
        landed += n->n_landed;
        r.mark += n->progress + n->n_sent + n->n_landed;
        r.still = r.still && n->n_lanes == n->n_stuck;
        r.over = r.over && n->is_done;
    }
    r.still = r.still && sent == landed && !r.over;
    r.over = r.over && sent == landed;
    return r;
}

static int stuck(const struct strait_mpi_session *s, struct strait_error *err)
{
    for (int i = 0; i < s->run->n_ranks; i++) {
        const struct strait_mpi_note *n = &s->peers[i].status;
        char from[32] = "any rank";
        if (n->n_lanes == 0)
            continue;
        if (n->stuck_src != STRAIT_ANY)
            snprintf(from, sizeof(from), "rank %d", n->stuck_src);
        return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                "rank %d waits for ever for a message from %s on channel %d", i,
                                from, n->stuck_channel);
    }
    return 0;
}

/* Ask all, and turn until they have answered. */
static int look_around(struct strait_mpi_session *s, unsigned i_round, struct strait_error *err)
{
    const int64_t asked_ns = strait_proc_mono_ns();
    if (tell_all(s, STRAIT_MPI_LOOK, err) != 0)
        return -1;
    for (int i = 1; i < s->run->n_ranks; i++)
        while (s->peers[i].n_statuses < i_round) {
            if (strait_mpi_session_turn(s, err) != 0)
                return -1;
            if (strait_proc_mono_ns() - asked_ns > LOST_S * SECOND)
                return lost(i, LOST_S, err);
        }
    return 0;
}

static int wait_ms(struct strait_mpi_session *s, int64_t ms, struct strait_error *err)
{
    const int64_t until_ns = strait_proc_mono_ns() + ms * MS;
    while (strait_proc_mono_ns() < until_ns)
        if (strait_mpi_session_turn(s, err) != 0)
            return -1;
    return 0;
}

int strait_mpi_conduct_run(struct strait_mpi_session *s, struct strait_error *err)
{
    const struct strait_run *run = s->run;
    const double limit_s = run->deadline_s > 0   ? run->deadline_s
                           : run->expected_s > 0 ? SPARE_S + LATE_RATIO * run->expected_s
                                                 : DEFAULT_S;
    const int64_t look_ms = s->far ? FAR_LOOK_MS : LOOK_MS;
    struct round before = {0};
    for (unsigned i = 1;; i++) {
        if (run->ends_with_rank_0 && s->closed && !s->stop) {
            s->stop = true;
            if (tell_all(s, STRAIT_MPI_STOP, err) != 0)
                return -1;
        }
        if (look_around(s, i, err) != 0)
            return -1;
        const struct round now = judge(s);
        if (now.over)
            break;
        if (now.still && before.still && now.mark == before.mark)
            return stuck(s, err);
        before = now;
        if (1e-9 * (double)(strait_proc_mono_ns() - s->start_ns) > limit_s)
            return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                    "the run did not end within its deadline of %.3g s", limit_s);
        for (int64_t waited = 0; waited < look_ms && !s->closed; waited += LAST_LOOKS_MS)
            if (wait_ms(s, LAST_LOOKS_MS, err) != 0)
                return -1;
        if (wait_ms(s, LAST_LOOKS_MS, err) != 0)
            return -1;
    }
    for (int i = 1; i < run->n_ranks; i++)
        if (measure_clock(s, i, 1, err) != 0)
            return -1;
    if (tell_all(s, STRAIT_MPI_END, err) != 0)
        return -1;
    while (!strait_mpi_link_is_calm(s->link))
        if (strait_mpi_session_turn(s, err) != 0)
            return -1;
    return 0;
}
