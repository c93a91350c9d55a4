/* System calls of the program that fail, or are interrupted, where a test says so. The linker leads
 * them here (--wrap); those inside of libraries are not touched. A close of what is not open ends
 * the process. */
#pragma once
#include <stdbool.h>
#include "core/error.h"
#include "places.h"

/** Call fn once for each of its system calls (open, read, fork, mmap, rename, connect, recv, ...),
 *  which then fails with EIO, in the process that begins or one that it forks; of these calls
 *  every stride-th, by the seed. It must return 0 and say nothing, or return -1 and say why; and
 *  succeed in the end, when none fails.
 *  Returns: how many there are */
long strait_faulty_each(int (*fn)(void *arg, struct strait_error *err), void *arg, long stride);

/** The same for the first call of each place that makes one, in whichever process.
 *  Returns: how many there are */
int strait_faulty_places(int (*fn)(void *arg, struct strait_error *err), void *arg);

/** From now on the n-th call of this process fails, and the n-th of each that it forks; -1: none.
 *  */
void strait_faulty_begin(long n);
/** No longer. Returns: whether one has failed */
bool strait_faulty_end(void);
/** Record from which places calls come, while they are counted; NULL: no longer. */
void strait_faulty_record(struct strait_places *p);

/** From now on each read and write is interrupted once (EINTR) and then does three bytes at most.
 *  */
void strait_halting_begin(void);
void strait_halting_end(void);
