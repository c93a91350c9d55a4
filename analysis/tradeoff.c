#include "core/heap.h"
#include "tradeoff.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/training/recorded_curve.h"
#include "analysis/training/spread.h"
#include "codecs/spec.h"
#include "fields.h"
#include "grid.h"
#include "label.h"
#include "row.h"

enum {
    LAST_ROUNDS = 3,
    MIN_SEED_PAIRS = 3 /* fewer settings with two seeds tell nothing of a deviation */
};
/* The recorded runs trained this model: curves/README.md. */
static const char recorded_model[] = "cnn";

/* --- which recorded run ------------------------------------------------------------------- */

static bool spec_of(struct strait_codec_spec *spec, const json_t *codec)
{
    const char *name = json_string_value(json_object_get(codec, "name"));
    const char *settings = json_string_value(json_object_get(codec, "settings"));
    char text[2 * STRAIT_SPEC_CHARS];
    const char *kind;
    json_t *value;
    snprintf(text, sizeof(text), "%s%s%s", name ? name : "", settings ? ":" : "",
             settings ? settings : "");
    if (strait_codec_spec_parse(spec, text, NULL) != 0)
        return false;
    json_object_foreach (json_object_get(codec, "bound"), kind, value)
        if (strait_bound_kind_parse(&spec->bound.kind, kind))
            spec->bound.value = json_number_value(value);
    return true;
}

const struct strait_curve *strait_tradeoff_curve(const struct strait_curves *curves,
                                                 const json_t *row)
{
    struct strait_codec_spec up, down;
    const char *model = json_string_value(json_object_get(row, "model"));
    const char *strategy = json_string_value(json_object_get(row, "strategy"));
    if (!model || !strategy || strcmp(model, recorded_model) != 0 ||
        strcmp(strategy, "fedavg") != 0 || !spec_of(&up, json_object_get(row, "codec")) ||
        !spec_of(&down, json_object_get(row, "download_codec")) ||
        !(down.ops->flags & STRAIT_CODEC_LOSSLESS) || up.memory.momentum > 0)
        return NULL;
    return strait_recorded_curve(
        curves, (unsigned)json_integer_value(json_object_get(row, "clients")), 1, "update", &up);
}

/* --- how far recorded accuracies can be told apart ---------------------------------------- */

/* Deviation of a run's last rounds. */
static double swing_of(const struct strait_curve *c)
{
    const size_t n = c->n_rounds < LAST_ROUNDS ? c->n_rounds : LAST_ROUNDS;
    const double mean = strait_curve_final_acc(c, n);
    double sum = 0;
    for (size_t i = c->n_rounds - n; i < c->n_rounds; i++)
        sum += pow(c->rounds[i].test_acc_ratio - mean, 2);
    return n > 1 ? sqrt(sum / (double)(n - 1)) : NAN;
}

/* Final accuracies of two seeds, settings alike: what is left of their differences when what the
 * seed does to all settings is taken off is the deviation of one run, times the root of two. */
static size_t seeds_of(double *deviation, const struct strait_curves *curves,
                       const struct strait_curve *c)
{
    double sum = 0, squares = 0;
    size_t n = 0;
    unsigned seed = c->seed;
    for (size_t i = 0; i < curves->n_curves && seed == c->seed; i++)
        if (curves->curves[i].clients == c->clients)
            seed = curves->curves[i].seed;
    for (size_t i = 0; i < curves->n_curves && seed != c->seed; i++) {
        const struct strait_curve *a = &curves->curves[i];
        if (a->clients != c->clients || a->seed != c->seed || strcmp(a->target, c->target) != 0)
            continue;
        const struct strait_curve *b = strait_curves_find(curves, a->clients, seed, a->target,
                                                          a->codec, a->par, a->error_feedback);
        if (!b)
            continue;
        const double difference =
            strait_curve_final_acc(b, LAST_ROUNDS) - strait_curve_final_acc(a, LAST_ROUNDS);
        sum += difference;
        squares += difference * difference;
        n++;
    }
    if (n > 1)
        *deviation = sqrt((squares - sum * sum / (double)n) / (double)(n - 1) / 2);
    return n;
}

double strait_tradeoff_spread(const struct strait_curves *curves, const struct strait_curve *c)
{
    double deviation = NAN;
    const size_t n = seeds_of(&deviation, curves, c);
    return n >= MIN_SEED_PAIRS ? strait_student_t(n - 1) * deviation : 2 * swing_of(c);
}

/* --- lines -------------------------------------------------------------------------------- */

/* What a line says once for all its settings. */
struct told {
    const struct strait_curve *curve;
    double bytes_up, ratio, encode_s, decode_s;
    bool measured;
};

