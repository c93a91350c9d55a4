/* Strategies as rows, as a table, and one by itself with its parameters. */
#include "cli/kit/memory.h"
#include "strategy_list.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "analysis/table.h"
#include "core/names.h"
#include "core/units.h"
#include "workloads/ask/strategy.h"

enum { TEXT_CHARS = 512 };

static const char *const kinds[] = {
    [STRAIT_PARAM_NUMBER] = "number",   [STRAIT_PARAM_INTEGER] = "integer",
    [STRAIT_PARAM_CORES] = "cores",     [STRAIT_PARAM_TIME] = "time",
    [STRAIT_PARAM_BYTES] = "bytes",     [STRAIT_PARAM_SPEED] = "speed",
    [STRAIT_PARAM_PERCENT] = "percent", [STRAIT_PARAM_CHOICE] = "choice"};

static const char *value_text(char *buf, size_t cap, const struct strait_param *p, double value)
{
    static const enum strait_unit units[] = {[STRAIT_PARAM_TIME] = STRAIT_UNIT_TIME,
                                             [STRAIT_PARAM_BYTES] = STRAIT_UNIT_BYTES,
                                             [STRAIT_PARAM_SPEED] = STRAIT_UNIT_SPEED,
                                             [STRAIT_PARAM_PERCENT] = STRAIT_UNIT_PERCENT};
    if (isnan(value))
        snprintf(buf, cap, "(required)");
    else if (p->kind == STRAIT_PARAM_CHOICE)
        snprintf(buf, cap, "%s", p->choices[(int)value]);
    else if (p->kind >= STRAIT_PARAM_TIME && isfinite(value))
        strait_quantity_format(buf, cap, units[p->kind], value);
    else
        snprintf(buf, cap, "%.10g", value);
    return buf;
}

/* "ring, tree", "1 to 1000000" */
static void takes(char text[TEXT_CHARS], const struct strait_param *p)
{
    char least[64], most[64];
    if (p->kind != STRAIT_PARAM_CHOICE) {
        value_text(least, sizeof(least), p, p->min);
        value_text(most, sizeof(most), p, p->max);
        snprintf(text, TEXT_CHARS, "%s to %s", least, most);
        return;
    }
    *text = '\0';
    for (int i = 0; p->choices[i]; i++)
        strait_text_add(text, TEXT_CHARS, "%s%s", i > 0 ? ", " : "", p->choices[i]);
}

json_t *strait_param_rows(const struct strait_param *params, size_t n)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < n; i++) {
        const struct strait_param *p = &params[i];
        char range[TEXT_CHARS], fallback[64];
        takes(range, p);
        json_array_append_new(
            rows, json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", p->name, "kind", kinds[p->kind],
                            "takes", range, "default",
                            value_text(fallback, sizeof(fallback), p, p->fallback), "doc", p->doc));
    }
    return rows;
}

int strait_strategy_rows(json_t *out, struct strait_error *err)
{
    size_t n;
    const struct strait_strategy *const *all = strait_strategies(&n);
    for (size_t i = 0; i < n; i++) {
        json_t *params = strait_param_rows(all[i]->params, all[i]->n_params);
        if (json_array_append_new(out,
                                  json_pack("{s:s, s:s, s:b, s:s, s:o}", "name", all[i]->name,
                                            "summary", all[i]->summary, "trains", all[i]->trains,
                                            "source", all[i]->source, "parameters", params)) != 0)
            return strait_error_set(err, STRAIT_ERR_NOMEM, "list", "no memory for strategies");
    }
    return 0;
}

static const char *string_of(const json_t *row, const char *key)
{
    return json_string_value(json_object_get(row, key));
}

static const char *trains_word(const json_t *row)
{
    return json_is_true(json_object_get(row, "trains")) ? "yes" : "no";
}

void strait_strategy_rows_print(const json_t *rows)
{
    struct strait_table *t = strait_table_new();
    json_t *row;
    size_t i;
    strait_table_column(t, "name", false);
    strait_table_column(t, "summary", false);
    strait_table_wrap(t, 48);
    strait_table_column(t, "trains", false);
    strait_table_column(t, "source", false);
    strait_table_wrap(t, 44);
    json_array_foreach ((json_t *)rows, i, row) {
        strait_table_cell(t, string_of(row, "name"));
        strait_table_cell(t, string_of(row, "summary"));
        strait_table_cell(t, trains_word(row));
        strait_table_cell(t, string_of(row, "source"));
    }
    strait_show_table(t);
    puts("\ntrains: for real where the experiment has \"training\".");
    puts("Parameters of one, with defaults and ranges: strait list strategies NAME");
}

void strait_strategy_row_print(const json_t *row)
{
    struct strait_table *t = strait_table_new();
    json_t *p;
    size_t i;
    strait_prose(stdout, "%s\n  %s\n  trains  %s\n  source  %s\n", string_of(row, "name"),
                 string_of(row, "summary"), trains_word(row), string_of(row, "source"));
    puts("");
    strait_table_column(t, "parameter", false);
    strait_table_column(t, "takes", false);
    strait_table_wrap(t, 28);
    strait_table_column(t, "default", false);
    strait_table_column(t, "meaning", false);
    strait_table_wrap(t, 56);
    json_array_foreach (json_object_get(row, "parameters"), i, p) {
        strait_table_cell(t, string_of(p, "name"));
        strait_table_cell(t, string_of(p, "takes"));
        strait_table_cell(t, string_of(p, "default"));
        strait_table_cell(t, string_of(p, "doc"));
    }
    strait_show_table(t);
}
