/* One rank of an emulated run: a process in its own namespace that executes the ten operations. */
#pragma once
#include <stdint.h>
#include "workloads/rank/backend.h"
#include "emu/links/net.h"
#include "shared.h"

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
    struct strait_emu_shared *shared;
    struct strait_emu_net *net; /* NULL: all ranks on the loopback device */
    int me;
    int control; /* socket to the supervisor */
    int log;     /* file that takes the rank's log */
};

/** Main function of a rank process. */
void strait_emu_rank_main(const struct strait_emu_rank_plan *plan) __attribute__((noreturn));

/* The operations, as the table strait_emu lists them. */
void strait_emu_rank_fail(struct strait_rank *r, const struct strait_error *err)
    __attribute__((noreturn));
double strait_emu_rank_now_s(const struct strait_rank *r);
struct strait_op *strait_emu_rank_start(struct strait_rank *r, const struct strait_job *job);
struct strait_op *strait_emu_rank_send(struct strait_rank *r, int dst, int channel, int tag,
                                       struct strait_packet *packet, bool acked);
void strait_emu_rank_wait(struct strait_rank *r, struct strait_op *op, struct strait_times *times);
bool strait_emu_rank_recv(struct strait_rank *r, struct strait_message *out, int src, int channel,
                          double deadline_s);
struct strait_rank *strait_emu_rank_spawn(struct strait_rank *r,
                                          void (*fn)(struct strait_rank *, void *), void *arg);
void strait_emu_rank_join(struct strait_rank *r, struct strait_rank *other);
