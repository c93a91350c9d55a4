/* Manual pages and completion, made of the same tables as --help. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/process.h"
#include "tests/kit/data.h"
#include "tests/kit/program.h"

static struct program program;
#define CALL(...) PROGRAM_CALL(&program, __VA_ARGS__)

/* --- tables and pages --------------------------------------------------------------------- */

static void check_width(const char *text)
{
    while (*text) {
        const size_t len = strcspn(text, "\n");
        CU_ASSERT(len <= 80);
        if (len > 80)
            fprintf(stderr, "more than 80 columns: %.*s\n", (int)len, text);
        text += len + (text[len] == '\n');
    }
}

/* Each command's table has every option that its --help shows, and each has a page of its own. */
static void check_command(const char *first, const char *second)
{
    char page[128];
    struct said s = CALL(first, second ? second : "--help=json", second ? "--help=json" : NULL);
    json_t *table = json_loads(s.out, 0, NULL), *o, *c;
    size_t i;
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_STRING_EQUAL(s.err, "");
    CU_ASSERT_PTR_NOT_NULL_FATAL(table);
    said_release(&s);
    snprintf(page, sizeof(page), "man/strait-%s%s%s.1", first, second ? "-" : "",
             second ? second : "");
    CU_ASSERT_TRUE_FATAL(program_has(&program, page));
    char *roff = program_read(&program, page);
    s = CALL(first, second ? second : "--help", second ? "--help" : NULL);
    check_width(s.out);
    json_array_foreach (json_object_get(table, "options"), i, o) {
        char option[64], bold[128];
        const char *name = json_string_value(json_object_get(o, "name"));
        snprintf(option, sizeof(option), "--%s", name);
        CU_ASSERT_PTR_NOT_NULL(strstr(s.out, option));
        snprintf(bold, sizeof(bold), "\\fB\\-\\-%.*s", (int)strcspn(name, "-"), name);
        CU_ASSERT_PTR_NOT_NULL(strstr(roff, bold));
    }
    json_array_foreach (json_object_get(table, "commands"), i, c) {
        CU_ASSERT_PTR_NULL(second);
        check_command(first, json_string_value(json_object_get(c, "name")));
    }
    said_release(&s);
    free(roff);
    json_decref(table);
}

static void make_pages(void)
{
    char folder[128];
    const char *const make[] = {"mkdir", folder, NULL};
    snprintf(folder, sizeof(folder), "%s/man", program.folder);
    CU_ASSERT_EQUAL_FATAL(strait_process_run(NULL, 0, make, NULL, 60, NULL), 0);
    struct said s = CALL("help", "--man-pages", "man");
    CU_ASSERT_EQUAL_FATAL(s.status, 0);
    said_release(&s);
}

static void every_command(void)
{
    size_t i;
    json_t *c;
    program_set_up(&program);
    make_pages();
    struct said s = CALL("--help=json");
    json_t *table = json_loads(s.out, 0, NULL);
    CU_ASSERT(json_array_size(json_object_get(table, "commands")) >= 11);
    json_array_foreach (json_object_get(table, "commands"), i, c)
        check_command(json_string_value(json_object_get(c, "name")), NULL);
    json_decref(table);
    said_release(&s);
    s = CALL("--help");
    check_width(s.out);
    said_release(&s);
    program_tear_down(&program);
}

/* A formatter's findings; false where it is not installed. */
static bool expect_clean(const char *script)
{
    static char out[4096];
    const char *const argv[] = {"sh", "-c", script, "sh", program.folder, NULL};
    const int status = strait_process_run(out, sizeof(out), argv, NULL, 120, NULL);
    if (status == 127)
        return false;
    CU_ASSERT_STRING_EQUAL(out, "");
    return true;
}

static void pages_are_clean(void)
{
    program_set_up(&program);
    make_pages();
    const bool mandoc = expect_clean("command -v mandoc >/dev/null || exit 127; "
                                     "mandoc -Tlint -W warning \"$1\"/man/*.1 || true");
    const bool groff = expect_clean("command -v groff >/dev/null || exit 127; "
                                    "groff -man -ww -z \"$1\"/man/*.1 2>&1 || true");
    if (!mandoc && !groff)
        strait_test_skip("neither mandoc nor groff is installed");
    program_tear_down(&program);
}

