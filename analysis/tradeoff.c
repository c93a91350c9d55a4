#include "tradeoff.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codecs/spec.h"
#include "fields.h"
#include "grid.h"
#include "label.h"
#include "row.h"

enum { LAST_ROUNDS = 3 };
/* The recorded runs trained this model: curves/README.md. */
static const char recorded_model[] = "cnn";

/* --- which recorded run ------------------------------------------------------------------- */

static double param_of(const struct strait_codec_spec *spec, const char *name)
{
    for (unsigned i = 0; i < spec->ops->n_params; i++)
        if (strcmp(spec->ops->params[i].name, name) == 0)
            return spec->params[i];
    return NAN;
}

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
    json_object_foreach(json_object_get(codec, "bound"), kind,
                        value) if (strait_bound_kind_parse(&spec->bound.kind, kind))
        spec->bound.value = json_number_value(value);
    return true;
}

struct asked { /* as curves name it */
    const char *codec;
    double par;
};

/* The recorded run's codec that does to values what this one does; NULL name: none was recorded.
 * Runs named "rel" and "adaptive" rounded to bins of twice the bound, as sz and sz3 do. */
static struct asked recorded_as(const struct strait_codec_spec *spec)
{
    const char *name = spec->ops->name;
    const bool rounds = strcmp(name, "sz") == 0 || strcmp(name, "sz3") == 0;
    if (spec->ops->flags & STRAIT_CODEC_LOSSLESS)
        return (struct asked){"none", 0};
    if (rounds && spec->bound.kind == STRAIT_BOUND_RANGE)
        return (struct asked){"rel", spec->bound.value};
    if (rounds && spec->bound.kind == STRAIT_BOUND_RMS) /* par sqrt(3) rms, par 0.5 */
        return (struct asked){"adaptive", round(spec->bound.value / sqrt(3) * 1e3) / 1e3};
    if (strcmp(name, "topk") == 0)
        return (struct asked){"topk", param_of(spec, "ratio")};
    if (strcmp(name, "efsignsgd") == 0)
        return (struct asked){"sign", 0};
    /* clipped at 2.5 sigma, and one norm for a whole tensor: the errors that were recorded say so
     */
    if (strcmp(name, "terngrad") == 0 && fabs(param_of(spec, "clip") - 2.5) < 1e-9)
        return (struct asked){"tern", 0};
    if (strcmp(name, "qsgd") == 0 && param_of(spec, "bucket") < 1)
        return (struct asked){"qsgd", param_of(spec, "levels")};
    if (strcmp(name, "powersgd") == 0)
        return (struct asked){"powersgd", param_of(spec, "rank")};
    return (struct asked){NULL, 0};
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
    const struct asked asked = recorded_as(&up);
    if (!asked.codec)
        return NULL;
    return strait_curves_find(curves, (unsigned)json_integer_value(json_object_get(row, "clients")),
                              1, "update", asked.codec, asked.par, up.memory.residual);
}

/* --- lines -------------------------------------------------------------------------------- */

static json_t *line_of(const struct strait_grid *g, size_t codec, size_t count,
                       const struct strait_curves *curves)
{
    json_t *rounds = json_array();
    const json_t *row = NULL;
    for (size_t s = 0; s < g->n_settings; s++) {
        const struct strait_cell *cell = strait_grid_cell(g, s, codec, count);
        json_array_append_new(rounds, strait_json_number(cell->row ? cell->round_s : NAN));
        row = row ? row : cell->row;
    }
    if (!row) {
        json_decref(rounds);
        return NULL;
    }
    const struct strait_curve *curve = strait_tradeoff_curve(curves, row);
    const json_t *busy = json_object_get(row, "busy_s"), *bytes = json_object_get(row, "bytes");
    const double n_rounds = (double)json_array_size(json_object_get(row, "rounds_s"));
    const double n_clients = strait_number_of(row, "clients");
    json_t *line = json_object();
    json_object_set_new(line, "clients", json_integer(g->counts[count]));
    json_object_set_new(line, "codec", json_string(g->codecs[codec].label));
    json_object_set_new(
        line, "accuracy",
        strait_json_number(curve ? strait_curve_final_acc(curve, LAST_ROUNDS) : NAN));
    json_object_set_new(line, "accuracy_from", curve ? json_string(curve->run) : json_null());
    json_object_set_new(line, "bytes_up",
                        strait_json_number(strait_number_of(bytes, "up") / n_rounds / n_clients));
    json_object_set_new(
        line, "ratio",
        strait_json_number(strait_label_row_is_plain(row) ? 1 : strait_number_of(row, "ratio")));
    json_object_set_new(
        line, "encode_s",
        strait_json_number(strait_number_of(json_object_get(busy, "client"), "encode")));
    json_object_set_new(
        line, "decode_s",
        strait_json_number(strait_number_of(json_object_get(busy, "server"), "decode")));
    json_object_set_new(line, "round_s", rounds);
    return line;
}

