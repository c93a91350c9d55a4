/* Inside this room: the channels of a replay, and its collectives. */
#pragma once
#include "traces/program.h"
#include "workloads/train/collectives/collectives.h"

/* Messages of the trace and ends of nodes come on EVENTS; each computing unit, each group and the
 * clock has a lane with a channel for what it shall do. */
enum {
    STRAIT_REPLAY_EVENTS = 0,
    STRAIT_REPLAY_UNITS = 1,
    STRAIT_REPLAY_GROUPS = STRAIT_REPLAY_UNITS + STRAIT_PROGRAM_MAX_UNITS,
    STRAIT_REPLAY_SLEEP = STRAIT_REPLAY_GROUPS + STRAIT_PROGRAM_MAX_GROUPS,
    STRAIT_REPLAY_END = -1 /* a word to a lane; a tag: the sender has ended its round */
};
_Static_assert((int)STRAIT_REPLAY_SLEEP < (int)STRAIT_MAX_CHANNELS, "channels for all lanes");

/* A group on this rank. */
struct strait_replay_group {
    struct strait_group ranks;
    struct strait_tensor *values[2]; /* of reductions, in turn: views may still be read */
    struct strait_packet **parts;    /* n */
    enum strait_all_reduce how;
    int n_reductions;
};

/** Make a group's memory, for reductions of at most reduce_bytes. Before the rounds. */
struct strait_replay_group strait_replay_group_of(struct strait_rank *r,
                                                  const struct strait_program *g, int group,
                                                  enum strait_all_reduce how);
/** One collective; all ranks of the group call it in the same order. */
void strait_replay_collective(struct strait_rank *lane, struct strait_replay_group *g,
                              const struct strait_program_node *node);
/** Whether a group of this trace may send from src to dst. */
bool strait_replay_group_uses(const struct strait_program *g, int group, enum strait_all_reduce how,
                              int src, int dst);
