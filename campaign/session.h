/* Plans, computes and stores a run: from the command's options to rows in the results folder. */
#pragma once
#include "session_state.h"

/** Load the experiment and choose the results folder; the first part of prepare. 0, or -1 with
 *  *err. */
int strait_session_load(struct strait_session *r, const char *experiment, struct strait_error *err);
/** Load the experiment, choose or measure the profile, plan every task and check the host; writes
 *  nothing. 0, or -1 with *err. */
int strait_session_prepare(struct strait_session *r, const char *experiment,
                           struct strait_error *err);
/** Compute one task of the plan, in a process of its own; context: the session, prepared.
 *  Returns: the answer of strait_pool_make_answer */
char *strait_session_answer(size_t i_task, void *context);
/** Open the folder and compute the missing rows. 0, or -1 with *err. */
int strait_session_compute(struct strait_session *r, struct strait_error *err);
/** Write the end record if anything is new. 0, or -1 with *err. */
int strait_session_finish(struct strait_session *r, struct strait_error *err);
void strait_session_release(struct strait_session *r);
/** The rows of one backend (NULL: all), in the order of the plan: a new array. */
json_t *strait_session_rows(const struct strait_session *r, const struct strait_backend *backend);
bool strait_session_is_both(const struct strait_session *r);
/** Whether two resolved points train the same tensors on the same data, whatever their codecs. */
bool strait_session_trains_alike(const json_t *a, const json_t *b);
