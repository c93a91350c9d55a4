/* Reader of the layer table and of the table of iterations beside it. */
#include "layer_csv.h"
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>
#include "core/heap.h"
#include "core/json.h"
#include "csv.h"
#include "core/names.h"
#include "model_build.h"
#include "core/buffer.h"

enum column {
    FWD_INDEX,
    LAYER,
    PARAM,
    TYPE,
    SHAPE,
    BYTES,
    FWD_P50,
    FWD_P90,
    BWD_P50,
    BWD_P90,
    READY_P50,
    READY_P90,
    READY_ORDER
};

static const size_t max_model_bytes = SIZE_MAX / 16;
static const double max_us = 1e12; /* eleven days */

/* "16x1x3x3" */
static int read_shape(struct strait_csv *csv, struct strait_param_row *row,
                      struct strait_error *err)
{
    const char *text = csv->fields[SHAPE], *c = text;
    for (row->n_dims = 0;; c++) {
        char *end = NULL;
        errno = 0;
        const unsigned long long dim = strtoull(c, &end, 10);
        const bool digit = *c >= '0' && *c <= '9';
        if (!digit || (*end && *end != 'x') || dim == 0)
            return strait_csv_fail(
                csv, err, "expected a shape such as \"16x1x3x3\" in column shape, found \"%.40s\"",
                text);
        if (row->n_dims == STRAIT_MAX_DIMS)
            return strait_csv_fail(
                csv, err, "expected at most %d dimensions in column shape, found \"%.60s\"",
                STRAIT_MAX_DIMS, text);
        row->shape[row->n_dims++] = errno || dim > SIZE_MAX ? SIZE_MAX : (size_t)dim;
        c = end;
        if (!*c)
            break;
    }
    if (!strait_shape_elems(&row->n_elems, row->shape, row->n_dims) ||
        row->n_elems > max_model_bytes)
        return strait_csv_fail(csv, err, "expected a shape that fits an address, found \"%.60s\"",
                               text);
    return 0;
}

static int read_times(struct strait_csv *csv, struct strait_param_row *row,
                      struct strait_error *err)
{
    double *const fields[] = {&row->fwd_s_p50, &row->fwd_s_p90,   &row->bwd_s_p50,
                              &row->bwd_s_p90, &row->ready_s_p50, &row->ready_s_p90};
    for (size_t i = 0; i < 6; i++) {
        double us;
        if (strait_csv_number(csv, &us, FWD_P50 + i, 0, max_us, err) != 0)
            return -1;
        *fields[i] = us * 1e-6;
    }
    for (size_t i = 0; i < 6; i += 2)
        if (*fields[i] > *fields[i + 1])
            return strait_csv_fail(csv, err, "expected a p90 of at least the p50, found %s and %s",
                                   csv->fields[FWD_P50 + i + 1], csv->fields[FWD_P50 + i]);
    return 0;
}

static bool same_times(const struct strait_param_row *a, const struct strait_param_row *b)
{
    return a->fwd_s_p50 == b->fwd_s_p50 && a->fwd_s_p90 == b->fwd_s_p90 &&
           a->bwd_s_p50 == b->bwd_s_p50 && a->bwd_s_p90 == b->bwd_s_p90;
}

/* Note a name, of a layer or of a layer's parameter. 1: it was there already; -1: no memory. */
static int note(json_t *seen, const char *layer, const char *param)
{
    char name[160]; /* more than a layer's 96 and a parameter's 32 */
    snprintf(name, sizeof name, "%s%s%s", layer, *param ? "\n" : "", param); /* no name has one */
    if (json_object_get(seen, name))
        return 1;
    return json_object_set_new_nocheck(seen, name, json_true()) == 0 ? 0 : -1;
}

/* Check a row against earlier ones: a layer's rows are consecutive, with one type and one time; no
 * parameter occurs twice. */
