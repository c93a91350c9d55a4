/* The state of a rank: what it holds, logs, runs and fails with. Beneath everything else here. */
#include "rank_state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int strait_me(const struct strait_rank *r)
{
    return r->me;
}

int strait_n_ranks(const struct strait_rank *r)
{
    return r->run->n_ranks - r->run->network->n_others;
}

double strait_now_s(const struct strait_rank *r)
{
    return r->backend->ops->now_s(r);
}

bool strait_is_away(const struct strait_rank *r)
{
    return strait_rank_state_of(r)->leaves &&
           strait_network_is_away(r->run->network, r->me, strait_now_s(r));
}

double strait_next_presence_s(const struct strait_rank *r)
{
    const struct strait_schedule *present = r->run->network->out[r->me].present;
    return present ? strait_schedule_next_s(present, strait_now_s(r)) : INFINITY;
}

const struct strait_model *strait_model(const struct strait_rank *r)
{
    return strait_rank_state_of(r)->point->experiment->model;
}

const struct strait_experiment *strait_experiment(const struct strait_rank *r)
{
    return strait_rank_state_of(r)->point->experiment;
}

enum strait_resource strait_device(const struct strait_rank *r)
{
    return strait_model(r)->on_cpu ? STRAIT_CPU : STRAIT_ACCEL;
}

double strait_device_speed(const struct strait_rank *r)
{
    return strait_rank_state_of(r)->point->experiment->compute_speed;
}

bool strait_trains(const struct strait_rank *r)
{
    return strait_rank_state_of(r)->learning != NULL;
}

int strait_n_workers(const struct strait_rank *r)
{
    return strait_rank_state_of(r)->point->n_workers;
}

const int *strait_all_ranks(struct strait_rank *r)
{
    struct strait_trial *p = r->run->context;
    const int n = strait_n_ranks(r);
    const bool are_processes = r->backend->is_measured;
    int *ranks = are_processes ? strait_alloc(r, (size_t)n, sizeof(*ranks)) : p->all_ranks;
    if (!ranks && !(ranks = malloc((size_t)n * sizeof(*ranks))))
        strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "memory ran out");
    for (int i = 0; i < n && ranks != p->all_ranks; i++)
        ranks[i] = i;
    if (!are_processes)
        p->all_ranks = ranks;
    return ranks;
}

void strait_rank_state_fail(struct strait_rank *r, enum strait_error_code code, const char *text)
{
    struct strait_error err = {0};
    char where[32];
    snprintf(where, sizeof(where), "rank %d", r->me);
    strait_error_set(&err, code, where, "%s", text);
    r->backend->ops->fail(r, &err);
}

void strait_fail(struct strait_rank *r, const struct strait_error *err)
{
    r->backend->ops->fail(r, err);
}

void *strait_alloc(struct strait_rank *r, size_t n, size_t size)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    void *p = calloc(n ? n : 1, size);
    pthread_mutex_lock(&w->mutex);
    if (w->n_allocs == w->cap_allocs) {
        const size_t cap = w->cap_allocs ? 2 * w->cap_allocs : 4;
        void **more = realloc(w->allocs, cap * sizeof(*more));
        if (more) {
            w->allocs = more;
            w->cap_allocs = cap;
        }
    }
    const bool kept = p && w->n_allocs < w->cap_allocs;
    if (kept)
        w->allocs[w->n_allocs++] = p;
    pthread_mutex_unlock(&w->mutex);
    if (!kept) {
        free(p);
        strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "memory ran out");
    }
    return p;
}

/* Ranks of a sized simulation are on one thread: no step need lock the bus. */
static void hold_alone(struct strait_rank_state *w, long long bytes)
{
    const long long now = atomic_load_explicit(&w->held_bytes, memory_order_relaxed) + bytes;
    atomic_store_explicit(&w->held_bytes, now, memory_order_relaxed);
    if (now > atomic_load_explicit(&w->peak_bytes, memory_order_relaxed))
        atomic_store_explicit(&w->peak_bytes, now, memory_order_relaxed);
}

void strait_rank_state_hold_in_room(struct strait_rank_state *w, double bytes)
{
    if (!w->point->run.real_payload && !w->point->run.measured_cost) {
        hold_alone(w, (long long)bytes);
        return;
    }
    const long long now = atomic_fetch_add(&w->held_bytes, (long long)bytes) + (long long)bytes;
    for (long long peak = atomic_load(&w->peak_bytes);
         now > peak && !atomic_compare_exchange_weak(&w->peak_bytes, &peak, now);)
        ;
}

void strait_rank_state_hold(struct strait_rank_state *w, double bytes)
{
    strait_rank_state_hold_in_room(w, bytes);
    strait_footprint_add(w->footprint, bytes);
}

void strait_rank_state_span(struct strait_rank *r, enum strait_span_kind kind,
                            const struct strait_times *t, const struct strait_packet *packet,
                            int peer, int channel, int tag)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    const struct strait_span span = {.queued_s = t->queued_s,
                                     .start_s = t->started_s,
                                     .end_s = t->ended_s,
                                     .bytes = packet ? packet->payload_bytes : 0,
                                     .raw_bytes = packet ? packet->raw_bytes : 0,
                                     .rank = r->me,
                                     .round = atomic_load(&w->round),
                                     .peer = peer,
                                     .tag = tag,
                                     .lane = (int16_t)r->lane,
                                     .channel = (int16_t)channel,
                                     .kind = (int32_t)kind};
    strait_rank_state_lock(r);
    strait_log_add(w->log, &span);
    strait_rank_state_unlock(r);
}

void strait_rank_state_work(struct strait_rank *r, enum strait_span_kind kind,
                            const struct strait_job *job)
{
    struct strait_times times;
    r->backend->ops->wait(r, r->backend->ops->start(r, job), &times);
    strait_rank_state_span(r, kind, &times, NULL, -1, -1, -1);
}

struct strait_task *strait_task_of(struct strait_rank *r, enum strait_span_kind kind,
                                   struct strait_op *op)
{
    const bool real = r->run->real_payload; /* an error is eight times as large as the rest */
    struct strait_task *task = calloc(1, sizeof(*task) + (real ? sizeof(*task->err) : 0));
    if (!task)
        strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "memory ran out");
    *task = (struct strait_task){
        .kind = kind, .op = op, .err = real ? (struct strait_error *)(void *)(task + 1) : NULL};
    return task;
}

void strait_work(struct strait_rank *r, enum strait_span_kind kind, enum strait_resource resource,
                 double cost_s, void (*fn)(void *), void *arg)
{
    const struct strait_job job = {.resource = resource, .cost_s = cost_s, .fn = fn, .arg = arg};
    strait_rank_state_work(r, kind, &job);
}

struct strait_task *strait_work_start(struct strait_rank *r, enum strait_span_kind kind,
                                      enum strait_resource resource, double cost_s,
                                      void (*fn)(void *), void *arg)
{
    const struct strait_job job = {.resource = resource, .cost_s = cost_s, .fn = fn, .arg = arg};
    return strait_task_of(r, kind, r->backend->ops->start(r, &job));
}

struct strait_task *strait_copy_start(struct strait_rank *r, enum strait_resource link,
                                      double bytes, double cost_s, void (*fn)(void *), void *arg)
{
    struct strait_task *task = strait_work_start(r, STRAIT_SPAN_TRANSFER, link, cost_s, fn, arg);
    task->moved_bytes = (size_t)bytes;
    return task;
}
