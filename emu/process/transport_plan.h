/* What a rank's TCP connections are to be, and whom they tell. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "core/error.h"
#include "workloads/rank/backend.h"
#include "process/wire.h"
#include "shared.h"

/* Messages are handed to TCP, all connections of a stream together, at this multiple of the rate of
 * the stream's narrowest link. */
#define STRAIT_EMU_PACING_RATIO 2.0

/* Callbacks to the rank; all run on the transport's thread. */
struct strait_emu_events {
    void *context;
    /** The kernel had the last byte at mono_ns; the rank sets message->arrived_s. Takes the
     *  packet. */
    void (*arrived)(void *context, struct strait_message *message, int channel, int64_t mono_ns);
    /** The send that was posted with this ticket was acknowledged. */
    void (*acknowledged)(void *context, void *ticket, int64_t mono_ns);
    /** A connection broke, a frame was wrong, or memory ran out. */
    void (*failed)(void *context, const struct strait_error *err);
};

struct strait_emu_transport_plan {
    struct strait_emu_shared *shared;
    int me;
    uint32_t (*address)(int rank); /* IPv4, network byte order */
    enum strait_congestion congestion;
    double window_bytes;    /* limit of unacknowledged bytes a connection; INFINITY: none */
    unsigned n_connections; /* of each stream; 0 counts as 1 */
    const struct strait_network *network; /* for pacing; NULL: none */
    bool real_payload;                    /* false: send noise and discard it on arrival */
    bool virtual_time; /* nobody is late, and memory that comes in pieces is dear */
    int64_t beat_ns;   /* the thread wakes up at least this often, to see that it can; 0: not */
    struct strait_emu_events events;
};

struct strait_emu_transport;