static int check_against_earlier(struct strait_csv *csv, const struct strait_model *m, json_t *seen,
                                 const struct strait_param_row *row, bool *new_layer,
                                 struct strait_error *err)
{
    const struct strait_param_row *last = m->n_rows ? &m->rows[m->n_rows - 1] : NULL;
    *new_layer = !last || strcmp(last->layer, row->layer) != 0;
    const int layer_seen = *new_layer ? note(seen, row->layer, "") : 0;
    const int param_seen = note(seen, row->layer, row->param);
    if (layer_seen < 0 || param_seen < 0)
        return strait_error_memory(err, csv->path);
    if (layer_seen)
        return strait_csv_fail(csv, err, "expected the rows of layer \"%s\" one after another",
                               row->layer);
    if (*new_layer)
        return 0;
    if (param_seen)
        return strait_csv_fail(csv, err, "expected each parameter once, found \"%s.%s\" again",
                               row->layer, row->param);
    if (strcmp(last->type, row->type) != 0)
        return strait_csv_fail(csv, err, "expected one type for layer \"%s\", found %s and %s",
                               row->layer, last->type, row->type);
    if (!same_times(last, row))
        return strait_csv_fail(csv, err,
                               "expected the forward and backward times of layer \"%s\" in each of "
                               "its rows, found others",
                               row->layer);
    return 0;
}

static int read_row(struct strait_csv *csv, struct strait_builder *b, json_t *seen,
                    struct strait_error *err)
{
    struct strait_param_row row = {.n_elems = 0};
    size_t index, bytes;
    bool new_layer;
    if (strait_csv_integer(csv, &index, FWD_INDEX, SIZE_MAX, err) != 0 ||
        strait_csv_text(csv, row.layer, sizeof row.layer, LAYER, err) != 0 ||
        strait_csv_text(csv, row.param, sizeof row.param, PARAM, err) != 0 ||
        strait_csv_text(csv, row.type, sizeof row.type, TYPE, err) != 0 ||
        read_shape(csv, &row, err) != 0 ||
        strait_csv_integer(csv, &bytes, BYTES, SIZE_MAX, err) != 0 ||
        read_times(csv, &row, err) != 0 ||
        strait_csv_integer(csv, &row.ready_order, READY_ORDER, SIZE_MAX, err) != 0)
        return -1;
    if (index != b->m->n_rows)
        return strait_csv_fail(csv, err, "expected fwd_index %zu, found %zu", b->m->n_rows, index);
    if (bytes != row.n_elems * sizeof(float))
        return strait_csv_fail(csv, err, "expected %zu bytes for the shape %s, found %zu",
                               row.n_elems * sizeof(float), csv->fields[SHAPE], bytes);
    if (b->m->n_elems + row.n_elems > max_model_bytes / sizeof(float))
        return strait_csv_fail(csv, err, "expected a model that fits an address, found more");
    if (check_against_earlier(csv, b->m, seen, &row, &new_layer, err) != 0)
        return -1;
    if (new_layer)
        strait_build_layer(b, row.layer, row.type, 0);
    struct strait_param_row *kept = strait_build_param(b, row.param, row.n_dims, row.shape);
    if (!kept)
        return strait_error_memory(err, csv->path);
    row.layer_index = kept->layer_index;
    *kept = row;
    b->m->n_elems += row.n_elems;
    return 0;
}

/* Check that ready_order is a permutation of the rows. first_line is the line of row 0. */
static int check_ready_order(struct strait_csv *csv, const struct strait_model *m,
                             size_t first_line, struct strait_error *err)
{
    size_t *line_of = calloc(m->n_rows, sizeof *line_of);
    if (!line_of)
        return strait_error_memory(err, csv->path);
    int status = 0;
    for (size_t i = 0; i < m->n_rows && status == 0; i++) {
        const size_t order = m->rows[i].ready_order;
        csv->line = first_line + i;
        if (order >= m->n_rows)
            status = strait_csv_fail(
                csv, err, "expected a ready_order below %zu (one for each row), found %zu",
                m->n_rows, order);
        else if (line_of[order])
            status = strait_csv_fail(csv, err,
                                     "expected each ready_order once, found %zu as in line %zu",
                                     order, line_of[order]);
        else
            line_of[order] = csv->line;
    }
    free(line_of);
    return status;
}

