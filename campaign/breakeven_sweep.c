/* Break-even: first compute all needed round times with all workers, then search. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/breakeven.h"
#include "analysis/fields.h"
#include "analysis/label.h"
#include "analysis/row_names.h"
#include "analysis/place.h"
#include "analysis/row.h"
#include "breakeven_sweep.h"
#include "worker_pool.h"

/* One codec in one setting, compared with no compression at each number of clients. */
struct curve {
    struct strait_place place;
    json_t *points[2]; /* resolved, without codec and with it, at some number of clients */
    char (*keys)[2][STRAIT_KEY_CHARS]; /* theirs from the first count on, "" until asked for; NULL:
                                          there are too many counts */
    long first, last;
};

struct curve_search {
    const struct strait_plan_setup *setup;
    struct curve *curves;
    size_t n_curves;
    long *counts; /* swept */
    size_t n_counts;
    json_t *known;    /* {hash of a resolved point: its row}, of the sweep by that backend */
    json_t *times;    /* {hash of a resolved point: its struct strait_plan_times as numbers} */
    json_t *tasks[2]; /* arrays of {key, point}, without codecs and with; plain: its key without */
    json_t *rows;     /* array of what names the curves, one each */
    struct strait_names *names;
    const struct strait_backend *backend;
    struct strait_store *store;
};

struct search {
    struct curve_search *all;
    const struct curve *curve;
    json_t *counts, *with_s, *without_s; /* the counts examined */
    int end; /* times: 0 as predicted; -1 worst, 1 best for the codec of what intervals hold */
};

const char *strait_breakeven_sweep_hash(char key[STRAIT_KEY_CHARS],
                                        const struct strait_sweep *sweep,
                                        const struct strait_plan *plan)
{
    const struct strait_plan_setup *setup = &plan->setup;
    json_t *all = json_pack("{s:O, s:O?, s:s, s:s, s:s?, s:O?, s:s?}", "base", sweep->base, "vary",
                            sweep->vary, "profile", setup->profile_hash, "program", setup->program,
                            "control", setup->control, "files", plan->files, "learned",
                            setup->learned ? setup->learned->hash : NULL);
    const char *hashed = all ? strait_hash_json(key, all) : NULL;
    json_decref(all);
    return hashed;
}

/* --- curves of a sweep -------------------------------------------------------------------- */

static int add_curve(struct curve_search *p, const struct strait_experiment *e,
                     const json_t *resolved, const json_t *labels, struct strait_error *err)
{
    struct curve c = {.keys = NULL};
    if (strait_place_of_point(&c.place, resolved, err) != 0)
        return -1;
    json_t *row = json_pack("{s:o, s:o, s:O}", "codec", strait_row_codec(&e->up), "download_codec",
                            strait_row_codec(&e->down), "labels", labels);
    bool known = strait_label_row_is_plain(row);
    for (size_t i = 0; i < p->n_curves && !known; i++)
        known = strcmp(p->curves[i].place.setting, c.place.setting) == 0 &&
                strcmp(p->curves[i].place.codec, c.place.codec) == 0;
    strait_place_put(row, &c.place);
    if (!known)
        json_array_append(p->rows, row);
    json_decref(row);
    if (known)
        return 0;
    struct curve *more = realloc(p->curves, (p->n_curves + 1) * sizeof(*more));
    if (!more)
        return strait_error_memory(err, "break-even");
    p->curves = more;
    c.points[0] = strait_plan_without_codec(resolved);
    c.points[1] = json_deep_copy(resolved);
    p->curves[p->n_curves++] = c;
    return 0;
}

static int find_curves(struct curve_search *p, const struct strait_sweep *sweep,
                       struct strait_error *err)
{
    const json_t *values = json_object_get(sweep->vary, "/clients");
    const size_t n = json_array_size(values);
    p->counts = calloc(n + 1, sizeof(*p->counts));
    if (!p->counts)
        return strait_error_memory(err, "break-even");
    for (size_t i = 0; i < n; i++)
        p->counts[p->n_counts++] = (long)json_integer_value(json_array_get(values, i));
    int failed = 0;
    for (size_t i = 0; i < sweep->n_points && p->n_counts > 1 && !failed; i++) {
        json_t *labels = NULL, *resolved = strait_sweep_point(sweep, i, &labels, err);
        struct strait_experiment *e = NULL;
        failed = !resolved || strait_experiment_read(&e, sweep->file, resolved, err) != 0 ||
                 add_curve(p, e, resolved, labels, err) != 0;
        strait_experiment_free(e);
        json_decref(labels);
        json_decref(resolved);
    }
    return failed ? -1 : strait_names_new(&p->names, p->rows, err);
}