/* share/doc/strait has what docs has (make install). */
static void named_files(void)
{
    program_set_up(&program);
    struct said s = CALL("help", "--man");
    unsigned n = 0;
    CU_ASSERT_CONTAINS(s.out, ".SH FILES\n");
    for (const char *end = s.out; (end = strstr(end, ".md")) != NULL; end += 3, n++) {
        const char *name = end;
        char path[4200];
        while (name > s.out && strchr(" /\n", name[-1]) == NULL)
            name--;
        snprintf(path, sizeof(path), "%s/%.*s.md", DATA("docs"), (int)(end - name), name);
        strait_test_context("%s", path);
        CU_ASSERT_EQUAL(access(path, R_OK), 0);
    }
    CU_ASSERT_AT_LEAST(n, 6);
    said_release(&s);
    program_tear_down(&program);
}

/* A dot at a line's begin and a backslash are text, not requests. */
static void one_page(void)
{
    program_set_up(&program);
    struct said s = CALL("help", "--man", "net", "rsh");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_EQUAL(strncmp(s.out, ".TH \"STRAIT-NET-RSH\" 1 ", 23), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "server,client1 \\e\n"));
    said_release(&s);
    s = CALL("help", "nett");
    CU_ASSERT_EQUAL(s.status, 2);
    CU_ASSERT_STRING_EQUAL(s.out, "");
    CU_ASSERT_EQUAL(program_n_lines(s.err), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.err, "did you mean \"net\"?"));
    said_release(&s);
    struct said help = CALL("help", "codec", "encode"), own = CALL("codec", "encode", "--help");
    CU_ASSERT_EQUAL(help.status, 0);
    CU_ASSERT_STRING_EQUAL(help.out, own.out);
    said_release(&help);
    said_release(&own);
    program_tear_down(&program);
}

/* --- completion --------------------------------------------------------------------------- */

/* `found` of the candidates' first words are these, in this order; the others do not matter. */
static void expect_candidates(const char *line, const char *const *wanted, bool only)
{
    struct said s = CALL("help", "--complete", line);
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_STRING_EQUAL(s.err, "");
    size_t n = 0;
    for (; wanted[n]; n++) {
        char begin[128];
        snprintf(begin, sizeof(begin), "%s\t", wanted[n]);
        const char *at = strstr(s.out, begin);
        CU_ASSERT_TRUE(at != NULL && (at == s.out || at[-1] == '\n'));
        if (!at)
            fprintf(stderr, "%s: expected %s, found %s\n", line, wanted[n], s.out);
    }
    if (only)
        CU_ASSERT_EQUAL(program_n_lines(s.out), n);
    said_release(&s);
}
#define EXPECT(line, ...) expect_candidates(line, (const char *const[]){__VA_ARGS__, NULL}, false)
#define EXPECT_ONLY(line, ...)                                                                     \
    expect_candidates(line, (const char *const[]){__VA_ARGS__, NULL}, true)

/* What stands behind a candidate: of whom it is the summary, the title or the meaning. */
static void meanings(void)
{
    static const char *const cases[][2] = {
        {"strait list strategies dea", "dear\treduce-scatter behind the backward pass, all-gather "
                                       "behind the next forward pass\n"},
        {"strait run wan-c",
         "wan-check\tDoes the prediction hold? A recorded model, eight clients, the real codec\n"},
        {"strait run --on f", "fluid\t\n"},
        {"strait net d", "down\ttake it down\n"},
        {"strait run --wid", "--wide\ttables as wide as they are, a line a row\n"},
        {"strait codec list --h", "--help\tprint the command's options\n"}};
    program_set_up(&program);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct said s = CALL("help", "--complete", cases[i][0]);
        CU_ASSERT_STRING_EQUAL(s.out, cases[i][1]);
        said_release(&s);
    }
    program_tear_down(&program);
}

