#include "core/heap.h"
#include "coverage.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/fields.h"
#include "analysis/label.h"
#include "interval.h"

struct pair {
    const json_t *predicted, *measured;
    double predicted_s, measured_s, predicted_rest_s, measured_rest_s, width;
    bool covered;
    struct strait_case kind;
};

struct pairs {
    struct pair *all;
    size_t n, n_invalid, n_learned;
    json_t *table;
};

static bool is_measured(const json_t *row)
{
    return strcmp(strait_text_of(row, "backend"), "emu") == 0;
}

static bool is_row(const json_t *row)
{
    return strcmp(strait_text_of(row, "record"), "row") == 0 && !*strait_text_of(row, "control");
}

/* {point: row}, of several the last. */
static json_t *by_point(const json_t *rows, bool measured)
{
    json_t *out = json_object(), *row;
    size_t i;
    json_array_foreach (rows, i, row)
        if (is_row(row) && is_measured(row) == measured &&
            (measured || json_is_object(json_object_get(row, "uncertainty"))))
            json_object_set(out, strait_text_of(row, "point"), row);
    return out;
}

static double at(const json_t *array, size_t i)
{
    return json_is_array(array) ? json_number_value(json_array_get(array, i)) : NAN;
}

static double compute_s(const json_t *row)
{
    return strait_row_number(json_object_get(row, "path_s"), "compute");
}

static struct pair pair_of(const json_t *predicted, const json_t *measured)
{
    const json_t *interval = json_object_get(predicted, "interval_s");
    struct pair p = {.predicted = predicted, .measured = measured};
    p.predicted_s = strait_row_number(predicted, "round_s");
    p.measured_s = strait_row_number(measured, "round_s");
    p.predicted_rest_s = p.predicted_s - compute_s(predicted);
    p.measured_rest_s = p.measured_s - compute_s(measured);
    p.covered = at(interval, 0) <= p.measured_s && p.measured_s <= at(interval, 1);
    p.width = (at(interval, 1) - at(interval, 0)) / p.predicted_s;
    p.kind = strait_case_from(json_object_get(json_object_get(predicted, "evidence"), "case"));
    return p;
}

static void add_line(json_t *table, const struct pair *p)
{
    struct strait_learned_setting s;
    char line[512];
    snprintf(s.point, sizeof(s.point), "%s", strait_text_of(p->predicted, "point"));
    snprintf(s.network, sizeof(s.network), "%s", p->kind.network);
    snprintf(s.congestion, sizeof(s.congestion), "%s", p->kind.congestion);
    snprintf(s.family, sizeof(s.family), "%s", p->kind.family);
    snprintf(s.messages, sizeof(s.messages), "%s", p->kind.messages);
    memcpy(s.features, p->kind.features, sizeof(s.features));
    strait_interval_scores(&s, p->predicted, p->measured_s);
    s.error = p->predicted_s / p->measured_s - 1;
    json_array_append_new(table, json_string(strait_learned_line(line, &s)));
}

static int find_pairs(struct pairs *out, const json_t *predicted, const json_t *measured,
                      const struct strait_learned *learned, struct strait_error *err)
{
    json_t *guesses = by_point(predicted, false),
           *truths = by_point(measured ? measured : predicted, true), *truth;
    const char *point;
    out->all = calloc(json_object_size(truths) + 1, sizeof(*out->all));
    out->table = json_array();
    json_object_foreach (truths, point, truth) {
        const json_t *guess = json_object_get(guesses, point);
        if (!guess || !out->all)
            continue;
        if (!json_is_true(json_object_get(truth, "valid"))) {
            out->n_invalid++;
            continue;
        }
        const struct pair p = pair_of(guess, truth);
        if (!(p.predicted_s > 0) || !(p.measured_s > 0))
            continue;
        add_line(out->table, &p);
        if (learned && strait_learned_has(learned, point))
            out->n_learned++;
        else
            out->all[out->n++] = p;
    }
    /* Rows stay alive: the caller has them. */
    json_decref(guesses);
    json_decref(truths);
    if (!out->all)
        return strait_error_memory(err, "coverage");
    if (json_array_size(out->table) == 0)
        return strait_refuse(
            err, "coverage",
            "expected a point with a predicted and a valid measured row, found none");
    return 0;
}

/* --- groups ------------------------------------------------------------------------------- */

/* The smallest value that at least this share of all does not exceed. */
static double quantile(const double *sorted, size_t n, double share)
{
    const size_t k = (size_t)ceil(share * (double)n - 1e-9);
    return n > 0 ? sorted[k > 0 ? k - 1 : 0] : NAN;
}

static double mean(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return n > 0 ? sum / (double)n : NAN;
}

static json_t *errors(double *x, size_t n)
{
    strait_sort(x, n);
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "mean", json_real(mean(x, n)), "median",
                     json_real(quantile(x, n, 0.5)), "p90", json_real(quantile(x, n, 0.9)), "p95",
                     json_real(quantile(x, n, 0.95)), "worst", json_real(quantile(x, n, 1)));
}

enum key { ALL, NETWORK, IMPERFECT, NETWORK_TCP, FAMILY, MESSAGES, BASIS, CODEC, N_KEYS };

