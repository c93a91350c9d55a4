#include "local_rank.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "lane.h"

/* Virtual time that a lane may be late and still compensate. Jobs that cannot, and late messages,
 * are counted where they happen; the limit is for a lane that spins until time passes. */
static const double MAX_LAG_S = 0.1;

int strait_proc_rank_init(struct strait_proc_rank *rank, sem_t *compute, struct strait_error *err)
{
    struct strait_run *run = rank->run;
    unsigned n_slots[STRAIT_N_RESOURCES];
    for (int i = 0; i < STRAIT_N_RESOURCES; i++)
        n_slots[i] = run->n_slots(run, rank->me, (enum strait_resource)i);
    pthread_mutex_init(&rank->lock, NULL);
    strait_proc_inbox_init(&rank->inbox);
    rank->news = eventfd(0, EFD_CLOEXEC);
    if (rank->news < 0)
        return strait_error_system(err, "eventfd", "cannot be made");
    if (strait_proc_slots_init(&rank->slots, &rank->lock, compute, n_slots, err) != 0)
        return -1;
    rank->first = strait_proc_lane_new(rank);
    if (!rank->first)
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out for a lane");
    if (run->rank_begin)
        run->rank_begin(&rank->first->base);
    return 0;
}

static void program(struct strait_rank *r, void *arg)
{
    const struct strait_proc_clock *clock = arg;
    strait_proc_sleep_until_ns(clock->start_ns);
    r->run->rank_main(r);
}

int strait_proc_rank_begin(struct strait_proc_rank *rank, struct strait_error *err)
{
    struct strait_proc_lane *lane = rank->first;
    rank->max_lag_ns = strait_proc_clock_real_ns(&rank->clock, MAX_LAG_S);
    strait_proc_slots_begin(&rank->slots, &rank->clock);
    lane->fn = program;
    lane->now_ns = rank->clock.start_ns;
    lane->arg = &rank->clock;
    pthread_mutex_lock(&rank->lock);
    const int failed = strait_proc_lane_begin(lane, err);
    pthread_mutex_unlock(&rank->lock);
    return failed;
}

int strait_proc_rank_n_moving(struct strait_proc_rank *rank)
{
    pthread_mutex_lock(&rank->lock);
    int n = -rank->n_parked;
    for (const struct strait_proc_lane *l = rank->lanes; l; l = l->next)
        n += !l->ended;
    pthread_mutex_unlock(&rank->lock);
    return n;
}

void strait_proc_rank_stop(struct strait_proc_rank *rank)
{
    pthread_mutex_lock(&rank->lock);
    rank->stopping = true;
    for (struct strait_proc_lane *l = rank->lanes; l; l = l->next)
        pthread_cond_signal(&l->moved);
    pthread_mutex_unlock(&rank->lock);
}

void strait_proc_rank_close(struct strait_proc_rank *rank)
{
    pthread_mutex_lock(&rank->lock);
    strait_proc_inbox_close(&rank->inbox);
    pthread_mutex_unlock(&rank->lock);
    for (struct strait_proc_lane *l = rank->lanes; l; l = l->next) {
        pthread_mutex_lock(&rank->lock);
        const bool ended = l->ended;
        pthread_mutex_unlock(&rank->lock);
        if (ended)
            pthread_join(l->thread, NULL);
    }
}

void strait_proc_rank_end(struct strait_proc_rank *rank)
{
    if (rank->run->rank_end)
        rank->run->rank_end(&rank->first->base);
}

void strait_proc_rank_release(struct strait_proc_rank *rank)
{
    strait_proc_slots_release(&rank->slots);
    strait_proc_inbox_release(&rank->inbox);
    for (struct strait_proc_lane *l = rank->lanes, *next; l; l = next) {
        next = l->next;
        pthread_cond_destroy(&l->moved);
        free(l);
    }
    close(rank->news);
    pthread_mutex_destroy(&rank->lock);
}