static struct told told_of(const json_t *row, const struct strait_curves *curves)
{
    const json_t *busy = json_object_get(row, "busy_s");
    const double n_rounds = (double)json_array_size(json_object_get(row, "rounds_s"));
    return (struct told){.curve = strait_tradeoff_curve(curves, row),
                         .bytes_up = strait_row_number(json_object_get(row, "bytes"), "up") /
                                     n_rounds / strait_row_number(row, "clients"),
                         .ratio =
                             strait_label_row_is_plain(row) ? 1 : strait_row_number(row, "ratio"),
                         .encode_s = strait_row_number(json_object_get(busy, "client"), "encode"),
                         .decode_s = strait_row_number(json_object_get(busy, "server"), "decode"),
                         .measured = strcmp(strait_text_of(row, "cost"), "measured") == 0};
}

static bool are_equal(double a, double b)
{
    return (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-6 * fabs(b); /* sums in another order */
}

/* Whether one line can tell both: measured work differs a little each time. */
static bool tell_the_same(const struct told *a, const struct told *b)
{
    return a->curve == b->curve && are_equal(a->bytes_up, b->bytes_up) &&
           are_equal(a->ratio, b->ratio) &&
           ((a->measured && b->measured) ||
            (are_equal(a->encode_s, b->encode_s) && are_equal(a->decode_s, b->decode_s)));
}

/* values[0..n-1] are sorted. */
static json_t *median_of(double *values, size_t n)
{
    return strait_json_number(strait_median(values, n));
}

/* The line of the settings from `first` on that tell the same and are not done yet; NULL: the point
 * does not exist, or is told. room: twice as many numbers as settings. */
static json_t *line_of(const struct strait_grid *g, size_t codec, size_t count, size_t first,
                       bool *done, double *room, const struct strait_curves *curves)
{
    const json_t *row = strait_grid_cell(g, first, codec, count)->row;
    if (!row || done[first])
        return NULL;
    const struct told told = told_of(row, curves);
    json_t *rounds = json_array(), *line = json_object();
    size_t n = 0;
    for (size_t s = 0; s < g->n_settings; s++) {
        const struct strait_cell *cell = strait_grid_cell(g, s, codec, count);
        const struct told here = cell->row ? told_of(cell->row, curves) : told;
        const bool ours = cell->row && !done[s] && tell_the_same(&told, &here);
        json_array_append_new(rounds, strait_json_number(ours ? cell->round_s : NAN));
        if (ours) {
            room[n] = here.encode_s;
            room[g->n_settings + n++] = here.decode_s;
            done[s] = true;
        }
    }
    const struct strait_curve *curve = told.curve;
    json_object_set_new(line, "clients", json_integer(g->counts[count]));
    json_object_set_new(line, "codec", json_string(g->codecs[codec].label));
    json_object_set_new(
        line, "accuracy",
        strait_json_number(curve ? strait_curve_final_acc(curve, LAST_ROUNDS) : NAN));
    json_object_set_new(line, "accuracy_spread",
                        strait_json_number(curve ? strait_tradeoff_spread(curves, curve) : NAN));
    json_object_set_new(line, "accuracy_from", curve ? json_string(curve->run) : json_null());
    json_object_set_new(line, "bytes_up", strait_json_number(told.bytes_up));
    json_object_set_new(line, "ratio", strait_json_number(told.ratio));
    json_object_set_new(line, "encode_s", median_of(room, n));
    json_object_set_new(line, "decode_s", median_of(room + g->n_settings, n));
    json_object_set_new(line, "round_s", rounds);
    return line;
}

static int by_accuracy(const void *a, const void *b)
{
    const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
    const double p = strait_row_number(x, "accuracy"), q = strait_row_number(y, "accuracy");
    if (isnan(p) != isnan(q))
        return isnan(p) ? 1 : -1;
    if (!isnan(p) && (p < q || p > q))
        return p < q ? 1 : -1;
    const double s = strait_row_number(x, "bytes_up"), t = strait_row_number(y, "bytes_up");
    return (s > t) - (s < t);
}

static double round_of(const json_t *line, size_t s)
{
    const json_t *value = json_array_get(json_object_get(line, "round_s"), s);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static bool is_known(const json_t *line, size_t s)
{
    return !isnan(strait_row_number(line, "accuracy")) && !isnan(round_of(line, s));
}

/* Whether a line that is at least as quick leaves this one nothing: no accuracy that could be told
 * from chance. Lines that are equal in both beat neither. */
static bool leaves_nothing(const json_t *quicker, const json_t *line, size_t s)
{
    const double accuracy = strait_row_number(line, "accuracy"),
                 other = strait_row_number(quicker, "accuracy");
    const double spread = hypot(strait_row_number(line, "accuracy_spread"),
                                strait_row_number(quicker, "accuracy_spread"));
    const bool equal =
        !(accuracy < other) && !(accuracy > other) && !(round_of(quicker, s) < round_of(line, s));
    return !equal && !(accuracy - other > spread);
}

/* Quickest first, of these the most accurate: 1 where b comes before a. */
static int by_time(const json_t *a, const json_t *b, size_t s)
{
    const double x = round_of(a, s), y = round_of(b, s);
    if (x < y || x > y)
        return x > y ? 1 : -1;
    const double p = strait_row_number(a, "accuracy"), q = strait_row_number(b, "accuracy");
    return (p < q) - (p > q);
}

/* Lines of known accuracy from the quickest on: one is on the front unless a line of the front, of
 * as many clients, leaves it nothing. That those of the front alone count keeps a chain of small
 * losses, each within the spread, from adding up to a large one. */
static void mark_setting(json_t **by_speed, size_t n, size_t s)
{
    for (size_t i = 1; i < n; i++) /* insertion: lines are few */
        for (size_t k = i; k > 0 && by_time(by_speed[k - 1], by_speed[k], s) > 0; k--) {
            json_t *swapped = by_speed[k];
            by_speed[k] = by_speed[k - 1];
            by_speed[k - 1] = swapped;
        }
    for (size_t i = 0; i < n; i++) {
        bool front = true;
        for (size_t k = 0; k < i && front; k++)
            front = json_integer_value(json_object_get(by_speed[k], "clients")) !=
                        json_integer_value(json_object_get(by_speed[i], "clients")) ||
                    !json_is_true(json_array_get(json_object_get(by_speed[k], "front"), s)) ||
                    !leaves_nothing(by_speed[k], by_speed[i], s);
        json_array_set_new(json_object_get(by_speed[i], "front"), s, json_boolean(front));
    }
}

static int mark_front(json_t *lines, size_t n_settings)
{
    json_t **known = calloc(json_array_size(lines) + 1, sizeof(*known)), *line;
    size_t i;
    if (!known)
        return -1;
    json_array_foreach (lines, i, line) {
        json_t *front = json_array();
        for (size_t s = 0; s < n_settings; s++)
            json_array_append_new(front, json_false());
        json_object_set_new(line, "front", front);
    }
    for (size_t s = 0; s < n_settings; s++) {
        size_t n = 0;
        json_array_foreach (lines, i, line)
            if (is_known(line, s))
                known[n++] = line;
        mark_setting(known, n, s);
    }
    free(known);
    return 0;
}

/* All lines in their order: a new array, or NULL when memory ran out. */
static json_t *lines_of(const struct strait_grid *g, const struct strait_curves *curves)
{
    json_t **sorted = calloc(g->n_codecs * g->n_counts * g->n_settings + 1, sizeof(*sorted));
    bool *done = calloc(g->n_settings + 1, sizeof(*done));
    double *room = calloc(2 * g->n_settings + 1, sizeof(*room));
    json_t *lines = sorted && done && room ? json_array() : NULL;
    size_t n = 0;
    for (size_t c = 0; lines && c < g->n_codecs; c++)
        for (size_t k = 0; k < g->n_counts; k++) {
            memset(done, 0, g->n_settings * sizeof(*done));
            for (size_t s = 0; s < g->n_settings; s++) {
                sorted[n] = line_of(g, c, k, s, done, room, curves);
                n += sorted[n] != NULL;
            }
        }
    if (lines)
        qsort(sorted, n, sizeof(*sorted), by_accuracy);
    for (size_t i = 0; i < n; i++)
        json_array_append_new(lines, sorted[i]);
    free(sorted);
    free(done);
    free(room);
    return lines;
}

json_t *strait_tradeoff(const json_t *rows, const struct strait_curves *curves,
                        struct strait_error *err)
{
    struct strait_grid *g;
    if (strait_grid_new(&g, rows, err) != 0)
        return NULL;
    json_t *out = json_object(), *lines = lines_of(g, curves), *settings = json_array();
    for (size_t s = 0; s < g->n_settings; s++)
        json_array_append_new(settings, json_string(g->settings[s].label));
    const bool marked = lines && mark_front(lines, g->n_settings) == 0;
    strait_grid_free(g);
    json_object_set_new(out, "record", json_string("tradeoff"));
    json_object_set_new(out, "settings", settings);
    json_object_set_new(out, "lines", lines);
    if (!marked) {
        json_decref(out);
        strait_error_memory(err, "tradeoff");
        return NULL;
    }
    return out;
}

static json_t *spread_of(double mean, double sd)
{
    return json_pack("{s:o, s:o}", "mean", strait_json_number(mean), "sd", strait_json_number(sd));
}

json_t *strait_tradeoff_rows(const json_t *rows, const struct strait_curves *curves,
                             struct strait_error *err)
{
    json_t *out = json_array(), *row;
    size_t i;
    json_array_foreach (rows, i, row) {
        const struct told told = told_of(row, curves);
        if (!told.curve)
            continue;
        json_t *with = json_copy(row);
        json_object_set_new(with, "training",
                            json_pack("{s:b, s:{s:o, s:o, s:o}}", "recorded", true, "spread",
                                      "accuracy",
                                      spread_of(strait_curve_final_acc(told.curve, LAST_ROUNDS),
                                                strait_tradeoff_spread(curves, told.curve)),
                                      "bytes", spread_of(told.bytes_up, 0), "time_s",
                                      spread_of(strait_row_number(row, "round_s"), 0)));
        if (json_array_append_new(out, with) != 0) {
            strait_error_memory(err, NULL);
            json_decref(out);
            return NULL;
        }
    }
    return out;
}