static void candidates(void)
{
    program_set_up(&program);
    EXPECT_ONLY("strait ru", "run");
    EXPECT_ONLY("strait net d", "down");
    EXPECT_ONLY("strait run wan-", "wan-check", "wan-scaling");
    EXPECT_ONLY("strait run --js wan-", "wan-check", "wan-scaling"); /* wherever it stands */
    EXPECT_ONLY("strait run --on ", "sim", "fluid", "emu", "both");
    EXPECT_ONLY("strait run --on=f", "--on=fluid");
    EXPECT_ONLY("strait run wan-check --launche", "--launcher");
    EXPECT_ONLY("strait run x --set /model=resnet5", "/model=resnet50");
    EXPECT_ONLY("strait run x --set /strategy/name=dea", "/strategy/name=dear");
    EXPECT_ONLY("strait list str", "strategies");
    EXPECT_ONLY("strait list tr", "traces");
    EXPECT_ONLY("strait list strategies dea", "dear");
    EXPECT_ONLY("strait codec list tern", "terngrad");
    EXPECT_ONLY("strait codec bench --codec tern", "terngrad");
    EXPECT_ONLY("strait calibrate ", "codecs", "host", "net");
    EXPECT_ONLY("strait help doc", "doctor");
    EXPECT_ONLY("strait run x --realisation ", "relay", "kernel", "auto");
    EXPECT_ONLY("strait run x --launcher u", "userns", "uml");
    EXPECT_ONLY("strait run x --timing ", "live", "serial", "replay");
    EXPECT_ONLY("strait run x --control un", "unshaped");
    EXPECT_ONLY("strait run x --profile c", "chunks", "changes");
    EXPECT_ONLY("strait run x --set /cl", "/clients=");
    EXPECT_ONLY("strait run x --set /codec=tern", "/codec=terngrad");
    EXPECT_ONLY("strait run x --set /codec/name=lz", "/codec/name=lz4");
    EXPECT_ONLY("strait run x --set /training/task=q", "/training/task=quadratic");
    EXPECT_ONLY("strait run x --set /nonsense=q", NULL);
    EXPECT_ONLY("strait codec bench --against fp1", "fp16");
    EXPECT_ONLY("strait plot x --kind ", "lines", "heat", "phases", "residuals", "codecs");
    EXPECT_ONLY("strait plot x --style ", "screen", "paper", "slides");
    EXPECT_ONLY("strait plot x --log ", "x", "y", "x,y", "none");
    EXPECT_ONLY("strait plan sit", "sites");
    EXPECT_ONLY("strait net up wan-", "wan-check", "wan-scaling");
    EXPECT_ONLY("strait net run wan-c", "wan-check");
    EXPECT_ONLY("strait list codecs ter", NULL);
    EXPECT_ONLY("strait run -j ", NULL);                 /* a number */
    EXPECT_ONLY("strait run --json wan-c", "wan-check"); /* which takes no value */
    EXPECT_ONLY("strait codec list --h", "--help");
    EXPECT_ONLY("strait --v", "--version");
    EXPECT_ONLY("\tstrait \t ru", "run");
    EXPECT_ONLY("strait", NULL);
    EXPECT("strait ", "run", "help", "--version");
    EXPECT_ONLY("strait run -o ", NULL); /* a file: the shell knows them */
    EXPECT_ONLY("strait codec encode ", NULL);
    EXPECT_ONLY("strait nonsense x", NULL);
    EXPECT_ONLY("", NULL);
    program_tear_down(&program);
}

/* What bash puts into COMPREPLY, where "=" begins a word of its own. */
static void expect_bash(const char *line, const char *words, const char *expected)
{
    static char out[4096];
    char script[8192];
    snprintf(script, sizeof(script),
             "eval \"$(%s help --completion bash)\"; compopt() { :; }; COMP_WORDS=(%s); "
             "COMP_LINE='%s'; COMP_POINT=${#COMP_LINE}; COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); "
             "_strait; echo \"${COMPREPLY[@]}\"",
             program.path, words, line);
    const char *const argv[] = {"bash", "--norc", "-c", script, NULL};
    CU_ASSERT_EQUAL(strait_process_run(out, sizeof(out), argv, NULL, 60, NULL), 0);
    CU_ASSERT_STRING_EQUAL(out, expected);
}

