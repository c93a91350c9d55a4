/* Threads for what jobs compute in a simulation, so that ranks' work runs side by side although
 * their lanes take turns. What a job computes does not depend on when it runs. */
#pragma once
#include "core/error.h"

struct strait_work_pool;
struct strait_work;

/** Up to n_threads threads, at least one. NULL with *err. */
struct strait_work_pool *strait_work_pool_new(int n_threads, struct strait_error *err);
/** Run fn(arg) on a thread when one is free, in order of the calls. NULL with *err. */
struct strait_work *strait_work_pool_start(struct strait_work_pool *pool, void (*fn)(void *),
                                           void *arg, struct strait_error *err);
/** Wait until it has run, and free it. */
void strait_work_join(struct strait_work *work);
/** Wait for what runs; what has not begun never does. NULL is fine. The process ends soon. */
void strait_work_pool_halt(struct strait_work_pool *pool);
