/* strait codec list: all properties of each codec. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/kit/memory.h"
#include "analysis/fields.h"
#include "analysis/row.h"
#include "analysis/table.h"
#include "codecs/spec.h"
#include "core/json.h"
#include "codec_command.h"
#include "cli/kit/command.h"
#include "core/names.h"

enum { TEXT_CHARS = 1024, CELL_CHARS = 120, MAX_LINES = 16 };

/* --- a codec as JSON ---------------------------------------------------------------------- */

static json_t *flags_json(const struct strait_codec_ops *ops)
{
    static const char *const names[] = {"lossless",   "bounded",     "stateful",   "sparse",
                                        "stochastic", "unbiased",    "shared key", "machine",
                                        "linear",     "agreed norms"};
    json_t *out = json_array();
    for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (ops->flags & 1u << i)
            json_array_append_new(out, json_string(names[i]));
    return out;
}

static json_t *bounds_json(const struct strait_codec_ops *ops)
{
    json_t *out = json_array();
    for (unsigned k = STRAIT_BOUND_ABS; k < N_STRAIT_BOUNDS; k++)
        if (ops->bounds & 1u << k)
            json_array_append_new(out,
                                  json_string(strait_bound_kind_name((enum strait_bound_kind)k)));
    return out;
}

/* Encoded tensors can always be moved. An all-reduce adds on the way: that needs a codec that can
 * add, or for some methods a strategy of several rounds. */
static const char *all_reduce_of(const struct strait_codec_ops *ops)
{
    static const char *const strategies[] = {"powersgd", "acpsgd", "dgc"};
    if (ops->add)
        return "yes";
    for (size_t i = 0; i < sizeof(strategies) / sizeof(*strategies); i++)
        if (strcmp(ops->name, strategies[i]) == 0)
            return "as a strategy";
    return "no";
}

static json_t *collectives_json(const struct strait_codec_ops *ops)
{
    json_t *out =
        json_pack("[s, s, s, s]", "all-gather", "broadcast", "all-to-all", "parameter server");
    if (ops->add)
        json_array_append_new(out, json_string("all-reduce"));
    return out;
}

static json_t *param_json(const struct strait_param *p)
{
    json_t *out = json_pack("{s:s, s:s}", "name", p->name, "doc", p->doc ? p->doc : "");
    if (p->choices) {
        json_t *choices = json_array();
        for (size_t i = 0; p->choices[i]; i++)
            json_array_append_new(choices, json_string(p->choices[i]));
        json_object_set_new(out, "choices", choices);
        json_object_set_new(out, "default", json_string(p->choices[(size_t)p->fallback]));
        return out;
    }
    json_object_set_new(out, "min", strait_json_number(p->min));
    json_object_set_new(out, "max", strait_json_number(p->max));
    json_object_set_new(out, "default", strait_json_number(p->fallback));
    return out;
}

static json_t *codec_json(const struct strait_codec_ops *ops)
{
    const char *reason = strait_codec_unavailable(ops);
    json_t *params = json_array();
    for (unsigned i = 0; i < ops->n_params; i++)
        json_array_append_new(params, param_json(&ops->params[i]));
    return json_pack(
        "{s:s, s:s, s:i, s:b, s:s?, s:o, s:s, s:o, s:o, s:o, s:{s:b, s:f, s:f}, s:I, s:s}", "name",
        ops->name, "family", ops->family, "id", (int)ops->id, "available", reason == NULL,
        "unavailable", reason, "collectives", collectives_json(ops), "all_reduce",
        all_reduce_of(ops), "bounds", bounds_json(ops), "parameters", params, "flags",
        flags_json(ops), "memory", "error_feedback", ops->memory.residual, "momentum",
        ops->memory.momentum, "feedback_decay", strait_codec_spec_default(ops).memory.decay,
        "piece_elems", (json_int_t)(ops->stream ? ops->stream->piece_elems : 0), "source",
        ops->source);
}

