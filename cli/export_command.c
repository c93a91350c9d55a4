/* strait export: the rows of a results folder as a table for other programs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/columns/columns.h"
#include "analysis/columns/csv_fields.h"
#include "analysis/store.h"
#include "cli/kit/command.h"
#include "cli/kit/files.h"
#include "cli/kit/options.h"

static void put_csv(FILE *out, const json_t *columns)
{
    json_t *names = strait_column_names(columns), *name, *row;
    size_t i, k;
    json_array_foreach (names, i, name) {
        fputs(i > 0 ? "," : "", out);
        strait_csv_put(out, name);
    }
    fputs("\r\n", out);
    json_array_foreach (columns, k, row) {
        json_array_foreach (names, i, name) {
            json_t *value = strait_column(row, json_string_value(name));
            fputs(i > 0 ? "," : "", out);
            strait_csv_put(out, value);
            json_decref(value);
        }
        fputs("\r\n", out);
    }
    json_decref(names);
}

static void put_json(FILE *out, const json_t *columns)
{
    json_t *names = strait_column_names(columns), *name, *row;
    size_t i, k;
    json_array_foreach (columns, k, row) {
        json_t *all = json_object();
        json_array_foreach (names, i, name) {
            json_t *value = strait_column(row, json_string_value(name));
            json_object_set_new(all, json_string_value(name), value ? value : json_null());
        }
        json_dumpf(all, out, JSON_COMPACT);
        fputs("\n", out);
        json_decref(all);
    }
    json_decref(names);
}

static int export_rows(const char *folder, const struct strait_texts *where, bool json,
                       const char *file, struct strait_error *err)
{
    struct strait_store *store;
    char *text = NULL;
    size_t len_bytes = 0;
    int status = -1;
    if (strait_store_open(&store, folder, false, err) != 0)
        return -1;
    json_t *rows = strait_store_rows(store), *columns = strait_columns(store, rows, err);
    for (size_t i = 0; columns && i < where->n; i++) {
        json_t *left = strait_columns_where(columns, where->items[i], err);
        json_decref(columns);
        columns = left;
    }
    FILE *out = columns ? open_memstream(&text, &len_bytes) : NULL;
    if (out) {
        (json ? put_json : put_csv)(out, columns);
        status = fclose(out);
    }
    if (columns && status != 0)
        strait_error_memory(err, "export");
    if (status == 0)
        status = strait_file_write(file ? file : "-", true, text, len_bytes, NULL, 0, err);
    free(text);
    json_decref(columns);
    json_decref(rows);
    strait_store_free(store);
    return status;
}

static const char notes[] =
    "Writes a line for each row of the latest runs; INVALID rows have /valid false.\n"
    "JSON Pointers name the columns: first every setting of the resolved experiment,\n"
    "then every number of the row (docs/results.md), with /speedup over no\n"
    "compression. CSV is quoted as in RFC 4180; lists are JSON.\n"
    "\n"
    "  strait export results/wan-scaling > rows.csv\n"
    "  strait export results/wan-scaling --where /clients=8 --json\n";

int strait_command_export(int argc, char **argv)
{
    const char *folder = NULL, *out = NULL;
    bool csv = false, json = false;
    struct strait_texts where = {NULL, 0};
    const struct strait_option options[] = {
        {"csv", 0, STRAIT_OPTION_FLAG, &csv, NULL, "comma-separated values (default)"},
        {"json", 0, STRAIT_OPTION_FLAG, &json, NULL, "one JSON object a line"},
        {"where", 0, STRAIT_OPTION_TEXTS, &where, "/POINTER=VALUE", "rows with this value only"},
        {"out", 'o', STRAIT_OPTION_TEXT, &out, "FILE", "a file (standard output)"}};
    const struct strait_usage usage = {
        "export", "DIR", "Write the rows of a results folder as a table, all settings as columns.",
        STRAIT_OPTIONS(options), notes};
    struct strait_error err = {0};
    int status;
    if (strait_command_begin(&status, &usage, argc, argv, &folder, 1, NULL)) {
        if (csv && json)
            strait_error_set(&err, STRAIT_ERR_USAGE, "export",
                             "expected --csv or --json, not both");
        status = err.code == STRAIT_OK && export_rows(folder, &where, json, out, &err) == 0
                     ? 0
                     : strait_command_fail(&err);
    }
    free(where.items);
    return status;
}
