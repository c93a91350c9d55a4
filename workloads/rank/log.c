#include "log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void lose(struct strait_log *log, const struct strait_span *span)
{
    if (log->n_lost++ == 0 || span->start_s < log->lost_from_s)
        log->lost_from_s = span->start_s;
}

void strait_log_add(struct strait_log *log, const struct strait_span *span)
{
    log->total_s[span->kind] += span->end_s - span->start_s;
    log->n_of_kind[span->kind]++;
    if (span->kind == STRAIT_SPAN_TRANSFER && span->peer < 0)
        log->link_bytes += span->bytes;
    const size_t most = log->max_spans > 0 ? log->max_spans : STRAIT_LOG_MAX_SPANS;
    if (log->n_spans >= most && span->kind != STRAIT_SPAN_ROUND) {
        lose(log, span);
        return;
    }
    if (log->n_spans == log->cap_spans) {
        const size_t cap = log->cap_spans ? 2 * log->cap_spans : 64;
        struct strait_span *more = realloc(log->spans, cap * sizeof(*more));
        if (!more) {
            lose(log, span); /* still counted in the totals above */
            return;
        }
        log->spans = more;
        log->cap_spans = cap;
    }
    log->spans[log->n_spans++] = *span;
}

void strait_log_release(struct strait_log *log)
{
    free(log->spans);
    memset(log, 0, sizeof(*log));
}

static int write_all(int fd, const void *data, size_t len_bytes, struct strait_error *err)
{
    for (const char *p = data; len_bytes > 0;) {
        const ssize_t n = write(fd, p, len_bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return strait_error_system(err, "log", "cannot write %zu bytes", len_bytes);
        p += n;
        len_bytes -= (size_t)n;
    }
    return 0;
}

static int read_all(int fd, void *data, size_t len_bytes, struct strait_error *err)
{
    for (char *p = data; len_bytes > 0;) {
        const ssize_t n = read(fd, p, len_bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return strait_error_set(err, STRAIT_ERR_BACKEND, "log",
                                    "expected %zu more bytes, found the end", len_bytes);
        p += n;
        len_bytes -= (size_t)n;
    }
    return 0;
}

int strait_log_write(int fd, const struct strait_log *log, struct strait_error *err)
{
    if (write_all(fd, log, sizeof(*log), err) != 0)
        return -1;
    return write_all(fd, log->spans, log->n_spans * sizeof(*log->spans), err);
}

int strait_log_read(int fd, struct strait_log *log, struct strait_error *err)
{
    struct strait_log in; /* written by our own child: the same build, so the same layout */
    if (read_all(fd, &in, sizeof(in), err) != 0)
        return -1;
    in.spans = NULL;
    in.cap_spans = in.n_spans;
    if (in.n_spans > 2 * STRAIT_LOG_MAX_SPANS) /* rounds are kept beyond the limit */
        return strait_error_set(err, STRAIT_ERR_BACKEND, "log",
                                "expected at most %d spans, found %zu", 2 * STRAIT_LOG_MAX_SPANS,
                                in.n_spans);
    if (in.n_spans > 0) {
        in.spans = malloc(in.n_spans * sizeof(*in.spans));
        if (!in.spans)
            return strait_error_set(err, STRAIT_ERR_NOMEM, "log", "%zu spans do not fit in memory",
                                    in.n_spans);
        if (read_all(fd, in.spans, in.n_spans * sizeof(*in.spans), err) != 0) {
            free(in.spans);
            return -1;
        }
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
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out");
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
