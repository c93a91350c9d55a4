#include "world.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "core/clock.h"
#include "note.h"

/* What launchers leave in the environment: Open MPI, PMIx, MPICH and its kin, Slurm. */
static const char *const launched[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                       "SLURM_PROCID", NULL};
/* Between two looks, nanoseconds: nobody measures time by talk. */
static const long LOOK_NS = 200000;
/* For a refusal to leave. */
static const double REFUSE_S = 5;

/* Where the program lies in the tree, or in a prefix beside lib (Makefile, install). */
const char *strait_mpi_module_path(char *buf, size_t cap)
{
    static const char *const places[] = {"", "../", "../lib/strait/"};
    char self[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash)
        slash[1] = '\0';
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        snprintf(buf, cap, "%s%sstrait-mpi.so", self, places[i]);
        if (access(buf, R_OK) == 0)
            return buf;
    }
    snprintf(buf, cap, "%sstrait-mpi.so", self);
    return buf;
}

static const struct strait_mpi_calls *load(void **module, struct strait_error *err)
{
    char path[PATH_MAX + 32];
    strait_mpi_module_path(path, sizeof(path));
    if (access(path, R_OK) != 0) {
        strait_error_set(err, STRAIT_ERR_HOST, NULL,
                         "expected %s, found none: install the package strait-mpi, or any MPI with "
                         "mpicc (apt install libopenmpi-dev openmpi-bin) and make strait again",
                         path);
        return NULL;
    }
    *module = dlopen(path, RTLD_NOW | RTLD_GLOBAL); /* MPI's own plugins look for its symbols */
    void *symbol = *module ? dlsym(*module, STRAIT_MPI_SYMBOL) : NULL;
    strait_mpi_module_fn fn;
    memcpy(&fn, &symbol, sizeof(fn));
    const struct strait_mpi_calls *calls = symbol ? fn() : NULL;
    if (calls && calls->version == STRAIT_MPI_CALLS_VERSION)
        return calls;
    if (calls)
        strait_error_set(err, STRAIT_ERR_HOST, path,
                         "expected a module of version %d, found %u: make builds it anew",
                         STRAIT_MPI_CALLS_VERSION, calls->version);
    else
        strait_error_set(err, STRAIT_ERR_HOST, NULL, "cannot load MPI: %s", dlerror());
    return NULL;
}

int strait_mpi_module_check(struct strait_error *err)
{
    void *module = NULL; /* stays loaded: what MPI's libraries begin cannot be undone */
    return load(&module, err) ? 0 : -1;
}

static void look_later(void)
{
    nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
}

int strait_mpi_launched_as(void)
{
    const char *value = NULL;
    for (size_t i = 0; launched[i] && !value; i++)
        value = getenv(launched[i]);
    return value ? atoi(value) : 0;
}

const char *strait_mpi_world_host(char host[STRAIT_MPI_HOST_CHARS])
{
    char name[64] = "";
    const char *on = getenv("STRAIT_NET_ON"); /* strait net run --hosts */
    gethostname(name, sizeof(name) - 1);
    snprintf(host, STRAIT_MPI_HOST_CHARS, "%s%s%.24s", name, on ? " on " : "", on ? on : "");
    return host;
}

int strait_mpi_world_open(struct strait_mpi_world **out, struct strait_error *err)
{
    bool started = false;
    *out = NULL;
    for (size_t i = 0; launched[i] && !started; i++)
        started = getenv(launched[i]) != NULL;
    struct strait_mpi_world *w = calloc(1, sizeof(*w));
    if (!w)
        return strait_error_memory(err, NULL);
    w->calls = load(&w->module, err);
    if (w->calls && !started)
        strait_error_set(err, STRAIT_ERR_HOST, NULL,
                         "expected to be started by mpirun or srun, one process a rank: mpirun -n "
                         "9 strait rank ...");
    else if (w->calls &&
             !(w->mpi = w->calls->open(w->module, &w->me, &w->n, &w->part_bytes, w->library)))
        strait_error_set(err, STRAIT_ERR_HOST, NULL, "%s", w->library);
    if (!w->mpi) {
        free(w);
        return -1;
    }
    *out = w;
    return 0;
}

void strait_mpi_world_free(struct strait_mpi_world *w)
{
    if (w)
        w->calls->close(w->mpi);
    free(w);
}

void strait_mpi_world_refuse(struct strait_mpi_world *w, const struct strait_error *why)
{
    struct strait_mpi_request request;
    const struct strait_mpi_note note = {.word = STRAIT_MPI_FAILED, .from = w->me, .error = *why};
    const double until_s = strait_clock_s() + REFUSE_S;
    if (w->calls->isend(w->mpi, &request, STRAIT_MPI_LETTERS, &note, sizeof(note), 0,
                        STRAIT_MPI_TAG_NOTE) == 0)
        while (w->calls->test(w->mpi, &request) == 0 && strait_clock_s() < until_s)
            look_later();
}

void strait_mpi_world_abort(struct strait_mpi_world *w, int status)
{
    w->calls->abort(w->mpi, status);
    _exit(status);
}

int strait_mpi_broken(struct strait_error *err)
{
    return strait_error_set(err, STRAIT_ERR_BACKEND, NULL, "MPI reports an error");
}

int strait_mpi_tell(struct strait_mpi_world *w, int dst, const void *data, size_t n_bytes,
                    double deadline_s, struct strait_error *err)
{
    struct strait_mpi_request request;
    const double until_s = strait_clock_s() + deadline_s;
    if (n_bytes > INT_MAX / 2)
        return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                "rank %d has %zu bytes for rank %d, more than fit into a letter",
                                w->me, n_bytes, dst);
    if (w->calls->isend(w->mpi, &request, STRAIT_MPI_LETTERS, data, n_bytes, dst,
                        STRAIT_MPI_TAG_TALK) != 0)
        return strait_mpi_broken(err);
    for (int done; (done = w->calls->test(w->mpi, &request)) != 1; look_later()) {
        if (done < 0)
            return strait_mpi_broken(err);
        if (strait_clock_s() > until_s)
            return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                    "rank %d does not listen to rank %d for %.3g s", dst, w->me,
                                    deadline_s);
    }
    w->talked_s = strait_clock_s();
    return 0;
}

int strait_mpi_listen(struct strait_mpi_world *w, int src, void **data, size_t *n_bytes,
                      double deadline_s, struct strait_error *err)
{
    const double until_s = strait_clock_s() + deadline_s;
    for (int found;; look_later()) {
        int from = src, tag = STRAIT_MPI_TAG_TALK;
        found = w->calls->probe(w->mpi, &from, &tag, n_bytes);
        if (found < 0)
            return strait_mpi_broken(err);
        if (found)
            break;
        if (strait_clock_s() > until_s)
            return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                    "rank %d has not been heard for %.3g s", src, deadline_s);
    }
    *data = malloc(*n_bytes + 1);
    if (!*data)
        return strait_error_memory(err, NULL);
    ((char *)*data)[*n_bytes] = '\0';
    w->talked_s = strait_clock_s();
    return w->calls->take(w->mpi, *data, *n_bytes, src, STRAIT_MPI_TAG_TALK) == 0
               ? 0
               : strait_mpi_broken(err);
}
