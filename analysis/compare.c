/* Predicted against measured. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/heap.h"
#include "compare.h"
#include "fields.h"
#include "row_names.h"
#include "row.h"

/* Transfers are those on the critical path; wait is what a client spends blocked in a receive.
 * Codec work is compared by how long it keeps its cores busy, a mean client's and the server's
 * together: how much of it falls on the critical path hangs on how far TCP spreads the arrivals of
 * equal clients, which ideal sharing does not know and which only moves time between phases. */
static const struct strait_compared phases[] = {{"encode", "busy_s", "encode", true},
                                                {"transfer", "path_s", "transfer", true},
                                                {"wait", NULL, "wait_s", true},
                                                {"decode", "busy_s", "decode", true},
                                                {"aggregate", "busy_s", "aggregate", false},
                                                {"compute", "path_s", "compute", false},
                                                {"other", "path_s", "other", false},
                                                {"round", NULL, "round_s", false},
                                                {"round minus compute", NULL, NULL, true}};
enum { N_PHASES = sizeof(phases) / sizeof(*phases) };

const struct strait_compared *strait_compared_phases(size_t *n)
{
    *n = N_PHASES;
    return phases;
}

static double phase_s(const json_t *row, const struct strait_compared *p)
{
    if (!p->key)
        return strait_row_number(row, "round_s") -
               strait_row_number(json_object_get(row, "path_s"), "compute");
    const json_t *group = p->group ? json_object_get(row, p->group) : row;
    if (!p->group || strcmp(p->group, "busy_s") != 0)
        return strait_row_number(group, p->key);
    const json_t *server = json_object_get(group, "server");
    return strait_row_number(json_object_get(group, "client"), p->key) +
           (json_is_object(server) ? strait_row_number(server, p->key) : 0);
}

struct spread {
    double median_s, min_s, max_s;
};

static struct spread spread_of(const json_t *rows, const struct strait_compared *p, double *room)
{
    size_t n = 0, i;
    json_t *row;
    json_array_foreach (rows, i, row) {
        const double value_s = phase_s(row, p);
        if (isfinite(value_s))
            room[n++] = value_s;
    }
    if (n == 0)
        return (struct spread){NAN, NAN, NAN};
    const double median_s = strait_median(room, n);
    return (struct spread){median_s, room[0], room[n - 1]};
}

/* 2: measured; 1: sim; 0: fluid and whatever else; -1: no backend at all. */
static int trust(const char *backend)
{
    return strcmp(backend, "emu") == 0 || strcmp(backend, "mpi") == 0 ? 2
           : strcmp(backend, "sim") == 0                              ? 1
           : *backend                                                 ? 0
                                                                      : -1;
}

/* The backend among rows that is trusted most, below `below`. */
static const char *max_trusted(const json_t *rows, int below)
{
    const char *best = "";
    size_t i;
    json_t *row;
    json_array_foreach (rows, i, row) {
        const char *backend = strait_text_of(row, "backend");
        if (trust(backend) < below && trust(backend) > trust(best))
            best = backend;
    }
    return best;
}

static json_t *refused_text(const json_t *row, const struct strait_names *names,
                            const char *backend)
{
    const json_t *why = json_array_get(json_object_get(row, "invalid"), 0);
    const char *setting = strait_names_setting(names, row);
    return json_sprintf("%s: %lld clients, %s%s%s: INVALID: %s", backend,
                        (long long)json_integer_value(json_object_get(row, "clients")),
                        strait_names_codec(names, row), *setting ? ", " : "", setting,
                        why ? json_string_value(why) : "no reason given");
}

/* {"point control profile": {"last": i, "rows": [valid rows of one backend]}}; of several profiles
 * the one of the last row stands for the point. */
static json_t *group_rows(const json_t *rows, const struct strait_names *names, const char *backend,
                          json_t *refused, json_t *only_invalid)
{
    json_t *groups = json_object();
    size_t i;
    json_t *row;
    char key[512];
    json_array_foreach (rows, i, row) {
        if (strcmp(strait_text_of(row, "backend"), backend) != 0)
            continue;
        snprintf(key, sizeof(key), "%s %s", strait_text_of(row, "point"),
                 strait_text_of(row, "control"));
        if (!json_is_true(json_object_get(row, "valid"))) {
            json_t *text = refused_text(row, names, backend);
            json_array_append(refused, text);
            json_object_set_new(only_invalid, key, text);
            continue;
        }
        json_t *group = json_object_get(groups, key);
        const char *profile = strait_text_of(row, "profile");
        if (!group || strcmp(profile, strait_text_of(group, "profile")) != 0) {
            group = json_object();
            json_object_set_new(group, "profile", json_string(profile));
            json_object_set_new(group, "rows", json_array());
            json_object_set_new(groups, key, group);
        }
        json_array_append(json_object_get(group, "rows"), row);
    }
    const char *done;
    json_t *group;
    json_object_foreach (groups, done, group)
        json_object_del(only_invalid, done);
    return groups;
}

/* Nothing where it was not measured and need not be. */
static json_t *compare_phase(const struct strait_compared *p, const json_t *predicted,
                             const json_t *measured, double *room,
                             const struct strait_compare_options *o, bool *all_within)
{
    const struct spread guess = spread_of(predicted, p, room);
    const struct spread truth = spread_of(measured, p, room);
    const double difference_s = guess.median_s - truth.median_s;
    const bool judged = p->judged || o->is_partial;
    if (o->is_partial && isnan(truth.median_s))
        return NULL;
    const bool within =
        fabs(difference_s) <= fmax(o->tolerance_ratio * fabs(truth.median_s), o->floor_s);
    if (judged && !within)
        *all_within = false;
    json_t *out = json_object();
    json_object_set_new(out, "predicted_s", strait_json_number(guess.median_s));
    json_object_set_new(out, "measured_s", strait_json_number(truth.median_s));
    json_object_set_new(out, "measured_min_s", strait_json_number(truth.min_s));
    json_object_set_new(out, "measured_max_s", strait_json_number(truth.max_s));
    json_object_set_new(out, "difference_s", strait_json_number(difference_s));
    json_object_set_new(
        out, "relative",
        strait_json_number(fabs(truth.median_s) > 1e-9 ? difference_s / truth.median_s : NAN));
    json_object_set_new(out, "judged", json_boolean(judged));
    json_object_set_new(out, "within", json_boolean(within));
    return out;
}

