/* One rank of an emulated run: a process in its own namespace that executes the ten operations. */
#pragma once
#include <stdint.h>
#include "workloads/rank/backend.h"
#include "emu/links/net.h"
#include "process/local_rank.h"
#include "shared.h"
#include "transport.h"

/* Messages between supervisor and rank, one byte each, never over the shaped network. */
enum strait_emu_word {
    STRAIT_EMU_LISTENING = 'L', /* rank: others may connect */
    STRAIT_EMU_CONNECT = 'C',   /* supervisor: all ranks listen */
    STRAIT_EMU_READY = 'R',     /* rank: its streams are connected */
    STRAIT_EMU_GO = 'G',        /* supervisor: the start time is in the shared memory */
    STRAIT_EMU_DONE = 'D',      /* rank: its program has ended, its log is written */
    STRAIT_EMU_STOP = 'S',      /* supervisor: rank 0 has ended the run: stop anywhere */
    STRAIT_EMU_END = 'E',       /* supervisor: nothing is under way any more */
    STRAIT_EMU_BYE = 'B'        /* rank: its transport has stopped, its figures are written */
};

struct strait_emu_rank_plan {
    struct strait_run *run;
    const struct strait_backend *backend; /* whose ops are strait_proc_ops */
    struct strait_emu_shared *shared;
    struct strait_emu_net *net; /* NULL: all ranks on the loopback device */
    int me;
    int control; /* socket to the supervisor */
    int log;     /* file that takes the rank's log */
};

/** Main function of a rank process. */
void strait_emu_rank_main(const struct strait_emu_rank_plan *plan) __attribute__((noreturn));

/* Inside the process, for its tests. */
struct strait_emu_rank {
    struct strait_proc_rank base; /* must be first */
    struct strait_emu_rank_plan plan;
    struct strait_emu_rank_shared *mine;
    struct strait_emu_transport *transport;
    double cpu_before_s;   /* of the process, before time 0 */
    double delay_before_s; /* the same for run_delay_s, see shared.h */
    double begun_late_s;   /* after time 0, real */
};
/** Set what the lanes need of the plan. */
void strait_emu_rank_init(struct strait_emu_rank *rank, const struct strait_emu_rank_plan *plan);
/** Callback of the transport; of: struct strait_emu_rank. Counts messages faster than links. */
void strait_emu_rank_arrived(void *of, struct strait_message *message, int channel,
                             int64_t mono_ns);
