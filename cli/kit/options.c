/* Options: strict, with the nearest known name in every complaint. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/json.h"
#include "core/names.h"
#include "command.h"
#include "options.h"

enum { MAX_OPTIONS = 32 };

static int unknown(const struct strait_usage *u, const char *given, struct strait_error *err)
{
    const char *names[MAX_OPTIONS + 2] = {"help"};
    for (size_t i = 0; i < u->n_options && i < MAX_OPTIONS; i++)
        names[i + 1] = u->options[i].name;
    const char *nearest = strncmp(given, "--", 2) == 0 ? strait_nearest(given + 2, names) : NULL;
    return strait_error_set(err, STRAIT_ERR_USAGE, u->command,
                            "expected an option (strait %s --help), found \"%s\"%s%s%s", u->command,
                            given, nearest ? ", did you mean \"--" : "", nearest ? nearest : "",
                            nearest ? "\"?" : "");
}

static int refuse(const struct strait_usage *u, const struct strait_option *o, const char *expected,
                  const char *found, struct strait_error *err)
{
    return strait_error_set(err, STRAIT_ERR_USAGE, u->command, "expected %s after --%s%s%s%s",
                            expected, o->name, found ? ", found \"" : ", found nothing",
                            found ? found : "", found ? "\"" : "");
}

static int append(struct strait_texts *list, const char *value, const struct strait_usage *u,
                  struct strait_error *err)
{
    const char **more = realloc(list->items, (list->n + 1) * sizeof(*more));
    if (!more)
        return strait_error_memory(err, u->command);
    list->items = more;
    list->items[list->n++] = value;
    return 0;
}

/* strtol and strtod skip what stands before a number. */
static bool is_number(const char *value)
{
    return *value >= '0' && *value <= '9';
}

static int take(const struct strait_usage *u, const struct strait_option *o, const char *value,
                struct strait_error *err)
{
    char *end = NULL;
    errno = 0;
    switch (o->kind) {
    case STRAIT_OPTION_FLAG:
        *(bool *)o->target = true;
        return 0;
    case STRAIT_OPTION_TEXT:
        *(const char **)o->target = value;
        return 0;
    case STRAIT_OPTION_TEXTS:
        return append(o->target, value, u, err);
    case STRAIT_OPTION_COUNT:
        *(long *)o->target = strtol(value, &end, 10);
        if (!is_number(value) || *end || errno != 0 || *(long *)o->target < 1)
            return refuse(u, o, "a whole number of at least 1", value, err);
        return 0;
    case STRAIT_OPTION_NUMBER:
        *(double *)o->target = strtod(value, &end);
        if (!is_number(value) || *end || errno != 0 ||
            !(*(double *)o->target >= 1 && *(double *)o->target <= 1e6))
            return refuse(u, o, "a number of at least 1", value, err);
        return 0;
    }
    return -1;
}

/* The option that argv[i] names; *value gets what follows "=" or the letter, if anything does. */
static const struct strait_option *find(const struct strait_usage *u, const char *given,
                                        const char **value)
{
    *value = NULL;
    for (size_t i = 0; i < u->n_options; i++) {
        const struct strait_option *o = &u->options[i];
        const size_t n = strlen(o->name);
        if (strncmp(given, "--", 2) == 0 && strncmp(given + 2, o->name, n) == 0 &&
            (given[2 + n] == '\0' || given[2 + n] == '=')) {
            *value = given[2 + n] == '=' ? given + 2 + n + 1 : NULL;
            return o;
        }
        if (o->letter && given[1] == o->letter) {
            *value = given[2] ? given + 2 : NULL;
            return o;
        }
    }
    return NULL;
}

void strait_options_print_json(const struct strait_usage *u)
{
    json_t *options = json_array();
    for (size_t i = 0; i < u->n_options; i++) {
        const struct strait_option *o = &u->options[i];
        const char letter[2] = {o->letter, 0};
        json_array_append_new(options, json_pack("{s:s, s:s, s:s?, s:s}", "name", o->name, "letter",
                                                 letter, "argument", o->argument, "doc", o->doc));
    }
    json_t *table =
        json_pack("{s:s, s:s, s:s, s:o, s:s}", "command", u->command, "arguments", u->arguments,
                  "summary", u->summary, "options", options, "notes", u->notes ? u->notes : "");
    strait_command_print_json(table);
    json_decref(table);
}

