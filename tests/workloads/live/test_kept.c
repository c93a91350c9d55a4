/* Saved results of training, and a run that goes on from them. */
#include "workloads/live/kept.h"
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/kit/folder.h"
#include "tests/kit/live_world.h"

enum { N = 5, STATE = 3 };

static const struct strait_kept_job jobs[2] = {
    {.worker = 1, .n_steps = 3, .first_batch = 6, .from = 77},
    {.worker = 1, .n_steps = 0, .first_batch = 6, .from = 77}};

static struct strait_kept *open_at(const char *path, size_t n_elems)
{
    struct strait_error err = {0};
    struct strait_kept *k;
    CU_ASSERT_EQUAL_FATAL(strait_kept_open(&k, path, n_elems, &err), 0);
    return k;
}

static void add_both(const char *path)
{
    const float values[2][N] = {{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}}, state[STATE] = {0.5f, 0, -1};
    struct strait_error err = {0};
    struct strait_kept *k = open_at(path, N);
    CU_ASSERT_EQUAL(strait_kept_add(k, &jobs[0], 0.25, values[0], state, STATE, &err), 0);
    CU_ASSERT_EQUAL(strait_kept_add(k, &jobs[1], 0.75, values[1], NULL, 0, &err), 0);
    strait_kept_close(k, false);
}

static void found_again(void)
{
    char folder[] = "/tmp/strait-kept-XXXXXX";
    char path[4200];
    double loss;
    float values[N], state[STATE];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/a.state", folder);
    add_both(path);
    struct strait_kept *k = open_at(path, N);
    CU_ASSERT_TRUE(strait_kept_find(k, &jobs[0], &loss, values, state, STATE));
    CU_ASSERT_EQUAL(loss, 0.25);
    CU_ASSERT_EQUAL(values[4], 5);
    CU_ASSERT_EQUAL(state[2], -1);
    CU_ASSERT_TRUE(strait_kept_find(k, &jobs[1], &loss, values, NULL, 0));
    CU_ASSERT_EQUAL(values[0], 6);
    struct strait_kept_job other = jobs[0];
    other.from = 78; /* other parameters */
    CU_ASSERT_FALSE(strait_kept_find(k, &other, &loss, values, state, STATE));
    CU_ASSERT_FALSE(strait_kept_find(k, &jobs[0], &loss, values, NULL, 0));
    strait_kept_close(k, true);
    CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0);
    folder_remove(folder);
}

/* Cut anywhere, the file has the records before; and another model's is refused. */
static void cut(void)
{
    char folder[] = "/tmp/strait-kept-XXXXXX";
    char path[4200];
    struct stat status;
    struct strait_error err = {0};
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/a.state", folder);
    add_both(path);
    CU_ASSERT_EQUAL_FATAL(stat(path, &status), 0);
    for (off_t size = status.st_size; size >= 0; size -= 7) {
        double loss;
        float values[N], state[STATE];
        CU_ASSERT_EQUAL_FATAL(truncate(path, size), 0);
        struct strait_kept *k = open_at(path, N);
        const bool first = strait_kept_find(k, &jobs[0], &loss, values, state, STATE),
                   second = strait_kept_find(k, &jobs[1], &loss, values, NULL, 0);
        CU_ASSERT_EQUAL(second, size == status.st_size);
        CU_ASSERT_EQUAL(first, size >= status.st_size - 48 - 4 * N); /* a head has 48 bytes */
        strait_kept_close(k, false);
    }
    struct strait_kept *k = NULL;
    CU_ASSERT_EQUAL(strait_kept_open(&k, path, N + 1, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    folder_remove(folder);
}

/* --- a run that was stopped ------------------------------------------------------------------ */

static void run_with_state(struct live *o, const char *strategy, const char *path)
{
    struct strait_error err = {0};
    CU_ASSERT_EQUAL_FATAL(live_try(o, LIVE_QUADRATIC, strategy, "", false, 2, &err), 0);
    strait_trial_free(o->trial);
    const struct strait_trial_options options = {
        .real_payload = true, .n_threads = 2, .state = path};
    CU_ASSERT_EQUAL_FATAL(strait_trial_new(&o->trial, o->experiment, o->profile, &options, &err),
                          0);
    CU_ASSERT_EQUAL_FATAL(strait_trial_run(o->trial, &strait_fluid, &err), 0);
}

/* Stopped anywhere it goes on to the same bits, and computes what is missing and nothing else: the
 * file is as long as that of a run at one go. */
static void goes_on(const char *strategy)
{
    char folder[] = "/tmp/strait-kept-XXXXXX";
    char path[4200];
    struct stat status;
    struct live whole, again;
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/a.state", folder);
    run_with_state(&whole, strategy, path);
    const struct strait_log *x = &whole.trial->logs[0];
    CU_ASSERT_EQUAL_FATAL(stat(path, &status), 0);
    const off_t all = status.st_size;
    for (int part = 0; part <= 3; part++) {
        CU_ASSERT_EQUAL_FATAL(truncate(path, all * part / 3), 0);
        run_with_state(&again, strategy, path);
        const struct strait_log *y = &again.trial->logs[0];
        CU_ASSERT_EQUAL_FATAL(x->n_scored, y->n_scored);
        for (size_t i = 0; i < x->n_scored; i++)
            CU_ASSERT(x->scored[i].loss == y->scored[i].loss);
        CU_ASSERT_EQUAL_FATAL(stat(path, &status), 0);
        /* where clients are cut off they have begun what nobody waits for, or not */
        if (!again.experiment->strategy->ends_with_rank_0)
            CU_ASSERT_EQUAL(status.st_size, all);
        live_free(&again);
    }
    live_free(&whole);
    folder_remove(folder);
}

static void stopped(void)
{
    goes_on("{\"name\":\"fedavg\",\"rounds\":4,\"local_steps\":3}");
    goes_on("{\"name\":\"diloco\",\"rounds\":4,\"local_steps\":3}"); /* optimisers live on */
    goes_on("{\"name\":\"wfbp\",\"rounds\":6}");
    goes_on("{\"name\":\"fedasync\",\"rounds\":6,\"local_steps\":3,\"straggler_spread\":1}");
}

static const struct strait_test tests[] = {
    {"what was kept is found again, for the same parameters alone", found_again},
    {"a file that was cut has the records before", cut},
    {"a run that was stopped goes on to the same bits", stopped},
};
STRAIT_SUITE("workloads/live/kept", tests);
