/* Published figures: reading the file, running what answers each, comparing. */
#include "published.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/row.h"
#include "core/json.h"
#include "core/names.h"
#include "core/shipped.h"
#include "workloads/train/sync/servers.h"
#include "campaign/plan.h"
#include "campaign/worker_pool.h"

enum { MAX_SETTINGS = 32, SETTING_CHARS = 1024 };

/* The `measure` of a row, borrowed from the JSON. */
struct measure {
    const char *experiment, *metric, *as, *pick;
    const json_t *set, *against, *over; /* objects; array of objects; object of one array */
};

struct claim {
    const json_t *json, *halves; /* halves: what claims.c asks of it */
    const char *name, *claim, *source, *kind, *unit, *group, *reason;
    double published, spread;
    bool input; /* one of our constants was derived from it: not a prediction */
    struct measure measure;
};

struct book {
    const char *path;
    const struct strait_profile *profile;
    json_t *json;
    struct claim *claims;
    size_t n_claims;
    json_t *rows;
};

/* --- reading ------------------------------------------------------------------------------ */

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

static int expect_one_of(const struct strait_object *o, const char *key, const char *found,
                         const char *const *names, struct strait_error *err)
{
    char where[STRAIT_JSON_POINTER_MAX * 2], all[128] = "";
    if (is_one_of(found, names))
        return 0;
    for (int i = 0; names[i]; i++) {
        strncat(all, i > 0 ? ", " : "", sizeof(all) - strlen(all) - 1);
        strncat(all, names[i], sizeof(all) - strlen(all) - 1);
    }
    return strait_error_set(err, STRAIT_ERR_INPUT,
                            strait_object_where(o, key, where, sizeof(where)),
                            "expected one of %s, found \"%s\"", all, found);
}

static int read_measure(struct measure *m, struct strait_object *o, struct strait_error *err)
{
    static const char *const as[] = {"value", "gain", "times", "difference", "threshold", NULL};
    static const char *const pick[] = {"max", "min", NULL};
    char where[STRAIT_JSON_POINTER_MAX * 2];
    if (strait_object_string(o, &m->experiment, "experiment", err) != 0 ||
        strait_object_string(o, &m->metric, "metric", err) != 0 ||
        strait_object_string_or(o, &m->as, "as", "value", err) != 0 ||
        strait_object_string_or(o, &m->pick, "pick", "max", err) != 0 ||
        expect_one_of(o, "as", m->as, as, err) != 0 ||
        expect_one_of(o, "pick", m->pick, pick, err) != 0)
        return -1;
    m->set = strait_object_value(o, "set");
    m->against = strait_object_value(o, "against");
    m->over = strait_object_value(o, "over");
    if ((strcmp(m->as, "value") != 0) != (m->against != NULL))
        return strait_error_set(err, STRAIT_ERR_INPUT,
                                strait_object_where(o, "against", where, sizeof(where)),
                                "expected settings to compare with for \"gain\", \"times\", "
                                "\"difference\" and \"threshold\", and for these alone");
    if ((m->set && !json_is_object(m->set)) || (m->against && !json_is_array(m->against)) ||
        (m->over && json_object_size(m->over) != 1) ||
        (strcmp(m->as, "threshold") == 0 && !m->over))
        return strait_error_set(err, STRAIT_ERR_INPUT,
                                strait_object_where(o, NULL, where, sizeof(where)),
                                "expected \"set\": {pointer: value}, \"against\": [{pointer: "
                                "value}], \"over\": {pointer: [values]}");
    return strait_object_close(o, err);
}

static int read_claim(struct claim *c, struct strait_object *o, struct strait_error *err)
{
    static const char *const kinds[] = {"figure", "up to", "from", NULL};
    struct strait_object m;
    c->json = o->json;
    if (strait_object_string(o, &c->name, "case", err) != 0 ||
        strait_object_string(o, &c->claim, "claim", err) != 0 ||
        strait_object_string(o, &c->source, "source", err) != 0 ||
        strait_object_string_or(o, &c->kind, "kind", "figure", err) != 0 ||
        expect_one_of(o, "kind", c->kind, kinds, err) != 0 ||
        strait_object_string(o, &c->unit, "unit", err) != 0 ||
        strait_object_number(o, &c->published, "published", -1e300, 1e300, err) != 0 ||
        strait_object_number_or(o, &c->spread, "spread", 0, 1e300, 0, err) != 0 ||
        strait_object_string_or(o, &c->group, "group", NULL, err) != 0 ||
        strait_object_bool_or(o, &c->input, "input", false, err) != 0 ||
        strait_object_string_or(o, &c->reason, "reason", NULL, err) != 0 ||
        strait_object_enter(&m, o, "measure", true, err) != 0)
        return -1;
    if (m.json && read_measure(&c->measure, &m, err) != 0)
        return -1;
    c->halves = strait_object_value(o, "halves");
    return strait_object_close(o, err);
}

