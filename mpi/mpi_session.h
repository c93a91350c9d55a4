/* Inside the backend: one run, as each of its processes sees it. Rank 0 conducts (conduct.c), the
 * others follow its notes. */
#pragma once
#include <semaphore.h>
#include "link.h"

/* Rank 0's view of another rank. */
struct strait_mpi_peer {
    bool is_ready;
    uint64_t clock_id;
    struct strait_mpi_note status; /* the last */
    unsigned n_statuses;
    int64_t heard_ns;                    /* last; 0: not in this run */
    int64_t pong_here_ns, pong_there_ns; /* the last: arrived here; sent there, by its clock */
    unsigned n_pings, n_pongs;
    /* its clock minus rank 0's: before the run and after it, each wrong by rtt / 2 at most */
    int64_t offset_ns[2], rtt_ns[2];
    int64_t away_ns; /* the shortest round trip to it before the run */
};

struct strait_mpi_session {
    struct strait_mpi_world *world;
    struct strait_run *run;
    struct strait_proc_rank rank;
    struct strait_proc_state state;
    struct strait_mpi_link *link;
    sem_t compute;
    struct strait_error prepare_error;
    atomic_int prepared; /* 1: done; -1: see prepare_error */
    int64_t began_ns;    /* when this process came to the run, and */
    double came_after_s; /* how long after the processes last talked between runs */
    int n_hellos;        /* that came */
    int64_t start_ns;    /* time 0 by this process's clock; 0: not known yet */
    int64_t heard_0_ns;  /* of rank 0 */
    bool far;            /* rank 0: from some rank, in round trips */
    bool stop, end;      /* as rank 0 said */
    bool closed;         /* its program has ended, its inbox drops what comes */
    bool failed;         /* somewhere, with error */
    struct strait_error error;
    double returned_s;
    int64_t ended_ns;
    unsigned n_rests;              /* turns without news, one after another */
    struct strait_mpi_peer *peers; /* rank 0: n_ranks */
};

/** A turn of the link and of the rank itself, and a rest where nothing happened.
 *  Returns: 0, or -1 with *err: the run has failed, here or elsewhere */
int strait_mpi_session_turn(struct strait_mpi_session *s, struct strait_error *err);
/** Names the clock of this process: the kernel's boot and the process's time namespace. */
uint64_t strait_mpi_session_clock_id(void);
/** How the rank is. */
struct strait_mpi_note strait_mpi_session_status(struct strait_mpi_session *s);
/** Say why to those who do not know, and let that leave. Returns: -1 */
int strait_mpi_session_give_up(struct strait_mpi_session *s, const struct strait_error *err);

/* conduct.c: rank 0. All: 0, or -1 with *err. */
/** A note came. */
void strait_mpi_conduct_note(struct strait_mpi_session *s, const struct strait_mpi_note *note);
/** Seconds for which a rank may stay silent before the run begins, less those for which it was;
 *  below 0: it is lost. Who has come to the run answers while it prepares; who has not may take 30
 *  s and ten times as long as rank 0 took from the last talk to the run. */
double strait_mpi_conduct_silence_s(const struct strait_mpi_session *s, int rank, int64_t now_ns);
/** Wait for all ranks, measure their clocks and say when time 0 is. */
int strait_mpi_conduct_start(struct strait_mpi_session *s, struct strait_error *err);
/** Until all have ended and nothing is under way. */
int strait_mpi_conduct_run(struct strait_mpi_session *s, struct strait_error *err);

/* gather.c */
/** Bring all logs to rank 0, with the facts about the run. */
int strait_mpi_gather(struct strait_mpi_session *s, struct strait_error *err);
