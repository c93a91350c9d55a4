#include "log.h"

#include <stdlib.h>
#include <string.h>
#include "core/io.h"

/* Room for one more of n things of `size` bytes. */
static bool grow(void **all, size_t *cap, size_t n, size_t size)
{
    if (n < *cap)
        return true;
    const size_t more = *cap ? 2 * *cap : 64;
    void *grown = realloc(*all, more * size);
    if (!grown)
        return false;
    *all = grown;
    *cap = more;
    return true;
}

bool strait_log_add_trained(struct strait_log *log, const struct strait_trained *trained)
{
    void *all = log->trained;
    const bool fits = grow(&all, &log->cap_trained, log->n_trained, sizeof(*trained));
    log->trained = all;
    if (fits)
        log->trained[log->n_trained++] = *trained;
    return fits;
}

bool strait_log_add_scored(struct strait_log *log, const struct strait_scored *scored)
{
    void *all = log->scored;
    const bool fits = grow(&all, &log->cap_scored, log->n_scored, sizeof(*scored));
    log->scored = all;
    if (fits)
        log->scored[log->n_scored++] = *scored;
    return fits;
}

void strait_log_release(struct strait_log *log)
{
    strait_spans_release(&log->spans);
    free(log->trained);
    free(log->scored);
    free(log->of_workers);
    memset(log, 0, sizeof(*log));
}

static bool write_all(int fd, const void *data, size_t len_bytes)
{
    return strait_io_write(fd, data, len_bytes, STRAIT_IO_HERE);
}

static int read_all(int fd, void *data, size_t len_bytes, struct strait_error *err)
{
    return strait_io_read(fd, data, len_bytes, STRAIT_IO_HERE)
               ? 0
               : strait_error_set(err, STRAIT_ERR_BACKEND, "log",
                                  "expected %zu more bytes, found the end", len_bytes);
}

int strait_log_write(int fd, const struct strait_log *log, struct strait_error *err)
{
    const struct strait_spans *s = &log->spans;
    unsigned char *packed = strait_spans_gather(s);
    if (!packed)
        return strait_error_memory(err, "log");
    const bool written =
        write_all(fd, log, sizeof(*log)) &&
        write_all(fd, s->newest, s->n_newest * sizeof(*s->newest)) &&
        write_all(fd, s->blocks, s->n_blocks * sizeof(*s->blocks)) &&
        write_all(fd, packed, s->packed_bytes) &&
        write_all(fd, log->trained, log->n_trained * sizeof(*log->trained)) &&
        write_all(fd, log->scored, log->n_scored * sizeof(*log->scored)) &&
        write_all(fd, log->of_workers, log->n_of_workers * sizeof(*log->of_workers));
    free(packed);
    return written ? 0 : strait_error_system(err, "log", "cannot be written");
}

/* Read n things of `size` bytes into new memory; none: NULL. */
static int read_array(int fd, void **out, size_t n, size_t size, struct strait_error *err)
{
    *out = NULL;
    if (n == 0)
        return 0;
    *out = calloc(n, size);
    if (!*out)
        return strait_error_set(err, STRAIT_ERR_NOMEM, "log", "%zu entries do not fit in memory",
                                n);
    return read_all(fd, *out, n * size, err);
}

/* Spans whose counts are known, into memory of their own. */
static int read_spans(int fd, struct strait_spans *s, struct strait_error *err)
{
    void *newest, *blocks = NULL, *packed = NULL;
    int failed = read_array(fd, &newest, s->n_newest, sizeof(*s->newest), err) != 0 ||
                 read_array(fd, &blocks, s->n_blocks, sizeof(*s->blocks), err) != 0 ||
                 read_array(fd, &packed, s->packed_bytes, 1, err) != 0;
    s->newest = newest;
    s->blocks = blocks;
    s->cap_newest = s->n_newest;
    s->cap_blocks = s->n_blocks = failed ? 0 : s->n_blocks;
    if (!failed && !strait_spans_scatter(s, packed))
        failed = strait_error_memory(err, "log");
    free(packed);
    return failed ? -1 : 0;
}

int strait_log_read(int fd, struct strait_log *log, struct strait_error *err)
{
    struct strait_log in; /* written by our own child: the same build, so the same layout */
    void *trained = NULL, *scored = NULL, *of_workers = NULL;
    if (read_all(fd, &in, sizeof(in), err) != 0)
        return -1;
    in.cap_trained = in.n_trained;
    in.cap_scored = in.n_scored;
    if (in.n_spans > 2 * STRAIT_LOG_MAX_SPANS) /* rounds are kept beyond the limit */
        return strait_error_set(err, STRAIT_ERR_BACKEND, "log",
                                "expected at most %d spans, found %zu", 2 * STRAIT_LOG_MAX_SPANS,
                                in.n_spans);
    const bool failed =
        read_spans(fd, &in.spans, err) != 0 ||
        read_array(fd, &trained, in.n_trained, sizeof(*in.trained), err) != 0 ||
        read_array(fd, &scored, in.n_scored, sizeof(*in.scored), err) != 0 ||
        read_array(fd, &of_workers, in.n_of_workers, sizeof(*in.of_workers), err) != 0;
    in.trained = trained;
    in.scored = scored;
    in.of_workers = of_workers;
    if (failed) {
        strait_log_release(&in);
        return -1;
    }
    strait_log_release(log);
    *log = in;
    return 0;
}

int strait_facts_init(struct strait_facts *f, struct strait_error *err)
{
    f->constants = json_object();
    f->report = json_object();
    f->invalid = json_array();
    f->flags = json_array();
    if (!f->constants || !f->report || !f->invalid || !f->flags) {
        strait_facts_release(f);
        return strait_error_memory(err, NULL);
    }
    return 0;
}

void strait_facts_release(struct strait_facts *f)
{
    json_decref(f->constants);
    json_decref(f->report);
    json_decref(f->invalid);
    json_decref(f->flags);
    memset(f, 0, sizeof(*f));
}