static int by_accuracy(const void *a, const void *b)
{
    const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
    const double p = strait_number_of(x, "accuracy"), q = strait_number_of(y, "accuracy");
    if (isnan(p) != isnan(q))
        return isnan(p) ? 1 : -1;
    if (!isnan(p) && (p < q || p > q))
        return p < q ? 1 : -1;
    const double s = strait_number_of(x, "bytes_up"), t = strait_number_of(y, "bytes_up");
    return (s > t) - (s < t);
}

static double round_of(const json_t *line, size_t s)
{
    const json_t *value = json_array_get(json_object_get(line, "round_s"), s);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* Whether any line of as many clients is at least as good in both and better in one. */
static bool is_beaten(const json_t *lines, const json_t *line, size_t s)
{
    size_t i;
    json_t *other;
    const double accuracy = strait_number_of(line, "accuracy"), time_s = round_of(line, s);
    json_array_foreach(lines, i, other)
    {
        const double a = strait_number_of(other, "accuracy"), t = round_of(other, s);
        if (strait_number_of(other, "clients") < strait_number_of(line, "clients") ||
            strait_number_of(other, "clients") > strait_number_of(line, "clients"))
            continue;
        if (a >= accuracy && t <= time_s && (a > accuracy || t < time_s))
            return true;
    }
    return false;
}

static void mark_front(json_t *lines, size_t n_settings)
{
    size_t i;
    json_t *line;
    json_array_foreach(lines, i, line)
    {
        json_t *front = json_array();
        for (size_t s = 0; s < n_settings; s++)
            json_array_append_new(front, json_boolean(!isnan(strait_number_of(line, "accuracy")) &&
                                                      !isnan(round_of(line, s)) &&
                                                      !is_beaten(lines, line, s)));
        json_object_set_new(line, "front", front);
    }
}

json_t *strait_tradeoff(const json_t *rows, const struct strait_curves *curves,
                        struct strait_error *err)
{
    struct strait_grid *g;
    if (strait_grid_new(&g, rows, err) != 0)
        return NULL;
    json_t **sorted = calloc(g->n_codecs * g->n_counts + 1, sizeof(json_t *));
    json_t *out = json_object(), *lines = json_array(), *settings = json_array();
    size_t n = 0;
    for (size_t s = 0; s < g->n_settings; s++)
        json_array_append_new(settings, json_string(g->settings[s].label));
    for (size_t c = 0; sorted && c < g->n_codecs; c++)
        for (size_t k = 0; k < g->n_counts; k++) {
            sorted[n] = line_of(g, c, k, curves);
            n += sorted[n] != NULL;
        }
    if (sorted)
        qsort(sorted, n, sizeof(json_t *), by_accuracy);
    for (size_t i = 0; i < n; i++)
        json_array_append_new(lines, sorted[i]);
    mark_front(lines, g->n_settings);
    free(sorted);
    strait_grid_free(g);
    json_object_set_new(out, "record", json_string("tradeoff"));
    json_object_set_new(out, "settings", settings);
    json_object_set_new(out, "lines", lines);
    if (n == 0) {
        json_decref(out);
        strait_error_set(err, STRAIT_ERR_NOMEM, "tradeoff", "memory ran out");
        return NULL;
    }
    return out;
}
