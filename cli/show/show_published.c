/* The table of published figures beside ours. */
#include <math.h>
#include <string.h>
#include "analysis/fields.h"
#include "analysis/table.h"
#include "campaign/published/published.h"

static void put_row(struct strait_table *t, const json_t *row)
{
    char text[STRAIT_NUMBER_CHARS];
    const json_t *ours = json_object_get(row, "ours");
    const double relative = json_number_value(json_object_get(row, "relative"));
    const bool figure = strcmp(strait_text_of(row, "kind"), "figure") == 0;
    strait_table_cell(t, strait_text_of(row, "case"));
    strait_table_cell(t, strait_text_of(row, "claim"));
    strait_table_cellf(
        t, "%s%s %s",
        figure                                             ? ""
        : strcmp(strait_text_of(row, "kind"), "from") == 0 ? "from "
                                                           : "up to ",
        strait_format_number(text, json_number_value(json_object_get(row, "published")), 4),
        strait_text_of(row, "unit"));
    if (json_is_number(ours))
        strait_table_cell(t, strait_format_number(text, json_number_value(ours), 4));
    else
        strait_table_cell(t, "-");
    const char *reached = json_is_true(json_object_get(row, "reached"))   ? "reached"
                          : json_is_true(json_object_get(row, "covered")) ? "begins before"
                                                                          : "not reached";
    if (!json_is_number(ours))
        strait_table_cell(t, "not reached");
    else if (figure)
        strait_table_cellf(t, "%s%+.1f %%",
                           json_is_true(json_object_get(row, "input"))       ? "input, "
                           : json_is_string(json_object_get(row, "suspect")) ? "suspect, "
                                                                             : "",
                           100 * relative);
    else
        strait_table_cellf(t, "%s, %+.1f %%", reached, 100 * relative);
}

/* Why a figure is not believed. */
static void put_doubts(FILE *out, const json_t *row)
{
    const json_t *factor = json_object_get(row, "unreachable");
    if (*strait_text_of(row, "suspect"))
        strait_prose(out, "    suspect: %s", strait_text_of(row, "suspect"));
    if (factor)
        fprintf(out, "    cannot be reached with these inputs: its bytes need %.3g times as long\n",
                json_number_value(factor));
}

/* Numbered below the table, since settings are longer than lines. */
static void put_settings(FILE *out, const json_t *rows)
{
    size_t i;
    json_t *row;
    fputs("\n", out);
    json_array_foreach (rows, i, row) {
        const char *setting = strait_text_of(row, "setting"),
                   *reason = strait_text_of(row, "reason");
        strait_prose(out, "%2zu  %s: %s", i + 1, strait_text_of(row, "claim"),
                     strait_text_of(row, "source"));
        if (*setting) /* a command stays whole, to be copied */
            fprintf(out, "    strait run %s\n", setting);
        if (*reason)
            strait_prose(out, "    %s", reason);
        put_doubts(out, row);
    }
}

/* "median 3.1 %, worst +15.2 % (claim)" of errors, or nothing. */
static void put_errors(FILE *out, const char *before, const json_t *errors)
{
    if (json_is_object(errors))
        fprintf(out, "%smedian error %.1f %%, worst %+.1f %% (%s)", before,
                100 * json_number_value(json_object_get(errors, "median")),
                100 * json_number_value(json_object_get(errors, "worst")),
                strait_text_of(errors, "worst_claim"));
}

static double of_pair(const json_t *pair, const char *key, size_t i)
{
    return json_number_value(json_array_get(json_object_get(pair, key), i));
}

static void put_broken(FILE *out, const json_t *pair)
{
    const char *low = strait_text_of(pair, "low"), *high = strait_text_of(pair, "high");
    const bool even = json_is_true(json_object_get(pair, "even"));
    strait_prose(out,
                 "    order broken: published %s < %s (%.4g, %.4g), ours %s %s %s (%.4g, %.4g)",
                 low, high, of_pair(pair, "published", 0), of_pair(pair, "published", 1),
                 even ? low : high, even ? "=" : "<", even ? high : low,
                 of_pair(pair, "ours", even ? 0 : 1), of_pair(pair, "ours", even ? 1 : 0));
}

/* Pairs with one reason stand together, the reason below them. */
static void put_all_broken(FILE *out, const json_t *broken)
{
    size_t i, k;
    json_t *pair, *other;
    json_array_foreach (broken, i, pair) {
        const char *reason = strait_text_of(pair, "reason");
        bool told = false;
        for (k = 0; k < i; k++)
            told |= strcmp(strait_text_of(json_array_get(broken, k), "reason"), reason) == 0;
        if (told)
            continue;
        for (k = i; k < json_array_size(broken); k++)
            if ((other = json_array_get(broken, k)) &&
                strcmp(strait_text_of(other, "reason"), reason) == 0)
                put_broken(out, other);
        if (*reason)
            strait_prose(out, "        %s", reason);
    }
}