/* NULL: it is in no group of this key. */
static const char *key_of(char buf[64], const struct pair *p, enum key key)
{
    const json_t *evidence = json_object_get(p->predicted, "evidence");
    const bool plain = strait_label_row_is_plain(p->predicted);
    switch (key) {
    case NETWORK:
        return p->kind.network;
    case IMPERFECT:
        return strcmp(p->kind.network, "clean") != 0 ? "loss, jitter, queue" : NULL;
    case NETWORK_TCP:
        snprintf(buf, 64, "%s, %s", p->kind.network, p->kind.congestion);
        return buf;
    case FAMILY:
        return p->kind.family;
    case MESSAGES:
        snprintf(buf, 64, "%s messages", p->kind.messages);
        return buf;
    case BASIS:
        return strait_text_of(evidence, "basis");
    case CODEC:
        return plain ? "no codec" : "with a codec";
    case ALL:
    case N_KEYS:
        break;
    }
    return "all";
}

static json_t *group_of(const struct pairs *pairs, enum key key, const char *of, double *room)
{
    char buf[64];
    double *const rounds = room, *const rests = room + pairs->n, *const widths = rests + pairs->n;
    size_t n = 0, n_rests = 0, n_covered = 0;
    for (size_t i = 0; i < pairs->n; i++) {
        const struct pair *p = &pairs->all[i];
        const char *its = key_of(buf, p, key);
        if (!its || strcmp(its, of) != 0)
            continue;
        n_covered += p->covered;
        widths[n] = isfinite(p->width) ? p->width : 0;
        rounds[n++] = fabs(p->predicted_s / p->measured_s - 1);
        if (p->measured_rest_s > 0)
            rests[n_rests++] = fabs(p->predicted_rest_s / p->measured_rest_s - 1);
    }
    strait_sort(widths, n);
    return json_pack("{s:s, s:I, s:f, s:{s:f, s:f}, s:o, s:o}", "of", of, "settings", (json_int_t)n,
                     "covered", (double)n_covered / (double)n, "width", "mean", mean(widths, n),
                     "median", quantile(widths, n, 0.5), "round", errors(rounds, n), "rest",
                     n_rests > 0 ? errors(rests, n_rests) : json_null());
}

static json_t *all_groups(const struct pairs *pairs)
{
    double *room = calloc(3 * pairs->n + 1, sizeof(*room));
    json_t *groups = json_array();
    char buf[64];
    for (int key = ALL; key < N_KEYS && room; key++) {
        json_t *seen = json_object();
        for (size_t i = 0; i < pairs->n; i++) {
            const char *of = key_of(buf, &pairs->all[i], (enum key)key);
            if (!of || json_object_get(seen, of))
                continue;
            json_object_set_new(seen, of, json_true());
            json_array_append_new(groups, group_of(pairs, (enum key)key, of, room));
        }
        json_decref(seen);
    }
    free(room);
    return groups;
}

/* --- the worst ---------------------------------------------------------------------------- */

enum { N_WORST = 10 };

static double error_of(const struct pair *p)
{
    return p->predicted_s / p->measured_s - 1;
}

static int worse(const void *a, const void *b)
{
    const double x = fabs(error_of(a)), y = fabs(error_of(b));
    return (x < y) - (x > y);
}

static json_t *the_worst(struct pairs *pairs)
{
    static const char *const copied[] = {"title", "model",   "strategy",  "clients",
                                         "codec", "round_s", "interval_s"};
    json_t *out = json_array();
    qsort(pairs->all, pairs->n, sizeof(*pairs->all), worse);
    for (size_t i = 0; i < pairs->n && i < N_WORST; i++) {
        const struct pair *p = &pairs->all[i];
        json_t *one = json_object();
        for (size_t k = 0; k < sizeof(copied) / sizeof(*copied); k++)
            json_object_set(one, copied[k], json_object_get(p->predicted, copied[k]));
        json_object_set_new(one, "measured_s", json_real(p->measured_s));
        json_object_set_new(one, "error", json_real(error_of(p)));
        json_object_set_new(one, "covered", json_boolean(p->covered));
        json_array_append_new(out, one);
    }
    return out;
}

json_t *strait_coverage(const json_t *predicted, const json_t *measured,
                        const struct strait_learned *learned, struct strait_error *err)
{
    struct pairs pairs = {0};
    json_t *out = NULL;
    if (find_pairs(&pairs, predicted, measured, learned, err) == 0) {
        size_t n_covered = 0;
        for (size_t i = 0; i < pairs.n; i++)
            n_covered += pairs.all[i].covered;
        out = json_pack("{s:f, s:I, s:I, s:I, s:o, s:o, s:o, s:O}", "level", STRAIT_INTERVAL_LEVEL,
                        "settings", (json_int_t)pairs.n, "invalid", (json_int_t)pairs.n_invalid,
                        "learned", (json_int_t)pairs.n_learned, "covered",
                        pairs.n > 0 ? json_real((double)n_covered / (double)pairs.n) : json_null(),
                        "groups", all_groups(&pairs), "worst", the_worst(&pairs), "table",
                        pairs.table);
    }
    json_decref(pairs.table);
    free(pairs.all);
    return out;
}
