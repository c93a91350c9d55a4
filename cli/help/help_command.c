/* strait help: options of a command; manual pages and completion, which packages install. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/kit/command.h"
#include "cli/kit/options.h"
#include "completion.h"
#include "core/process.h"
#include "manual.h"
#include "tables.h"

enum { MAX_WORDS = 2, TEXT_BYTES = 65536 };

/* What `strait COMMAND --help` prints. */
static int print_help(const char *const *words, size_t n_words, struct strait_error *err)
{
    const char *argv[MAX_WORDS + 3] = {"/proc/self/exe"};
    for (size_t i = 0; i < n_words; i++)
        argv[i + 1] = words[i];
    argv[n_words + 1] = "--help";
    char *text = malloc(TEXT_BYTES);
    const int status = text ? strait_process_run(text, TEXT_BYTES, argv, NULL, 10, err)
                            : strait_error_memory(err, "help");
    if (status == 0)
        fputs(text, stdout);
    if (status > 0) { /* what it complains of begins with the program's name */
        *err = (struct strait_error){0};
        json_decref(strait_help_table(words, n_words, err));
    }
    free(text);
    return status == 0 ? 0 : -1;
}

static int print_manual(const char *const *words, size_t n_words, struct strait_error *err)
{
    json_t *table = strait_help_table(words, n_words, err);
    if (!table)
        return -1;
    strait_manual_print(stdout, table);
    json_decref(table);
    return 0;
}

static const char notes[] = "  strait help net up\n"
                            "  strait help --man run | man -l -\n"
                            "  strait help --completion bash > \\\n"
                            "      ~/.local/share/bash-completion/completions/strait\n";

int strait_command_help(int argc, char **argv)
{
    const char *words[MAX_WORDS] = {NULL}, *shell = NULL, *line = NULL, *folder = NULL;
    bool man = false, help = false;
    size_t n_words;
    const struct strait_option options[] = {
        {"man", 0, STRAIT_OPTION_FLAG, &man, NULL, "the manual page of COMMAND, or of strait"},
        {"man-pages", 0, STRAIT_OPTION_TEXT, &folder, "DIR", "write all manual pages there"},
        {"completion", 0, STRAIT_OPTION_TEXT, &shell, "SHELL",
         "a completion script: bash, zsh or fish"},
        {"complete", 0, STRAIT_OPTION_TEXT, &line, "LINE",
         "what may follow a line, for those scripts"}};
    const struct strait_usage usage = {"help", "[COMMAND]", "Show the options of a command.",
                                       STRAIT_OPTIONS(options), notes};
    struct strait_error err = {0};
    int status = strait_options_parse(&usage, argc, argv, words, MAX_WORDS, &n_words, &help, &err);
    if (status == 0 && help)
        strait_options_print(&usage, stdout);
    else if (status == 0 && line)
        strait_completion_print(stdout, line);
    else if (status == 0 && shell)
        status = strait_completion_script(stdout, shell, &err);
    else if (status == 0 && folder)
        status = strait_manual_write(folder, &err);
    else if (status == 0)
        status = (man ? print_manual : print_help)(words, n_words, &err);
    return status != 0 ? strait_command_fail(&err) : 0;
}
