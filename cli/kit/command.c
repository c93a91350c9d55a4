/* What all commands share: dispatch by a table, help, errors and exit statuses. */
#include "command.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "analysis/fields.h"
#include "analysis/label.h"
#include "core/json.h"
#include "core/names.h"

enum { MAX_COMMANDS = 32 };

int strait_command_fail(const struct strait_error *err)
{
    fflush(stdout);
    if (err->code == STRAIT_OK && *err->where) /* --help=json has said all */
        return 0;
    if (err->code == STRAIT_OK) { /* a mistake of ours, and never a success */
        fprintf(stderr, "strait: failed without saying why\n");
        return 1;
    }
    fprintf(stderr, "strait: %s%s%s\n", err->where, *err->where ? ": " : "", err->text);
    return strait_error_exit_status(err);
}

static void end_by(int signal_number)
{
    static const char wipe[] = "\r\033[K",
                      text[] =
                          "strait: interrupted; nothing is kept, the same command begins again\n";
    ssize_t n = isatty(STDERR_FILENO) ? write(STDERR_FILENO, wipe, sizeof(wipe) - 1) : 0;
    n = write(STDERR_FILENO, text, sizeof(text) - 1);
    (void)n;
    raise(signal_number); /* as it would have ended it: the shell sees that */
}

void strait_command_begins_again(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
        struct sigaction before,
            own = {.sa_handler = end_by, .sa_flags = (int)(SA_RESETHAND | SA_NODEFER)};
        sigemptyset(&own.sa_mask);
        if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(signals[i], &own, NULL);
    }
}

int strait_command_end(int status)
{
    const bool failed = ferror(stdout) != 0;
    if (fflush(stdout) == 0 && !failed)
        return status;
    if (errno != EPIPE) /* whoever closed the pipe has seen enough and wants no complaint */
        fprintf(stderr, "strait: standard output: cannot write: %s\n", strerror(errno));
    return status != 0 ? status : 1;
}

void strait_command_print_failures(const json_t *failures)
{
    size_t i;
    json_t *failure;
    fflush(stdout);
    json_array_foreach ((json_t *)failures, i, failure) {
        char *point = strait_label_set(json_object_get(failure, "labels"));
        const bool named = point && *point; /* nothing is varied where a run has one */
        fprintf(stderr, "strait: %s%s%s: %s\n", named ? point : "", named ? ": " : "",
                strait_text_of(failure, "where"), strait_text_of(failure, "text"));
        free(point);
    }
}

void strait_command_print_json(const json_t *value)
{
    json_dumpf(value, stdout, JSON_COMPACT | JSON_ENCODE_ANY);
    fputs("\n", stdout);
}

static int print_json(const struct strait_command_table *t)
{
    json_t *all = json_array();
    for (size_t i = 0; i < t->n_commands; i++) {
        const struct strait_subcommand *c = &t->commands[i];
        json_array_append_new(all, json_pack("{s:s, s:s, s:s}", "name", c->name, "arguments",
                                             c->arguments, "summary", c->summary));
    }
    json_t *value = json_pack("{s:s, s:o}", "command", t->name, "commands", all);
    strait_command_print_json(value);
    json_decref(value);
    return 0;
}

enum { LEFT_COLUMNS = 20 };

static int print_help(const struct strait_command_table *t, FILE *out, int status)
{
    fprintf(out, "usage: strait %s%sCOMMAND [ARGUMENTS]\n\n%s\n\n", t->name, *t->name ? " " : "",
            t->summary);
    for (size_t i = 0; i < t->n_commands; i++) {
        char left[64];
        snprintf(left, sizeof(left), "%s %s", t->commands[i].name, t->commands[i].arguments);
        if (strlen(left) > LEFT_COLUMNS) /* the summary stands below it */
            fprintf(out, "  %s\n  %-*s %s\n", left, LEFT_COLUMNS, "", t->commands[i].summary);
        else
            fprintf(out, "  %-*s %s\n", LEFT_COLUMNS, left, t->commands[i].summary);
    }
    fprintf(out, "\n%s", t->notes);
    return status;
}

static int refuse(const struct strait_command_table *t, const char *name)
{
    const char *names[MAX_COMMANDS + 1] = {NULL};
    char expected[64];
    struct strait_error err = {0};
    for (size_t i = 0; i < t->n_commands && i < MAX_COMMANDS; i++)
        names[i] = t->commands[i].name;
    snprintf(expected, sizeof(expected), "a command (strait %s%s--help)", t->name,
             *t->name ? " " : "");
    if (name)
        strait_refuse_name(&err, STRAIT_ERR_USAGE, *t->name ? t->name : NULL, expected, name,
                           names);
    else
        strait_error_set(&err, STRAIT_ERR_USAGE, t->name, "expected %s, found nothing", expected);
    return strait_command_fail(&err);
}

int strait_command_dispatch(const struct strait_command_table *t, int argc, char **argv)
{
    if (argc < 2)
        return *t->name ? refuse(t, NULL) : print_help(t, stderr, 2);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        (strcmp(argv[1], "help") == 0 && argc == 2))
        return print_help(t, stdout, 0);
    if (strcmp(argv[1], "--help=json") == 0)
        return print_json(t);
    for (size_t i = 0; i < t->n_commands; i++)
        if (strcmp(t->commands[i].name, argv[1]) == 0)
            return t->commands[i].run(argc - 1, argv + 1);
    return refuse(t, argv[1]);
}
