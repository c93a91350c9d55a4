/* A process that computes one point after another, each in a child of its own. It is forked before
 * MPI begins, which stands no fork, and ends with the process that started it. */
#pragma once
#include <sys/types.h>
#include "core/error.h"

/** Do task i, in a process of its own. Returns: a line of text, free() it, or NULL */
typedef char *(*strait_hand_work)(size_t i, void *context);

struct strait_hand {
    pid_t pid;             /* 0: none */
    int ask_fd, answer_fd; /* 0: none */
    char *buf;             /* of an answer that is not complete yet */
    size_t len_bytes, cap_bytes;
};

/** Start one. Returns: 0, or -1 with *err SYSTEM */
int strait_hand_start(struct strait_hand *h, strait_hand_work work, void *context,
                      struct strait_error *err);
/** Let it compute task i; it has to be idle. A hand that is gone answers as one. */
void strait_hand_give(struct strait_hand *h, size_t i);
/** Has it answered? Waits for wait_ms milliseconds at most.
 *  Returns: the text of its work, or {"lost": why} where the task's process has died,
 *           or the hand itself (h->pid is 0 then); NULL: not yet. free() it. */
char *strait_hand_look(struct strait_hand *h, int wait_ms);
/** End it, whatever it does. A zeroed struct is fine. */
void strait_hand_release(struct strait_hand *h);