/* --- times -------------------------------------------------------------------------------- */

/* The hash of a curve's point, with its codec or without, at a number of clients; the point stays
 * there. NULL: memory ran out. */
static const char *key_at(char key[STRAIT_KEY_CHARS], const struct curve *c, bool coded,
                          long n_clients)
{
    char *kept = c->keys && n_clients >= c->first && n_clients <= c->last
                     ? c->keys[n_clients - c->first][coded]
                     : NULL;
    if (kept && *kept)
        return strcpy(key, kept);
    if (json_object_set_new(c->points[coded], "clients", json_integer(n_clients)) != 0 ||
        !strait_hash_json(key, c->points[coded]))
        return NULL;
    if (kept)
        strcpy(kept, key);
    return key;
}

static json_t *at_count(const struct curve *c, bool coded, long n_clients)
{
    json_t *point = json_deep_copy(c->points[coded]);
    json_object_set_new(point, "clients", json_integer(n_clients));
    return point;
}

static void want(struct curve_search *p, const struct curve *c, bool coded, long n_clients)
{
    char key[STRAIT_KEY_CHARS], plain[STRAIT_KEY_CHARS];
    if (!key_at(key, c, coded, n_clients) || !key_at(plain, c, false, n_clients) ||
        json_object_get(p->times, key))
        return;
    json_object_set_new(p->times, key, json_null());
    json_array_append_new(p->tasks[coded], json_pack("{s:s, s:s, s:o}", "key", key, "plain", plain,
                                                     "point", at_count(c, coded, n_clients)));
}

/* Request the counts that the search will examine, as far as they are known beforehand. */
static void want_curve(struct curve_search *p, struct curve *c)
{
    c->first = c->last = p->counts[0];
    for (size_t i = 0; i < p->n_counts; i++) {
        c->first = p->counts[i] < c->first ? p->counts[i] : c->first;
        c->last = p->counts[i] > c->last ? p->counts[i] : c->last;
    }
    const bool all = c->last - c->first < STRAIT_BREAKEVEN_MAX_COUNTS;
    const size_t n = all ? (size_t)(c->last - c->first + 1) : p->n_counts;
    c->keys = all ? calloc(n, sizeof(*c->keys)) : NULL;
    for (size_t i = 0; i < n; i++)
        for (int coded = 0; coded < 2; coded++)
            want(p, c, coded, all ? c->first + (long)i : p->counts[i]);
}

static json_t *times_json(const struct strait_plan_times *t)
{
    return json_pack("[f, f, f, f, f, f]", t->round_s, t->network_s, t->quick_s, t->slow_s,
                     t->low_factor, t->high_factor);
}

/* What is known of a resolved point, if it is. */
static bool known_times(struct strait_plan_times *t, const struct curve_search *p, const char *key)
{
    const json_t *known = json_object_get(p->times, key);
    double *const all[] = {&t->round_s, &t->network_s,  &t->quick_s,
                           &t->slow_s,  &t->low_factor, &t->high_factor};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all) && json_is_array(known); i++)
        *all[i] = json_number_value(json_array_get(known, i));
    return json_is_array(known);
}

/* Rows say it of the points that the sweep has. Points without codecs are looked for as
 * strait_plan_without_codec makes them. */
static int find_known(struct curve_search *p, const struct strait_plan *plan,
                      struct strait_error *err)
{
    for (size_t i = 0; i < plan->n_tasks; i++) {
        const struct strait_task_plan *task = &plan->tasks[i];
        const json_t *row =
            task->backend == p->backend ? strait_store_find(p->store, "row", task->key) : NULL;
        char key[STRAIT_KEY_CHARS];
        if (!row || !strait_plan_row_has_times(p->setup, row))
            continue;
        json_t *point = strait_label_row_is_plain(row) ? strait_plan_without_codec(task->resolved)
                                                       : json_incref(task->resolved);
        const bool kept = strait_hash_json(key, point) &&
                          json_object_set(p->known, key, (json_t *)(uintptr_t)row) == 0;
        json_decref(point);
        if (!kept)
            return strait_error_memory(err, "break-even");
    }
    return 0;
}

