/* A few threads that wait to help: made once, no allocation and no busy waiting afterwards.
 * After a fork the child has none of them: there the caller works alone, and freeing is safe. */
#pragma once
#include <pthread.h>
#include <stddef.h>
#include "core/error.h"

struct strait_team;

/** n_threads, of which the caller of strait_team_run is one. NULL with *err: SYSTEM, NOMEM. */
struct strait_team *strait_team_new(unsigned n_threads, struct strait_error *err);
/** Joins the threads; NULL is fine. Nobody is inside strait_team_run. */
void strait_team_free(struct strait_team *team);
unsigned strait_team_size(const struct strait_team *team); /* NULL: 1 */

/** Call work(arg) at once on every thread of the team, and return when all have returned. The
 *  threads share what is to be done among themselves, for some may come late or not at all: when
 *  another caller has the team, work(arg) runs on the calling thread alone. NULL is such a team. */
void strait_team_run(struct strait_team *team, void (*work)(void *arg), void *arg);

/* Numbered things that have to happen in the order of their numbers, whoever does them. */
struct strait_turns {
    pthread_mutex_t mutex;
    pthread_cond_t passed;
    size_t now;
};
void strait_turns_init(struct strait_turns *turns);
void strait_turns_release(struct strait_turns *turns);
/** Wait until it is the turn of `number`, of which all predecessors are under way. */
void strait_turns_await(struct strait_turns *turns, size_t number);
void strait_turns_pass(struct strait_turns *turns);
