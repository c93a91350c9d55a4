/* Inside a rank process: the rank that its lanes share, and one lane. */
#pragma once
#include <pthread.h>
#include "emu/host/dilated_clock.h"
#include "inbox.h"
#include "rank_process.h"
#include "padded_slots.h"
#include "transport.h"

struct strait_emu_lane {
    struct strait_rank base; /* must be first: the handle that strategies hold */
    struct strait_emu_rank *rank;
    struct strait_emu_lane *next; /* of the rank */
    void (*fn)(struct strait_rank *r, void *arg);
    void *arg;
    pthread_t thread;
    pthread_cond_t moved; /* signalled when what this lane waits for has happened */
    int64_t now_ns;       /* the lane's time: when what it last waited for happened */
    bool receiving, stuck, ended;
    int want_src, want_channel;     /* while receiving */
    struct strait_emu_lane *joiner; /* the lane that waits for this one to end */
};

struct strait_emu_rank {
    struct strait_emu_rank_plan plan;
    struct strait_emu_rank_shared *mine;
    struct strait_emu_clock clock;
    int64_t max_lag_ns;
    double cpu_before_s;   /* of the process, before time 0 */
    double delay_before_s; /* the same for run_delay_s, see shared.h */
    double begun_late_s;   /* after time 0, real */
    pthread_mutex_t lock;  /* protects everything below */
    struct strait_emu_inbox inbox;
    struct strait_emu_slots slots;
    struct strait_emu_transport *transport;
    struct strait_emu_lane *lanes;
    struct strait_emu_lane *first; /* the program's lane */
    int n_spawned, n_parked;
    uint64_t seq_to_self[STRAIT_MAX_CHANNELS];
    bool stopping;
    int news; /* eventfd for the control thread: a lane ended or parked */
};

/** A new lane, not running yet; NULL when memory ran out. */
struct strait_emu_lane *strait_emu_lane_new(struct strait_emu_rank *rank);
int strait_emu_lane_begin(struct strait_emu_lane *lane, struct strait_error *err);
/** Callbacks of the transport. */
void strait_emu_lane_arrived(void *of, struct strait_message *message, int channel,
                             int64_t mono_ns);
void strait_emu_lane_acknowledged(void *of, void *ticket, int64_t mono_ns);
/** Report the error and end the process; from any of its threads. */
void strait_emu_lane_fail(struct strait_emu_rank *rank, const struct strait_error *err)
    __attribute__((noreturn));