int strait_options_parse(const struct strait_usage *u, int argc, char **argv,
                         const char **positional, size_t max_positional, size_t *n_positional,
                         bool *help, struct strait_error *err)
{
    bool only_positional = false;
    *n_positional = 0;
    *help = false;
    for (int i = 1; i < argc; i++) {
        const char *given = argv[i], *value;
        if (only_positional || given[0] != '-' || given[1] == '\0') {
            if (*n_positional == max_positional)
                return strait_error_set(err, STRAIT_ERR_USAGE, u->command,
                                        "expected no further argument, found \"%s\"", given);
            positional[(*n_positional)++] = given;
            continue;
        }
        if (strcmp(given, "--") == 0) {
            only_positional = true;
            continue;
        }
        if (strcmp(given, "--help") == 0 || strcmp(given, "-h") == 0) {
            *help = true;
            return 0;
        }
        if (strcmp(given, "--help=json") == 0) {
            strait_options_print_json(u);
            snprintf(err->where, sizeof(err->where), "%s", given); /* no error: it has said all */
            return -1;
        }
        const struct strait_option *o = find(u, given, &value);
        if (!o)
            return unknown(u, given, err);
        if (o->kind == STRAIT_OPTION_FLAG && value)
            return refuse(u, o, "nothing", value, err);
        if (o->kind != STRAIT_OPTION_FLAG && !value) {
            if (i + 1 == argc)
                return refuse(u, o, o->argument, NULL, err);
            value = argv[++i];
        }
        if (take(u, o, value, err) != 0)
            return -1;
    }
    return 0;
}

/* Break it at blanks and bars, within 80 columns. */
static void print_usage(const struct strait_usage *u, FILE *out)
{
    /* Options end where a foreign command line begins: "FILE -- COMMAND". */
    const char *const foreign = strstr(u->arguments, "-- ");
    const size_t n_own = foreign ? (size_t)(foreign - u->arguments) : strlen(u->arguments);
    char line[512];
    snprintf(line, sizeof(line), "usage: strait %s%s%.*s%s%s%s%s", u->command, n_own > 0 ? " " : "",
             (int)n_own, u->arguments, u->n_options > 0 && (!foreign || n_own == 0) ? " " : "",
             u->n_options > 0 ? "[options]" : "", foreign ? " " : "", foreign ? foreign : "");
    const char *rest = line;
    for (size_t room = 80; strlen(rest) > room; room = 80 - strlen("usage: ")) {
        size_t end = room;
        while (end > 1 && rest[end - 1] != '|' && rest[end - 1] != ' ')
            end--;
        fprintf(out, "%.*s\n%*s", (int)(end - (rest[end - 1] == ' ')), rest, (int)strlen("usage: "),
                "");
        rest += end;
    }
    fprintf(out, "%s\n", rest);
}

void strait_options_print(const struct strait_usage *u, FILE *out)
{
    print_usage(u, out);
    fprintf(out, "\n%s\n", u->summary);
    if (u->n_options > 0)
        fputs("\n", out);
    for (size_t i = 0; i < u->n_options; i++) {
        const struct strait_option *o = &u->options[i];
        char left[64], letter[8] = "    ";
        if (o->letter)
            snprintf(letter, sizeof(letter), "-%c, ", o->letter);
        snprintf(left, sizeof(left), "%s--%s%s%s", letter, o->name, o->argument ? " " : "",
                 o->argument ? o->argument : "");
        fprintf(out, "  %-30s %s\n", left, o->doc);
    }
    if (u->notes)
        fprintf(out, "\n%s", u->notes);
}

/* What a command without its argument is told: NULL where it can do without. */
static const char *needed(const char *arguments)
{
    static const char *const needs[][2] = {
        {"DIR", "a results folder"},
        {"DIR...", "a results folder"},
        {"EXPERIMENT", "an experiment (strait list experiments)"},
        {"FILE", "a file"}};
    for (size_t i = 0; i < sizeof(needs) / sizeof(*needs); i++)
        if (strcmp(arguments, needs[i][0]) == 0)
            return needs[i][1];
    return NULL;
}

bool strait_command_begin(int *status, const struct strait_usage *usage, int argc, char **argv,
                          const char **words, size_t max_words, size_t *n_words)
{
    struct strait_error err = {0};
    const char *what = needed(usage->arguments);
    size_t n = 0;
    bool help;
    n_words = n_words ? n_words : &n;
    if (strait_options_parse(usage, argc, argv, words, max_words, n_words, &help, &err) != 0 ||
        (what && !help && *n_words == 0 &&
         strait_error_set(&err, STRAIT_ERR_USAGE, usage->command, "expected %s, found none",
                          what) != 0)) {
        *status = strait_command_fail(&err);
        return false;
    }
    *status = 0;
    if (help)
        strait_options_print(usage, stdout);
    return !help;
}
