/* All tests in one program: picks suites, runs them (runner.c) and ends with one plain line: N
 * passed, N failed, N skipped. */
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/host.h"
#include "runner.h"
#include "suite_run.h"
#include "suites.h"

static const char usage[] =
    "usage: strait-tests [-j N] [--quick] [--long] [--seed N] [--junit FILE] [WORD...]\n"
    "       strait-tests --list | [--first] --here SUITE [WORD...]\n"
    "\n"
    "WORD  the beginning of a suite's path (codecs/sz); else a part of a test's sentence\n"
    "\n"
    "  -j N          suites at a time (thrice the processors, 6 to 12: many wait)\n"
    "  --quick       leave out suites that are marked slow\n"
    "  --threads     suites with threads that share memory alone\n"
    "  --long        all settings of tests that else take a few (STRAIT_LONG=1)\n"
    "  --seed N      for what is drawn (1)\n"
    "  --junit FILE  write the results as JUnit's XML too\n"
    "  --list        print paths and marks of the suites\n"
    "  --here        run one suite in this process, for a debugger\n"
    "  --first       and end it with the first check that fails\n"
    "\n"
    "Exit: 0 all passed or were skipped; 1 a test failed; 2 bad usage.\n";

struct options {
    const char *junit, *events, *here;
    unsigned n_at_once;
    uint64_t seed;
    bool quick, threads, list, first;
    char **words, **paths; /* parts of sentences; beginnings of suites' paths */
    int n_words, n_paths;
};

static int complain(const char *text, const char *found)
{
    fprintf(stderr, "strait: tests: %s, found \"%s\"\n", text, found);
    return 2;
}

static int read_number(uint64_t *number, const char *text, uint64_t least)
{
    char *end;
    *number = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || *number < least)
        return complain(least > 0 ? "expected a whole number above 0" : "expected a whole number",
                        text);
    return 0;
}

/* Words may stand between options; --here takes all that follows. */
static int read_options(struct options *o, int argc, char **argv)
{
    const char *const with_value[] = {"-j", "--seed", "--junit", "--events", "--here"};
    int i = 1, rc = 0;
    uint64_t n;
    o->words = argv + 1;
    for (; i < argc && !o->here; i++) {
        const char *name = argv[i];
        if (name[0] != '-') {
            o->words[o->n_words++] = argv[i];
            continue;
        }
        for (size_t k = 0; k < sizeof(with_value) / sizeof(with_value[0]); k++)
            if (strcmp(name, with_value[k]) == 0 && ++i == argc)
                return complain("expected a value after", name);
        if (strcmp(name, "-j") == 0) {
            if ((rc = read_number(&n, argv[i], 1)) != 0)
                return rc;
            o->n_at_once = n < 64 ? (unsigned)n : 64;
        } else if (strcmp(name, "--seed") == 0) {
            if ((rc = read_number(&o->seed, argv[i], 0)) != 0)
                return rc;
        } else if (strcmp(name, "--junit") == 0) {
            o->junit = argv[i];
        } else if (strcmp(name, "--events") == 0) {
            o->events = argv[i];
        } else if (strcmp(name, "--here") == 0) {
            o->here = argv[i];
        } else if (strcmp(name, "--quick") == 0) {
            o->quick = true;
        } else if (strcmp(name, "--threads") == 0) {
            o->threads = true;
        } else if (strcmp(name, "--long") == 0) {
            setenv("STRAIT_LONG", "1", 1);
        } else if (strcmp(name, "--list") == 0) {
            o->list = true;
        } else if (strcmp(name, "--first") == 0) {
            o->first = true;
        } else {
            return complain("expected an option (see --help)", name);
        }
    }
    for (; i < argc; i++)
        o->words[o->n_words++] = argv[i];
    return 0;
}

/* "tests/core/test_units.c" declares "core/units". */
static bool has_its_name(const struct strait_suite *s)
{
    char path[PATH_MAX];
    const char *slash = strrchr(s->file, '/');
    if (!slash || strncmp(s->file, "tests/", 6) != 0)
        return false;
    snprintf(path, sizeof(path), "%.*s%s", (int)(slash + 1 - (s->file + 6)), s->file + 6,
             slash + 1 + strlen("test_"));
    path[strlen(path) - 2] = '\0';
    return strcmp(path, s->name) == 0;
}

static bool begins(const struct strait_suite *s, const char *word)
{
    return strncmp(s->name, word, strlen(word)) == 0;
}

/* Words with which a suite's path begins pick suites; the others pick tests of these, or of all. */
static void split_words(struct options *o)
{
    int n_sentence = 0;
    for (int i = 0; i < o->n_words; i++) {
        char *word = o->words[i];
        bool is_path = false;
        for (unsigned k = 0; k < strait_n_suites; k++)
            is_path |= begins(strait_suites[k], word);
        if (is_path)
            o->paths[o->n_paths++] = word;
        else
            o->words[n_sentence++] = word;
    }
    o->n_words = n_sentence;
}

