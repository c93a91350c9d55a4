/* Inside the link: what its parts share, link.c, incoming.c that receives, and sending.c, on which
 * both stand. */
#pragma once
#include <pthread.h>
#include "process/local_rank.h"
#include "process/wire.h"
#include "note.h"
#include "world.h"

/* Of a message under way at most: MPI holds copies of small ones. */
enum { STRAIT_MPI_N_PARTS = 8, STRAIT_MPI_N_BEGUN = 2 };

/* Beside the frame, in the same letter. */
struct envelope {
    double posted_s;
    uint64_t noise_bytes; /* of a sized payload, which the frame does not announce */
    uint64_t acked;
    uint64_t part_bytes;
};

struct letter {
    unsigned char frame[STRAIT_PROC_FRAME_BYTES];
    struct envelope envelope;
};

enum { TAG_ACK = STRAIT_MAX_CHANNELS }; /* and the channel; empty */
_Static_assert(2 * STRAIT_MAX_CHANNELS <= (int)STRAIT_MPI_TAG_TALK, "tags are told apart");

struct parts { /* of a message: a queue of those under way */
    struct strait_mpi_request requests[STRAIT_MPI_N_PARTS];
    unsigned first, n;
};

struct sending { /* a message, an acknowledgement or a note */
    struct sending *next;
    struct strait_packet *packet; /* NULL: an acknowledgement or a note */
    struct out *stream;
    void *ticket;
    int tag; /* of the message */
    double posted_s;
    struct parts parts;
    size_t n_asked; /* bytes of the payload that MPI has been given */
    union {
        struct letter letter;
        struct strait_mpi_note note;
    };
};

struct out { /* a stream from this rank */
    struct out *next;
    int dst, channel;
    struct sending *first, **end;     /* not begun */
    struct sending *begun;            /* the last one that is not given to MPI as a whole */
    struct sending *acks, **acks_end; /* tickets of what was begun, in order */
    unsigned n_begun;
};

struct arriving {
    struct arriving *next;
    struct strait_packet *packet;
    unsigned char *noise; /* of a sized payload: where it goes */
    struct letter letter;
    int tag;
    struct parts parts;
    size_t n_asked;
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
    size_t part_bytes;
    unsigned char *noise; /* zeros, as long as any payload; takes no memory */
    struct strait_mpi_figures figures;
};

/* sending.c */
struct sending *strait_mpi_sending_new(struct strait_error *err);
/** Send a letter, s's first part. 0, or -1 with *err. */
int strait_mpi_sending_letter(struct strait_mpi_link *l, struct sending *s, const void *data,
                              size_t n_bytes, int dst, int tag, struct strait_error *err);
/** From now on s is tested, and freed when all of its parts have left. */
void strait_mpi_sending_activate(struct strait_mpi_link *l, struct sending *s);
/** Room for one more part, or NULL where all are under way. */
struct strait_mpi_request *strait_mpi_parts_push(struct parts *p);
/** Drop what is complete. 1: nothing is left; 0: something is; -1: an error. */
int strait_mpi_parts_test(struct strait_mpi_link *l, struct parts *p);
/* incoming.c: 0, or -1 with *err; *moved is set where anything happened. */
int strait_mpi_take_letters(struct strait_mpi_link *l, bool *moved, struct strait_error *err);
int strait_mpi_finish_received(struct strait_mpi_link *l, bool *moved, struct strait_error *err);