int strait_codec_rows(json_t *out, struct strait_error *err)
{
    size_t n;
    const struct strait_codec_ops *const *codecs = strait_codecs(&n);
    for (size_t i = 0; i < n; i++)
        if (json_array_append_new(out, codec_json(codecs[i])) != 0)
            return strait_error_memory(err, "codec list");
    return 0;
}

/* --- as text ------------------------------------------------------------------------------ */

/* The words of an array, with commas between; "-" for none. */
static void join(char text[TEXT_CHARS], const json_t *words)
{
    size_t i;
    json_t *word;
    snprintf(text, TEXT_CHARS, "%s", json_array_size(words) > 0 ? "" : "-");
    json_array_foreach ((json_t *)words, i, word)
        strait_text_add(text, TEXT_CHARS, "%s%s", i > 0 ? ", " : "", json_string_value(word));
}

static const struct strait_param *param_of(const json_t *row, size_t i)
{
    return &strait_codec_find(strait_text_of(row, "name"))->params[i];
}

static void join_params(char text[TEXT_CHARS], const json_t *row)
{
    char value[64];
    const size_t n = json_array_size(json_object_get(row, "parameters"));
    snprintf(text, TEXT_CHARS, "%s", n > 0 ? "" : "-");
    for (size_t i = 0; i < n; i++) {
        const struct strait_param *p = param_of(row, i);
        strait_text_add(text, TEXT_CHARS, "%s%s=%s", i > 0 ? ", " : "", p->name,
                        strait_codec_param_text(value, p, p->fallback));
    }
}

void strait_codec_rows_print(const json_t *rows)
{
    static const struct {
        const char *title;
        size_t width;
    } columns[] = {{"name", 14},   {"family", 14},     {"all-reduce", 13},
                   {"bounds", 17}, {"parameters", 24}, {"source", 28}};
    struct strait_table *t = strait_table_new();
    const char *family = NULL;
    json_t *row;
    size_t i;
    for (i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
        strait_table_column(t, columns[i].title, false);
        strait_table_wrap(t, columns[i].width);
    }
    json_array_foreach ((json_t *)rows, i, row) {
        char name[CELL_CHARS], bounds[TEXT_CHARS], params[TEXT_CHARS];
        if (family && strcmp(family, strait_text_of(row, "family")) != 0)
            strait_table_rule(t);
        family = strait_text_of(row, "family");
        join(bounds, json_object_get(row, "bounds"));
        join_params(params, row);
        snprintf(name, sizeof(name), "%s%s", strait_text_of(row, "name"),
                 json_is_true(json_object_get(row, "available")) ? "" : " *");
        strait_table_cell(t, name);
        strait_table_cell(t, family);
        strait_table_cell(t, strait_text_of(row, "all_reduce"));
        strait_table_cell(t, bounds);
        strait_table_cell(t, params);
        strait_table_cell(t, strait_text_of(row, "source"));
    }
    strait_show_table(t);
    puts("\nEvery codec can be used where encoded tensors are only moved: all-gather,\n"
         "broadcast, all-to-all, parameter server. In an all-reduce they are added while\n"
         "encoded.");
    json_array_foreach ((json_t *)rows, i, row) {
        if (!json_is_true(json_object_get(row, "available")))
            printf("* %s cannot be used here: %s\n", strait_text_of(row, "name"),
                   strait_text_of(row, "unavailable"));
    }
}

static void print_params(const json_t *row)
{
    struct strait_table *t = strait_table_new();
    char value[64], range[TEXT_CHARS];
    json_t *p;
    size_t i;
    strait_table_column(t, "parameter", false);
    strait_table_column(t, "takes", false);
    strait_table_column(t, "default", false);
    strait_table_column(t, "meaning", false);
    json_array_foreach (json_object_get(row, "parameters"), i, p) {
        const struct strait_param *param = param_of(row, i);
        if (param->choices) {
            join(range, json_object_get(p, "choices"));
        } else {
            strait_codec_param_text(value, param, param->min);
            snprintf(range, sizeof(range), "%s to ", value);
            strait_codec_param_text(range + strlen(range), param, param->max);
        }
        strait_table_cell(t, param->name);
        strait_table_cell(t, range);
        strait_table_cell(t, strait_codec_param_text(value, param, param->fallback));
        strait_table_cell(t, strait_text_of(p, "doc"));
    }
    puts("");
    strait_show_table(t);
}