static bool is_picked(const struct strait_suite *s, const struct options *o)
{
    bool is_begun = o->n_paths == 0, is_named = false, has_sentence = false;
    for (int i = 0; i < o->n_paths; i++) {
        is_begun |= begins(s, o->paths[i]);
        is_named |= strcmp(s->name, o->paths[i]) == 0;
    }
    for (unsigned i = 0; i < s->n_tests; i++)
        has_sentence |= strait_suite_picks(s->tests[i].sentence, o->words, o->n_words);
    return is_begun && has_sentence && (is_named || !s->apart) &&
           !(o->quick && (s->slow_s > 0 || s->alone)) && (s->threads || !o->threads);
}

static void print_left_out(unsigned n, const char *why)
{
    if (n > 0)
        printf("%u suites left out: %s\n", n, why);
}

static int run_picked(const struct options *o, const char *program)
{
    const struct strait_suite **picked = calloc(strait_n_suites, sizeof(struct strait_suite *));
    unsigned n = 0, n_figures = 0;
    if (!picked)
        abort();
    for (unsigned i = 0; i < strait_n_suites; i++) {
        if (!is_picked(strait_suites[i], o))
            continue;
        if (IS_SANITIZED && strait_suites[i]->release)
            n_figures++;
        else
            picked[n++] = strait_suites[i];
    }
    struct strait_runner r = {.program = program,
                              .words = o->words,
                              .n_words = o->n_words,
                              .suites = picked,
                              .n_suites = n,
                              .n_at_once = o->n_at_once,
                              .seed = o->seed};
    int rc = 0;
    printf("%u suites, %u at a time, seed %llu\n", n, o->n_at_once, (unsigned long long)o->seed);
    fflush(stdout);
    if (n == 0)
        rc = complain("expected the beginning of a suite's path or a part of a test's sentence",
                      o->n_words > 0   ? o->words[0]
                      : o->n_paths > 0 ? o->paths[0]
                                       : "");
    else if (strait_runner_run(&r) != 0)
        rc = 1;
    if (rc == 0 && o->junit && strait_results_junit(o->junit, r.results, n) != 0)
        rc = complain("expected a file that can be written", o->junit);
    for (unsigned i = 0; r.results && i < n; i++)
        strait_result_release(&r.results[i]);
    free(r.results);
    free(picked);
    if (rc != 0)
        return rc;
    print_left_out(n_figures, "they measure, or check figures that need no sanitizer");
    printf("%u passed, %u failed, %u skipped\n", r.n_passed, r.n_failed, r.n_skipped);
    return r.n_failed > 0 || r.n_passed + r.n_skipped == 0 ? 1 : 0;
}

static void list(void)
{
    for (unsigned i = 0; i < strait_n_suites; i++) {
        const struct strait_suite *s = strait_suites[i];
        printf("%-48s %3u%s%s%s%s%s\n", s->name, s->n_tests, s->slow_s > 0 ? " slow" : "",
               s->alone ? " alone" : "", s->release ? " release" : "", s->threads ? " threads" : "",
               s->apart ? " apart" : "");
    }
}

/* Two thirds of what the suites take they wait, for shaped links and for each other's processes. */
static unsigned suites_at_once(void)
{
    enum { MIN_SUITES = 6, MAX_SUITES = 12 };
    const long n = 3 * sysconf(_SC_NPROCESSORS_ONLN);
    return n < MIN_SUITES ? MIN_SUITES : n > MAX_SUITES ? MAX_SUITES : (unsigned)n;
}

static int run_here(const struct options *o)
{
    for (unsigned i = 0; i < strait_n_suites; i++)
        if (strcmp(strait_suites[i]->name, o->here) == 0)
            return strait_suite_run(strait_suites[i], o->words, o->n_words, o->events, o->first);
    return complain("expected a suite of --list", o->here);
}

int main(int argc, char **argv)
{
    char program[PATH_MAX] = "", beside[PATH_MAX], strait[PATH_MAX + 16], seed[32];
    const char *given = getenv("STRAIT_SEED");
    struct options o = {.n_at_once = suites_at_once()};
    strait_blas_choose_core(); /* as the program does */
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    for (unsigned i = 0; i < strait_n_suites; i++)
        if (!has_its_name(strait_suites[i]))
            return complain("expected a suite's name to be the path of its file",
                            strait_suites[i]->name);
    if (read_number(&o.seed, given ? given : "1", 0) != 0 || read_options(&o, argc, argv) != 0)
        return 2;
    if (readlink("/proc/self/exe", program, sizeof(program) - 1) < 0)
        return complain("expected /proc/self/exe", strerror(2));
    strcpy(beside, program);
    snprintf(strait, sizeof(strait), "%s/../strait", dirname(beside));
    unsetenv("COLUMNS");             /* tables as wide as they are */
    setenv("STRAIT_BIN", strait, 0); /* the program that was built beside this one */
    snprintf(seed, sizeof(seed), "%llu", (unsigned long long)o.seed);
    setenv("STRAIT_SEED", seed, 1);
    if (o.list)
        list();
    if (o.list || o.here)
        return o.list ? 0 : run_here(&o);
    o.paths = calloc((size_t)o.n_words + 1, sizeof(*o.paths));
    if (!o.paths)
        abort();
    split_words(&o);
    const int status = run_picked(&o, program);
    free(o.paths);
    return status;
}
