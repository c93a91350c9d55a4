/* Files of spans. */
#include "spans_file.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/breakdown.h"
#include "analysis/fields.h"

enum { N_FIELDS = 12, MAX_RANKS = 1 << 20, PATH_CHARS = 4096 };

static void write_span(FILE *out, const struct strait_span *s)
{
    fprintf(out, "[%d,%d,\"%s\",%d,%.17g,%.17g,%.17g,%llu,%llu,%d,%d,%d]\n", s->rank, s->lane,
            strait_span_kind_name((enum strait_span_kind)s->kind), s->round, s->queued_s,
            s->start_s, s->end_s, (unsigned long long)s->bytes, (unsigned long long)s->raw_bytes,
            s->peer, s->tag, s->channel);
}

int strait_spans_write(const char *path, const struct strait_log *logs, int n_ranks,
                       struct strait_error *err)
{
    char part[PATH_CHARS];
    double lost_s = INFINITY;
    snprintf(part, sizeof(part), "%.4000s.part", path);
    FILE *out = fopen(part, "we");
    if (!out)
        return strait_error_path(err, part, "cannot write");
    for (int r = 0; r < n_ranks; r++)
        if (logs[r].n_lost > 0)
            lost_s = fmin(lost_s, logs[r].lost_from_s);
    fprintf(out, "{\"schema\":\"%s\",\"ranks\":%d,\"from_s\":", STRAIT_SPANS_SCHEMA, n_ranks);
    fprintf(out, isfinite(lost_s) ? "%.17g}\n" : "null}\n", lost_s);
    for (int r = 0; r < n_ranks; r++) {
        struct strait_span_walk walk;
        strait_spans_begin(&walk, &logs[r].spans);
        for (const struct strait_span *s; (s = strait_spans_next(&walk));)
            write_span(out, s);
    }
    const bool failed = ferror(out);
    if (fclose(out) == 0 && !failed && rename(part, path) == 0)
        return 0;
    strait_error_path(err, path, "cannot write");
    unlink(part);
    return -1;
}

static int kind_of(const json_t *value)
{
    for (int kind = 0; kind < STRAIT_N_SPAN_KINDS; kind++)
        if (json_is_string(value) &&
            strcmp(json_string_value(value), strait_span_kind_name((enum strait_span_kind)kind)) ==
                0)
            return kind;
    return -1;
}

/* Is it a span of one of these ranks, with times in their order? */
static bool read_span(struct strait_span *s, const json_t *line, int n_ranks)
{
    double at[N_FIELDS] = {0};
    if (json_array_size(line) != N_FIELDS)
        return false;
    for (size_t i = 0; i < N_FIELDS; i++) {
        const json_t *value = json_array_get(line, i);
        if (i == 2)
            continue;
        at[i] = json_number_value(value);
        if (!json_is_number(value) || !(fabs(at[i]) < 9e15))
            return false;
    }
    const int kind = kind_of(json_array_get(line, 2));
    const bool known = kind >= 0 && at[0] >= 0 && at[0] < n_ranks && at[9] >= -1 &&
                       at[9] < n_ranks && at[1] >= 0 && at[1] < 1 << 14 && fabs(at[11]) < 1 << 14 &&
                       fabs(at[3]) < 1e9 && fabs(at[10]) < 1e9 && at[7] >= 0 && at[8] >= 0 &&
                       at[5] <= at[6];
    if (known)
        *s = (struct strait_span){.rank = (int32_t)at[0],
                                  .lane = (int16_t)at[1],
                                  .kind = kind,
                                  .round = (int32_t)at[3],
                                  .queued_s = at[4],
                                  .start_s = at[5],
                                  .end_s = at[6],
                                  .bytes = (uint64_t)at[7],
                                  .raw_bytes = (uint64_t)at[8],
                                  .peer = (int32_t)at[9],
                                  .tag = (int32_t)at[10],
                                  .channel = (int16_t)at[11]};
    return known;
}

static int read_head(int *n_ranks, double *lost_s, const json_t *line)
{
    const json_t *ranks = json_object_get(line, "ranks"), *lost = json_object_get(line, "from_s");
    if (strcmp(strait_text_of(line, "schema"), STRAIT_SPANS_SCHEMA) != 0 ||
        !json_is_integer(ranks) || json_integer_value(ranks) < 1 ||
        json_integer_value(ranks) > MAX_RANKS)
        return -1;
    *n_ranks = (int)json_integer_value(ranks);
    *lost_s = json_is_number(lost) ? json_number_value(lost) : INFINITY;
    return 0;
}

static void free_logs(struct strait_log *logs, int n_ranks)
{
    for (int r = 0; logs && r < n_ranks; r++)
        strait_log_release(&logs[r]);
    free(logs);
}

static int read_lines(struct strait_log **logs, int *n_ranks, FILE *in, const char *path,
                      struct strait_error *err)
{
    char *text = NULL, where[PATH_CHARS + 32];
    size_t cap = 0, n = 0;
    ssize_t len_bytes;
    double lost_s = INFINITY;
    bool good = true;
    while (good && (len_bytes = getline(&text, &cap, in)) > 0) {
        json_t *line = json_loadb(text, (size_t)len_bytes, 0, NULL);
        struct strait_span s;
        if (n++ == 0) {
            good = line && read_head(n_ranks, &lost_s, line) == 0;
            *logs = good ? calloc((size_t)*n_ranks, sizeof(**logs)) : NULL;
            good = *logs != NULL;
        } else {
            good = line && read_span(&s, line, *n_ranks);
            if (good)
                strait_log_add(&(*logs)[s.rank], &s);
        }
        json_decref(line);
    }
    free(text);
    if (n > 0 && good && isfinite(lost_s)) {
        (*logs)[0].n_lost++;
        (*logs)[0].lost_from_s = lost_s;
    }
    if (n > 0 && good)
        return 0;
    snprintf(where, sizeof(where), "%s:%zu", path, n > 0 ? n : 1);
    return strait_refuse(err, where, n <= 1 ? "expected the head of %s" : "expected a span of %s",
                         STRAIT_SPANS_SCHEMA);
}

int strait_spans_read(struct strait_log **logs, int *n_ranks, const char *path,
                      struct strait_error *err)
{
    FILE *in = fopen(path, "re");
    *logs = NULL;
    *n_ranks = 0;
    if (!in)
        return strait_error_path(err, path, "cannot read");
    const int status = read_lines(logs, n_ranks, in, path, err);
    fclose(in);
    if (status != 0) {
        free_logs(*logs, *n_ranks);
        *logs = NULL;
    }
    return status;
}