static void in_bash(void)
{
    char words[4400];
    program_set_up(&program);
    snprintf(words, sizeof(words), "%s run wan-", program.path);
    expect_bash("strait run wan-", words, "wan-check wan-scaling\n");
    snprintf(words, sizeof(words), "%s run x --set /model = resnet5", program.path);
    expect_bash("strait run x --set /model=resnet5", words, "resnet50\n");
    snprintf(words, sizeof(words), "%s run --on =", program.path);
    expect_bash("strait run --on=", words, "sim fluid emu both\n");
    snprintf(words, sizeof(words), "%s run -o ''", program.path);
    expect_bash("strait run -o ", words, "\n");
    program_tear_down(&program);
}

/* The others' scripts, as far as their shells are here. */
static void in_other_shells(void)
{
    static const char fish[] =
        "%s help --completion fish | source; function strait; %s $argv; end; "
        "complete -C 'strait run wan-'";
    static const char zsh[] = "%s help --completion zsh >\"$0\"/_strait && zsh -n \"$0\"/_strait";
    static char out[4096];
    char script[8500];
    program_set_up(&program);
    const char *const has_fish[] = {"fish", "--version", NULL}, *const run_fish[] = {"fish", "-c",
                                                                                     script, NULL};
    const char *const has_zsh[] = {"zsh", "--version", NULL}, *const run_zsh[] = {
                                                                  "zsh", "-fc", script,
                                                                  program.folder, NULL};
    setenv("HOME", program.folder, 1); /* where fish writes */
    if (strait_process_run(out, sizeof(out), has_fish, NULL, 60, NULL) == 0) {
        snprintf(script, sizeof(script), fish, program.path, program.path);
        CU_ASSERT_EQUAL(strait_process_run(out, sizeof(out), run_fish, NULL, 60, NULL), 0);
        CU_ASSERT_EQUAL(strncmp(out, "wan-check\tDoes the prediction hold?", 35), 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(out, "\nwan-scaling\t"));
    } else {
        strait_test_skip("fish is not installed");
    }
    if (strait_process_run(out, sizeof(out), has_zsh, NULL, 60, NULL) == 0) {
        snprintf(script, sizeof(script), zsh, program.path);
        CU_ASSERT_EQUAL(strait_process_run(out, sizeof(out), run_zsh, NULL, 60, NULL), 0);
    }
    program_tear_down(&program);
}

/* And a shell that has none is refused. */
static void scripts(void)
{
    program_set_up(&program);
    static const char *const shells[][2] = {{"bash", "# bash completion for strait: "},
                                            {"zsh", "#compdef strait\n"},
                                            {"fish", "# fish completion for strait: "}};
    struct said s;
    for (size_t i = 0; i < 3; i++) {
        s = CALL("help", "--completion", shells[i][0]);
        CU_ASSERT_EQUAL(s.status, 0);
        CU_ASSERT_STRING_EQUAL(s.err, "");
        CU_ASSERT_EQUAL(strncmp(s.out, shells[i][1], strlen(shells[i][1])), 0);
        said_release(&s);
    }
    s = CALL("help", "--completion", "ksh");
    CU_ASSERT_EQUAL(s.status, 2);
    CU_ASSERT_STRING_EQUAL(s.err, "strait: help: expected bash, zsh or fish after --completion, "
                                  "found \"ksh\"\n");
    said_release(&s);
    program_tear_down(&program);
}

static const struct strait_test tests[] = {
    {"every command has a table, a page with all of its options, and help of 80 columns",
     every_command},
    {"mandoc and groff find nothing in the pages", pages_are_clean},
    {"the pages that the manual names are there", named_files},
    {"help shows a command's page or options, or the nearest command", one_page},
    {"commands, options, experiments, models, codecs and strategies are completed", candidates},
    {"a candidate is said with its meaning", meanings},
    {"bash completes words with = in them", in_bash},
    {"fish and zsh take their scripts", in_other_shells},
    {"each shell has its script", scripts},
};
STRAIT_SUITE_WITH("cli/help/help", tests, .release = true);
