/* One processor for what this thread starts, which nobody else has taken so. */
#pragma once
#include <sched.h>

struct strait_one_cpu {
    int fd;           /* holds the processor's name, -1: none */
    cpu_set_t before; /* where this thread may run otherwise */
};

/** Let this thread, and what it starts from now on, run on one processor only: the current one if
 *  it is free, else another. Where all are taken nothing changes.
 *  In:      what  processors are taken for it: a few letters. Others may take the same ones for
 *                 something else.
 *  Returns: the processor, or -1: none is free */
int strait_one_cpu_take(struct strait_one_cpu *one, const char *what);
/** The thread runs everywhere again; what it started keeps its processor. */
void strait_one_cpu_give_back(struct strait_one_cpu *one);
