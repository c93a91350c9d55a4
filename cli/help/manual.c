#include "manual.h"
#include <stdbool.h>
#include <string.h>
#include "cli/kit/command.h"
#include "tables.h"

enum { NAME_CHARS = 128, PATH_CHARS = 4096 };

static const char *text_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text ? text : "";
}

/* Roff's special characters, and a dot or quote where a line begins, are taken as they are. */
static void put(FILE *out, const char *text, size_t n)
{
    bool at_begin = true;
    for (size_t i = 0; i < n && text[i]; i++) {
        if (at_begin && (text[i] == '.' || text[i] == '\''))
            fputs("\\&", out);
        if (text[i] == '\\')
            fputs("\\e", out);
        else if (text[i] == '-')
            fputs("\\-", out);
        else if (text[i] == '\'')
            fputs("\\(aq", out);
        else if (text[i] == '`')
            fputs("\\(ga", out);
        else if (text[i] == '^')
            fputs("\\(ha", out);
        else if (text[i] == '~')
            fputs("\\(ti", out);
        else
            fputc(text[i], out);
        at_begin = text[i] == '\n';
    }
}

static void put_text(FILE *out, const char *text)
{
    put(out, text, strlen(text));
}

/* "net up" gives "strait-net-up". */
static const char *page_name(char name[NAME_CHARS], const char *command)
{
    snprintf(name, NAME_CHARS, "strait%s%s", *command ? "-" : "", command);
    for (char *at = name; *at; at++)
        if (*at == ' ')
            *at = '-';
    return name;
}

static void put_head(FILE *out, const json_t *table, const char *summary)
{
    char name[NAME_CHARS];
    const size_t n = strlen(summary);
    page_name(name, text_of(table, "command"));
    fputs(".TH \"", out);
    for (const char *at = name; *at; at++)
        fputc(*at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at, out);
    fprintf(out, "\" 1 \"%s\" \"strait %s\" \"User Commands\"\n.SH NAME\n", strait_commit_date(),
            STRAIT_VERSION);
    put_text(out, name);
    fputs(" \\- ", out);
    put(out, summary, n > 0 && summary[n - 1] == '.' ? n - 1 : n);
    fputs("\n", out);
}

/* Notes as --help prints them: lines that begin with two blanks are examples, others are text. */
static void put_notes(FILE *out, const char *notes)
{
    bool in_example = false, in_text = true, is_first = true; /* no .PP behind the heading */
    while (*notes) {
        const size_t n = strcspn(notes, "\n");
        const bool is_example = strncmp(notes, "  ", 2) == 0;
        if (is_example != in_example)
            fputs(!is_example ? ".EE\n" : is_first ? ".EX\n" : ".PP\n.EX\n", out);
        is_first = false;
        if (!is_example && n > 0 && !in_text)
            fputs(".PP\n", out);
        if (n > 0) {
            put(out, notes, n);
            fputs("\n", out);
        }
        in_example = is_example;
        in_text = !is_example && n > 0;
        notes += n + (notes[n] == '\n');
    }
    if (in_example)
        fputs(".EE\n", out);
}

static void put_option(FILE *out, const char *letter, const char *name, const char *argument,
                       const char *doc)
{
    fputs(".TP\n", out);
    if (*letter)
        fprintf(out, "\\fB\\-%s\\fR, ", letter);
    fputs("\\fB\\-\\-", out);
    put_text(out, name);
    fputs("\\fR", out);
    if (*argument) {
        fputs(" \\fI", out);
        put_text(out, argument);
        fputs("\\fR", out);
    }
    fputs("\n", out);
    put_text(out, doc);
    fputs("\n", out);
}

static void put_options(FILE *out, const json_t *options)
{
    size_t i;
    json_t *o;
    fputs(".SH OPTIONS\n", out);
    json_array_foreach (options, i, o)
        put_option(out, text_of(o, "letter"), text_of(o, "name"), text_of(o, "argument"),
                   text_of(o, "doc"));
    put_option(out, "h", "help", "", "print this and end");
}

static void put_commands(FILE *out, const json_t *table)
{
    const char *parent = text_of(table, "command");
    size_t i;
    json_t *c;
    fputs(".SH COMMANDS\n", out);
    json_array_foreach (json_object_get(table, "commands"), i, c) {
        char name[NAME_CHARS], command[NAME_CHARS - 16];
        snprintf(command, sizeof(command), "%s%s%s", parent, *parent ? " " : "",
                 text_of(c, "name"));
        fputs(".TP\n\\fB", out);
        put_text(out, page_name(name, command));
        fputs("\\fR(1)\n", out);
        put_text(out, text_of(c, "summary"));
        fputs("\n", out);
    }
}

