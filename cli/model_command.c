/* strait model: layer tables of one's own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/kit/command.h"
#include "cli/kit/files.h"
#include "cli/kit/options.h"
#include "core/json.h"
#include "core/units.h"
#include "shipped_list.h"
#include "traces/models/model_object.h"

static const char notes[] =
    "Writes a layer table (docs/layer-table.md) to look at and to edit; an experiment\n"
    "takes the same figures without one: \"model\": {\"params\": \"350 M\", \"step\":\n"
    "\"0.8 s\"}. From --params alone, a transformer's layers are inferred.\n"
    "\n"
    "  strait model new --params '350 M' --step '0.8 s'\n"
    "  strait model new --params '7 B' --tokens 4096 --rate '100 TFLOP/s' -o 7b.csv\n"
    "  strait model new --config config.json --batch 8 --step '0.5 s' -o mine.csv\n"
    "  strait model new --name resnet50 --batch 128 --step '0.4 s' -o fast.csv\n"
    "\n"
    "--json says what strait list models --json does, and batch, layers and tensors;\n"
    "a table is then written to the FILE of -o only.\n";

/* The figures as the object that an experiment has: numbers where they are whole, else text. */
static json_t *object_of(const struct strait_option *options, size_t n)
{
    json_t *object = json_object();
    for (size_t i = 0; i < n; i++) {
        const char *text = *(const char *const *)options[i].target;
        if (!text)
            continue;
        const bool whole = *text && !text[strspn(text, "0123456789")] && strlen(text) < 16;
        json_object_set_new(object, options[i].name,
                            whole ? json_integer(strtoll(text, NULL, 10)) : json_string(text));
    }
    return object;
}

static int load(struct strait_model **m, const json_t *object, struct strait_error *err)
{
    struct strait_object o;
    struct strait_error why = {0};
    if (strait_object_open(&o, "", "", object, &why) == 0 &&
        strait_model_object_load(m, &o, &why) == 0)
        return 0;
    /* "#/step" is the option --step */
    char where[64];
    const bool is_option = strncmp(why.where, "#/", 2) == 0;
    snprintf(where, sizeof(where), "--%.48s", why.where + (is_option ? 2 : 0));
    return strait_error_set(err, why.code,
                            is_option    ? where
                            : *why.where ? why.where
                                         : "model new",
                            "%s", why.text);
}

/* The part of a step that a table of layers can say. */
static double layers_s(const struct strait_model *m)
{
    double sum_s = 0;
    for (size_t i = 0; i < m->n_layers; i++)
        sum_s += m->layers[i].fwd_s_p50 + m->layers[i].bwd_s_p50;
    return sum_s;
}

static void put_json(const struct strait_model *m)
{
    json_t *row = strait_model_row(m, m->name);
    json_object_set_new(row, "shapes", json_string(m->source));
    json_object_set_new(row, "inferred", m->inferred[0] ? json_string(m->inferred) : json_null());
    json_object_set_new(row, "batch", m->batch > 0 ? json_integer(m->batch) : json_null());
    json_object_set_new(row, "layers", json_integer((json_int_t)m->n_layers));
    json_object_set_new(row, "tensors", json_integer((json_int_t)m->n_rows));
    json_object_set_new(row, "layers_s", json_real(layers_s(m)));
    strait_command_print_json(row);
    json_decref(row);
}

static void summary(const struct strait_model *m)
{
    const double in_layers_s = layers_s(m);
    char size[32], step[32];
    strait_quantity_format(size, sizeof(size), STRAIT_UNIT_BYTES, 4.0 * (double)m->n_elems);
    strait_quantity_format(step, sizeof(step), STRAIT_UNIT_TIME, in_layers_s);
    fprintf(stderr, "%zu parameters (%s) in %zu tensors of %zu layers, %s a step\n", m->n_elems,
            size, m->n_rows, m->n_layers, step);
    if (m->inferred[0])
        strait_prose(stderr, "%s\n", m->inferred);
    if (strait_model_step_s(m) > in_layers_s * 1.000001) {
        strait_quantity_format(step, sizeof(step), STRAIT_UNIT_TIME,
                               strait_model_step_s(m) - in_layers_s);
        fprintf(stderr, "left out, since a table of layers has no place for it: %s a step\n", step);
    }
}

