/* strait trace show: what a trace of another tool has. */
#include <stdlib.h>
#include <string.h>

#include "analysis/table.h"
#include "cli/kit/command.h"
#include "cli/kit/options.h"
#include "trace_command.h"

/* "message_bytes" as 3 MB, "compute_s" as 3 ms, by the unit in the name. */
static void put_number(FILE *out, const char *name, const json_t *value)
{
    char text[STRAIT_NUMBER_CHARS];
    const size_t n = strlen(name);
    const double x = json_number_value(value);
    const bool is_bytes =
                   strcmp(name, "bytes") == 0 || (n > 6 && strcmp(name + n - 6, "_bytes") == 0),
               is_time = n > 2 && strcmp(name + n - 2, "_s") == 0 &&
                         !(n > 6 && strcmp(name + n - 6, "_per_s") == 0);
    fputs(is_bytes  ? strait_bytes_text(text, x)
          : is_time ? strait_seconds_text(text, x)
          : json_is_integer(value)
              ? (snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, json_integer_value(value)),
                 text)
              : strait_format_number(text, x, 4),
          out);
}

static void put_value(FILE *out, const char *name, const json_t *value);

static void put_object(FILE *out, const json_t *object)
{
    const char *name, *separator = "";
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)object, name, value) {
        fputs(separator, out);
        if (json_is_object(value)) {
            fprintf(out, "%s (", name);
            put_object(out, value);
            fputc(')', out);
        } else {
            put_value(out, name, value);
            if (strcmp(name, "bytes") != 0)
                fprintf(out, " %s", name);
        }
        separator = ", ";
    }
    if (json_object_size(object) == 0)
        fputs("none", out);
}

static void put_value(FILE *out, const char *name, const json_t *value)
{
    if (json_is_number(value))
        put_number(out, name, value);
    else if (json_is_string(value))
        fputs(json_string_value(value), out);
    else if (json_is_object(value))
        put_object(out, value);
    else if (json_is_array(value))
        fprintf(out, "%zu", json_array_size(value));
    else
        fputs(json_is_true(value) ? "yes" : "no", out);
}

static void put_facts(FILE *out, const json_t *facts)
{
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)facts, name, value) {
        if (strcmp(name, "graph") == 0) {
            put_facts(out, value);
            continue;
        }
        char *text = NULL;
        size_t len_bytes;
        FILE *one = open_memstream(&text, &len_bytes);
        if (!one)
            continue;
        put_value(one, name, value);
        fclose(one);
        strait_prose(out, "  %-18s %s", name, text);
        free(text);
    }
}

static void put_sentences(FILE *out, const char *title, const json_t *sentences)
{
    if (json_array_size(sentences) > 0)
        strait_prose(out, "%s", title);
    for (size_t i = 0; i < json_array_size(sentences); i++)
        strait_prose(out, "  %s", json_string_value(json_array_get(sentences, i)));
}

static void put_model(FILE *out, const struct strait_model *m)
{
    char bytes[STRAIT_NUMBER_CHARS], step[STRAIT_NUMBER_CHARS];
    fprintf(out, "  %-18s %zu in %zu tensors (%s), %s a step\n", "layers", m->n_layers, m->n_rows,
            strait_bytes_text(bytes, 4 * (double)m->n_elems),
            strait_seconds_text(step, strait_model_step_s(m)));
}

void strait_trace_print(const struct strait_import *in, FILE *out)
{
    strait_prose(out, "%s: %s, %s", in->path, in->format->name, in->format->summary);
    put_facts(out, in->facts);
    if (in->model)
        put_model(out, in->model);
    put_sentences(out, "inferred:", in->inferred);
    put_sentences(out, "missing:", in->missing);
}

static json_t *as_json(const struct strait_import *in)
{
    json_t *out =
        json_pack("{s:s, s:s, s:O, s:O, s:O}", "file", in->path, "format", in->format->name,
                  "facts", in->facts, "inferred", in->inferred, "missing", in->missing);
    const struct strait_model *m = in->model;
    if (out && m)
        json_object_set_new(out, "model",
                            json_pack("{s:s, s:I, s:I, s:I, s:f, s:f, s:f}", "name", m->name,
                                      "layers", (json_int_t)m->n_layers, "tensors",
                                      (json_int_t)m->n_rows, "elements", (json_int_t)m->n_elems,
                                      "forward_s", m->fwd_s, "backward_s", m->bwd_s, "optimiser_s",
                                      m->opt_s));
    return out;
}

static const char notes[] =
    "The format is recognised by the file's content; gzip is unpacked. A name with\n"
    "\".0.\" stands for the files of all ranks, \".0.\", \".1.\" and so on, where a\n"
    "format has one file a rank.\n"
    "\n"
    "  strait trace show profile.json.gz\n"
    "  strait trace show all_reduce.0.et --json\n";

int strait_trace_show_command(int argc, char **argv)
{
    const char *path = NULL, *format = NULL;
    bool json = false;
    const struct strait_option options[] = {
        {"format", 0, STRAIT_OPTION_TEXT, &format, "NAME", "the format, if it is known"},
        {"json", 0, STRAIT_OPTION_FLAG, &json, NULL, "one object for programs"}};
    const struct strait_usage usage = {"trace show", "FILE",
                                       "Say what a trace of another tool has.",
                                       STRAIT_OPTIONS(options), notes};
    struct strait_import in;
    struct strait_error err = {0};
    int status;
    if (!strait_command_begin(&status, &usage, argc, argv, &path, 1, NULL))
        return status;
    status = strait_trace_read(&in, path, format, &err);
    if (status == 0 && json) {
        json_t *all = as_json(&in);
        strait_command_print_json(all);
        json_decref(all);
    } else if (status == 0) {
        strait_trace_print(&in, stdout);
    }
    strait_import_release(&in);
    return status == 0 ? 0 : strait_command_fail(&err);
}
