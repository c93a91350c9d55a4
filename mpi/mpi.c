/* The backend `mpi`: the same ranks on real machines, a process each, messages by MPI. A run needs
 * run->world. After a run that failed the process has to end (strait_mpi_world_abort): lanes may
 * still run. Logs and facts are filled on rank 0 alone; an error is the same on all ranks. */

#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "core/clock.h"
#include "core/host.h"
#include "mpi_session.h"

static int check(const struct strait_run *run, struct strait_error *err)
{
    const struct strait_mpi_world *w = run->world;
    if (!w)
        return strait_error_set(err, STRAIT_ERR_HOST, NULL,
                                "expected the processes of mpirun or srun: strait rank");
    if (w->n != run->n_ranks)
        return strait_refuse(err, NULL,
                             "expected %d processes, one for each rank (mpirun -n %d), found %d",
                             run->n_ranks, run->n_ranks, w->n);
    if (run->control)
        return strait_refuse(
            err, NULL, "expected no negative control on real machines, found \"%s\"", run->control);
    return 0;
}

/* --- the rank ----------------------------------------------------------------------------- */

static int post(struct strait_proc_rank *rank, int dst, int channel, int tag,
                struct strait_packet *packet, double posted_s, int64_t posted_ns, void *ticket,
                struct strait_error *err)
{
    struct strait_mpi_session *s = (struct strait_mpi_session *)rank->owner;
    (void)posted_ns;
    return strait_mpi_link_post(s->link, dst, channel, tag, packet, posted_s, ticket, err);
}

/* The thread that communicates reads state->error and ends the run. */
static void failed(struct strait_proc_rank *rank) __attribute__((noreturn));
static void failed(struct strait_proc_rank *rank)
{
    (void)rank;
    for (;;)
        pause();
}

static void *prepare(void *session)
{
    struct strait_mpi_session *s = session;
    const bool done = strait_proc_rank_init(&s->rank, &s->compute, &s->prepare_error) == 0;
    atomic_store(&s->prepared, done ? 1 : -1);
    return NULL;
}

static void note(void *session, const struct strait_mpi_note *n)
{
    struct strait_mpi_session *s = session;
    struct strait_mpi_note reply = {.word = STRAIT_MPI_PONG};
    if (n->from == 0)
        s->heard_0_ns = strait_proc_mono_ns();
    switch (n->word) {
    case STRAIT_MPI_FAILED:
        s->error = s->failed ? s->error : n->error;
        s->failed = true;
        break;
    case STRAIT_MPI_HELLO:
        s->n_hellos++;
        break;
    case STRAIT_MPI_PING:
        reply.time_ns = strait_proc_mono_ns();
        strait_mpi_link_note(s->link, 0, &reply, &s->error);
        break;
    case STRAIT_MPI_LOOK:
        reply = strait_mpi_session_status(s);
        strait_mpi_link_note(s->link, 0, &reply, &s->error);
        break;
    case STRAIT_MPI_START:
        s->start_ns = n->time_ns;
        if (n->unasked)
            strait_mpi_link_unasked(s->link);
        break;
    case STRAIT_MPI_STOP:
        s->stop = true;
        break;
    case STRAIT_MPI_END:
        s->end = true;
        break;
    default:
        strait_mpi_conduct_note(s, n);
    }
}

/* --- the run ------------------------------------------------------------------------------ */

static bool has_stream(const struct strait_run *run, int src, int dst)
{
    bool has = false;
    for (int c = 0; src != dst && run->uses_stream && c < STRAIT_MAX_CHANNELS && !has; c++)
        has = run->uses_stream(run, src, dst, c);
    return has;
}

/* An MPI connects two processes at their first message. That is not to be a part of the run. */
static int open_streams(struct strait_mpi_session *s, int *n_expected, struct strait_error *err)
{
    const int me = s->world->me;
    const struct strait_mpi_note hello = {.word = STRAIT_MPI_HELLO};
    *n_expected = 0;
    for (int i = 0; i < s->run->n_ranks; i++) {
        if (has_stream(s->run, me, i) && strait_mpi_link_note(s->link, i, &hello, err) != 0)
            return -1;
        *n_expected += has_stream(s->run, i, me);
    }
    return 0;
}

