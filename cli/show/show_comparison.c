/* Tables of predictions beside measurements. */
#include <math.h>
#include "analysis/fields.h"
#include "analysis/row_names.h"
#include "analysis/table.h"
#include "show.h"

enum { MAX_FULL_PAIRS = 8 };

static void put_pair_cells(struct strait_table *t, const struct strait_names *names,
                           const json_t *pair, bool repeated)
{
    if (repeated) {
        for (int i = 0; i < 3; i++)
            strait_table_cell(t, "");
        return;
    }
    strait_table_cellf(t, "%lld", (long long)json_integer_value(json_object_get(pair, "clients")));
    strait_table_cell(t, strait_names_codec(names, pair));
    const char *control = strait_text_of(pair, "control");
    if (*control)
        strait_table_cellf(t, "%s control %s", strait_names_setting(names, pair), control);
    else
        strait_table_cell(t, strait_names_setting(names, pair));
}

static void put_relative(struct strait_table *t, double relative)
{
    if (isfinite(relative))
        strait_table_cellf(t, "%+.1f %%", 100 * relative);
    else
        strait_table_cell(t, "-");
}

static void put_phases(struct strait_table *t, const struct strait_names *names, const json_t *pair)
{
    char number[STRAIT_NUMBER_CHARS];
    const char *name;
    json_t *phase;
    bool repeated = false;
    json_object_foreach (json_object_get(pair, "phases"), name, phase) {
        put_pair_cells(t, names, pair, repeated);
        repeated = true;
        strait_table_cell(t, name);
        strait_table_cell(t, strait_seconds_text(number, strait_row_number(phase, "predicted_s")));
        strait_table_cell(t, strait_seconds_text(number, strait_row_number(phase, "measured_s")));
        strait_table_cell(t, strait_seconds_text(number, strait_row_number(phase, "difference_s")));
        put_relative(t, strait_row_number(phase, "relative"));
        strait_table_cell(t, !json_is_true(json_object_get(phase, "judged"))  ? "not judged"
                             : json_is_true(json_object_get(phase, "within")) ? "within"
                                                                              : "OUTSIDE");
    }
}

/* The judged phase that lies furthest outside, or else has the largest difference. */
static void put_worst(struct strait_table *t, const struct strait_names *names, const json_t *pair)
{
    char number[STRAIT_NUMBER_CHARS];
    const char *name, *worst_name = "";
    json_t *phase;
    const json_t *worst = NULL;
    json_object_foreach (json_object_get(pair, "phases"), name, phase) {
        if (!json_is_true(json_object_get(phase, "judged")))
            continue;
        const bool outside = !json_is_true(json_object_get(phase, "within")),
                   worst_outside = worst && !json_is_true(json_object_get(worst, "within"));
        if (!worst || outside > worst_outside ||
            (outside == worst_outside && fabs(strait_row_number(phase, "difference_s")) >
                                             fabs(strait_row_number(worst, "difference_s")))) {
            worst = phase;
            worst_name = name;
        }
    }
    put_pair_cells(t, names, pair, false);
    strait_table_cell(t, worst_name);
    strait_table_cell(t, strait_seconds_text(number, strait_row_number(worst, "predicted_s")));
    strait_table_cell(t, strait_seconds_text(number, strait_row_number(worst, "measured_s")));
    strait_table_cell(t, strait_seconds_text(number, strait_row_number(worst, "difference_s")));
    put_relative(t, strait_row_number(worst, "relative"));
    strait_table_cell(t, json_is_true(json_object_get(pair, "within")) ? "within" : "OUTSIDE");
}

int strait_show_comparison(FILE *out, const json_t *comparison,
                           const struct strait_compare_options *options, struct strait_error *err)
{
    const json_t *pairs = json_object_get(comparison, "pairs");
    const bool full = json_array_size(pairs) <= MAX_FULL_PAIRS;
    static const char *const titles[] = {"clients",    "codec",     "setting",
                                         "phase",      "predicted", "measured",
                                         "difference", "relative",  "verdict"};
    char floor[STRAIT_NUMBER_CHARS];
    struct strait_names *names;
    if (strait_names_new(&names, pairs, err) != 0)
        return -1;
    struct strait_table *t = strait_table_new();
    size_t i, n_within = 0;
    json_t *pair, *text;
    const json_t *first = json_array_get(pairs, 0);
    strait_prose(out, "Predicted (%s) against measured (%s), seconds a round; within %g %% or %s%s",
                 strait_text_of(first, "predicted"), strait_text_of(first, "measured"),
                 100 * options->tolerance_ratio, strait_seconds_text(floor, options->floor_s),
                 full ? "" : "; the worst judged phase of each pair");
    fputs("\n", out);
    for (size_t c = 0; c < sizeof(titles) / sizeof(*titles); c++) {
        strait_table_column(t, titles[c], c == 0 || (c >= 4 && c <= 7));
        if (c == 2)
            strait_table_omit(t, "");
        if (c == 3)
            strait_table_key(t);
    }
    json_array_foreach (pairs, i, pair) {
        n_within += json_is_true(json_object_get(pair, "within"));
        if (full) {
            if (json_object_size(json_object_get(pair, "phases")) > 1)
                strait_table_rule(t);
            put_phases(t, names, pair);
        } else {
            put_worst(t, names, pair);
        }
    }
    const int status = strait_table_finish(t, out, err);
    strait_names_free(names);
    fprintf(out, "\n%zu of %zu pairs within tolerance\n", n_within, json_array_size(pairs));
    json_array_foreach (json_object_get(comparison, "refused"), i, text)
        strait_prose(out, "not used: %s", json_string_value(text));
    return status;
}
