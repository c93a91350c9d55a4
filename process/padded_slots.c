#include "padded_slots.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "workloads/timing/readings.h"

int strait_proc_slots_init(struct strait_proc_slots *s, pthread_mutex_t *lock, sem_t *compute,
                           const unsigned n_slots[STRAIT_N_RESOURCES], struct strait_error *err)
{
    *s = (struct strait_proc_slots){.lock = lock, .compute = compute};
    s->runnable_end = &s->runnable;
    pthread_cond_init(&s->work, NULL);
    pthread_cond_init(&s->calm, NULL);
    pthread_cond_init(&s->never, NULL);
    for (int i = 0; i < STRAIT_N_RESOURCES; i++) {
        struct strait_proc_resource *r = &s->resources[i];
        r->end = &r->first;
        if (i == STRAIT_TIMER)
            continue;
        r->n_slots = r->n_free = n_slots[i] > 0 ? n_slots[i] : 1;
        r->free_at_ns = calloc(r->n_slots, sizeof(*r->free_at_ns));
        if (!r->free_at_ns) {
            strait_proc_slots_release(s);
            return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out for %u slots",
                                    r->n_slots);
        }
    }
    return 0;
}

void strait_proc_slots_begin(struct strait_proc_slots *s, const struct strait_proc_clock *clock)
{
    s->clock = *clock;
    s->reading_ns = strait_cpu_reading_ns();
}

/* Take the n slots that have been free longest. Returns since when all of them are free. */
static int64_t take_slots(struct strait_proc_resource *r, unsigned n)
{
    const int64_t since = r->free_at_ns[n - 1];
    r->n_free -= n;
    memmove(r->free_at_ns, r->free_at_ns + n, r->n_free * sizeof(*r->free_at_ns));
    return since;
}

static void give_slots(struct strait_proc_resource *r, unsigned n, int64_t since)
{
    unsigned at = r->n_free;
    while (at > 0 && r->free_at_ns[at - 1] > since)
        at--;
    memmove(r->free_at_ns + at + n, r->free_at_ns + at, (r->n_free - at) * sizeof(since));
    for (unsigned i = 0; i < n; i++)
        r->free_at_ns[at + i] = since;
    r->n_free += n;
}

/* Run the job's own work, unless halted. */
static void call(struct strait_proc_slots *s, const struct strait_job *job)
{
    pthread_mutex_lock(s->lock);
    while (s->halted) /* for good: the process ends soon */
        pthread_cond_wait(&s->never, s->lock);
    s->n_calls++;
    pthread_mutex_unlock(s->lock);
    job->fn(job->arg);
    pthread_mutex_lock(s->lock);
    if (--s->n_calls == 0)
        pthread_cond_broadcast(&s->calm);
    pthread_mutex_unlock(s->lock);
}

void strait_proc_slots_halt(struct strait_proc_slots *s)
{
    pthread_mutex_lock(s->lock);
    s->halted = true;
    while (s->n_calls > 0)
        pthread_cond_wait(&s->calm, s->lock);
    pthread_mutex_unlock(s->lock);
}

/* Nobody did this work yet, and in virtual time no clock moves while it is done once more. */
static bool goes_first(const struct strait_job *job)
{
    return job->is_pure && strait_cpu_is_of_host() && job->readings &&
           atomic_load(&job->readings->n) == 0;
}

/* Run the real work alone on a core; returns the CPU time in nanoseconds. */
static int64_t measure(struct strait_proc_slots *s, const struct strait_job *job)
{
    while (sem_wait(s->compute) != 0)
        assert(errno == EINTR);
    if (goes_first(job)) /* the first call takes several times as long as all others */
        call(s, job);
    const int64_t before = strait_proc_thread_cpu_ns();
    call(s, job);
    const int64_t used = strait_proc_thread_cpu_ns() - before - s->reading_ns;
    sem_post(s->compute);
    return used > 0 ? used : 1;
}

/* Run the job and hold its slots for its duration. Not under the lock. */
static void perform(struct strait_proc_slots *s, struct strait_op *op, int64_t *used_ns,
                    int64_t *slip_ns, bool *slow)
{
    const bool measured = isnan(op->job.cost_s);
    *used_ns = *slip_ns = 0;
    if (op->job.fn) {
        strait_proc_be_ordinary();
        if (measured)
            *used_ns = measure(s, &op->job);
        else
            call(s, &op->job);
        strait_proc_be_prompt(); /* a job must end as punctually as messages are sent */
    }
    const double cost_s =
        measured ? strait_readings_add(op->job.readings, (double)*used_ns / 1e9) : op->job.cost_s;
    *slow = measured && (double)*used_ns / 1e9 > STRAIT_PROC_SLOW_RATIO * cost_s;
    op->ended_ns = op->started_ns + strait_proc_clock_real_ns(&s->clock, cost_s);
    const int64_t now = strait_proc_mono_ns();
    if (now < op->ended_ns) {
        strait_proc_sleep_until_ns(op->ended_ns);
    } else if (op->job.fn) {
        *slip_ns = now - op->ended_ns;
        op->ended_ns = now;
    }
}

