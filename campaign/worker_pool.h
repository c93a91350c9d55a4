/* Run tasks in forked workers, so that a crash or a leak of one cannot harm the others. */
#pragma once
#include <jansson.h>
#include <stddef.h>
#include "core/error.h"

/** Do task i, in a worker. Returns: new reference, or NULL with *err */
typedef json_t *(*strait_pool_work)(size_t i, void *context, struct strait_error *err);
/** Receive its result, in the parent, in order of completion; result is borrowed. 0, or -1 with
 *  *err, which stops all. */
typedef int (*strait_pool_done)(size_t i, const json_t *result, void *context,
                                struct strait_error *err);

/** Run n_tasks tasks on n_workers processes, each in its own process group. A failed task, a worker
 *  that dies, SIGINT, SIGTERM and SIGHUP stop everything; no worker is left when this returns.
 *  In:      what  for the progress line on stderr; NULL: none
 *  Returns: 0, or -1 with *err */
int strait_pool_run(size_t n_tasks, int n_workers, strait_pool_work work, strait_pool_done done,
                    void *context, const char *what, struct strait_error *err);

/** In the error of a run that a signal stopped: what done has stored stays, the same command goes on.
 *  Another error is left as it is. */
void strait_pool_say_kept(struct strait_error *err);

/** Do task i and say how it went as JSON: {"result": ...} or {"error": ...}. free() it; NULL:
 *  memory ran out. */
char *strait_pool_make_answer(size_t i, strait_pool_work work, void *context);
/** Hand the result of such an answer to done. 0, or -1 with *err: that of done, or of the task. */
int strait_pool_take_answer(const json_t *answer, size_t i, strait_pool_done done, void *context,
                            struct strait_error *err);