/* From its row, or by simulation. */
static int find_times(struct strait_plan_times *t, const struct curve_search *p, const char *key,
                      const json_t *resolved, const struct strait_plan_times *without,
                      struct strait_error *err)
{
    const json_t *row = json_object_get(p->known, key);
    return row ? strait_plan_times_of_row(t, p->setup, resolved, row, without, err)
               : strait_plan_times(t, p->setup, resolved, without, err);
}

static json_t *time_task(const struct curve_search *p, const json_t *task, bool coded,
                         struct strait_error *err)
{
    struct strait_plan_times t, without;
    strait_store_leave(p->store);
    const bool known = coded && known_times(&without, p, strait_text_of(task, "plain"));
    if (find_times(&t, p, strait_text_of(task, "key"), json_object_get(task, "point"),
                   known ? &without : NULL, err) != 0)
        return NULL;
    return json_pack("{s:o}", "times", times_json(&t));
}

static json_t *time_plain(size_t i, void *context, struct strait_error *err)
{
    const struct curve_search *p = context;
    return time_task(p, json_array_get(p->tasks[0], i), false, err);
}

static json_t *time_coded(size_t i, void *context, struct strait_error *err)
{
    const struct curve_search *p = context;
    return time_task(p, json_array_get(p->tasks[1], i), true, err);
}

static int take_time(const json_t *task, const json_t *result, struct curve_search *p,
                     struct strait_error *err)
{
    if (json_object_set(p->times, strait_text_of(task, "key"), json_object_get(result, "times")) !=
        0)
        return strait_error_memory(err, "break-even");
    return 0;
}

static int take_plain(size_t i, const json_t *result, void *context, struct strait_error *err)
{
    struct curve_search *p = context;
    return take_time(json_array_get(p->tasks[0], i), result, p, err);
}

static int take_coded(size_t i, const json_t *result, void *context, struct strait_error *err)
{
    struct curve_search *p = context;
    return take_time(json_array_get(p->tasks[1], i), result, p, err);
}

static int time_of(struct strait_plan_times *t, struct curve_search *p, const struct curve *c,
                   bool coded, long n_clients, const struct strait_plan_times *without,
                   struct strait_error *err)
{
    char key[STRAIT_KEY_CHARS];
    if (!key_at(key, c, coded, n_clients))
        return strait_error_memory(err, "break-even");
    if (known_times(t, p, key))
        return 0;
    json_t *point = at_count(c, coded, n_clients);
    const int failed = find_times(t, p, key, point, without, err);
    json_decref(point);
    if (!failed)
        json_object_set_new(p->times, key, times_json(t));
    return failed;
}

static int both_times(double *with_s, double *without_s, long n_clients, void *context,
                      struct strait_error *err)
{
    struct search *s = context;
    struct strait_plan_times with, without;
    if (time_of(&without, s->all, s->curve, false, n_clients, NULL, err) != 0 ||
        time_of(&with, s->all, s->curve, true, n_clients, &without, err) != 0)
        return -1;
    strait_plan_times_at(with_s, without_s, &with, &without, s->end);
    if (s->end != 0)
        return 0;
    json_array_append_new(s->counts, json_integer(n_clients));
    json_array_append_new(s->with_s, strait_json_number(*with_s));
    json_array_append_new(s->without_s, strait_json_number(*without_s));
    return 0;
}

/* --- records ------------------------------------------------------------------------------ */

static const char *curve_key(char key[STRAIT_KEY_CHARS], const char *sweep, const struct curve *c)
{
    json_t *all = json_pack("{s:s, s:s, s:s}", "sweep", sweep, "setting", c->place.setting, "codec",
                            c->place.codec);
    const char *hashed = all ? strait_hash_json(key, all) : NULL;
    json_decref(all);
    return hashed;
}

static json_t *pays_json(const struct strait_breakeven *b)
{
    json_t *pays = json_array();
    for (size_t i = 0; i < b->n; i++)
        json_array_append_new(
            pays, json_pack("[I, I]", (json_int_t)b->pays[i].first, (json_int_t)b->pays[i].last));
    return pays;
}