static void *worker(void *slots);

/* Ensure a thread for each job that has its slots, so that none waits for another's thread. */
static int need_threads(struct strait_proc_slots *s, struct strait_error *err)
{
    while (s->n_runnable > s->n_idle) {
        if (s->n_threads == s->cap_threads) {
            const unsigned cap = s->cap_threads ? 2 * s->cap_threads : 8;
            pthread_t *more = realloc(s->threads, cap * sizeof(*more));
            if (!more)
                return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out for threads");
            s->threads = more;
            s->cap_threads = cap;
        }
        errno = pthread_create(&s->threads[s->n_threads], NULL, worker, s);
        if (errno != 0)
            return strait_error_system(err, "pthread_create", "cannot start a worker");
        s->n_threads++;
        s->n_idle++;
    }
    return 0;
}

/* Give free slots to the jobs at the head of the queue. */
static int dispatch(struct strait_proc_slots *s, enum strait_resource resource,
                    struct strait_error *err)
{
    struct strait_proc_resource *r = &s->resources[resource];
    while (r->first && (resource == STRAIT_TIMER || r->first->job.n_slots <= r->n_free)) {
        struct strait_op *op = r->first;
        r->first = op->next;
        if (!r->first)
            r->end = &r->first;
        op->started_ns = op->queued_ns;
        if (resource != STRAIT_TIMER) {
            const int64_t since = take_slots(r, op->job.n_slots);
            if (since > op->started_ns)
                op->started_ns = since;
        }
        op->next = NULL;
        *s->runnable_end = op;
        s->runnable_end = &op->next;
        s->n_runnable++;
        pthread_cond_signal(&s->work);
    }
    return need_threads(s, err);
}

static void finish(struct strait_proc_slots *s, struct strait_op *op, int64_t used_ns,
                   int64_t slip_ns, bool slow)
{
    const double slip_s = (double)slip_ns / 1e9;
    s->slip_sum_s += slip_s;
    if (slip_s > s->slip_max_s)
        s->slip_max_s = slip_s;
    s->cpu_s += (double)used_ns / 1e9;
    if (isnan(op->job.cost_s))
        s->n_measured++;
    s->n_slow += slow;
    const enum strait_resource resource = op->job.resource;
    if (resource != STRAIT_TIMER)
        give_slots(&s->resources[resource], op->job.n_slots, op->ended_ns);
    op->done = true; /* once the lock is released its owner may free it */
    if (op->waiter)
        pthread_cond_signal(op->waiter);
    dispatch(s, resource, NULL); /* without another thread this one runs the next job */
}

static void *worker(void *slots)
{
    struct strait_proc_slots *s = slots;
    strait_proc_be_prompt();
    pthread_mutex_lock(s->lock);
    for (;;) {
        while (!s->runnable && !s->stopping)
            pthread_cond_wait(&s->work, s->lock);
        if (!s->runnable)
            break;
        struct strait_op *op = s->runnable;
        s->runnable = op->next;
        if (!s->runnable)
            s->runnable_end = &s->runnable;
        s->n_runnable--;
        s->n_idle--;
        pthread_mutex_unlock(s->lock);
        int64_t used_ns, slip_ns;
        bool slow;
        perform(s, op, &used_ns, &slip_ns, &slow);
        pthread_mutex_lock(s->lock);
        s->n_idle++;
        finish(s, op, used_ns, slip_ns, slow);
    }
    pthread_mutex_unlock(s->lock);
    return NULL;
}

int strait_proc_slots_start(struct strait_proc_slots *s, struct strait_op *op,
                            struct strait_error *err)
{
    struct strait_proc_resource *r = &s->resources[op->job.resource];
    if (op->job.n_slots == 0)
        op->job.n_slots = 1;
    assert(op->job.resource == STRAIT_TIMER || op->job.n_slots <= r->n_slots);
    op->next = NULL;
    *r->end = op;
    r->end = &op->next;
    return dispatch(s, op->job.resource, err);
}

void strait_proc_slots_release(struct strait_proc_slots *s)
{
    pthread_mutex_lock(s->lock);
    s->stopping = true;
    pthread_cond_broadcast(&s->work);
    pthread_mutex_unlock(s->lock);
    for (unsigned i = 0; i < s->n_threads; i++)
        pthread_join(s->threads[i], NULL);
    free(s->threads);
    for (int i = 0; i < STRAIT_N_RESOURCES; i++)
        free(s->resources[i].free_at_ns);
    pthread_cond_destroy(&s->work);
    pthread_cond_destroy(&s->calm);
    pthread_cond_destroy(&s->never);
}
