/* One figure of ours: the setting, its run on the fluid backend, and what is made of it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fields.h"
#include "analysis/row.h"
#include "campaign/plan.h"
#include "core/units.h"
#include "published_book.h"
#include "workloads/ask/software.h"
#include "workloads/train/sync/servers.h"

enum { MAX_SETTINGS = 32, SETTING_CHARS = 2048 };

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
        return strait_refuse(err, pointer, "expected at most %d settings", MAX_SETTINGS);
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

/* Set a constant of software to what costs nothing. */
static int add_without(struct settings *s, const char *constant, struct strait_error *err)
{
    char pointer[128];
    if (!constant)
        return 0;
    snprintf(pointer, sizeof(pointer), "/software/constants/%s", constant);
    json_t *free_of = strait_software_free(constant);
    const int failed = add_setting(s, pointer, free_of, err);
    json_decref(free_of);
    return failed;
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

static double path_s(const json_t *row, const char *phase)
{
    return strait_row_number(json_object_get(row, "path_s"), phase);
}

static double metric_of(const json_t *row, const char *metric, const struct strait_experiment *e)
{
    const double round_s = json_number_value(json_object_get(row, "round_s"));
    const double n_rounds = (double)json_array_size(json_object_get(row, "rounds_s"));
    const double n_ranks = json_number_value(json_object_get(row, "ranks"));
    const double payload =
        json_number_value(json_object_get(json_object_get(row, "bytes"), "payload"));
    if (strcmp(metric, "samples_per_s") == 0) /* of all training ranks together */
        return (double)e->model->batch * strait_servers_n_training(e) / round_s;
    if (strcmp(metric, "communication_s") == 0)
        return round_s - path_s(row, "compute");
    if (strcmp(metric, "encode_mb_per_s") == 0) /* of all parameters, which a client encodes */
        return 4e-6 * (double)e->model->n_elems /
               strait_row_number(json_object_get(json_object_get(row, "busy_s"), "client"),
                                 "encode");
    if (strcmp(metric, "codec_percent") == 0)
        return 100 * (path_s(row, "encode") + path_s(row, "decode")) / round_s;
    if (strcmp(metric, "compute_percent") == 0)
        return 100 * path_s(row, "compute") / round_s;
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

/* --- points: the experiment and the settings that leave one of its sweep -------------------- */

/* "spd-kfac --set '/clients=8'": equal texts are equal points. NULL: memory ran out. */
static json_t *point_name(const struct published_measure *m, const struct settings *s)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    if (!f)
        return NULL;
    fputs(m->experiment, f);
    for (size_t i = 0; i < s->n; i++)
        fprintf(f, " --set '%s'", s->texts[i]);
    json_t *name = fclose(f) == 0 ? json_string(text) : NULL;
    free(text);
    return name;
}

/* The row of one point. NULL with *err. */
static json_t *simulate(const struct published_book *b, const char *experiment,
                        const char *const *settings, size_t n, struct strait_error *err)
{
    struct strait_sweep *sweep = NULL;
    struct strait_plan plan = {0};
    json_t *row = NULL;
    if (strait_sweep_load(&sweep, experiment, settings, n, err) != 0)
        return NULL;
    plan.setup = (struct strait_plan_setup){
        .file = sweep->file, .profile = b->profile, .no_intervals = true};
    if (sweep->n_points != 1)
        strait_refuse(err, experiment,
                      "expected one point: set every pointer that \"vary\" names; found %zu",
                      sweep->n_points);
    else if (strait_plan_add(&plan, sweep, &strait_fluid, 1, false, err) == 0 &&
             (row = strait_plan_run_task(&plan, 0, err)))
        row = json_pack("{s:o, s:s, s:O}", "row", row, "file", sweep->file, "point",
                        plan.tasks[0].resolved);
    strait_plan_release(&plan);
    strait_sweep_free(sweep);
    return row;
}

json_t *published_simulate(const struct published_book *b, const json_t *point,
                           struct strait_error *err)
{
    const char *settings[MAX_SETTINGS];
    const json_t *texts = json_object_get(point, "settings");
    const size_t n = json_array_size(texts);
    for (size_t i = 0; i < n; i++)
        settings[i] = json_string_value(json_array_get(texts, i));
    return simulate(b, json_string_value(json_object_get(point, "experiment")), settings, n, err);
}

/* The metric at one point: of the row that the book has, else simulated now. */
static int measure_one(double *out, const struct published_book *b,
                       const struct published_measure *m, const struct settings *settings,
                       struct strait_error *err)
{
    struct strait_experiment *e = NULL;
    json_t *name = point_name(m, settings);
    json_t *of = json_incref(json_object_get(b->rows, name ? json_string_value(name) : ""));
    int failed = -1;
    if (!json_is_object(of))
        of = simulate(b, m->experiment, (const char *const *)settings->texts, settings->n, err);
    if (of && strait_experiment_read(&e, json_string_value(json_object_get(of, "file")),
                                     json_object_get(of, "point"), err) == 0) {
        *out = metric_of(json_object_get(of, "row"), m->metric, e);
        failed = isnan(*out)
                     ? strait_refuse(err, m->experiment,
                                     "expected a metric of the row, found \"%s\"", m->metric)
                     : 0;
    }
    strait_experiment_free(e);
    json_decref(of);
    json_decref(name);
    return failed;
}

/* What is done at each point of a measure. 0, or -1 with *err. */
typedef int (*at_point)(double *out, const struct published_book *b,
                        const struct published_measure *m, const struct settings *settings,
                        struct strait_error *err);

/* Visit the points with `more` set in addition to the measure's own settings: ours; against: the
 * best figure with those instead. */
static int visit_points(double *ours, double *against, const struct published_book *b,
                        const struct published_measure *m, const char *pointer, const json_t *value,
                        const char *without, at_point visit, struct strait_error *err)
{
    struct settings s = {0};
    int failed = add_settings(&s, m->set, err) != 0 || add_without(&s, without, err) != 0 ||
                 (pointer && add_setting(&s, pointer, value, err) != 0) ||
                 visit(ours, b, m, &s, err) != 0;
    size_t i;
    json_t *other;
    *against = INFINITY; /* the smallest: all compared metrics are costs */
    json_array_foreach (m->against, i, other) {
        double found = INFINITY;
        const size_t n = s.n;
        if (!failed)
            failed = add_settings(&s, other, err) != 0 || visit(&found, b, m, &s, err) != 0;
        if (!failed)
            *against = fmin(*against, found);
        while (s.n > n)
            free(s.texts[--s.n]);
    }
    release_settings(&s);
    return failed ? -1 : 0;
}

/* List a point that is not listed yet. */
static int list_one(double *out, const struct published_book *b, const struct published_measure *m,
                    const struct settings *settings, struct strait_error *err)
{
    json_t *name = point_name(m, settings), *texts = json_array();
    *out = 0;
    for (size_t i = 0; i < settings->n; i++)
        json_array_append_new(texts, json_string(settings->texts[i]));
    json_t *point =
        json_pack("{s:O?, s:s, s:o}", "name", name, "experiment", m->experiment, "settings", texts);
    int failed = !name || !point;
    if (!failed && !json_object_get(b->rows, json_string_value(name)))
        failed = json_array_append(b->points, point) != 0 ||
                 json_object_set_new(b->rows, json_string_value(name), json_null()) != 0;
    json_decref(point);
    json_decref(name);
    return failed ? strait_error_memory(err, NULL) : 0;
}

/* The pointer that a measure goes over, its values and their number; NULL: one point. */
static const char *over_of(const struct published_measure *m, const json_t **values, size_t *n)
{
    const char *pointer =
        m->over ? json_object_iter_key(json_object_iter((json_t *)m->over)) : NULL;
    *values = pointer ? json_object_get(m->over, pointer) : NULL;
    *n = pointer ? json_array_size(*values) : 1;
    return pointer;
}

int published_list_points(const struct published_book *b, const struct published_measure *m,
                          const char *without, struct strait_error *err)
{
    const json_t *values;
    size_t n;
    double ours, against;
    const char *pointer = over_of(m, &values, &n);
    for (size_t i = 0; i < n; i++)
        if (visit_points(&ours, &against, b, m, pointer, pointer ? json_array_get(values, i) : NULL,
                         without, list_one, err) != 0)
            return -1;
    return 0;
}

/* --- figures -------------------------------------------------------------------------------- */

/* A value of `over` as a figure: rates in Mbps. */
static double threshold_of(const json_t *value)
{
    double rate_bps;
    if (json_is_string(value) && strait_quantity_parse(&rate_bps, STRAIT_UNIT_LINK_RATE,
                                                       json_string_value(value), NULL, NULL) == 0)
        return rate_bps / 1e6;
    return json_is_number(value) ? json_number_value(value) : NAN;
}

int published_measure(struct published_answer *out, const struct published_book *b,
                      const struct published_measure *m, const char *without,
                      struct strait_error *err)
{
    const json_t *values;
    size_t n;
    const char *pointer = over_of(m, &values, &n);
    const bool within = strcmp(m->as, "within") == 0,
               threshold = within || strcmp(m->as, "threshold") == 0;
    *out = (struct published_answer){.figure = NAN};
    for (size_t i = 0; i < n; i++) {
        const json_t *value = pointer ? json_array_get(values, i) : NULL;
        double ours, against, figure;
        if (visit_points(&ours, &against, b, m, pointer, value, without, measure_one, err) != 0)
            return -1;
        figure = strcmp(m->as, "gain") == 0         ? 100 * (against / ours - 1)
                 : strcmp(m->as, "times") == 0      ? against / ours
                 : strcmp(m->as, "saved") == 0      ? 100 * (1 - ours / against)
                 : strcmp(m->as, "difference") == 0 ? ours - against
                                                    : ours;
        if (threshold) { /* true from this value to the last */
            const bool holds = within ? ours <= m->limit : ours < against;
            if (holds && isnan(out->figure))
                *out = (struct published_answer){threshold_of(value), value, i};
            else if (!holds)
                *out = (struct published_answer){.figure = NAN};
        } else if (strcmp(m->pick, "mean") == 0) {
            *out = (struct published_answer){(i == 0 ? 0 : out->figure) + figure / (double)n,
                                             json_array_get(values, 0), 0};
        } else if (isnan(out->figure) ||
                   (strcmp(m->pick, "max") == 0 ? figure > out->figure : figure < out->figure)) {
            *out = (struct published_answer){figure, value, i};
        }
    }
    return 0;
}

/* As arguments of `strait run`. */
json_t *published_setting(const struct published_measure *m, const json_t *at)
{
    char text[SETTING_CHARS];
    const char *pointer;
    json_t *value;
    size_t n = (size_t)snprintf(text, sizeof(text), "%s", m->experiment);
    json_object_foreach ((json_t *)m->set, pointer, value) {
        char *json = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
        if (n < sizeof(text))
            n += (size_t)snprintf(text + n, sizeof(text) - n, " --set '%s=%s'", pointer,
                                  json ? json : "?");
        free(json);
    }
    if (at && n < sizeof(text)) {
        char *json = json_dumps(at, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
        snprintf(text + n, sizeof(text) - n, " --set '%s=%s'",
                 json_object_iter_key(json_object_iter((json_t *)m->over)), json ? json : "?");
        free(json);
    }
    return json_string(text);
}

json_t *published_constants(const struct published_measure *m, struct strait_error *err)
{
    struct settings s = {0};
    struct strait_sweep *sweep = NULL;
    struct strait_experiment *e = NULL;
    json_t *point = NULL, *all = NULL;
    if (add_settings(&s, m->set, err) == 0 &&
        strait_sweep_load(&sweep, m->experiment, (const char *const *)s.texts, s.n, err) == 0 &&
        (point = strait_sweep_point(sweep, 0, NULL, err)) &&
        strait_experiment_read(&e, sweep->file, point, err) == 0)
        all = strait_software_used(e);
    strait_experiment_free(e);
    json_decref(point);
    strait_sweep_free(sweep);
    release_settings(&s);
    return all;
}
