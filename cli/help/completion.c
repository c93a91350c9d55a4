#include "completion.h"
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "core/process.h"
#include "tables.h"

enum { MAX_WORDS = 64, LINE_CHARS = 4096, LIST_BYTES = 1 << 18 };
static const double LIST_LIMIT_S = 10;

/* The line's words; the last one, which may be empty, is to be completed. */
struct line {
    char text[LINE_CHARS];
    const char *words[MAX_WORDS];
    size_t n_words;
};

/* What an option, or the text before "=" in a word, expects: words, or a list of `strait list`. */
static const struct {
    const char *name, *words, *list;
} values[] = {
    {"--on", "sim fluid emu both", NULL},
    {"--realisation", "relay kernel auto", NULL},
    {"--launcher", "root userns uml vuml qemu auto", NULL},
    {"--timing", "live serial replay", NULL},
    {"--control", "no-ramp no-codec-cost unshaped", NULL},
    {"--profile", "default sz3-class fl-runner-class chunks changes", NULL},
    {"--codec", NULL, "codecs"},
    {"--against", NULL, "codecs"},
    {"--set", "/model= /clients= /codec/name= /strategy/name= /network/client/rate=", NULL},
    {"/model", NULL, "models"},
    {"/codec", NULL, "codecs"},
    {"/codec/name", NULL, "codecs"},
    {"/strategy/name", NULL, "strategies"},
    {"/training/task", NULL, "tasks"},
    {"--kind", "lines heat phases residuals codecs", NULL},
    {"--style", "screen paper slides", NULL},
    {"--log", "x y x,y none", NULL},
};

/* --- candidates --------------------------------------------------------------------------- */

struct want {
    FILE *out;
    const char *prefix; /* what the candidate must begin with */
    const char *before; /* printed before each: "/model=" */
};

static void offer(const struct want *w, const char *candidate, size_t n, const char *meaning)
{
    const size_t n_prefix = strlen(w->prefix);
    if (n >= n_prefix && strncmp(candidate, w->prefix, n_prefix) == 0)
        fprintf(w->out, "%s%.*s\t%s\n", w->before, (int)n, candidate, meaning ? meaning : "");
}

static void offer_words(const struct want *w, const char *words)
{
    for (; *words; words += strspn(words, " ")) {
        const size_t n = strcspn(words, " ");
        offer(w, words, n, NULL);
        words += n;
    }
}

/* Names of `strait list WHAT --json`, one object a line. */
static void offer_list(const struct want *w, const char *what)
{
    const char *const argv[] = {"/proc/self/exe", "list", "--json", what, NULL};
    char *text = malloc(LIST_BYTES);
    struct strait_error ignored = {0};
    if (text && strait_process_run(text, LIST_BYTES, argv, NULL, LIST_LIMIT_S, &ignored) != 0)
        *text = '\0';
    for (const char *at = text; at && *at; at += *at == '\n') {
        const size_t n = strcspn(at, "\n");
        json_t *row = json_loadb(at, n, 0, NULL);
        const char *name = json_string_value(json_object_get(row, "name"));
        const char *meaning = json_string_value(json_object_get(row, "summary"));
        if (!meaning)
            meaning = json_string_value(json_object_get(row, "title"));
        if (name)
            offer(w, name, strlen(name), meaning);
        json_decref(row);
        at += n;
    }
    free(text);
}

/* Returns false where nothing is known of it: a file, a number. */
static bool offer_values(const struct want *w, const char *of, size_t n)
{
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
        if (strlen(values[i].name) != n || strncmp(values[i].name, of, n) != 0)
            continue;
        if (values[i].words)
            offer_words(w, values[i].words);
        else
            offer_list(w, values[i].list);
        return true;
    }
    return false;
}

static void offer_options(const struct want *w, const json_t *table)
{
    size_t i;
    json_t *o;
    json_array_foreach (json_object_get(table, "options"), i, o) {
        char text[128];
        snprintf(text, sizeof(text), "--%s", json_string_value(json_object_get(o, "name")));
        offer(w, text, strlen(text), json_string_value(json_object_get(o, "doc")));
    }
    offer(w, "--help", 6, "print the command's options");
}

static void offer_commands(const struct want *w, const json_t *table)
{
    size_t i;
    json_t *c;
    json_array_foreach (json_object_get(table, "commands"), i, c) {
        const char *name = json_string_value(json_object_get(c, "name"));
        offer(w, name, strlen(name), json_string_value(json_object_get(c, "summary")));
    }
    if (!*json_string_value(json_object_get(table, "command")))
        offer_words(w, "--help --version");
}

/* "[codecs|strategies [NAME]|models]": words in lower case are meant as they stand. */
static void offer_arguments(const struct want *w, const json_t *table, const char *last)
{
    const char *at = json_string_value(json_object_get(table, "arguments"));
    const char *command = json_string_value(json_object_get(table, "command"));
    if (strcmp(command, "list") == 0 && strcmp(last, "list") != 0) {
        if (strcmp(last, "strategies") == 0)
            offer_list(w, "strategies");
        return;
    }
    if (strcmp(command, "codec list") == 0) {
        offer_list(w, "codecs");
        return;
    }
    if (strcmp(command, "plan") == 0) {
        offer_list(w, "plans");
        return;
    }
    if (strncmp(at, "EXPERIMENT", 10) == 0 ||
        (strncmp(command, "net ", 4) == 0 && strncmp(at, "FILE", 4) == 0)) {
        offer_list(w, "experiments");
        return;
    }
    for (; *at; at += strspn(at, "[]| ")) {
        const size_t n = strcspn(at, "[]| ");
        if (n > 0 && *at >= 'a' && *at <= 'z')
            offer(w, at, n, NULL);
        at += n;
    }
}

