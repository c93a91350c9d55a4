/* What the processes of a run say beside its messages, and what their links have counted. */
#pragma once
#include <stdint.h>
#include "core/error.h"

/* What rank 0 and the others say of a run beside its messages. */
enum strait_mpi_word {
    STRAIT_MPI_HERE,   /* to 0: begins to prepare, and answers from now on */
    STRAIT_MPI_HELLO,  /* to whom this rank has a stream: opens the connection, before time 0 */
    STRAIT_MPI_READY,  /* to 0: prepared, all messages may come; with clock_id */
    STRAIT_MPI_PING,   /* from 0: reply at once */
    STRAIT_MPI_PONG,   /* to 0, with time_ns */
    STRAIT_MPI_START,  /* from 0: time_ns is time 0, by the receiver's clock; with unasked */
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
    int32_t unasked; /* strait_mpi_link_unasked */
    int32_t is_done; /* its program has ended and all that it sent has left */
    struct strait_error error;
};

struct strait_mpi_figures {
    uint64_t bytes_sent, bytes_received; /* frames, envelopes and payload */
    uint64_t sent_checksum;              /* sum of the checksums of all messages, in any order */
};
