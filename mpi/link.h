/* The streams of one rank over MPI. Lanes post from any thread; the thread that opened the world
 * moves all bytes, in turns. A message is a letter with its frame, tagged with its channel, and its
 * payload apart, in pieces that MPI can count. Messages of a stream are begun in their order, two
 * at a time, so that the next one's handshake does not wait for the end of the last; a stream
 * delivers in that order. The receiving side always drains. */
#pragma once
#include <pthread.h>
#include "process/local_rank.h"
#include "process/wire.h"
#include "world.h"

enum { STRAIT_MPI_MAX_PIECES = 4, STRAIT_MPI_N_BEGUN = 2 };
#define STRAIT_MPI_PIECE_BYTES ((size_t)1 << 30)

/* What rank 0 and the others say of a run beside its messages. */
enum strait_mpi_word {
    STRAIT_MPI_HERE,   /* to 0: begins to prepare, and answers from now on */
    STRAIT_MPI_READY,  /* to 0: prepared, all messages may come; with clock_id */
    STRAIT_MPI_PING,   /* from 0: reply at once */
    STRAIT_MPI_PONG,   /* to 0, with time_ns */
    STRAIT_MPI_START,  /* from 0: time_ns is time 0, by the receiver's clock */
    STRAIT_MPI_LOOK,   /* from 0: how is it? */
    STRAIT_MPI_STATUS, /* to 0 */
    STRAIT_MPI_STOP,   /* from 0, which has ended the run: stop anywhere */
    STRAIT_MPI_END,    /* from 0: nothing is under way any more */
    STRAIT_MPI_FAILED  /* to 0, and from it to all: with the error */
};

struct strait_mpi_note {
    int32_t word, from;
    int64_t time_ns;
    uint64_t clock_id; /* equal on processes that have the same clock; 0: not known */
    /* of a STATUS */
    uint64_t n_sent, n_landed, progress;
    int32_t n_lanes, n_stuck, stuck_src, stuck_channel;
    int32_t is_done; /* its program has ended and all that it sent has left */
    struct strait_error error;
};

struct strait_mpi_figures {
    uint64_t bytes_sent, bytes_received; /* frames, envelopes and payload */
    uint64_t sent_checksum;              /* sum of the checksums of all messages, in any order */
};

struct strait_mpi_link; /* one rank's */

/** In:      rank  its run, me and clock are used; lock and inbox when messages come
 *           note  called for each note that comes
 *  Returns: 0, or -1 with *err */
int strait_mpi_link_new(struct strait_mpi_link **out, struct strait_mpi_world *world,
                        struct strait_proc_rank *rank,
                        void (*note)(void *of, const struct strait_mpi_note *note), void *of,
                        struct strait_error *err);
/** Queue a message, from any thread; as rank->post. */
int strait_mpi_link_post(struct strait_mpi_link *l, int dst, int channel, int tag,
                         struct strait_packet *packet, double posted_s, void *ticket,
                         struct strait_error *err);
/** Queue a note. */
int strait_mpi_link_note(struct strait_mpi_link *l, int dst, const struct strait_mpi_note *note,
                         struct strait_error *err);
/** One turn: begin what was posted, take what has come.
 *  Out:     moved  whether anything happened
 *  Returns: 0, or -1 with *err BACKEND */
int strait_mpi_link_turn(struct strait_mpi_link *l, bool *moved, struct strait_error *err);
/** Has everything posted left, and is nothing half received? */
bool strait_mpi_link_is_calm(struct strait_mpi_link *l);
struct strait_mpi_figures strait_mpi_link_figures(const struct strait_mpi_link *l);
/** When nothing is under way; after a failure never, since MPI may still write. NULL is fine. */
void strait_mpi_link_free(struct strait_mpi_link *l);