static json_t *record_of(const struct search *s, const json_t *named, const char *sweep,
                         const char *key, const struct strait_breakeven *b,
                         const struct strait_breakeven_bounds *bounds)
{
    struct curve_search *p = s->all;
    char text[512];
    json_t *record = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:b, s:o, s:o, s:o, s:s, s:O, s:O, s:O}",
        "record", "break-even", "key", key, "sweep", sweep, "setting",
        strait_names_setting(p->names, named), "codec", strait_names_codec(p->names, named),
        "backend", p->backend->name, "first", (json_int_t)b->first, "last", (json_int_t)b->last,
        "every_count", b->every_count, "pays", pays_json(b), "perhaps", pays_json(bounds->perhaps),
        "surely", pays_json(bounds->surely), "text",
        strait_breakeven_text(text, sizeof(text), b, bounds), "counts", s->counts, "with_s",
        s->with_s, "without_s", s->without_s);
    strait_place_put(record, &s->curve->place);
    return record;
}

static json_t *search_curve(struct curve_search *p, size_t i_curve, const char *sweep,
                            const char *key, struct strait_error *err)
{
    struct search s = {p, &p->curves[i_curve], json_array(), json_array(), json_array(), 0};
    static const int ends[] = {0, 1, -1};
    struct strait_breakeven found[3] = {{0}}; /* as predicted, perhaps, surely */
    json_t *record = NULL;
    int status = 0;
    for (int i = 0; i < 3 && status == 0; i++) {
        s.end = ends[i];
        status = strait_breakeven_find(&found[i], p->counts, p->n_counts, both_times, &s, err);
    }
    if (status == 0) {
        const struct strait_breakeven_bounds bounds = {&found[1], &found[2]};
        record = record_of(&s, json_array_get(p->rows, i_curve), sweep, key, &found[0], &bounds);
        if (!record)
            strait_error_memory(err, "break-even");
    }
    for (int i = 0; i < 3; i++)
        strait_breakeven_release(&found[i]);
    json_decref(s.counts);
    json_decref(s.with_s);
    json_decref(s.without_s);
    return record;
}

int strait_breakeven_sweep_find(json_t **records, const struct strait_sweep *sweep,
                                const struct strait_plan *plan, struct strait_store *store,
                                int n_workers, bool fresh, struct strait_error *err)
{
    struct curve_search p = {.setup = &plan->setup, .backend = &strait_fluid, .store = store};
    char sweep_hash[STRAIT_KEY_CHARS], key[STRAIT_KEY_CHARS];
    int status = -1;
    *records = json_array();
    p.known = json_object();
    p.times = json_object();
    p.tasks[0] = json_array();
    p.tasks[1] = json_array();
    p.rows = json_array();
    if (!strait_breakeven_sweep_hash(sweep_hash, sweep, plan)) {
        strait_error_memory(err, "break-even");
        goto out;
    }
    if (find_curves(&p, sweep, err) != 0 || find_known(&p, plan, err) != 0)
        goto out;
    for (size_t i = 0; i < p.n_curves; i++) {
        if (!curve_key(key, sweep_hash, &p.curves[i])) {
            strait_error_memory(err, "break-even");
            goto out;
        }
        if (fresh || !strait_store_find(store, "break-even", key))
            want_curve(&p, &p.curves[i]);
    }
    /* what codecs are held against comes first: it says which of their ends matter */
    if (strait_pool_run(json_array_size(p.tasks[0]), n_workers, time_plain, take_plain, &p, NULL,
                        err) != 0 ||
        strait_pool_run(json_array_size(p.tasks[1]), n_workers, time_coded, take_coded, &p,
                        "break-even", err) != 0)
        goto out;
    for (size_t i = 0; i < p.n_curves; i++) {
        const bool hashed = curve_key(key, sweep_hash, &p.curves[i]) != NULL;
        const json_t *known = fresh || !hashed ? NULL : strait_store_find(store, "break-even", key);
        json_t *record = known    ? json_deep_copy(known)
                         : hashed ? search_curve(&p, i, sweep_hash, key, err)
                                  : NULL;
        if (!record)
            strait_error_memory(err, "break-even");
        if (!record || (!known && strait_store_add(store, record, err) != 0)) {
            json_decref(record);
            goto out;
        }
        json_array_append_new(*records, record);
    }
    status = 0;
out:
    for (size_t i = 0; i < p.n_curves; i++) {
        json_decref(p.curves[i].points[0]);
        json_decref(p.curves[i].points[1]);
        free(p.curves[i].keys);
    }
    free(p.curves);
    free(p.counts);
    json_decref(p.known);
    json_decref(p.times);
    json_decref(p.tasks[0]);
    json_decref(p.tasks[1]);
    json_decref(p.rows);
    strait_names_free(p.names);
    if (status != 0) {
        json_decref(*records);
        *records = NULL;
    }
    return status;
}