static json_t *compare_pair(const json_t *predicted, const json_t *measured,
                            const struct strait_compare_options *o, struct strait_error *err)
{
    const size_t n = json_array_size(predicted) + json_array_size(measured);
    double *room = malloc(n * sizeof(*room));
    if (!room) {
        strait_error_memory(err, "compare");
        return NULL;
    }
    static const char *const copied[] = {"labels",      "codec",    "download_codec", "clients",
                                         "model",       "strategy", "control",        "point",
                                         "setting_key", "codec_key"};
    const json_t *row = json_array_get(predicted, 0);
    json_t *pair = json_object(), *compared = json_object();
    bool within = true;
    for (size_t i = 0; i < sizeof(copied) / sizeof(*copied); i++)
        json_object_set(pair, copied[i], json_object_get(row, copied[i]));
    json_object_set(pair, "predicted", json_object_get(row, "backend"));
    json_object_set(pair, "measured", json_object_get(json_array_get(measured, 0), "backend"));
    json_object_set_new(pair, "repeats", json_integer((json_int_t)json_array_size(measured)));
    for (size_t i = 0; i < N_PHASES; i++)
        json_object_set_new(compared, phases[i].name,
                            compare_phase(&phases[i], predicted, measured, room, o, &within));
    json_object_set_new(pair, "phases", compared);
    json_object_set_new(pair, "within", json_boolean(within));
    free(room);
    return pair;
}

/* The measured rows of a point: without control where there are such. */
static const json_t *measured_for(const json_t *groups, const char *predicted_key)
{
    char plain[512];
    const char *blank = strchr(predicted_key, ' ');
    snprintf(plain, sizeof(plain), "%.*s ", (int)(blank ? blank - predicted_key : 0),
             predicted_key);
    const json_t *group = json_object_get(groups, plain);
    return group ? group : json_object_get(groups, predicted_key);
}

/* What both sides were asked: their title, and what --set put in, which is the same for all rows of
 * a run. */
static void put_asked(json_t *out, const json_t *predicted, const json_t *measured)
{
    const json_t *guess = json_array_get(json_object_get(predicted, "rows"), 0),
                 *truth = json_array_get(json_object_get(measured, "rows"), 0);
    json_object_set(out, "title", json_object_get(guess, "title"));
    if (json_object_get(guess, "set"))
        json_object_set(out, "set", json_object_get(guess, "set"));
    if (json_object_get(truth, "set"))
        json_object_set(out, "measured_set", json_object_get(truth, "set"));
}

json_t *strait_compare(const json_t *a, const json_t *b,
                       const struct strait_compare_options *options, struct strait_error *err)
{
    const char *measured_by = max_trusted(b ? b : a, 3);
    const char *predicted_by = max_trusted(a, b ? 3 : trust(measured_by));
    if (!*measured_by || !*predicted_by) {
        strait_refuse(err, "compare", "expected rows of two backends, found %s%s",
                      *measured_by ? "only " : "none", measured_by);
        return NULL;
    }
    struct strait_names *names_a, *names_b = NULL;
    if (strait_names_new(&names_a, a, err) != 0 || (b && strait_names_new(&names_b, b, err) != 0)) {
        strait_names_free(names_a);
        return NULL;
    }
    json_t *out = json_object(), *pairs = json_array(), *refused = json_array();
    json_t *lost_a = json_object(), *lost_b = json_object();
    json_t *predicted = group_rows(a, names_a, predicted_by, refused, lost_a);
    json_t *measured = group_rows(b ? b : a, b ? names_b : names_a, measured_by, refused, lost_b);
    bool within = json_object_size(lost_a) == 0 && json_object_size(lost_b) == 0;
    bool failed = false;
    const char *key;
    json_t *group;
    json_object_foreach (predicted, key, group) {
        const json_t *other = measured_for(measured, key);
        if (!other)
            continue;
        json_t *pair = compare_pair(json_object_get(group, "rows"), json_object_get(other, "rows"),
                                    options, err);
        failed = failed || !pair;
        within = within && json_is_true(json_object_get(pair, "within"));
        json_array_append_new(pairs, pair);
        if (json_array_size(pairs) == 1)
            put_asked(out, group, other);
    }
    if (!failed && json_array_size(pairs) == 0) {
        const json_t *why = json_array_get(refused, 0);
        strait_error_set(err, why ? STRAIT_ERR_BACKEND : STRAIT_ERR_INPUT, "compare",
                         "expected a point with valid rows of %s and %s, found none%s%s",
                         predicted_by, measured_by, why ? ": " : "",
                         why ? json_string_value(why) : "");
        failed = true;
    }
    json_object_set_new(out, "pairs", pairs);
    json_object_set_new(out, "refused", refused);
    json_object_set_new(out, "within", json_boolean(within));
    json_decref(lost_a);
    json_decref(lost_b);
    json_decref(predicted);
    json_decref(measured);
    strait_names_free(names_a);
    strait_names_free(names_b);
    if (failed) {
        json_decref(out);
        return NULL;
    }
    return out;
}
