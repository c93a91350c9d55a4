/* Errors over the rows of one model in a case, with what any prediction has to beat; and what the
 * constants of software are worth. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core/heap.h"
#include "analysis/fields.h"
#include "analysis/row.h"
#include "published.h"

bool strait_published_counts(const json_t *row)
{
    return strcmp(strait_text_of(row, "kind"), "figure") == 0 &&
           !json_is_true(json_object_get(row, "input")) &&
           !json_is_string(json_object_get(row, "suspect"));
}

/* Errors of one kind, as they are met. */
struct errors {
    double *sizes, sum;
    size_t n;
};

static void meet(struct errors *e, double relative)
{
    if (isnan(relative))
        return;
    e->sum += fabs(relative);
    e->sizes[e->n++] = fabs(relative);
}

/* {rows, mean, median, worst} of sizes; null: none. */
static json_t *summary(struct errors *e)
{
    if (e->n == 0)
        return json_null();
    const double median = strait_median(e->sizes, e->n);
    return json_pack("{s:i, s:f, s:f, s:f}", "rows", (int)e->n, "mean", e->sum / (double)e->n,
                     "median", median, "worst", e->sizes[e->n - 1]);
}

enum { ALL, NOT_LINEAR, COMMUNICATION, CLOSED, N_KINDS };
static const char *const kinds[N_KINDS] = {"all", "not_linear", "communication", "closed"};

static double relative_of(const json_t *row, const char *part)
{
    const json_t *of = part ? json_object_get(row, part) : row;
    return of ? strait_row_number(of, "relative") : NAN;
}

/* Errors of the rows that count and that `take` takes:
 * Returns: {all, not_linear, communication, closed}, each {rows, mean, median, worst} or null:
 *          ours; ours where the published step does not scale trivially; ours on communication
 *          alone; the closed form's */
static json_t *summary_of(const json_t *rows, bool (*take)(const json_t *row, void *arg), void *arg)
{
    const size_t n_rows = json_array_size(rows);
    double *room = calloc(N_KINDS * n_rows + 1, sizeof(*room));
    struct errors e[N_KINDS];
    json_t *out = json_object(), *row;
    size_t i;
    for (int k = 0; k < N_KINDS; k++)
        e[k] = (struct errors){.sizes = room + (size_t)k * n_rows};
    json_array_foreach (rows, i, row) {
        const double relative = relative_of(row, NULL);
        if (!room || !strait_published_counts(row) || isnan(relative) || !take(row, arg))
            continue;
        meet(&e[ALL], relative);
        if (!json_is_true(json_object_get(row, "linear")))
            meet(&e[NOT_LINEAR], relative);
        meet(&e[COMMUNICATION], relative_of(row, "communication"));
        meet(&e[CLOSED], relative_of(row, "closed"));
    }
    for (int k = 0; k < N_KINDS && room; k++)
        json_object_set_new(out, kinds[k], summary(&e[k]));
    free(room);
    return out;
}

struct of_model {
    const char *name, *model;
};

static bool is_of_model(const json_t *row, void *arg)
{
    const struct of_model *m = arg;
    return strcmp(strait_text_of(row, "case"), m->name) == 0 &&
           strcmp(strait_text_of(row, "model"), m->model) == 0;
}

json_t *strait_published_models(const json_t *rows)
{
    json_t *models = json_array(), *row, *before;
    size_t i, k;
    json_array_foreach (rows, i, row) {
        struct of_model m = {strait_text_of(row, "case"), strait_text_of(row, "model")};
        bool known = !*m.model;
        json_array_foreach (models, k, before)
            known |= is_of_model(before, &m);
        if (known)
            continue;
        json_t *of = summary_of(rows, is_of_model, &m);
        json_object_set_new(of, "case", json_string(m.name));
        json_object_set_new(of, "model", json_string(m.model));
        if (json_is_object(json_object_get(of, "all")))
            json_array_append(models, of);
        json_decref(of);
    }
    return models;
}

/* --- constants ---------------------------------------------------------------------------- */

/* A constant and the value that a file gives it: two files may give two. */
static bool is_same(const json_t *a, const char *name, const json_t *of)
{
    return strcmp(strait_text_of(a, "constant"), name) == 0 &&
           strcmp(strait_text_of(a, "model"), strait_text_of(of, "model")) == 0 &&
           !(fabs(strait_row_number(a, "value") - strait_row_number(of, "value")) > 0);
}

/* Mean errors with and without it, over the rows that use it, of its own model or of others. */
static json_t *worth(const json_t *rows, const json_t *constant, bool own)
{
    double with = 0, without = 0;
    int n = 0;
    size_t i;
    json_t *row;
    json_array_foreach (rows, i, row) {
        const char *name = strait_text_of(constant, "constant");
        const json_t *of = json_object_get(json_object_get(row, "constants"), name);
        const double relative = strait_row_number(row, "relative"),
                     other = of ? strait_row_number(of, "without") : NAN;
        if (!of || !is_same(constant, name, of) ||
            json_is_true(json_object_get(of, "own")) != own || !strait_published_counts(row) ||
            isnan(relative) || isnan(other))
            continue;
        with += fabs(relative);
        without += fabs(other);
        n++;
    }
    return n == 0
               ? json_null()
               : json_pack("{s:i, s:f, s:f}", "rows", n, "mean", with / n, "without", without / n);
}

json_t *strait_published_constants(const json_t *rows)
{
    json_t *all = json_array(), *row, *of, *before;
    const char *name;
    size_t i, k;
    json_array_foreach (rows, i, row)
        json_object_foreach (json_object_get(row, "constants"), name, of) {
            bool known = false;
            json_array_foreach (all, k, before)
                known |= is_same(before, name, of);
            if (known)
                continue;
            json_t *one =
                json_pack("{s:s, s:O, s:O, s:O, s:O, s:O}", "constant", name, "value",
                          json_object_get(of, "value"), "model", json_object_get(of, "model"),
                          "device", json_object_get(of, "device"), "figures",
                          json_object_get(of, "figures"), "error", json_object_get(of, "error"));
            json_object_set_new(one, "own", worth(rows, one, true));
            json_object_set_new(one, "others", worth(rows, one, false));
            json_array_append_new(all, one);
        }
    return all;
}
