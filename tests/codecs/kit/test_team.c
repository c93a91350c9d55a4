/* A team of threads: everybody helps, everything is done once, turns are kept. */
#include "codecs/kit/team.h"
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/kit/suite.h"

enum { N_ITEMS = 200, MAX_TEAM = 7 };

struct job {
    pthread_mutex_t mutex;
    pthread_cond_t all_here;
    unsigned next, n_workers, n_wanted;
    unsigned done[N_ITEMS], order[N_ITEMS], n_ordered;
    struct strait_turns turns;
};

static void job_init(struct job *job, unsigned n_wanted)
{
    *job = (struct job){.n_wanted = n_wanted};
    pthread_mutex_init(&job->mutex, NULL);
    pthread_cond_init(&job->all_here, NULL);
    strait_turns_init(&job->turns);
}

static void job_release(struct job *job)
{
    strait_turns_release(&job->turns);
    pthread_cond_destroy(&job->all_here);
    pthread_mutex_destroy(&job->mutex);
}

/* Items from a common counter, marked once and listed in their turn. */
static void work(void *arg)
{
    struct job *job = arg;
    pthread_mutex_lock(&job->mutex);
    job->n_workers++;
    pthread_cond_broadcast(&job->all_here);
    while (job->n_workers < job->n_wanted)
        pthread_cond_wait(&job->all_here, &job->mutex);
    while (job->next < N_ITEMS) {
        const unsigned item = job->next++;
        pthread_mutex_unlock(&job->mutex);
        job->done[item]++;
        strait_turns_await(&job->turns, item);
        job->order[job->n_ordered++] = item;
        strait_turns_pass(&job->turns);
        pthread_mutex_lock(&job->mutex);
    }
    pthread_mutex_unlock(&job->mutex);
}

static bool is_done(const struct job *job)
{
    bool good = job->n_ordered == N_ITEMS;
    for (unsigned i = 0; i < N_ITEMS && good; i++)
        good = job->done[i] == 1 && job->order[i] == i;
    return good;
}

static void everybody_helps(void)
{
    for (unsigned n = 1; n <= MAX_TEAM; n++) {
        struct strait_team *team = strait_team_new(n, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(team);
        CU_ASSERT_EQUAL(strait_team_size(team), n);
        for (unsigned round = 0; round < 20; round++) {
            struct job job;
            job_init(&job, n); /* nobody goes on until all n are there */
            strait_team_run(team, work, &job);
            CU_ASSERT_EQUAL(job.n_workers, n);
            CU_ASSERT(is_done(&job));
            job_release(&job);
        }
        strait_team_free(team);
    }
}

static void no_team(void)
{
    struct job job;
    job_init(&job, 1);
    CU_ASSERT_EQUAL(strait_team_size(NULL), 1);
    strait_team_run(NULL, work, &job);
    CU_ASSERT_EQUAL(job.n_workers, 1);
    CU_ASSERT(is_done(&job));
    job_release(&job);
    strait_team_free(NULL);
}

/* Inside the work of a team of two that has both threads, another run finds the team taken. */
struct outer {
    struct strait_team *team;
    struct job both, inner;
    bool good;
};

static void work_outer(void *arg)
{
    struct outer *o = arg;
    work(&o->both);
    pthread_mutex_lock(&o->both.mutex);
    const bool first = !o->good;
    o->good = true;
    pthread_mutex_unlock(&o->both.mutex);
    if (first)
        strait_team_run(o->team, work, &o->inner);
}

static void taken_by_another(void)
{
    struct outer o = {.team = strait_team_new(2, NULL)};
    CU_ASSERT_PTR_NOT_NULL_FATAL(o.team);
    job_init(&o.both, 2);
    job_init(&o.inner, 1);
    strait_team_run(o.team, work_outer, &o);
    CU_ASSERT(is_done(&o.both) && is_done(&o.inner));
    CU_ASSERT_EQUAL(o.inner.n_workers, 1);
    job_release(&o.inner);
    job_release(&o.both);
    strait_team_free(o.team);
}

static void in_a_child(void)
{
    struct strait_team *team = strait_team_new(3, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(team);
    const pid_t child = fork();
    CU_ASSERT_FATAL(child >= 0);
    if (child == 0) {
        struct job job;
        alarm(120);
        job_init(&job, 1);
        strait_team_run(team, work, &job);
        const bool good = job.n_workers == 1 && is_done(&job);
        strait_team_free(team);
        _exit(good ? 0 : 1);
    }
    int status = -1;
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT_EQUAL(status, 0);
    strait_team_free(team);
}

static const struct strait_test tests[] = {
    {"every thread of a team helps, and everything is done once and in turn", everybody_helps},
    {"no team is a team of one", no_team},
    {"who finds the team taken works alone", taken_by_another},
    {"a forked child works alone", in_a_child},
};
STRAIT_SUITE_WITH("codecs/kit/team", tests, .threads = true);
