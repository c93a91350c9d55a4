/* Tasks of "training": what they train, the data that they need, and their own keys. */
#include "cli/kit/memory.h"
#include "task_list.h"
#include <stdio.h>
#include "analysis/table.h"
#include "learn/training.h"
#include "strategy_list.h"

int strait_task_rows(json_t *out, struct strait_error *err)
{
    const struct strait_learn_task_info *task;
    for (size_t i = 0; (task = strait_learn_task(i)); i++) {
        json_t *params = strait_param_rows(task->params, task->n_params);
        if (json_array_append_new(out, json_pack("{s:s, s:s, s:s?, s:o}", "name", task->name,
                                                 "summary", task->summary, "package", task->package,
                                                 "parameters", params)) != 0)
            return strait_error_set(err, STRAIT_ERR_NOMEM, "list", "no memory for tasks");
    }
    return 0;
}

static const char *string_of(const json_t *row, const char *key)
{
    return json_string_value(json_object_get(row, key));
}

static void print_tasks(const json_t *rows)
{
    struct strait_table *t = strait_table_new();
    json_t *row;
    size_t i;
    strait_table_column(t, "task", false);
    strait_table_column(t, "what", false);
    strait_table_wrap(t, 60);
    strait_table_column(t, "Debian package of its data", false);
    json_array_foreach ((json_t *)rows, i, row) {
        const char *package = string_of(row, "package");
        strait_table_cell(t, string_of(row, "name"));
        strait_table_cell(t, string_of(row, "summary"));
        strait_table_cell(t, package ? package : "-");
    }
    strait_show_table(t);
}

void strait_task_rows_print(const json_t *rows)
{
    struct strait_table *t = strait_table_new();
    json_t *row, *p;
    size_t i, k;
    print_tasks(rows);
    puts("");
    strait_table_column(t, "task", false);
    strait_table_column(t, "key", false);
    strait_table_key(t);
    strait_table_column(t, "takes", false);
    strait_table_wrap(t, 28);
    strait_table_column(t, "default", false);
    strait_table_column(t, "meaning", false);
    strait_table_wrap(t, 50);
    json_array_foreach ((json_t *)rows, i, row) {
        json_array_foreach (json_object_get(row, "parameters"), k, p) {
            strait_table_cell(t, string_of(row, "name"));
            strait_table_cell(t, string_of(p, "name"));
            strait_table_cell(t, string_of(p, "takes"));
            strait_table_cell(t, string_of(p, "default"));
            strait_table_cell(t, string_of(p, "doc"));
        }
    }
    strait_show_table(t);
}
