/* JUnit's XML, as continuous integration reads it. */
#include <stdio.h>
#include "results.h"

/* XML 1.0 has no other control characters, escaped or not. */
static void print_escaped(FILE *f, const char *s, size_t n)
{
    for (size_t i = 0; i < n && s[i]; i++) {
        const unsigned char c = (unsigned char)s[i];
        if (c == '&')
            fputs("&amp;", f);
        else if (c == '<')
            fputs("&lt;", f);
        else if (c == '>')
            fputs("&gt;", f);
        else if (c == '"')
            fputs("&quot;", f);
        else if (c < 0x20 && c != '\n' && c != '\t')
            fputs("?", f);
        else
            fputc(c < 0x80 ? c : '?', f);
    }
}

static void print_text(FILE *f, const char *s)
{
    print_escaped(f, s, (size_t)-1);
}

static void print_case(FILE *f, const struct strait_suite_result *r, unsigned i)
{
    const struct strait_test_result *t = &r->tests[i];
    if (t->end == STRAIT_NOT_RUN)
        return;
    fputs("    <testcase classname=\"", f);
    print_text(f, r->suite->name);
    fputs("\" name=\"", f);
    print_text(f, r->suite->tests[i].sentence);
    fprintf(f, "\" time=\"%.3f\">", t->took_s);
    if (t->end == STRAIT_SKIPPED) {
        fputs("<skipped message=\"", f);
        print_text(f, t->why);
        fputs("\"/>", f);
    } else if (t->end != STRAIT_PASSED) {
        const size_t begin = (size_t)t->begin_bytes,
                     end = t->end == STRAIT_RUNS ? r->n_log_bytes : (size_t)t->end_bytes;
        fputs("<failure message=\"", f);
        print_text(f, t->end == STRAIT_RUNS ? r->cut : "a check failed");
        fputs("\">", f);
        if (begin < end && end <= r->n_log_bytes)
            print_escaped(f, r->log + begin, end - begin);
        fputs("</failure>", f);
    }
    fputs("</testcase>\n", f);
}

static void print_suite(FILE *f, const struct strait_suite_result *r)
{
    const unsigned n = r->n_passed + r->n_failed + r->n_skipped;
    bool has_failed = false;
    fputs("  <testsuite name=\"", f);
    print_text(f, r->suite->name);
    for (unsigned i = 0; i < r->suite->n_tests; i++)
        has_failed |= r->tests[i].end == STRAIT_FAILED || r->tests[i].end == STRAIT_RUNS;
    fprintf(f, "\" tests=\"%u\" failures=\"%u\" errors=\"%u\" skipped=\"%u\" time=\"%.3f\">\n", n,
            has_failed ? r->n_failed : 0, has_failed ? 0 : r->n_failed, r->n_skipped, r->took_s);
    for (unsigned i = 0; i < r->suite->n_tests; i++)
        print_case(f, r, i);
    if (r->cut[0] && !has_failed) { /* between its tests */
        fputs("    <testcase classname=\"", f);
        print_text(f, r->suite->name);
        fputs("\" name=\"(the process)\"><error message=\"", f);
        print_text(f, r->cut);
        fputs("\">", f);
        const size_t begin = r->n_log_bytes > 4000 ? r->n_log_bytes - 4000 : 0;
        print_escaped(f, r->log + begin, r->n_log_bytes - begin);
        fputs("</error></testcase>\n", f);
    }
    fputs("  </testsuite>\n", f);
}

int strait_results_junit(const char *path, const struct strait_suite_result *results,
                         unsigned n_results)
{
    FILE *f = fopen(path, "w");
    if (!f)
        return -1;
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"strait\">\n", f);
    for (unsigned i = 0; i < n_results; i++)
        print_suite(f, &results[i]);
    fputs("</testsuites>\n", f);
    return fclose(f) == 0 ? 0 : -1;
}
