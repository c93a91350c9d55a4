/* Inside the link: what its parts share, link.c, incoming.c that receives, and sending.c, on which
 * both stand. */
#pragma once
#include <pthread.h>
#include "process/local_rank.h"
#include "process/wire.h"
#include "note.h"
#include "world.h"

enum { STRAIT_MPI_MAX_PIECES = 4, STRAIT_MPI_N_BEGUN = 2 };
#define STRAIT_MPI_PIECE_BYTES ((size_t)1 << 30)

/* Beside the frame, in the same letter. */
struct envelope {
    double posted_s;
    uint64_t noise_bytes; /* of a sized payload, which the frame does not announce */
    uint64_t acked;
};

struct letter {
    unsigned char frame[STRAIT_PROC_FRAME_BYTES];
    struct envelope envelope;
};

enum { TAG_ACK = STRAIT_MAX_CHANNELS }; /* and the channel; empty */
_Static_assert(2 * STRAIT_MAX_CHANNELS <= (int)STRAIT_MPI_TAG_TALK, "tags are told apart");

struct sending { /* a message, an acknowledgement or a note */
    struct sending *next;
    struct strait_packet *packet; /* NULL: an acknowledgement or a note */
    struct out *stream;
    void *ticket;
    int tag; /* of the message */
    double posted_s;
    struct strait_mpi_request requests[1 + STRAIT_MPI_MAX_PIECES];
    unsigned n_requests;
    union {
        struct letter letter;
        struct strait_mpi_note note;
    };
};

struct out { /* a stream from this rank */
    struct out *next;
    int dst, channel;
    struct sending *first, **end;     /* not begun */
    struct sending *acks, **acks_end; /* tickets of what was begun, in order */
    unsigned n_begun;
};

struct arriving {
    struct arriving *next;
    struct strait_packet *packet;
    unsigned char *noise; /* of a sized payload: where it goes */
    struct letter letter;
    int tag;
    struct strait_mpi_request requests[STRAIT_MPI_MAX_PIECES];
    unsigned n_requests;
};

struct in { /* a stream to this rank */
    struct in *next;
    int src, channel;
    struct arriving *first, **end;
    uint64_t n_delivered;
};

struct strait_mpi_link {
    struct strait_mpi_world *world;
    struct strait_proc_rank *rank;
    void (*note)(void *of, const struct strait_mpi_note *note);
    void *of;
    pthread_mutex_t lock; /* protects posted */
    struct sending *posted, **posted_end;
    struct sending *active; /* begun */
    struct out **outs;      /* by dst and channel; NULL: not used yet */
    struct in **ins;
    struct out *used_outs;
    struct in *used_ins;
    unsigned char *noise; /* zeros, as long as any payload; takes no memory */
    struct strait_mpi_figures figures;
};

/* sending.c */
struct sending *strait_mpi_sending_new(struct strait_error *err);
/** Send one more part of s. 0, or -1 with *err. */
int strait_mpi_sending_part(struct strait_mpi_link *l, struct sending *s, enum strait_mpi_way way,
                            const void *data, size_t n_bytes, int dst, int tag,
                            struct strait_error *err);
/** From now on s is tested, and freed when all of its parts have left. */
void strait_mpi_sending_activate(struct strait_mpi_link *l, struct sending *s);
/** Test the last n requests of a list. 1: all are complete; 0: not yet; -1: an error. */
int strait_mpi_test_all(struct strait_mpi_link *l, struct strait_mpi_request *requests,
                        unsigned *n);
/* incoming.c: 0, or -1 with *err; *moved is set where anything happened. */
int strait_mpi_take_letters(struct strait_mpi_link *l, bool *moved, struct strait_error *err);
int strait_mpi_finish_received(struct strait_mpi_link *l, bool *moved, struct strait_error *err);
