#include "results.h"
#include <stdlib.h>
#include <string.h>
#include "tests/kit/folder.h"

/* The test that the end of its process cut off has failed. */
static void count(struct strait_suite_result *r)
{
    for (unsigned i = 0; i < r->suite->n_tests; i++) {
        const int end = (int)r->tests[i].end;
        r->n_passed += end == STRAIT_PASSED;
        r->n_skipped += end == STRAIT_SKIPPED;
        r->n_failed += end == STRAIT_FAILED || end == STRAIT_RUNS;
    }
    if (r->cut[0] && r->n_failed == 0) /* outside of a test: a leak, for example */
        r->n_failed = 1;
}

static void take(struct strait_suite_result *r, const char *line)
{
    char word[16] = "";
    unsigned i = 0;
    int n_chars = 0;
    if (sscanf(line, "picked %u", &r->n_picked) == 1)
        return;
    if (sscanf(line, "%15s %u %n", word, &i, &n_chars) < 2 || i >= r->suite->n_tests)
        return;
    struct strait_test_result *t = &r->tests[i];
    const char *rest = line + n_chars;
    if (strcmp(word, "begin") == 0) {
        t->end = STRAIT_RUNS;
        t->begin_bytes = atol(rest);
    } else if (strcmp(word, "skipped") == 0 && !t->why[0]) {
        snprintf(t->why, sizeof(t->why), "%.255s", rest);
    } else if (strcmp(word, "ok") == 0) {
        t->end = t->why[0] ? STRAIT_SKIPPED : STRAIT_PASSED;
        sscanf(rest, "%ld %lf", &t->end_bytes, &t->took_s);
    } else if (strcmp(word, "failed") == 0) {
        t->end = STRAIT_FAILED;
        sscanf(rest, "%ld %lf", &t->end_bytes, &t->took_s);
    }
}

int strait_result_read(struct strait_suite_result *r, const char *events, const char *log)
{
    size_t n;
    char *text = folder_bytes("", events, &n);
    r->tests = calloc(r->suite->n_tests, sizeof(*r->tests));
    r->log = folder_bytes("", log, &r->n_log_bytes);
    if (!text || !r->tests || !r->log) {
        free(text);
        return -1;
    }
    bool is_done = false;
    for (char *line, *rest = text; (line = strsep(&rest, "\n"));) {
        take(r, line);
        is_done |= strcmp(line, "done") == 0;
    }
    if (!is_done && !r->cut[0])
        strcpy(r->cut, "ended before its last test");
    count(r);
    free(text);
    return 0;
}

void strait_result_release(struct strait_suite_result *r)
{
    free(r->tests);
    free(r->log);
}

/* Lines of the log, indented. */
static void print_log(FILE *f, const struct strait_suite_result *r, size_t begin, size_t end)
{
    for (size_t i = begin; i < end && i < r->n_log_bytes;) {
        const char *newline = memchr(r->log + i, '\n', r->n_log_bytes - i);
        const size_t n = newline ? (size_t)(newline - (r->log + i)) : r->n_log_bytes - i;
        fprintf(f, "    %.*s\n", (int)n, r->log + i);
        i += n + 1;
    }
}

static void print_failed(FILE *f, const struct strait_suite_result *r, unsigned i)
{
    const struct strait_test_result *t = &r->tests[i];
    fprintf(f, "--- %s: %s%s%s\n", r->suite->name, r->suite->tests[i].sentence,
            t->end == STRAIT_RUNS ? ": " : "", t->end == STRAIT_RUNS ? r->cut : "");
    print_log(f, r, (size_t)t->begin_bytes,
              t->end == STRAIT_RUNS ? r->n_log_bytes : (size_t)t->end_bytes);
}

static void print_skipped(FILE *f, const struct strait_suite_result *r)
{
    for (unsigned i = 0; i < r->suite->n_tests; i++) {
        const struct strait_test_result *t = &r->tests[i];
        if (t->end != STRAIT_SKIPPED)
            continue;
        if (i > 0 && r->tests[i - 1].end == STRAIT_SKIPPED &&
            strcmp(r->tests[i - 1].why, t->why) == 0)
            continue; /* its cause has just been said */
        fprintf(f, "     skipped: %s: %s\n", r->suite->tests[i].sentence, t->why);
    }
}

void strait_result_print(FILE *f, const struct strait_suite_result *r, uint64_t seed)
{
    char counts[64];
    unsigned n_begun = 0, n_shown = 0;
    int n = snprintf(counts, sizeof(counts), "%u passed", r->n_passed);
    if (r->n_failed > 0)
        n += snprintf(counts + n, sizeof(counts) - (size_t)n, ", %u failed", r->n_failed);
    if (r->n_skipped > 0)
        snprintf(counts + n, sizeof(counts) - (size_t)n, ", %u skipped", r->n_skipped);
    fprintf(f, "%-4s %-48s %-32s %6.1f s, CPU %.1f s\n", r->n_failed > 0 ? "FAIL" : "ok",
            r->suite->name, counts, r->took_s, r->cpu_s);
    print_skipped(f, r);
    for (unsigned i = 0; i < r->suite->n_tests; i++) {
        const int end = (int)r->tests[i].end;
        if (end == STRAIT_FAILED || end == STRAIT_RUNS) {
            print_failed(f, r, i);
            n_shown++;
        }
        n_begun += end != STRAIT_NOT_RUN;
    }
    if (r->cut[0] && n_shown == 0) {
        fprintf(f, "--- %s: %s\n", r->suite->name, r->cut);
        print_log(f, r, r->n_log_bytes > 4000 ? r->n_log_bytes - 4000 : 0, r->n_log_bytes);
    }
    if (n_begun < r->n_picked)
        fprintf(f, "    %u of its tests did not run\n", r->n_picked - n_begun);
    if (r->n_failed > 0)
        fprintf(f, "    again: make test TESTS=%s SEED=%llu\n", r->suite->name,
                (unsigned long long)seed);
    fflush(f);
}
