/* The backend `mpi` owes what every backend owes, but for the links, which are real. Every run of a
 * case starts mpirun, which starts this test once a rank: there the case comes to the same run, now
 * as one of its ranks. Rank 0 leaves what came of it in a file. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/process.h"
#include "mpi/world.h"
#include "tests/kit/conformance/conformance.h"
#include "tests/kit/links/mpi_world.h"

#define RESULT "STRAIT_TEST_MPI_RESULT" /* the file; set: this process is a rank */

struct outcome {
    int rc;
    struct strait_error err;
};

static int check(const struct strait_run *run, struct strait_error *err)
{
    static char why[256]; /* asked once: it takes half a second */
    static int works = -1;
    (void)run;
    if (getenv(RESULT))
        return 0;
    if (works < 0)
        works = mpirun_works(why, sizeof(why));
    return works ? 0 : strait_error_set(err, STRAIT_ERR_HOST, NULL, "%s", why);
}

/* Does not return. */
static void be_rank(struct strait_run *run, const char *file)
{
    struct outcome o = {.rc = -1};
    struct strait_mpi_world *w;
    if (strait_mpi_world_open(&w, &o.err) != 0)
        _exit(EXIT_FAILURE);
    run->world = w;
    o.rc = strait_mpi.run(run, &o.err);
    if (w->me == 0) {
        const int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        bool written = fd >= 0 && write(fd, &o, sizeof(o)) == (ssize_t)sizeof(o);
        for (int i = 0; i < run->n_ranks && written && o.rc == 0; i++)
            written = strait_log_write(fd, &run->logs[i], NULL) == 0;
        if (!written)
            unlink(file);
    }
    if (o.rc != 0 && w->me != 0)
        sleep(20); /* rank 0 ends all */
    if (o.rc != 0)
        strait_mpi_world_abort(w, EXIT_FAILURE);
    strait_mpi_world_free(w);
    _exit(EXIT_SUCCESS);
}

static int take(struct strait_run *run, const char *file, struct strait_error *err)
{
    struct outcome o;
    const int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, &o, sizeof(o)) != (ssize_t)sizeof(o))
        return strait_error_system(err, file, "rank 0 left nothing");
    for (int i = 0; i < run->n_ranks && o.rc == 0; i++)
        o.rc = strait_log_read(fd, &run->logs[i], err);
    close(fd);
    if (o.rc != 0)
        *err = o.err;
    return o.rc;
}

static int run(struct strait_run *run, struct strait_error *err)
{
    const char *argv[MPIRUN_MAX_ARGS + 8], *sentence = CU_get_current_test()->pName;
    char n_text[16], self[4096], file[64] = "/tmp/strait-mpi-XXXXXX";
    if (getenv(RESULT))
        be_rank(run, getenv(RESULT));
    const int fd = mkstemp(file);
    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    snprintf(n_text, sizeof(n_text), "%d", run->n_ranks);
    const size_t n = mpirun_argv(argv, n_text);
    strait_suite_argv(argv + n, self, "mpi/conformance_mpi", &sentence, 1);
    setenv(RESULT, file, 1);
    strait_process_run(NULL, 0, argv, NULL, 120, NULL); /* fails where the run is to fail */
    unsetenv(RESULT);
    const int rc = take(run, file, err);
    unlink(file);
    return rc;
}

/* The ranks themselves see strait_mpi. */
static const struct strait_backend started = {.name = "mpi", .check = check, .run = run};

static const struct strait_conformance conformance = {
    .backend = &started, .tolerance_ratio = 0.02, .tolerance_s = 5e-3, .unshaped = true};

STRAIT_SUITE_WITH("mpi/conformance_mpi", strait_conformance_tests, .slow_s = 15,
                  .data = &conformance, .release = true);