static void put_orders(FILE *out, const json_t *orders)
{
    size_t i;
    json_t *order;
    json_array_foreach (orders, i, order) {
        const json_t *broken = json_object_get(order, "broken"),
                     *wins = json_object_get(order, "wins");
        fprintf(out, "\n%s: order %s", strait_text_of(order, "group"),
                json_array_size(broken) == 0 ? "as published" : "not as published");
        put_errors(out, "; ", json_object_get(order, "errors"));
        fprintf(out, "\n    wins: published %s, ours %s%s\n", strait_text_of(wins, "published"),
                strait_text_of(wins, "ours"),
                json_is_true(json_object_get(wins, "same")) ? "" : ": another");
        put_all_broken(out, broken);
    }
}

static double mean_of(const json_t *of, const char *kind)
{
    return 100 * json_number_value(json_object_get(json_object_get(of, kind), "mean"));
}

static int rows_of(const json_t *of, const char *kind)
{
    return (int)json_integer_value(json_object_get(json_object_get(of, kind), "rows"));
}

static void put_mean(struct strait_table *t, const json_t *of, const char *kind)
{
    if (rows_of(of, kind) > 0)
        strait_table_cellf(t, "%.1f %% of %d", mean_of(of, kind), rows_of(of, kind));
    else
        strait_table_cell(t, "-");
}

/* Mean errors by model. */
static int put_models(FILE *out, const json_t *models, struct strait_error *err)
{
    static const char *const kinds[] = {"all", "not_linear", "communication", "closed"};
    static const char *const titles[] = {"mean error", "not trivial", "communication alone",
                                         "closed form"};
    struct strait_table *t = strait_table_new();
    size_t i;
    json_t *of;
    strait_table_column(t, "case", false);
    strait_table_column(t, "model", false);
    strait_table_key(t);
    for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
        strait_table_column(t, titles[k], true);
    strait_table_column(t, "median", true);
    strait_table_column(t, "worst", true);
    strait_table_rule(t);
    json_array_foreach (models, i, of) {
        const json_t *all = json_object_get(of, "all");
        strait_table_cell(t, strait_text_of(of, "case"));
        strait_table_cell(t, strait_text_of(of, "model"));
        for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
            put_mean(t, of, kinds[k]);
        strait_table_cellf(t, "%.1f %%", 100 * json_number_value(json_object_get(all, "median")));
        strait_table_cellf(t, "%.1f %%", 100 * json_number_value(json_object_get(all, "worst")));
    }
    fputs("\n", out);
    return strait_table_finish(t, out, err);
}

static void put_worth(FILE *out, const json_t *constant, const char *key, const char *rows)
{
    const json_t *of = json_object_get(constant, key);
    if (json_is_object(of))
        fprintf(out, "    %d figures of %s: mean error %.1f %%, without it %.1f %%\n",
                (int)json_integer_value(json_object_get(of, "rows")), rows,
                100 * json_number_value(json_object_get(of, "mean")),
                100 * json_number_value(json_object_get(of, "without")));
}

static void put_constants(FILE *out, const json_t *constants)
{
    size_t i;
    json_t *of;
    json_array_foreach (constants, i, of) {
        const int n = (int)json_integer_value(json_object_get(of, "figures"));
        fprintf(out, "\nconstant %s, %.4g: rests on %d figure%s of %s on %s, error %s\n",
                strait_text_of(of, "constant"), json_number_value(json_object_get(of, "value")), n,
                n == 1 ? "" : "s", strait_text_of(of, "model"), strait_text_of(of, "device"),
                strait_text_of(of, "error"));
        put_worth(out, of, "own", "this model and device");
        put_worth(out, of, "others", "other models or devices");
    }
}

static void put_all_errors(FILE *out, const json_t *errors)
{
    const char *name;
    json_t *of;
    fputs("\n", out);
    json_object_foreach ((json_t *)errors, name, of)
        if (json_is_object(of)) {
            fprintf(out, "%s, %d figures: ", name,
                    (int)json_integer_value(json_object_get(of, "rows")));
            put_errors(out, "", of);
            fputs("\n", out);
        }
}

int strait_show_published(FILE *out, const json_t *published, struct strait_error *err)
{
    const json_t *rows = json_object_get(published, "rows");
    struct strait_table *t = strait_table_new();
    size_t i;
    json_t *row;
    strait_table_column(t, "", true);
    strait_table_column(t, "case", false);
    strait_table_column(t, "claim", false);
    strait_table_column(t, "published", true);
    strait_table_column(t, "ours", true);
    strait_table_column(t, "difference", true);
    strait_table_rule(t);
    json_array_foreach (rows, i, row) {
        strait_table_cellf(t, "%zu", i + 1);
        put_row(t, row);
    }
    if (strait_table_finish(t, out, err) != 0)
        return -1;
    put_settings(out, rows);
    put_orders(out, json_object_get(published, "orders"));
    put_all_errors(out, json_object_get(published, "errors"));
    if (json_array_size(json_object_get(published, "models")) > 0 &&
        put_models(out, json_object_get(published, "models"), err) != 0)
        return -1;
    put_constants(out, json_object_get(published, "constants"));
    return 0;
}