/* Resolve a path relative to the file that names it. */
static void beside(char *buf, size_t cap, const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    if (name[0] == '/' || !slash)
        snprintf(buf, cap, "%s", name);
    else
        snprintf(buf, cap, "%.*s/%s", (int)(slash - path), path, name);
}

static bool starts_with_word(const char *text, const char *word)
{
    const size_t len = strlen(word);
    return strncmp(text, word, len) == 0 && strchr(" ,:", text[len]); /* the end counts too */
}

static int copy_text(struct strait_csv *csv, char *out, size_t cap, const char *key,
                     const char *value, struct strait_error *err)
{
    const size_t len = strlen(value);
    if (len == 0 || len >= cap)
        return strait_csv_fail(csv, err, "expected 1 to %zu characters after \"# %s:\", found %zu",
                               cap - 1, key, len);
    memcpy(out, value, len + 1);
    return 0;
}

static int read_comment(struct strait_csv *csv, struct strait_model *m, char *iters, size_t cap,
                        const char *key, const char *value, struct strait_error *err)
{
    static const char *const known[] = {"name",   "source", "timing", "batch",
                                        "device", "iters",  NULL};
    if (!strait_csv_is_utf8(value))
        return strait_csv_fail(csv, err, "expected UTF-8 after \"# %.40s:\", found \"%.40s\"", key,
                               value);
    if (strcmp(key, "name") == 0)
        return copy_text(csv, m->name, sizeof m->name, key, value, err);
    if (strcmp(key, "source") == 0)
        return strait_model_set_source(m, value, err);
    if (strcmp(key, "timing") == 0)
        return copy_text(csv, m->timing_source, sizeof m->timing_source, key, value, err);
    if (strcmp(key, "iters") == 0)
        return copy_text(csv, iters, cap, key, value, err);
    if (strcmp(key, "device") == 0) {
        m->on_cpu = starts_with_word(value, "cpu");
        if (!m->on_cpu && !starts_with_word(value, "accelerator"))
            return strait_csv_fail(csv, err,
                                   "expected \"# device: cpu\" or \"# device: accelerator\", "
                                   "each with more words or not, found \"%.40s\"",
                                   value);
        return copy_text(csv, m->device, sizeof m->device, key, value, err);
    }
    if (strcmp(key, "batch") == 0) {
        char *end = NULL;
        const unsigned long batch = strtoul(value, &end, 10);
        if (*value < '1' || *value > '9' || *end || batch > 1000000000)
            return strait_csv_fail(csv, err, "expected \"# batch: \" and samples, found \"%.40s\"",
                                   value);
        m->batch = (unsigned)batch;
        return 0;
    }
    const char *near = strait_nearest(key, known);
    return strait_csv_fail(
        csv, err, "unknown key \"%.40s\"%s%s%s", key, near ? ", did you mean \"" : "; known: ",
        near ? near : "name, source, timing, batch, device, iters", near ? "\"?" : "");
}

/* The file's name without folder, "layers_" and ".csv". */
static void name_of_path(char *buf, size_t cap, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    if (strncmp(base, "layers_", 7) == 0)
        base += 7;
    size_t len = strlen(base);
    if (len > 4 && strcmp(base + len - 4, ".csv") == 0)
        len -= 4;
    snprintf(buf, cap, "%.*s", (int)len, base);
}

static int read_table(struct strait_csv *csv, struct strait_builder *b, char *iters, size_t cap,
                      struct strait_error *err)
{
    char *key, *value;
    while (strait_csv_comment(csv, &key, &value))
        if (read_comment(csv, b->m, iters, cap, key, value, err) != 0)
            return -1;
    if (strait_csv_header(csv, STRAIT_LAYER_CSV_HEADER, err) != 0)
        return -1;
    const size_t first_line = csv->line + 1;
    json_t *seen = json_object(); /* names: a search of all rows for each would take minutes */
    bool more = seen != NULL;
    int failed = seen ? 0 : strait_error_memory(err, csv->path);
    while (more && !failed)
        failed =
            strait_csv_next(csv, &more, err) != 0 || (more && read_row(csv, b, seen, err) != 0);
    json_decref(seen);
    if (failed)
        return -1;
    if (b->m->n_rows == 0) {
        csv->line = first_line;
        return strait_csv_fail(csv, err, "expected at least one row, found the end of the file");
    }
    return check_ready_order(csv, b->m, first_line, err);
}

