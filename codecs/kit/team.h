/* A few helper threads, made once; no allocation and no busy waiting afterwards. After a fork the
 * child has no helpers: there the caller works alone, and freeing is safe. */
#pragma once
#include <pthread.h>
#include <stddef.h>
#include "core/error.h"

struct strait_team;

/** Make a team of n_threads, counting the caller of strait_team_run. NULL with *err: SYSTEM,
 *  NOMEM. */
struct strait_team *strait_team_new(unsigned n_threads, struct strait_error *err);
/** Join the threads; NULL is allowed. No thread may be inside strait_team_run. */
void strait_team_free(struct strait_team *team);
unsigned strait_team_size(const struct strait_team *team); /* NULL: 1 */

/** Run work(arg) on every thread of the team and return when all have returned. The threads must
 *  divide the work among themselves, for helpers may start late or not at all: while another caller
 *  has the team, work(arg) runs on the calling thread alone. So it does when team is NULL. */
void strait_team_run(struct strait_team *team, void (*work)(void *arg), void *arg);

/* Numbered steps that must happen in the order of their numbers, on whatever threads. */
struct strait_turns {
    pthread_mutex_t mutex;
    pthread_cond_t passed;
    size_t now;
};
void strait_turns_init(struct strait_turns *turns);
void strait_turns_release(struct strait_turns *turns);
/** Wait until all steps before `number` are done; each of these must already be under way. */
void strait_turns_await(struct strait_turns *turns, size_t number);
void strait_turns_pass(struct strait_turns *turns);