/* --- the line ----------------------------------------------------------------------------- */

static void split(struct line *l, const char *text)
{
    snprintf(l->text, sizeof(l->text), "%s", text);
    char *at = l->text;
    l->n_words = 0;
    while (l->n_words < MAX_WORDS) {
        at += strspn(at, " \t");
        l->words[l->n_words++] = at;
        at += strcspn(at, " \t");
        if (!*at)
            return;
        *at++ = '\0';
    }
}

/* Does this option of the table take a value that stands behind it? */
static bool takes_value(const json_t *table, const char *word)
{
    size_t i;
    json_t *o;
    json_array_foreach (json_object_get(table, "options"), i, o) {
        const char *letter = json_string_value(json_object_get(o, "letter"));
        const bool named =
            strncmp(word, "--", 2) == 0
                ? strcmp(word + 2, json_string_value(json_object_get(o, "name"))) == 0
                : *letter && word[0] == '-' && word[1] == *letter && !word[2];
        if (named)
            return json_is_string(json_object_get(o, "argument"));
    }
    return false;
}

static void complete(FILE *out, const struct line *l, const json_t *table)
{
    const char *word = l->words[l->n_words - 1], *last = l->words[l->n_words - 2];
    const char *equals = strchr(word, '=');
    char before[LINE_CHARS] = "";
    struct want w = {out, word, before};
    if (equals) { /* --on=sim, /model=cnn */
        snprintf(before, sizeof(before), "%.*s=", (int)(equals - word), word);
        w.prefix = equals + 1;
        offer_values(&w, word, (size_t)(equals - word));
        return;
    }
    if (takes_value(table, last)) {
        offer_values(&w, last, strlen(last));
        return;
    }
    if (word[0] == '-')
        offer_options(&w, table);
    else
        offer_arguments(&w, table, last);
}

void strait_completion_print(FILE *out, const char *line)
{
    struct line l = {0};
    struct strait_error ignored = {0};
    split(&l, line);
    if (l.n_words < 2)
        return;
    const char *words[2] = {l.words[1], l.n_words > 2 ? l.words[2] : ""};
    json_t *table = strait_help_table(words, 0, &ignored);
    size_t depth = 1;
    if (strcmp(words[0], "help") == 0 && l.n_words > 2)
        depth = l.n_words; /* help's arguments are commands */
    while (json_object_get(table, "commands") && depth + 1 < l.n_words && depth <= 2) {
        json_decref(table);
        ignored = (struct strait_error){0};
        table = strait_help_table(words, depth, &ignored);
        depth++;
    }
    if (table && json_object_get(table, "commands")) {
        const struct want w = {out, l.words[l.n_words - 1], ""};
        offer_commands(&w, table);
    } else if (table) {
        complete(out, &l, table);
    }
    json_decref(table);
}

/* --- scripts ------------------------------------------------------------------------------ */

static const char bash[] =
    "# bash completion for strait: strait itself knows what may follow.\n"
    "_strait() {\n"
    "    local line=${COMP_LINE:0:COMP_POINT} current=${COMP_WORDS[COMP_CWORD]} word known\n"
    "    word=${line##*[[:space:]]}\n"
    "    [[ $current == [=:] ]] && current=\n"
    "    known=${word%\"$current\"} # of the word, what bash takes for words before it\n"
    "    COMPREPLY=()\n"
    "    while IFS=$'\\t' read -r candidate _; do\n"
    "        COMPREPLY+=(\"${candidate#\"$known\"}\")\n"
    "    done < <(\"${COMP_WORDS[0]}\" help --complete \"$line\" 2>/dev/null)\n"
    "    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n"
    "}\n"
    "complete -o default -F _strait strait\n";

static const char zsh[] =
    "#compdef strait\n"
    "# zsh completion for strait: strait itself knows what may follow.\n"
    "_strait() {\n"
    "    local -a lines candidates\n"
    "    local line\n"
    "    lines=(\"${(@f)$(\"${words[1]}\" help --complete \"$LBUFFER\" 2>/dev/null)}\")\n"
    "    for line in $lines; do\n"
    "        candidates+=(\"${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}\")\n"
    "    done\n"
    "    if (( $#candidates )); then\n"
    "        _describe strait candidates\n"
    "    else\n"
    "        _files\n"
    "    fi\n"
    "}\n"
    "if [[ $funcstack[1] == _strait ]]; then _strait \"$@\"; else compdef _strait strait; fi\n";

static const char fish[] = "# fish completion for strait: strait itself knows what may follow.\n"
                           "function __strait_complete\n"
                           "    set -l line (commandline -cp)\n"
                           "    set -l found (strait help --complete \"$line\" 2>/dev/null)\n"
                           "    if test (count $found) -gt 0\n"
                           "        printf '%s\\n' $found\n"
                           "    else\n"
                           "        __fish_complete_path (commandline -ct)\n"
                           "    end\n"
                           "end\n"
                           "complete -c strait -f -a '(__strait_complete)'\n";

int strait_completion_script(FILE *out, const char *shell, struct strait_error *err)
{
    static const struct {
        const char *name, *script;
    } all[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        if (strcmp(all[i].name, shell) == 0) {
            fputs(all[i].script, out);
            return 0;
        }
    return strait_error_set(err, STRAIT_ERR_USAGE, "help",
                            "expected bash, zsh or fish after --completion, found \"%s\"", shell);
}
