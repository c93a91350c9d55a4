#include "fake_mpi.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core/clock.h"
#include "core/names.h"
#include "tests/kit/failing/set_clock.h"

enum { KEPT_BYTES = 1 << 20, MAX_SEATS = 8 };

struct fake_mpi fake_mpi;
static const int seats[MAX_SEATS] = {0, 1, 2, 3, 4, 5, 6, 7};

static struct pending { /* a payload that was asked for; its request is the index and 1 */
    void *data;
    size_t n_bytes;
    int src, dst, tag;
} pending[FAKE_MPI_ITEMS];
static size_t n_pending;

static void add(enum strait_mpi_way way, int src, int dst, int tag, const void *data,
                size_t n_bytes, double from_s)
{
    if (fake_mpi.n == FAKE_MPI_ITEMS)
        abort();
    /* which scarce.h does not count: what lacks memory is the program, not these boxes */
    void *copy = n_bytes <= KEPT_BYTES ? reallocarray(NULL, n_bytes + 1, 1) : NULL;
    if (copy && n_bytes > 0)
        memcpy(copy, data, n_bytes);
    fake_mpi.items[fake_mpi.n++] =
        (struct fake_mpi_item){way, src, dst, tag, n_bytes, copy, from_s, false};
}

static int fake_isend(void *of, struct strait_mpi_request *request, enum strait_mpi_way way,
                      const void *data, size_t n_bytes, int dst, int tag)
{
    const int me = *(const int *)of;
    const bool is_note = way == STRAIT_MPI_LETTERS && tag == STRAIT_MPI_TAG_NOTE;
    if (!is_note)
        strait_text_add(fake_mpi.asked, sizeof(fake_mpi.asked), "%c%d>%d#%d:%zu ",
                        way == STRAIT_MPI_LETTERS ? 'L' : 'P', me, dst, tag, n_bytes);
    add(way, me, dst, tag, data, n_bytes, strait_clock_s() + fake_mpi.delay_s);
    if (is_note && fake_mpi.heard)
        fake_mpi.heard(me, dst, data);
    request->handle = 0;
    return 0;
}

static int fake_irecv(void *of, struct strait_mpi_request *request, enum strait_mpi_way way,
                      void *data, size_t n_bytes, int src, int tag)
{
    const int me = *(const int *)of;
    if (n_pending == FAKE_MPI_ITEMS)
        abort();
    pending[n_pending++] = (struct pending){data, n_bytes, src, me, tag};
    strait_text_add(fake_mpi.asked, sizeof(fake_mpi.asked), "r%d<%d#%d:%zu ", me, src, tag,
                    n_bytes);
    request->handle = n_pending;
    return way == STRAIT_MPI_PAYLOADS ? 0 : -1;
}

static struct fake_mpi_item *find(enum strait_mpi_way way, int src, int dst, int tag)
{
    for (size_t i = 0; i < fake_mpi.n; i++) {
        struct fake_mpi_item *it = &fake_mpi.items[i];
        if (!it->taken && it->from_s <= strait_clock_s() && it->way == way && it->dst == dst &&
            (src < 0 || it->src == src) && (tag < 0 || it->tag == tag))
            return it;
    }
    return NULL;
}

static int fake_test(void *of, struct strait_mpi_request *request)
{
    (void)of;
    if (request->handle == 0)
        return !fake_mpi.held;
    const struct pending *p = &pending[request->handle - 1];
    struct fake_mpi_item *it = find(STRAIT_MPI_PAYLOADS, p->src, p->dst, p->tag);
    if (!it)
        return 0;
    const bool fits = it->n_bytes == p->n_bytes && it->data;
    if (fits)
        memcpy(p->data, it->data, it->n_bytes);
    it->taken = true;
    return fits ? 1 : -1;
}

/* Time goes on to what comes next to `me`, a step at most. */
static void pass(int me)
{
    const double now_s = strait_clock_s();
    double next_s = INFINITY;
    for (size_t i = 0; i < fake_mpi.n; i++)
        if (fake_mpi.items[i].dst == me && fake_mpi.items[i].from_s > now_s)
            next_s = fmin(next_s, fake_mpi.items[i].from_s);
    strait_test_clock_pass(fmin(fake_mpi.step_s, next_s - now_s + 1e-9));
}

static int fake_probe(void *of, int *src, int *tag, size_t *n_bytes)
{
    const struct fake_mpi_item *it = find(STRAIT_MPI_LETTERS, *src, *(const int *)of, *tag);
    if (!it) {
        if (fake_mpi.step_s > 0)
            pass(*(const int *)of);
        return 0;
    }
    *src = it->src;
    *tag = it->tag;
    *n_bytes = it->n_bytes;
    return 1;
}

static int fake_take(void *of, void *data, size_t n_bytes, int src, int tag)
{
    struct fake_mpi_item *it = find(STRAIT_MPI_LETTERS, src, *(const int *)of, tag);
    if (!it || it->n_bytes != n_bytes)
        return -1;
    if (n_bytes > 0)
        memcpy(data, it->data, n_bytes);
    it->taken = true;
    return 0;
}

const struct strait_mpi_calls fake_mpi_calls = {.version = STRAIT_MPI_CALLS_VERSION,
                                                .isend = fake_isend,
                                                .irecv = fake_irecv,
                                                .test = fake_test,
                                                .probe = fake_probe,
                                                .take = fake_take};

void fake_mpi_empty(void)
{
    for (size_t i = 0; i < fake_mpi.n; i++)
        free(fake_mpi.items[i].data);
    memset(&fake_mpi, 0, sizeof(fake_mpi));
    n_pending = 0;
}

struct strait_mpi_world fake_mpi_world(int me, int n)
{
    return (struct strait_mpi_world){.calls = &fake_mpi_calls,
                                     .mpi = (void *)(uintptr_t)&seats[me],
                                     .me = me,
                                     .n = n,
                                     .part_bytes = 1000,
                                     .library = "Letters 1.0"};
}

void fake_mpi_say(int src, int dst, const struct strait_mpi_note *note, double after_s)
{
    add(STRAIT_MPI_LETTERS, src, dst, STRAIT_MPI_TAG_NOTE, note, sizeof(*note),
        strait_clock_s() + after_s);
}

const char *fake_mpi_asked(void)
{
    static char asked[sizeof(fake_mpi.asked)];
    memcpy(asked, fake_mpi.asked, sizeof(asked));
    fake_mpi.asked[0] = '\0';
    return asked;
}