static int get_ready(struct strait_mpi_session *s, struct strait_error *err)
{
    pthread_t thread;
    int n_hellos;
    const struct strait_mpi_note ready = {.word = STRAIT_MPI_READY,
                                          .clock_id = strait_mpi_session_clock_id()},
                                 here = {.word = STRAIT_MPI_HERE};
    if (s->world->me != 0 && strait_mpi_link_note(s->link, 0, &here, err) != 0)
        return -1;
    if (open_streams(s, &n_hellos, err) != 0)
        return -1;
    if (pthread_create(&thread, NULL, prepare, s) != 0)
        return strait_error_system(err, "pthread_create", "cannot prepare rank %d", s->world->me);
    pthread_detach(thread); /* where it fails it never ends */
    if (s->world->me == 0)
        n_hellos = 0; /* each comes before its sender's word that it is ready */
    while (atomic_load(&s->prepared) == 0 || s->n_hellos < n_hellos) {
        s->heard_0_ns = strait_proc_mono_ns(); /* it prepares too */
        if (strait_mpi_session_turn(s, err) != 0)
            return -1;
    }
    if (atomic_load(&s->prepared) < 0) {
        *err = s->prepare_error;
        return -1;
    }
    if (s->world->me == 0)
        return strait_mpi_conduct_start(s, err);
    if (strait_mpi_link_note(s->link, 0, &ready, err) != 0)
        return -1;
    while (s->start_ns == 0)
        if (s->heard_0_ns = strait_proc_mono_ns(), strait_mpi_session_turn(s, err) != 0)
            return -1;
    return 0;
}

static int live(struct strait_mpi_session *s, struct strait_error *err)
{
    if (get_ready(s, err) != 0)
        return -1;
    s->heard_0_ns = strait_proc_mono_ns();
    s->rank.clock = (struct strait_proc_clock){s->start_ns, 1};
    if (strait_proc_rank_begin(&s->rank, err) != 0)
        return -1;
    if (s->world->me == 0)
        return strait_mpi_conduct_run(s, err);
    while (!s->end || !strait_mpi_link_is_calm(s->link))
        if (strait_mpi_session_turn(s, err) != 0)
            return -1;
    return 0;
}

static int finish(struct strait_mpi_session *s, struct strait_error *err)
{
    if (s->rank.n_parked > 0)
        strait_proc_slots_halt(&s->rank.slots);
    strait_proc_rank_end(&s->rank);
    return strait_mpi_gather(s, err);
}

static int run_mpi(struct strait_run *run, struct strait_error *err)
{
    struct strait_error why = {0};
    if (check(run, err) != 0)
        return -1;
    struct strait_mpi_session *s = calloc(1, sizeof(*s));
    if (!s)
        return strait_error_memory(err, NULL);
    s->world = run->world;
    s->run = run;
    s->rank = (struct strait_proc_rank){.run = run,
                                        .backend = &strait_mpi,
                                        .me = s->world->me,
                                        .state = &s->state,
                                        .owner = s,
                                        .post = post,
                                        .failed = failed};
    sem_init(&s->compute, 0, (unsigned)strait_host_processors()); /* measured jobs at once */
    prctl(PR_SET_TIMERSLACK, 1UL);
    s->heard_0_ns = s->began_ns = strait_proc_mono_ns();
    s->came_after_s = s->world->talked_s > 0 ? strait_clock_s() - s->world->talked_s : 0;
    s->peers = calloc((size_t)run->n_ranks, sizeof(*s->peers));
    if (!s->peers || strait_mpi_link_new(&s->link, s->world, &s->rank, note, s, &why) != 0) {
        free(s->peers);
        free(s);
        return strait_error_memory(err, NULL);
    }
    if (live(s, &why) != 0 || finish(s, &why) != 0) {
        strait_mpi_session_give_up(s, &why); /* lanes may use s for ever */
        if (err && err->code == STRAIT_OK)
            *err = why;
        return -1;
    }
    s->world->n_runs++;
    strait_mpi_link_free(s->link);
    free(s->peers);
    if (s->rank.n_parked > 0)
        return 0; /* parked lanes keep the rest */
    strait_proc_rank_release(&s->rank);
    sem_destroy(&s->compute);
    free(s);
    return 0;
}

const struct strait_backend strait_mpi = {
    .name = "mpi",
    .summary = "real machines: one process a rank, messages by MPI",
    .is_measured = true,
    .has_packets = true,
    .check = check,
    .run = run_mpi,
    .ops = &strait_proc_ops,
};