int strait_layer_csv_load(struct strait_model **out, const char *path, struct strait_error *err)
{
    struct strait_csv csv = {.path = path};
    struct strait_builder b;
    char name[sizeof(((struct strait_model *)0)->name)], iters[256] = "", iters_path[1024];
    name_of_path(name, sizeof name, path);
    strait_build_init(&b, name);
    struct strait_model *m = NULL;
    int status = -1;
    if (b.failed) {
        strait_error_memory(err, path);
        goto out;
    }
    b.m->timing = STRAIT_TIMING_USER_TABLE;
    snprintf(b.m->timing_source, sizeof b.m->timing_source, "the layer table's own times");
    snprintf(b.m->device, sizeof b.m->device, "accelerator");
    if (strait_csv_open(&csv, path, err) != 0 ||
        read_table(&csv, &b, iters, sizeof iters, err) != 0)
        goto out;
    if (!b.m->source && strait_model_set_source(b.m, path, err) != 0)
        goto out;
    if (strait_build_finish(&m, &b, err) != 0)
        goto out;
    beside(iters_path, sizeof iters_path, path, iters);
    if (iters[0] && strait_iters_csv_load(m, NULL, iters_path, err) != 0)
        goto out;
    *out = m;
    m = NULL;
    status = 0;
out:
    strait_model_free(m);
    strait_build_release(&b);
    strait_csv_release(&csv);
    return status;
}

/* Of one of the three columns, whose values go to x. */
static double median(double *x, double (*rows)[3], size_t n, int column)
{
    for (size_t i = 0; i < n; i++)
        x[i] = rows[i][column];
    return strait_median(x, n);
}

int strait_iters_csv_load(struct strait_model *m, size_t *n_iters, const char *path,
                          struct strait_error *err)
{
    enum { MAX_ITERS = 100000 };
    struct strait_csv csv = {.path = path};
    double(*us)[3] = NULL, *column = NULL;
    size_t n = 0, cap = 0, iter;
    bool more;
    int status = -1;
    if (strait_csv_open(&csv, path, err) != 0 ||
        strait_csv_header(&csv, STRAIT_ITERS_CSV_HEADER, err) != 0)
        goto out;
    for (;; n++) {
        if (strait_csv_next(&csv, &more, err) != 0)
            goto out;
        if (!more)
            break;
        if (n == MAX_ITERS) {
            strait_csv_fail(&csv, err, "expected at most %d rows, found more", MAX_ITERS);
            goto out;
        }
        if (!strait_grow((void **)&us, &cap, n, sizeof(*us), SIZE_MAX)) {
            strait_error_memory(err, path);
            goto out;
        }
        if (strait_csv_integer(&csv, &iter, 0, SIZE_MAX, err) != 0)
            goto out;
        for (size_t c = 0; c < 3; c++)
            if (strait_csv_number(&csv, &us[n][c], c + 1, 0, max_us, err) != 0)
                goto out;
    }
    if (n == 0) {
        csv.line++;
        strait_csv_fail(&csv, err, "expected at least one row, found the end of the file");
        goto out;
    }
    column = malloc(n * sizeof *column);
    if (!column) {
        strait_error_memory(err, path);
        goto out;
    }
    m->fwd_s = median(column, us, n, 0) * 1e-6;
    m->bwd_s = median(column, us, n, 1) * 1e-6;
    m->opt_s = median(column, us, n, 2) * 1e-6;
    if (n_iters)
        *n_iters = n;
    status = 0;
out:
    free(us);
    free(column);
    strait_csv_release(&csv);
    return status;
}
