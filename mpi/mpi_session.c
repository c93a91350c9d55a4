#include "mpi_session.h"
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include "core/hash.h"

/* Rank 0 is not heard for so long: it is lost. */
static const int64_t LOST_NS = 40000000000;
/* Turns without news before the first rest, and the longest rest. Where ranks share processors, one
 * that only looks takes them from codecs. */
enum { EAGER_TURNS = 20, REST_NS = 20000, LONG_REST_NS = 100000, LONG_AFTER = 200 };
/* For the note of a failure to leave. */
static const int64_t LAST_WORD_NS = 1000000000;

uint64_t strait_mpi_session_clock_id(void)
{
    static const char *const files[] = {"/proc/sys/kernel/random/boot_id",
                                        "/proc/self/timens_offsets"};
    char text[512];
    size_t n = 0;
    for (size_t i = 0; i < 2; i++) {
        FILE *f = fopen(files[i], "re"); /* the second: not before Linux 5.6 */
        if (!f && i == 0)
            return 0;
        n += f ? fread(text + n, 1, sizeof(text) / 2, f) : 0;
        if (f)
            fclose(f);
    }
    return n > 0 ? strait_checksum(text, n) : 0;
}

struct strait_mpi_note strait_mpi_session_status(struct strait_mpi_session *s)
{
    struct strait_proc_state *t = &s->state;
    struct strait_mpi_note n = {.word = STRAIT_MPI_STATUS, .from = s->world->me};
    n.n_landed = atomic_load(&t->n_landed); /* first: what lands later was sent by then or later */
    n.n_sent = atomic_load(&t->n_sent);
    n.progress = atomic_load(&t->progress);
    n.n_lanes = atomic_load(&t->n_lanes);
    n.n_stuck = atomic_load(&t->n_stuck);
    n.stuck_src = atomic_load(&t->stuck_src);
    n.stuck_channel = atomic_load(&t->stuck_channel);
    n.is_done = s->closed;
    return n;
}

/* Lanes that have ended, or that rank 0 has stopped. */
static void look_at_lanes(struct strait_mpi_session *s)
{
    if (s->closed || s->rank.clock.dilation == 0) /* not begun */
        return;
    if (s->stop && !s->rank.stopping)
        strait_proc_rank_stop(&s->rank);
    if (strait_proc_rank_n_moving(&s->rank) > 0)
        return;
    s->ended_ns = strait_proc_mono_ns();
    s->returned_s = strait_proc_clock_virtual_s(&s->rank.clock, s->ended_ns);
    strait_proc_rank_close(&s->rank);
    s->closed = true;
}

static void rest(struct strait_mpi_session *s, bool moved)
{
    s->n_rests = moved ? 0 : s->n_rests + 1;
    if (s->n_rests > EAGER_TURNS)
        nanosleep(&(struct timespec){.tv_nsec = s->n_rests > LONG_AFTER ? LONG_REST_NS : REST_NS},
                  NULL);
    else if (!moved)
        sched_yield();
}

int strait_mpi_session_turn(struct strait_mpi_session *s, struct strait_error *err)
{
    bool moved;
    if (strait_mpi_link_turn(s->link, &moved, err) != 0)
        return -1;
    if (s->failed || s->error.code != STRAIT_OK) {
        *err = s->error;
        return -1;
    }
    if (atomic_load(&s->state.has_error) == 2) {
        *err = s->state.error;
        return -1;
    }
    if (s->world->me != 0 && strait_proc_mono_ns() - s->heard_0_ns > LOST_NS)
        return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                "rank %d has not heard rank 0 for %lld s", s->world->me,
                                (long long)(LOST_NS / 1000000000));
    look_at_lanes(s);
    rest(s, moved);
    return 0;
}

int strait_mpi_session_give_up(struct strait_mpi_session *s, const struct strait_error *err)
{
    const struct strait_mpi_note last = {.word = STRAIT_MPI_FAILED, .error = *err};
    const int64_t until_ns = strait_proc_mono_ns() + LAST_WORD_NS;
    struct strait_error ignored = {0};
    bool moved;
    if (s->world->me != 0)
        strait_mpi_link_note(s->link, 0, &last, &ignored);
    for (int i = 1; s->world->me == 0 && i < s->run->n_ranks; i++)
        strait_mpi_link_note(s->link, i, &last, &ignored);
    while (strait_proc_mono_ns() < until_ns && !strait_mpi_link_is_calm(s->link) &&
           strait_mpi_link_turn(s->link, &moved, &ignored) == 0)
        rest(s, moved);
    return -1;
}
