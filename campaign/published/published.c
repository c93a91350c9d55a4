/* Published figures: working them out, with all constants of software and without each, and
 * comparing. */
#include "published.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/row.h"
#include "campaign/worker_pool.h"
#include "core/shipped.h"
#include "published_book.h"

/* --- simulating ----------------------------------------------------------------------------- */

static json_t *work_point(size_t i, void *context, struct strait_error *err)
{
    const struct published_book *b = context;
    return published_simulate(b, json_array_get(b->points, i), err);
}

static int done_point(size_t i, const json_t *result, void *context, struct strait_error *err)
{
    struct published_book *b = context;
    const json_t *name = json_object_get(json_array_get(b->points, i), "name");
    if (json_object_set(b->rows, json_string_value(name), (json_t *)result) != 0)
        return strait_error_memory(err, NULL);
    return 0;
}

static int list_claim(const struct published_book *b, const struct published_claim *c,
                      const char *without, struct strait_error *err)
{
    return c->measure.experiment ? published_list_points(b, &c->measure, without, err) : 0;
}

/* Simulate what is listed: a point that several figures need is so simulated once. */
static int simulate_points(struct published_book *b, int n_workers, const char *what,
                           struct strait_error *err)
{
    const int failed = strait_pool_run(json_array_size(b->points), n_workers, work_point,
                                       done_point, b, what, err);
    json_array_clear(b->points);
    return failed;
}

/* --- figures -------------------------------------------------------------------------------- */

/* A row without one constant. */
struct trial {
    size_t row;
    const char *constant; /* borrowed from the row */
};

struct runs {
    struct published_book book;
    json_t *rows;
    struct trial *trials;
    size_t n_trials;
};

/* Whether ours begins where the published range does, as far as the values of `over` tell: at the
 * first of them that is not before it. */
static bool begins_there(const struct published_claim *c, const struct published_answer *a)
{
    const json_t *values = json_object_iter_value(json_object_iter((json_t *)c->measure.over));
    if (!a->at || !values)
        return a->figure <= c->published && a->figure >= c->published;
    const double before =
        a->i > 0 ? json_number_value(json_array_get(values, a->i - 1)) : -INFINITY;
    return before < c->published && c->published <= a->figure;
}

static json_t *work_claim(const struct published_book *b, const struct published_claim *c,
                          struct strait_error *err)
{
    struct published_answer a = {.figure = NAN};
    if (c->measure.experiment && published_measure(&a, b, &c->measure, NULL, err) != 0)
        return NULL;
    json_t *constants =
        c->measure.experiment ? published_constants(&c->measure, err) : json_object();
    if (!constants)
        return NULL;
    const double ours = a.figure;
    const bool from = strcmp(c->kind, "from") == 0;
    const bool reached = strcmp(c->kind, "up to") == 0 ? ours >= c->published
                         : from                        ? begins_there(c, &a)
                                                       : !isnan(ours);
    json_t *row = json_pack("{s:s, s:s, s:s?, s:s, s:s, s:s, s:f, s:f, s:b, s:b, s:s?, s:s?, s:s?}",
                            "case", c->name, "claim", c->claim, "model", c->model, "source",
                            c->source, "kind", c->kind, "unit", c->unit, "published", c->published,
                            "spread", c->spread, "reached", reached, "input", c->input, "suspect",
                            c->suspect, "reason", c->reason, "group", c->group);
    if (c->halves)
        json_object_set(row, "halves", (json_t *)c->halves);
    if (from) /* all of the published range lies in ours */
        json_object_set_new(row, "covered", json_boolean(reached || ours <= c->published));
    json_object_set_new(row, "ours", strait_json_number(ours));
    json_object_set_new(row, "relative", strait_json_number(ours / c->published - 1));
    strait_published_parts_put(row, &c->parts, c->published, ours);
    json_object_set_new(row, "constants", constants);
    json_object_set_new(row, "setting",
                        c->measure.experiment ? published_setting(&c->measure, a.at) : json_null());
    return row;
}

