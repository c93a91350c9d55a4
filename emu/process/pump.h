/* Inside the transport: its streams, and the thread that moves their bytes. */
#pragma once
#include <pthread.h>
#include <sys/types.h>
#include "arrival.h"
#include "transport_plan.h"

struct strait_emu_posted { /* a message waiting to be sent or acknowledged */
    struct strait_emu_posted *next;
    struct strait_packet *packet;
    double posted_s;
    int64_t posted_ns;
    void *ticket;
    int tag;
    bool prompt;            /* nothing was before it: write at once */
    bool begun;             /* frame and envelope are made; pump only */
    unsigned n_connections; /* that have not written their part; under the lock */
    unsigned char frame[STRAIT_PROC_FRAME_BYTES];
};

/* One of a stream's TCP connections. All streams have the same number; each connection carries a
 * part of every message, in order, behind a copy of its frame. */
struct strait_emu_out_connection {
    int fd;
    struct strait_emu_out *stream;
    struct strait_emu_posted *at; /* whose part it writes; NULL: none waits; under the lock */
    bool ready;                   /* on the list of those waiting for a turn */
    struct strait_emu_out_connection *next_ready;
    bool connected, blocked;
    int64_t resume_ns; /* not to write before this moment; 0: at any time */
    int64_t paid_ns;   /* until then the pace is used up by what was written */
    size_t n_written;  /* of its part, frame included */
    struct strait_emu_arrival arrival;
};

struct strait_emu_out { /* a stream from this rank */
    struct strait_emu_stream *shared;
    struct strait_emu_out_connection *connections;
    struct strait_emu_posted *first, **end;     /* not written by all connections; under the lock */
    struct strait_emu_posted *acks, **acks_end; /* sent, not acknowledged; pump only */
    const struct strait_emu_posted *begun;      /* the last, until it is written; pump only */
    double ns_per_byte;                         /* of all connections; see strait_emu_pump */
    unsigned char ack[STRAIT_PROC_FRAME_BYTES];
    size_t ack_got;
};

struct strait_emu_arriving { /* a message of which some connection has read the frame */
    struct strait_emu_arriving *next;
    struct strait_packet *packet;
    struct strait_emu_envelope envelope;
    int tag;
    unsigned n_connections; /* whose part is not complete */
    int64_t at_ns;          /* arrival of the last byte so far */
    unsigned char frame[STRAIT_PROC_FRAME_BYTES];
};

struct strait_emu_in_connection {
    int fd;
    struct strait_emu_in *stream;
    struct strait_emu_arriving *at; /* whose part it reads, after the frame */
    unsigned char frame[STRAIT_PROC_FRAME_BYTES];
    size_t n_read; /* of its part, frame included */
    uint64_t n_done;
    struct strait_emu_arrival arrival;
};

struct strait_emu_in { /* a stream to this rank */
    struct strait_emu_stream *shared;
    struct strait_emu_in_connection *connections;
    struct strait_emu_arriving *first, **end, *spare;
    uint64_t n_delivered;
    unsigned n_acks; /* to be sent back, on the first connection */
    size_t ack_written;
    bool blocked;
};

struct strait_emu_transport {
    struct strait_emu_transport_plan plan;
    int listener, epoll, wake;
    struct strait_emu_out *outs;
    struct strait_emu_in *ins;
    int n_outs, n_ins, n_connections; /* of each stream */
    struct strait_emu_out_connection
        *out_connections; /* n_outs times n_connections, stream by stream */
    struct strait_emu_in_connection *in_connections;
    unsigned char *noise; /* content of sized payloads */

    pthread_mutex_t lock;
    pthread_cond_t drained;
    struct strait_emu_posted *spare; /* under the lock, as all up to stopping */
    struct strait_emu_out_connection *ready, **ready_end; /* waiting for their turn to write */
    unsigned n_ready;
    uint64_t n_queued;
    bool stopping;

    pthread_t thread;
    bool running;
    int64_t resume_ns; /* the earliest of the connections'; 0: none waits */
    int64_t beat_ns;   /* of the next beat; 0: none */
    int64_t clock_ns;  /* see strait_emu_arrival_read */
    int64_t write_late_ns, read_late_ns, stall_ns;
    uint64_t bytes_sent, bytes_received,
        sent_checksum; /* these belong to the pump; read them when it has ended */
};

enum { STRAIT_EMU_NOISE_BYTES = 1 << 18 };

/* What an epoll event is about: OUT and IN with the number of the connection. */
enum strait_emu_source {
    STRAIT_EMU_WAKE,
    STRAIT_EMU_LISTENER,
    STRAIT_EMU_OUT,
    STRAIT_EMU_IN,
    STRAIT_EMU_GREETING
};
/** A TCP socket as the plan says; -1 with *err. */
int strait_emu_open_socket(const struct strait_emu_transport_plan *plan, struct strait_error *err);
/* connection.c: for both halves of the thread, outgoing.c and pump.c, and for connect.c. */
int strait_emu_connection_watch(struct strait_emu_transport *t, int operation, int fd,
                                uint32_t events, enum strait_emu_source source, int index,
                                struct strait_error *err);
int strait_emu_connection_broken(int other, const char *direction, ssize_t n,
                                 struct strait_error *err);
bool strait_emu_connection_would_block(ssize_t n);
/** Start or stop waiting for room to write. */
int strait_emu_connection_set_blocked(struct strait_emu_transport *t, bool *blocked, bool now,
                                      int fd, enum strait_emu_source source, int index,
                                      struct strait_error *err);
/** Put the connection on the list to write. Under the lock. */
void strait_emu_connection_ready(struct strait_emu_transport *t,
                                 struct strait_emu_out_connection *connection);

/* outgoing.c */
/** Write as much as the kernel takes, limited by a turn and by the pace. */
int strait_emu_outgoing_flush(struct strait_emu_transport *t, int index, struct strait_error *err);
/** One turn for each connection that has new messages or can continue. */
int strait_emu_outgoing_flush_ready(struct strait_emu_transport *t, struct strait_error *err);
/** The same for those whose waiting time is over. */
int strait_emu_outgoing_flush_rested(struct strait_emu_transport *t, struct strait_error *err);
/** So much of most_bytes of payload that the write ends with a full segment of the message: TCP
 *  would send what is left over by itself when an acknowledgement comes before the next write.
 *  In:      n_written  bytes of the message so far, its frame included */
size_t strait_emu_outgoing_whole_bytes(size_t n_written, size_t most_bytes);
/* pump.c */
/** The thread.
 *
 *  It hands messages to TCP at twice the rate of the stream's narrowest link, after a first burst;
 *  connections that have something to write and room for it share that rate. Without a device that
 *  pushes back, a warm window of many megabytes would leave its sender at once, and moving the
 *  bursts of all ranks would take a small machine too long. At twice its rate the link's queue
 *  fills as well, so nothing arrives later, and slow start is not limited: its windows double no
 *  faster than that. */
void *strait_emu_pump(void *transport);
