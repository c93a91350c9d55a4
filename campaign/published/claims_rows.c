/* Rows that trained, kept for the table of claims. */
#include "claims_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/fields.h"
#include "core/json.h"
#include "core/names.h"
#include "core/shipped.h"

#define SCHEMA "strait-trained/1"

json_t *strait_claims_command(const json_t *header)
{
    const json_t *experiment = json_object_get(header, "experiment"),
                 *run = json_array_get(json_object_get(header, "runs"), 0);
    char text[4096], name[256];
    const char *pointer;
    json_t *value;
    snprintf(name, sizeof(name), "%s", strait_text_of(experiment, "file"));
    char *end = strstr(name, ".json");
    if (end)
        *end = '\0';
    snprintf(text, sizeof(text), "strait run %s --on %s", name, strait_text_of(run, "backend"));
    json_object_foreach (json_object_get(experiment, "set"), pointer, value) {
        char *json = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
        strait_text_add(text, sizeof(text), " --set '%s=%s'", pointer, json ? json : "?");
        free(json);
    }
    return json_string(text);
}

json_t *strait_claims_rows(const char *path, struct strait_error *err)
{
    char shipped[4096];
    if (!path)
        path = strait_share_path(shipped, sizeof(shipped), "traces/trained.json");
    json_t *file = strait_json_load(path, err), *all = NULL, *run, *row;
    if (file && strcmp(strait_text_of(file, "schema"), SCHEMA) != 0)
        strait_refuse(err, path, "expected \"schema\": \"%s\", found \"%s\"", SCHEMA,
                      strait_text_of(file, "schema"));
    else if (file)
        all = json_array();
    size_t i, k;
    if (all)
        json_array_foreach (json_object_get(file, "runs"), i, run)
            json_array_foreach (json_object_get(run, "rows"), k, row) {
                json_object_set(row, "command", json_object_get(run, "command"));
                json_array_append(all, row);
            }
    json_decref(file);
    return all;
}

static void copy(json_t *to, const json_t *from, const char *const *keys, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        json_t *value = json_object_get(from, keys[i]);
        if (value && !json_is_null(value))
            json_object_set(to, keys[i], value);
    }
}

/* What claims ask of a row. */
static json_t *slim(const json_t *row)
{
    static const char *const keys[] = {"model",   "strategy",       "clients", "labels",
                                       "codec",   "download_codec", "bytes",   "ratio",
                                       "round_s", "wall_s"},
                             *const trained[] = {"task", "until", "seeds"},
                             *const figures[] = {"accuracy",  "loss",          "time_s",    "bytes",
                                                 "reached_s", "reached_round", "clients_sd"};
    json_t *out = json_object(), *training = json_object(), *spread = json_object();
    copy(out, row, keys, sizeof(keys) / sizeof(keys[0]));
    copy(training, json_object_get(row, "training"), trained, sizeof(trained) / sizeof(trained[0]));
    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
        const json_t *figure = json_object_get(
            json_object_get(json_object_get(row, "training"), "spread"), figures[i]);
        static const char *const parts[] = {"mean", "sd", "each"};
        json_t *part = json_object();
        copy(part, figure, parts, 3);
        if (json_is_number(json_object_get(part, "mean")) ||
            json_is_number(json_array_get(json_object_get(part, "each"), 0)))
            json_object_set(spread, figures[i], part);
        json_decref(part);
    }
    json_object_set_new(training, "spread", spread);
    json_object_set_new(out, "training", training);
    return out;
}

/* The run of this command in a file's "runs", emptied; a new one at their end if there is none. */
static json_t *run_of(json_t *runs, const json_t *command, json_t *begun)
{
    json_t *run;
    size_t i;
    json_array_foreach (runs, i, run)
        if (json_equal(json_object_get(run, "command"), command))
            break;
    if (i == json_array_size(runs))
        json_array_append_new(runs, json_pack("{s:O, s:[]}", "command", command, "rows"));
    run = json_array_get(runs, i);
    if (!json_object_get(begun, json_string_value(command))) {
        json_array_clear(json_object_get(run, "rows"));
        json_object_set_new(begun, json_string_value(command), json_true());
    }
    return run;
}

json_t *strait_claims_keep(const json_t *kept, const json_t *rows)
{
    json_t *out = kept ? json_deep_copy(kept) : json_pack("{s:s, s:[]}", "schema", SCHEMA, "runs"),
           *begun = json_object(), *row;
    size_t i;
    json_array_foreach (rows, i, row)
        if (strait_row_number(json_object_get(row, "training"), "seeds") > 1)
            json_array_append_new(json_object_get(run_of(json_object_get(out, "runs"),
                                                         json_object_get(row, "command"), begun),
                                                  "rows"),
                                  slim(row));
    json_decref(begun);
    return out;
}

/* A line a row, so that files of kept rows differ by rows. */
char *strait_claims_text(const json_t *kept)
{
    char *text = NULL;
    size_t len_bytes, i, k;
    json_t *run, *row;
    FILE *f = open_memstream(&text, &len_bytes);
    if (!f)
        return NULL;
    fprintf(f, "{\"schema\":\"%s\",\"runs\":[", SCHEMA);
    json_array_foreach (json_object_get(kept, "runs"), i, run) {
        fputs(i ? ",\n{\"command\":" : "\n{\"command\":", f);
        json_dumpf(json_object_get(run, "command"), f, JSON_ENCODE_ANY);
        fputs(",\"rows\":[", f);
        json_array_foreach (json_object_get(run, "rows"), k, row) {
            fputs(k ? ",\n" : "\n", f);
            json_dumpf(row, f, JSON_COMPACT | JSON_REAL_PRECISION(9));
        }
        fputs("]}", f);
    }
    fputs("]}\n", f);
    if (fclose(f) == 0)
        return text;
    free(text);
    return NULL;
}