static void put_synopsis(FILE *out, const json_t *table, bool has_options)
{
    const char *arguments = text_of(table, "arguments"), *foreign = strstr(arguments, "-- ");
    const size_t n_own = foreign ? (size_t)(foreign - arguments) : strlen(arguments);
    fputs(".SH SYNOPSIS\n\\fBstrait", out);
    if (*text_of(table, "command"))
        fprintf(out, " %s", text_of(table, "command"));
    fputs("\\fR ", out);
    put(out, arguments, n_own);
    if (has_options)
        fputs(n_own > 0 && arguments[n_own - 1] != ' ' ? " [options] " : "[options] ", out);
    put_text(out, foreign ? foreign : "");
    fputs("\n", out);
}

static const char environment[] =
    ".SH ENVIRONMENT\n"
    ".TP\n\\fBSTRAIT_SHARE\\fR\n"
    "folder of the models, experiments and profiles that ship, instead of the one\n"
    "beside the program\n"
    ".TP\n\\fBSTRAIT_DATA\\fR\n"
    "folder of the data sets that training reads, instead of /usr/share/datasets\n"
    ".TP\n\\fBSTRAIT_VKERNEL\\fR\n"
    "kernel of the virtual\\-time guest (launcher vuml)\n"
    ".TP\n\\fBSTRAIT_TUN\\fR\n"
    "another TUN node than /dev/net/tun\n";

/* Below the prefix of the installation, or in the tree as docs and results. */
static const char files[] = ".SH FILES\n"
                            ".TP\n\\fIEXPERIMENT\\fR.json\n"
                            "an experiment; share/doc/strait/docs/experiment.md says every key\n"
                            ".TP\n\\fBresults/\\fIEXPERIMENT\\fB/results.jsonl\\fR\n"
                            "its rows; share/doc/strait/docs/results.md says every field\n"
                            ".TP\n\\fBshare/strait\\fR\n"
                            "models, experiments and profiles that ship (strait list)\n"
                            ".TP\n\\fB~/.cache/strait\\fR, \\fB$XDG_CACHE_HOME/strait\\fR\n"
                            "which kernels of guests boot here\n";

static const char see_also[] =
    ".SH SEE ALSO\n"
    "share/doc/strait: tutorial.md is where to begin, index.md names all\n"
    "pages, troubleshooting.md explains errors, library.md is for programs in C\n";

static const char exit_status[] = ".SH EXIT STATUS\n"
                                  "0 good; 1 failed, INVALID or outside tolerance; 2 usage or bad\n"
                                  "input; 3 this machine cannot.\n";

void strait_manual_print(FILE *out, const json_t *table)
{
    const json_t *options = json_object_get(table, "options");
    const bool is_leaf = options != NULL;
    const char *command = text_of(table, "command");
    const char *summary = is_leaf         ? text_of(table, "summary")
                          : *command != 0 ? "commands with pages of their own"
                                          : "how long compressed training takes over a narrow "
                                            "network: predicted, and shown";
    put_head(out, table, summary);
    if (is_leaf) {
        put_synopsis(out, table, json_array_size(options) > 0);
        fputs(".SH DESCRIPTION\n", out);
        put_text(out, summary);
        fputs("\n", out);
        put_options(out, options);
        if (*text_of(table, "notes")) {
            fputs(".SH NOTES\n", out);
            put_notes(out, text_of(table, "notes"));
        }
    } else {
        fprintf(out, ".SH SYNOPSIS\n\\fBstrait%s%s\\fR \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]\n",
                *command ? " " : "", command);
        put_commands(out, table);
    }
    fputs(*command ? "" : environment, out);
    fputs(*command ? "" : files, out);
    fputs(exit_status, out);
    fputs(*command ? ".SH SEE ALSO\n\\fBstrait\\fR(1)\n" : see_also, out);
}

static int write_page(const char *folder, const json_t *table, struct strait_error *err)
{
    char path[PATH_CHARS], name[NAME_CHARS];
    snprintf(path, sizeof(path), "%s/%s.1", folder, page_name(name, text_of(table, "command")));
    FILE *f = fopen(path, "we");
    if (!f)
        return strait_error_system(err, path, "cannot be written");
    strait_manual_print(f, table);
    const bool failed = ferror(f) != 0;
    return fclose(f) != 0 || failed ? strait_error_system(err, path, "cannot be written") : 0;
}

/* A command's page, and those of its own commands. */
static int write_pages(const char *folder, const char *const *words, size_t n_words,
                       struct strait_error *err)
{
    json_t *table = strait_help_table(words, n_words, err), *c;
    size_t i;
    int failed = !table || write_page(folder, table, err) != 0;
    json_array_foreach (json_object_get(table, "commands"), i, c) {
        const char *deeper[] = {n_words > 0 ? words[0] : text_of(c, "name"), text_of(c, "name")};
        if (!failed)
            failed = write_pages(folder, deeper, n_words + 1, err) != 0;
    }
    json_decref(table);
    return failed ? -1 : 0;
}

int strait_manual_write(const char *folder, struct strait_error *err)
{
    return write_pages(folder, NULL, 0, err);
}
