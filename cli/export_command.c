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
#include "cli/kit/results.h"

enum { MAX_FOLDERS = 256 };

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

/* A folder's rows; of several each says its own. */
static json_t *columns_of(const char *folder, bool named, struct strait_error *err)
{
    struct strait_store *store;
    size_t i;
    json_t *row;
    if (strait_results_open(&store, folder, err) != 0)
        return NULL;
    json_t *rows = strait_store_rows(store), *columns = NULL;
    if (json_array_size(rows) == 0)
        strait_refuse(err, folder, "expected results, found no row");
    else
        columns = strait_columns(store, rows, err);
    if (columns && named)
        json_array_foreach (columns, i, row) {
            json_t *settings = json_pack("{s:s}", "/folder", folder);
            json_object_update(settings, json_object_get(row, "settings"));
            json_object_set_new(row, "settings", settings);
        }
    json_decref(rows);
    strait_store_free(store);
    return columns;
}

static json_t *all_columns(const char *const *folders, size_t n, struct strait_error *err)
{
    json_t *all = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *columns = columns_of(folders[i], n > 1, err);
        if (!columns) {
            json_decref(all);
            return NULL;
        }
        json_array_extend(all, columns);
        json_decref(columns);
    }
    return all;
}

static int export_rows(const char *const *folders, size_t n, const struct strait_texts *where,
                       bool json, const char *file, struct strait_error *err)
{
    char *text = NULL;
    size_t len_bytes = 0;
    int status = -1;
    json_t *columns = all_columns(folders, n, err);
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
    return status;
}

static const char notes[] =
    "Writes a line for each row of the latest runs; INVALID rows have /valid false.\n"
    "JSON Pointers name the columns: first every setting of the resolved experiment,\n"
    "then every number of the row (docs/results.md), with /speedup over no\n"
    "compression. CSV is quoted as in RFC 4180; lists are JSON. Of several folders\n"
    "each line begins with its own, /folder.\n"
    "\n"
    "  strait export results/wan-scaling > rows.csv\n"
    "  strait export results/wan-scaling --where /clients=8 --json\n";

int strait_command_export(int argc, char **argv)
{
    const char *folders[MAX_FOLDERS] = {NULL}, *out = NULL;
    size_t n;
    bool csv = false, json = false;
    struct strait_texts where = {NULL, 0};
    const struct strait_option options[] = {
        {"csv", 0, STRAIT_OPTION_FLAG, &csv, NULL, "comma-separated values (default)"},
        {"json", 0, STRAIT_OPTION_FLAG, &json, NULL, "one JSON object a line"},
        {"where", 0, STRAIT_OPTION_TEXTS, &where, "/POINTER=VALUE", "rows with this value only"},
        {"out", 'o', STRAIT_OPTION_TEXT, &out, "FILE", "a file (standard output)"}};
    const struct strait_usage usage = {
        "export", "DIR...",
        "Write the rows of results folders as a table, all settings as columns.",
        STRAIT_OPTIONS(options), notes};
    struct strait_error err = {0};
    int status;
    if (strait_command_begin(&status, &usage, argc, argv, folders, MAX_FOLDERS, &n)) {
        if (csv && json)
            strait_error_set(&err, STRAIT_ERR_USAGE, "export",
                             "expected --csv or --json, not both");
        status = err.code == STRAIT_OK && export_rows(folders, n, &where, json, out, &err) == 0
                     ? 0
                     : strait_command_fail(&err);
    }
    free(where.items);
    return status;
}
