#include "kept.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/hash.h"
#include "core/io.h"

/* What a file of any size cannot exceed, so that a record's bytes do not overflow. */
static const uint64_t MAX_STATE = (uint64_t)1 << 40;
static const char MAGIC[8] = "stkept1";

struct file_head {
    char magic[8];
    uint64_t n_elems;
};

struct record { /* then n_elems values and n_state numbers */
    struct strait_kept_job job;
    double loss;
    uint64_t n_state, check; /* check sum of what follows */
};

struct entry {
    struct strait_kept_job job;
    off_t at; /* of its record */
};

struct strait_kept {
    char *path;
    int fd;
    size_t n_elems;
    pthread_mutex_t mutex;
    struct entry *entries;
    size_t n, cap;
    off_t end;
};

static uint64_t check_of(const float *values, size_t n_elems, const float *state, size_t n_state)
{
    return strait_checksum(values, n_elems * sizeof(float)) * 31 +
           (n_state > 0 ? strait_checksum(state, n_state * sizeof(float)) : 0);
}

static size_t record_bytes(const struct strait_kept *k, const struct record *r)
{
    return sizeof(*r) + (k->n_elems + (size_t)r->n_state) * sizeof(float);
}

static bool note(struct strait_kept *k, const struct record *r)
{
    if (k->n == k->cap) {
        const size_t cap = k->cap ? 2 * k->cap : 64;
        struct entry *more = realloc(k->entries, cap * sizeof(*more));
        if (!more)
            return false;
        k->entries = more;
        k->cap = cap;
    }
    k->entries[k->n++] = (struct entry){r->job, k->end};
    k->end += (off_t)record_bytes(k, r);
    return true;
}

/* Note the whole records of the file; the next one is written over what is not whole. */
static int read_index(struct strait_kept *k, struct strait_error *err)
{
    struct file_head head = {.n_elems = k->n_elems};
    struct stat status;
    struct record r;
    memcpy(head.magic, MAGIC, sizeof(MAGIC));
    if (fstat(k->fd, &status) != 0)
        return strait_error_system(err, k->path, "cannot read it");
    k->end = sizeof(head);
    if (status.st_size < (off_t)sizeof(head))
        return strait_io_write(k->fd, &head, sizeof(head), 0)
                   ? 0
                   : strait_error_system(err, k->path, "cannot write it");
    if (!strait_io_read(k->fd, &head, sizeof(head), 0) ||
        memcmp(head.magic, MAGIC, sizeof(MAGIC)) != 0 || head.n_elems != k->n_elems)
        return strait_refuse(err, k->path, "expected the saved state of a run with %zu parameters",
                             k->n_elems);
    while (strait_io_read(k->fd, &r, sizeof(r), k->end) && r.check != 0 && r.n_state <= MAX_STATE &&
           k->end + (off_t)record_bytes(k, &r) <= status.st_size)
        if (!note(k, &r))
            return strait_error_memory(err, k->path);
    return 0;
}

int strait_kept_open(struct strait_kept **out, const char *path, size_t n_elems,
                     struct strait_error *err)
{
    struct strait_kept *k = calloc(1, sizeof(*k));
    *out = NULL;
    if (!k || !(k->path = strdup(path))) {
        free(k);
        return strait_error_memory(err, path);
    }
    k->n_elems = n_elems;
    pthread_mutex_init(&k->mutex, NULL);
    k->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (k->fd < 0)
        strait_error_system(err, path, "cannot open it");
    if (k->fd < 0 || read_index(k, err) != 0) {
        strait_kept_close(k, false);
        return -1;
    }
    *out = k;
    return 0;
}

void strait_kept_close(struct strait_kept *k, bool is_over)
{
    if (!k)
        return;
    if (is_over)
        unlink(k->path);
    if (k->fd >= 0)
        close(k->fd);
    pthread_mutex_destroy(&k->mutex);
    free(k->entries);
    free(k->path);
    free(k);
}

static bool is_same(const struct strait_kept_job *a, const struct strait_kept_job *b)
{
    return a->worker == b->worker && a->n_steps == b->n_steps && a->first_batch == b->first_batch &&
           a->from == b->from;
}

bool strait_kept_find(struct strait_kept *k, const struct strait_kept_job *job, double *loss,
                      float *values, float *state, size_t n_state)
{
    off_t at = 0;
    struct record r;
    pthread_mutex_lock(&k->mutex);
    for (size_t i = 0; i < k->n && at == 0; i++)
        at = is_same(&k->entries[i].job, job) ? k->entries[i].at : 0;
    pthread_mutex_unlock(&k->mutex);
    const off_t values_at = at + (off_t)sizeof(r);
    if (at == 0 || !strait_io_read(k->fd, &r, sizeof(r), at) || r.n_state != n_state ||
        !strait_io_read(k->fd, values, k->n_elems * sizeof(float), values_at) ||
        !strait_io_read(k->fd, state, n_state * sizeof(float),
                        values_at + (off_t)(k->n_elems * sizeof(float))) ||
        (check_of(values, k->n_elems, state, n_state) | 1) != r.check)
        return false;
    *loss = r.loss;
    return true;
}

int strait_kept_add(struct strait_kept *k, const struct strait_kept_job *job, double loss,
                    const float *values, const float *state, size_t n_state,
                    struct strait_error *err)
{
    const struct record r = {*job, loss, n_state, check_of(values, k->n_elems, state, n_state) | 1};
    const size_t n_bytes = k->n_elems * sizeof(float);
    pthread_mutex_lock(&k->mutex);
    const off_t values_at = k->end + (off_t)sizeof(r);
    /* the record's head goes last: until then there are zeros, and so no check sum */
    const bool written =
        strait_io_write(k->fd, values, n_bytes, values_at) &&
        strait_io_write(k->fd, state, n_state * sizeof(float), values_at + (off_t)n_bytes) &&
        strait_io_write(k->fd, &r, sizeof(r), k->end);
    const int failed = written && note(k, &r)
                           ? 0
                           : strait_error_system(err, k->path, "cannot write %zu bytes", n_bytes);
    pthread_mutex_unlock(&k->mutex);
    return failed;
}