static int read_book(struct book *b, const char *const *cases, size_t n_cases,
                     struct strait_error *err)
{
    struct strait_object o, row;
    const char *schema;
    if (!(b->json = strait_json_load(b->path, err)) ||
        strait_object_open(&o, b->path, "", b->json, err) != 0 ||
        strait_object_string(&o, &schema, "schema", err) != 0)
        return -1;
    if (strcmp(schema, "strait-published/1") != 0)
        return strait_error_set(err, STRAIT_ERR_INPUT, b->path,
                                "expected schema \"strait-published/1\", found \"%s\"", schema);
    const json_t *rows = strait_object_value(&o, "rows");
    const size_t n = json_array_size(rows);
    b->claims = calloc(n + 1, sizeof(*b->claims));
    if (!b->claims)
        return strait_error_set(err, STRAIT_ERR_NOMEM, b->path, "memory ran out");
    for (size_t i = 0; i < n; i++) {
        char pointer[64];
        struct claim c = {0};
        bool wanted = n_cases == 0;
        snprintf(pointer, sizeof(pointer), "/rows/%zu", i);
        if (strait_object_open(&row, b->path, pointer, json_array_get(rows, i), err) != 0 ||
            read_claim(&c, &row, err) != 0)
            return -1;
        for (size_t k = 0; k < n_cases; k++)
            wanted |= strcmp(cases[k], c.name) == 0;
        if (wanted)
            b->claims[b->n_claims++] = c;
    }
    if (b->n_claims == 0)
        return strait_error_set(err, STRAIT_ERR_INPUT, b->path,
                                "expected a case of this file, found none of them");
    return strait_object_close(&o, err);
}

/* --- one setting -------------------------------------------------------------------------- */

struct settings {
    char *texts[MAX_SETTINGS];
    size_t n;
};

static void release_settings(struct settings *s)
{
    while (s->n > 0)
        free(s->texts[--s->n]);
}

static int add_setting(struct settings *s, const char *pointer, const json_t *value,
                       struct strait_error *err)
{
    char *json = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15)),
         *text = NULL;
    if (s->n == MAX_SETTINGS || !json || asprintf(&text, "%s=%s", pointer, json) < 0) {
        free(json);
        return strait_error_set(err, STRAIT_ERR_INPUT, pointer, "expected at most %d settings",
                                MAX_SETTINGS);
    }
    free(json);
    s->texts[s->n++] = text;
    return 0;
}

static int add_settings(struct settings *s, const json_t *set, struct strait_error *err)
{
    const char *pointer;
    json_t *value;
    json_object_foreach ((json_t *)set, pointer, value)
        if (add_setting(s, pointer, value, err) != 0)
            return -1;
    return 0;
}

/* Mean of the rounds except the first and the last, if there are others: in these, communication
 * that overlaps the next round is complete. */
static double steady_s(const json_t *rounds_s)
{
    const size_t n = json_array_size(rounds_s), skip = n > 2 ? 1 : 0;
    double sum_s = 0;
    for (size_t i = skip; i < n - skip; i++)
        sum_s += json_number_value(json_array_get(rounds_s, i));
    return sum_s / (double)(n - 2 * skip);
}