void strait_codec_row_print(const json_t *row)
{
    const json_t *memory = json_object_get(row, "memory");
    const double momentum = json_number_value(json_object_get(memory, "momentum"));
    const double decay = json_number_value(json_object_get(memory, "feedback_decay"));
    const long long piece = json_integer_value(json_object_get(row, "piece_elems"));
    const bool residual = json_is_true(json_object_get(memory, "error_feedback"));
    char text[TEXT_CHARS];
    printf("%s\n", strait_text_of(row, "name"));
    printf("  family       %s\n  source       %s\n", strait_text_of(row, "family"),
           strait_text_of(row, "source"));
    join(text, json_object_get(row, "collectives"));
    printf("  collectives  %s%s\n", text,
           strcmp(strait_text_of(row, "all_reduce"), "as a strategy") == 0
               ? "; all-reduce as a strategy"
               : "");
    join(text, json_object_get(row, "bounds"));
    printf("  bounds       %s\n", text);
    join(text, json_object_get(row, "flags"));
    printf("  properties   %s\n", text);
    printf("  memory       %s", residual ? "error feedback" : momentum > 0 ? "" : "-");
    if (momentum > 0)
        printf("%smomentum %g", residual ? ", " : "", momentum);
    if (residual && decay < 1)
        printf(", decay %g", decay);
    printf("\n  wire id      %lld\n", (long long)json_integer_value(json_object_get(row, "id")));
    if (piece > 0)
        printf("  pieces       of %lld values: encoding, sending and decoding overlap\n", piece);
    printf("  here         %s%s\n",
           *strait_text_of(row, "unavailable") ? "cannot be used: " : "yes",
           strait_text_of(row, "unavailable"));
    if (json_array_size(json_object_get(row, "parameters")) > 0)
        print_params(row);
}

static int show(const char *name, bool json, struct strait_error *err)
{
    json_t *rows = json_array(), *row;
    size_t i;
    struct strait_codec_spec spec; /* its parser gives the error */
    if (name && strchr(name, ':'))
        strait_refuse(err, "codec list", "expected a codec, found \"%s\"", name);
    if (name && (strchr(name, ':') || strait_codec_spec_parse(&spec, name, err) != 0)) {
        json_decref(rows);
        return -1;
    }
    int status = strait_codec_rows(rows, err);
    if (status == 0 && !name && !json)
        strait_codec_rows_print(rows);
    json_array_foreach (rows, i, row) {
        if (status != 0 || (name && strcmp(name, strait_text_of(row, "name")) != 0))
            continue;
        if (json)
            strait_command_print_json(row);
        else if (name)
            strait_codec_row_print(row);
    }
    json_decref(rows);
    return status;
}

int strait_codec_list_command(int argc, char **argv)
{
    bool json = false;
    const char *name = NULL;
    const struct strait_option options[] = {
        {"json", 0, STRAIT_OPTION_FLAG, &json, NULL, "JSON Lines on standard output"},
        STRAIT_WIDE_OPTION};
    const struct strait_usage usage = {
        "codec list", "[NAME]", "List the codecs, or say everything of one.",
        STRAIT_OPTIONS(options),
        "  strait codec list\n  strait codec list sz\n  strait codec list --json\n"};
    struct strait_error err = {0};
    int status;
    if (!strait_command_begin(&status, &usage, argc, argv, &name, 1, NULL))
        return status;
    return show(name, json, &err) != 0 ? strait_command_fail(&err) : 0;
}