static json_t *work(size_t i, void *context, struct strait_error *err)
{
    const struct runs *r = context;
    return work_claim(&r->book, &r->book.claims[i], err);
}

static int done(size_t i, const json_t *result, void *context, struct strait_error *err)
{
    struct runs *r = context;
    if (json_array_set(r->rows, i, (json_t *)result) != 0)
        return strait_error_memory(err, NULL);
    return 0;
}

/* --- without each constant ---------------------------------------------------------------- */

static int list_trials(struct runs *r, struct strait_error *err)
{
    size_t i, n = 0;
    json_t *row, *of;
    const char *name;
    json_array_foreach (r->rows, i, row)
        n += json_object_size(json_object_get(row, "constants"));
    r->trials = calloc(n + 1, sizeof(*r->trials));
    if (!r->trials)
        return strait_error_memory(err, NULL);
    json_array_foreach (r->rows, i, row)
        if (strait_published_counts(row))
            json_object_foreach (json_object_get(row, "constants"), name, of) {
                r->trials[r->n_trials++] = (struct trial){i, name};
                if (list_claim(&r->book, &r->book.claims[i], name, err) != 0)
                    return -1;
            }
    return 0;
}

static json_t *work_without(size_t i, void *context, struct strait_error *err)
{
    const struct runs *r = context;
    const struct published_claim *c = &r->book.claims[r->trials[i].row];
    struct published_answer a;
    if (published_measure(&a, &r->book, &c->measure, r->trials[i].constant, err) != 0)
        return NULL;
    return json_pack("{s:o}", "without", strait_json_number(a.figure / c->published - 1));
}

static int done_without(size_t i, const json_t *result, void *context, struct strait_error *err)
{
    struct runs *r = context;
    json_t *row = json_array_get(r->rows, r->trials[i].row);
    if (json_object_set(json_object_get(json_object_get(row, "constants"), r->trials[i].constant),
                        "without", json_object_get(result, "without")) != 0)
        return strait_error_memory(err, NULL);
    return 0;
}

json_t *strait_published(const char *path, const char *const *cases, size_t n_cases, bool worth,
                         const struct strait_profile *profile, int n_workers,
                         struct strait_error *err)
{
    char shipped[4096];
    if (!path)
        path = strait_share_path(shipped, sizeof(shipped), "traces/published.json");
    struct runs r = {
        .book = {.path = path, .profile = profile, .points = json_array(), .rows = json_object()},
        .rows = json_array()};
    json_t *out = NULL;
    if (published_book_read(&r.book, cases, n_cases, err) != 0)
        goto end;
    for (size_t i = 0; i < r.book.n_claims; i++) {
        json_array_append_new(r.rows, json_null());
        if (list_claim(&r.book, &r.book.claims[i], NULL, err) != 0)
            goto end;
    }
    if (simulate_points(&r.book, n_workers, "published figures", err) != 0 ||
        strait_pool_run(r.book.n_claims, n_workers, work, done, &r, NULL, err) != 0)
        goto end;
    if (worth &&
        (list_trials(&r, err) != 0 ||
         simulate_points(&r.book, n_workers, "without each constant", err) != 0 ||
         strait_pool_run(r.n_trials, n_workers, work_without, done_without, &r, NULL, err) != 0))
        goto end;
    out = json_pack("{s:O, s:o, s:o, s:o, s:o}", "rows", r.rows, "orders",
                    strait_published_orders(r.rows), "errors", strait_published_errors(r.rows),
                    "models", strait_published_models(r.rows), "constants",
                    strait_published_constants(r.rows));
end:
    json_decref(r.rows);
    json_decref(r.book.points);
    json_decref(r.book.rows);
    json_decref(r.book.json);
    free(r.book.claims);
    free(r.trials);
    return out;
}