/* A table has a line for each tensor: a terminal gets its beginning, a file or a pipe all of it. */
static int put_table(const char *out, bool force, const char *text, struct strait_error *err)
{
    enum { HEAD_LINES = 12 };
    size_t n = 0, n_lines = 0, n_left = 0;
    if (strcmp(out, "-") != 0 || !isatty(STDOUT_FILENO))
        return strait_file_write(out, force, text, strlen(text), NULL, 0, err);
    for (size_t i = 0; text[i]; i++)
        if (text[i] == '\n' && ++n_lines == HEAD_LINES)
            n = i + 1;
    n_left = n > 0 ? n_lines - HEAD_LINES : 0;
    printf("%.*s", (int)(n_left > 0 ? n : strlen(text)), text);
    if (n_left > 0)
        printf("... %zu more lines: --out FILE.csv writes all\n", n_left);
    fflush(stdout);
    return 0;
}

static int new_command(int argc, char **argv)
{
    const char *params = NULL, *config = NULL, *name = NULL, *step = NULL, *flops = NULL,
               *rate = NULL, *tokens = NULL, *batch = NULL, *layers = NULL, *vocabulary = NULL;
    const char *out = NULL;
    bool force = false, json = false;
    const struct strait_option options[] = {
        {"params", 0, STRAIT_OPTION_TEXT, &params, "N", "parameters: '350 M', '7 B'"},
        {"config", 0, STRAIT_OPTION_TEXT, &config, "FILE", "config.json of Hugging Face"},
        {"name", 0, STRAIT_OPTION_TEXT, &name, "MODEL", "a shipped model or a layer table"},
        {"step", 0, STRAIT_OPTION_TEXT, &step, "TIME", "measured time of a step: '0.8 s'"},
        {"rate", 0, STRAIT_OPTION_TEXT, &rate, "RATE", "sustained: '30 TFLOP/s', not the peak"},
        {"flops", 0, STRAIT_OPTION_TEXT, &flops, "N", "operations of a step: '6.3 TFLOP'"},
        {"tokens", 0, STRAIT_OPTION_TEXT, &tokens, "N",
         "of a step (--params) or a sample (--config)"},
        {"batch", 0, STRAIT_OPTION_TEXT, &batch, "N", "samples a step"},
        {"layers", 0, STRAIT_OPTION_TEXT, &layers, "N", "blocks, with --params"},
        {"vocabulary", 0, STRAIT_OPTION_TEXT, &vocabulary, "N",
         "rows of the embedding, with --params"},
        {"out", 'o', STRAIT_OPTION_TEXT, &out, "FILE", "the table (default: standard output)"},
        {"force", 0, STRAIT_OPTION_FLAG, &force, NULL, "replace a file"},
        {"json", 0, STRAIT_OPTION_FLAG, &json, NULL, "what it is, one JSON object"}};
    enum { N_OPTIONS = sizeof(options) / sizeof(*options), N_FIGURES = N_OPTIONS - 3 };
    const struct strait_usage usage = {
        "model new", "", "Write a layer table from a few figures.", options, N_OPTIONS, notes};
    struct strait_error err = {0};
    struct strait_model *m = NULL;
    int status;
    if (!strait_command_begin(&status, &usage, argc, argv, NULL, 0, NULL))
        return status;
    if (json && out && strcmp(out, "-") == 0) {
        strait_error_set(&err, STRAIT_ERR_USAGE, "model new",
                         "expected a file after -o beside --json, which has standard output for "
                         "itself");
        return strait_command_fail(&err);
    }
    json_t *object = object_of(options, N_FIGURES);
    int failed = load(&m, object, &err);
    char *text = failed ? NULL : strait_model_table_text(m);
    if (!failed && !text)
        failed = strait_error_set(&err, STRAIT_ERR_NOMEM, "model new", "memory ran out");
    if (!failed && (out || !json))
        failed = put_table(out ? out : "-", force, text, &err);
    if (!failed)
        (json ? put_json : summary)(m);
    free(text);
    strait_model_free(m);
    json_decref(object);
    return failed ? strait_command_fail(&err) : 0;
}

static const struct strait_subcommand commands[] = {
    {"new", "", "write a layer table from a few figures, to edit", new_command},
};
static const struct strait_command_table table = {
    "model", "Models of your own.", commands, sizeof(commands) / sizeof(*commands),
    "  strait model new --params '350 M' --step '0.8 s' -o mine.csv\n"
    "  strait model new --help                 forms, options and examples\n"
    "  strait list models                      models that ship\n"};

int strait_command_model(int argc, char **argv)
{
    return strait_command_dispatch(&table, argc, argv);
}
