/* strait-mpi.so: the table of calls, over the MPI that compiles this.
 *
 * libsimgrid has functions named MPI_Init, MPI_Isend and so on too (its SMPI); in a program that is
 * linked with it the loader prefers them to this module's own libraries. So each is looked up in
 * the module. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "mpi/calls.h"

_Static_assert(sizeof(MPI_Request) <= sizeof(uintptr_t), "a request fits into its handle");

/* clang-format off */
#define FUNCTIONS(X) \
    X(Init_thread) X(Comm_dup) X(Comm_set_errhandler) X(Comm_rank) X(Comm_size) X(Comm_free) \
    X(Get_library_version) X(Finalize) X(Abort) X(Isend) X(Irecv) X(Test) X(Iprobe) X(Get_count) \
    X(Recv) X(Allreduce)
/* clang-format on */
#define MEMBER(name) __typeof__(&MPI_##name) name;

struct mpi {
    FUNCTIONS(MEMBER)
    MPI_Comm ways[2];
};

static int find(void *to, void *module, const char *name)
{
    void *symbol = dlsym(module, name);
    memcpy(to, &symbol, sizeof(symbol));
    return symbol ? 0 : -1;
}

/* TCP's limit above which Open MPI asks, with a header. Raised before MPI starts, where nobody has
 * chosen one: 64 KiB are 10 us at 50 Gbps. */
static size_t choose_part(void)
{
    size_t n = 32768; /* MPICH's and others' limits begin at 64 KiB */
#ifdef OPEN_MPI
    enum { HEADER = 256, MIN_PART = 4096 };
    static const char name[] = "OMPI_MCA_btl_tcp_eager_limit";
    setenv(name, "262144", 0);
    n = strtoul(getenv(name), NULL, 10);
    n = n > HEADER + MIN_PART ? n - HEADER : MIN_PART;
#endif
    return n < (size_t)1 << 30 ? n : (size_t)1 << 30;
}

static MPI_Request request_of(const struct strait_mpi_request *q)
{
    MPI_Request r;
    memcpy(&r, &q->handle, sizeof(r));
    return r;
}

#define FIND(name) missing |= find(&m->name, module, "MPI_" #name);

static void *open_mpi(void *module, int *me, int *n, size_t *part_bytes,
                      char library[STRAIT_MPI_TEXT_CHARS])
{
    int provided = 0, len = 0, missing = 0;
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    struct mpi *m = calloc(1, sizeof(*m));
    snprintf(library, STRAIT_MPI_TEXT_CHARS, "MPI cannot be initialised");
    if (m) {
        FUNCTIONS(FIND)
    }
    *part_bytes = choose_part();
    if (!m || missing ||
        m->Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS ||
        provided < MPI_THREAD_FUNNELED) {
        free(m);
        return NULL;
    }
    for (int i = 0; i < 2; i++) {
        m->Comm_dup(MPI_COMM_WORLD, &m->ways[i]);
        m->Comm_set_errhandler(m->ways[i], MPI_ERRORS_RETURN);
    }
    m->Comm_rank(m->ways[0], me);
    m->Comm_size(m->ways[0], n);
    m->Get_library_version(text, &len);
    text[strcspn(text, "\n")] = '\0';
    char *package = strstr(text, ", package:"); /* Open MPI goes on for a line */
    if (package)
        *package = '\0';
    snprintf(library, STRAIT_MPI_TEXT_CHARS, "%.200s", text);
    return m;
}

static void close_mpi(void *of)
{
    struct mpi *m = of;
    for (int i = 0; i < 2; i++)
        m->Comm_free(&m->ways[i]);
    m->Finalize();
    free(m);
}

static void abort_mpi(void *of, int status)
{
    struct mpi *m = of;
    m->Abort(MPI_COMM_WORLD, status);
}

static int isend(void *of, struct strait_mpi_request *q, enum strait_mpi_way way, const void *data,
                 size_t n_bytes, int dst, int tag)
{
    struct mpi *m = of;
    MPI_Request r;
    const int failed = m->Isend(data, (int)n_bytes, MPI_BYTE, dst, tag, m->ways[way], &r);
    q->handle = 0;
    memcpy(&q->handle, &r, sizeof(r));
    return failed == MPI_SUCCESS ? 0 : -1;
}

static int irecv(void *of, struct strait_mpi_request *q, enum strait_mpi_way way, void *data,
                 size_t n_bytes, int src, int tag)
{
    struct mpi *m = of;
    MPI_Request r;
    const int failed = m->Irecv(data, (int)n_bytes, MPI_BYTE, src, tag, m->ways[way], &r);
    q->handle = 0;
    memcpy(&q->handle, &r, sizeof(r));
    return failed == MPI_SUCCESS ? 0 : -1;
}

static int test(void *of, struct strait_mpi_request *q)
{
    struct mpi *m = of;
    MPI_Request r = request_of(q);
    int done = 0;
    if (m->Test(&r, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        return -1;
    memcpy(&q->handle, &r, sizeof(r));
    return done != 0;
}

static int probe(void *of, int *src, int *tag, size_t *n_bytes)
{
    struct mpi *m = of;
    int found = 0, count = 0;
    MPI_Status status;
    if (m->Iprobe(*src < 0 ? MPI_ANY_SOURCE : *src, *tag < 0 ? MPI_ANY_TAG : *tag,
                  m->ways[STRAIT_MPI_LETTERS], &found, &status) != MPI_SUCCESS)
        return -1;
    if (!found)
        return 0;
    m->Get_count(&status, MPI_BYTE, &count);
    *src = status.MPI_SOURCE;
    *tag = status.MPI_TAG;
    *n_bytes = (size_t)count;
    return 1;
}

static int take(void *of, void *data, size_t n_bytes, int src, int tag)
{
    struct mpi *m = of;
    return m->Recv(data, (int)n_bytes, MPI_BYTE, src, tag, m->ways[STRAIT_MPI_LETTERS],
                   MPI_STATUS_IGNORE) == MPI_SUCCESS
               ? 0
               : -1;
}

static int all_reduce(void *of, float *x, int n)
{
    struct mpi *m = of;
    return m->Allreduce(MPI_IN_PLACE, x, n, MPI_FLOAT, MPI_SUM, m->ways[STRAIT_MPI_PAYLOADS]) ==
                   MPI_SUCCESS
               ? 0
               : -1;
}

const struct strait_mpi_calls *strait_mpi_module(void);
__attribute__((visibility("default"))) const struct strait_mpi_calls *strait_mpi_module(void)
{
    static const struct strait_mpi_calls calls = {STRAIT_MPI_CALLS_VERSION,
                                                  open_mpi,
                                                  close_mpi,
                                                  abort_mpi,
                                                  isend,
                                                  irecv,
                                                  test,
                                                  probe,
                                                  take,
                                                  all_reduce};
    return &calls;
}