/* batch: of all training ranks together. */
static double metric_of(const json_t *row, const char *metric, double batch)
{
    const double round_s = json_number_value(json_object_get(row, "round_s"));
    const double n_rounds = (double)json_array_size(json_object_get(row, "rounds_s"));
    const double n_ranks = json_number_value(json_object_get(row, "ranks"));
    const double payload =
        json_number_value(json_object_get(json_object_get(row, "bytes"), "payload"));
    if (strcmp(metric, "samples_per_s") == 0)
        return batch / round_s;
    if (strcmp(metric, "steady_s") == 0)
        return steady_s(json_object_get(row, "rounds_s"));
    if (strcmp(metric, "payload_mb_per_rank") == 0)
        return payload / 1e6 / n_ranks / n_rounds;
    if (strcmp(metric, "payload_mb") == 0)
        return payload / 1e6 / n_rounds;
    const json_t *value = row;
    char path[128], *rest = path;
    snprintf(path, sizeof(path), "%s", metric); /* "busy_s/client/encode" */
    for (const char *key; value && (key = strsep(&rest, "/"));)
        value = json_object_get(value, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* The metric at one point. */
static int measure_one(double *out, const struct book *b, const struct measure *m,
                       const struct settings *settings, struct strait_error *err)
{
    struct strait_sweep *sweep = NULL;
    struct strait_plan plan = {0};
    struct strait_experiment *e = NULL;
    json_t *row = NULL;
    int failed = -1;
    if (strait_sweep_load(&sweep, m->experiment, (const char *const *)settings->texts, settings->n,
                          err) != 0)
        return -1;
    plan.setup = (struct strait_plan_setup){.file = sweep->file, .profile = b->profile};
    if (sweep->n_points != 1) {
        strait_error_set(err, STRAIT_ERR_INPUT, m->experiment,
                         "expected one point: set every pointer that \"vary\" names; found %zu",
                         sweep->n_points);
        goto end;
    }
    if (strait_plan_add(&plan, sweep, &strait_fluid, 1, false, err) != 0 ||
        !(row = strait_plan_run_task(&plan, 0, err)) ||
        strait_experiment_read(&e, sweep->file, plan.tasks[0].resolved, err) != 0)
        goto end;
    *out = metric_of(row, m->metric, (double)e->model->batch * strait_servers_n_training(e));
    failed = isnan(*out) ? strait_error_set(err, STRAIT_ERR_INPUT, m->experiment,
                                            "expected a metric of the row, found \"%s\"", m->metric)
                         : 0;
end:
    strait_experiment_free(e);
    json_decref(row);
    strait_plan_release(&plan);
    strait_sweep_free(sweep);
    return failed;
}

/* --- one claim ---------------------------------------------------------------------------- */

/* Our figure with `more` set in addition to the measure's own settings; against: the best figure
 * with those instead. */
static int measure_at(double *ours, double *against, const struct book *b, const struct measure *m,
                      const char *pointer, const json_t *value, struct strait_error *err)
{
    struct settings s = {0};
    int failed = add_settings(&s, m->set, err) != 0 ||
                 (pointer && add_setting(&s, pointer, value, err) != 0) ||
                 measure_one(ours, b, m, &s, err) != 0;
    size_t i;
    json_t *other;
    *against = INFINITY; /* the smallest: all compared metrics are costs */
    json_array_foreach (m->against, i, other) {
        double found;
        const size_t n = s.n;
        if (!failed)
            failed = add_settings(&s, other, err) != 0 || measure_one(&found, b, m, &s, err) != 0;
        if (!failed)
            *against = fmin(*against, found);
        while (s.n > n)
            free(s.texts[--s.n]);
    }
    release_settings(&s);
    return failed ? -1 : 0;
}

/* A figure that answers a measure. */
struct answer {
    double figure;    /* NAN: no value of `over` is a threshold */
    const json_t *at; /* the value of `over` that gives it, borrowed; NULL: none */
    size_t i;         /* which of them */
};

static int measure_all(struct answer *out, const struct book *b, const struct measure *m,
                       struct strait_error *err)
{
    const char *pointer =
        m->over ? json_object_iter_key(json_object_iter((json_t *)m->over)) : NULL;
    const json_t *values = pointer ? json_object_get(m->over, pointer) : NULL;
    const size_t n = pointer ? json_array_size(values) : 1;
    const bool threshold = strcmp(m->as, "threshold") == 0;
    *out = (struct answer){.figure = NAN};
    for (size_t i = 0; i < n; i++) {
        const json_t *value = pointer ? json_array_get(values, i) : NULL;
        double ours, against, figure;
        if (measure_at(&ours, &against, b, m, pointer, value, err) != 0)
            return -1;
        figure = strcmp(m->as, "gain") == 0         ? 100 * (against / ours - 1)
                 : strcmp(m->as, "times") == 0      ? against / ours
                 : strcmp(m->as, "difference") == 0 ? ours - against
                                                    : ours;
        if (threshold) { /* true from this value to the last */
            if (ours < against && isnan(out->figure))
                *out = (struct answer){json_number_value(value), value, i};
            else if (ours >= against)
                *out = (struct answer){.figure = NAN};
        } else if (isnan(out->figure) ||
                   (strcmp(m->pick, "max") == 0 ? figure > out->figure : figure < out->figure)) {
            *out = (struct answer){figure, value, i};
        }
    }
    return 0;
}

/* As arguments of `strait run`. */
static json_t *setting_text(const struct measure *m, const json_t *at)
{
    char text[SETTING_CHARS];
    const char *pointer;
    json_t *value;
    snprintf(text, sizeof(text), "%s", m->experiment);
    json_object_foreach ((json_t *)m->set, pointer, value) {
        char *json = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
        strait_text_add(text, sizeof(text), " --set '%s=%s'", pointer, json ? json : "?");
        free(json);
    }
    if (at) {
        char *json = json_dumps(at, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
        strait_text_add(text, sizeof(text), " --set '%s=%s'",
                        json_object_iter_key(json_object_iter((json_t *)m->over)),
                        json ? json : "?");
        free(json);
    }
    return json_string(text);
}

/* Whether ours begins where the published range does, as far as the values of `over` tell: at the
 * first of them that is not before it. */
static bool begins_there(const struct claim *c, const struct answer *a)
{
    const json_t *values = json_object_iter_value(json_object_iter((json_t *)c->measure.over));
    if (!a->at || !values)
        return a->figure <= c->published && a->figure >= c->published;
    const double before =
        a->i > 0 ? json_number_value(json_array_get(values, a->i - 1)) : -INFINITY;
    return before < c->published && c->published <= a->figure;
}

static json_t *work(size_t i, void *context, struct strait_error *err)
{
    const struct book *b = context;
    const struct claim *c = &b->claims[i];
    struct answer a = {.figure = NAN};
    if (c->measure.experiment && measure_all(&a, b, &c->measure, err) != 0)
        return NULL;
    const double ours = a.figure;
    const bool from = strcmp(c->kind, "from") == 0;
    const bool reached = strcmp(c->kind, "up to") == 0 ? ours >= c->published
                         : from                        ? begins_there(c, &a)
                                                       : !isnan(ours);
    json_t *row =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:f, s:f, s:b, s:b, s:s?, s:s?}", "case", c->name,
                  "claim", c->claim, "source", c->source, "kind", c->kind, "unit", c->unit,
                  "published", c->published, "spread", c->spread, "reached", reached, "input",
                  c->input, "reason", c->reason, "group", c->group);
    if (c->halves)
        json_object_set(row, "halves", (json_t *)c->halves);
    if (from) /* all of the published range lies in ours */
        json_object_set_new(row, "covered", json_boolean(reached || ours <= c->published));
    json_object_set_new(row, "ours", strait_json_number(ours));
    json_object_set_new(row, "relative", strait_json_number(ours / c->published - 1));
    json_object_set_new(row, "setting",
                        c->measure.experiment ? setting_text(&c->measure, a.at) : json_null());
    return row;
}

static int done(size_t i, const json_t *result, void *context, struct strait_error *err)
{
    struct book *b = context;
    if (json_array_set(b->rows, i, (json_t *)result) != 0)
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out");
    return 0;
}

json_t *strait_published(const char *path, const char *const *cases, size_t n_cases,
                         const struct strait_profile *profile, int n_workers,
                         struct strait_error *err)
{
    char shipped[4096];
    if (!path)
        path = strait_share_path(shipped, sizeof(shipped), "traces/published.json");
    struct book b = {.path = path, .profile = profile, .rows = json_array()};
    json_t *out = NULL;
    if (read_book(&b, cases, n_cases, err) == 0) {
        for (size_t i = 0; i < b.n_claims; i++)
            json_array_append_new(b.rows, json_null());
        if (strait_pool_run(b.n_claims, n_workers, work, done, &b, "published figures", err) == 0)
            out = json_pack("{s:O, s:o, s:o}", "rows", b.rows, "orders",
                            strait_published_orders(b.rows), "errors",
                            strait_published_errors(b.rows));
    }
    json_decref(b.rows);
    json_decref(b.json);
    free(b.claims);
    return out;
}
