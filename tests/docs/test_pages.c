/* Pages: every one is named in docs/index.md, every link leads to a file and a heading that are
 * there, and troubleshooting quotes what programs say. */
#include <ctype.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/process.h"
#include "tests/kit/data.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"

static char *text_of(const char *path)
{
    size_t len_bytes;
    char *text = folder_bytes("", path, &len_bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    return text;
}

static glob_t pages_of(const char *const patterns[])
{
    glob_t found = {0};
    for (size_t i = 0; patterns[i]; i++) {
        char pattern[4200];
        snprintf(pattern, sizeof(pattern), "%s/%s", DATA(""), patterns[i]);
        CU_ASSERT_EQUAL_FATAL(glob(pattern, i > 0 ? GLOB_APPEND : 0, NULL, &found), 0);
    }
    return found;
}

static void indexed(void)
{
    static const char *const patterns[] = {"docs/*.md", NULL};
    glob_t pages = pages_of(patterns);
    char *index = text_of(DATA("docs/index.md")), link[300];
    CU_ASSERT(pages.gl_pathc > 30);
    for (size_t i = 0; i < pages.gl_pathc; i++) {
        const char *name = strrchr(pages.gl_pathv[i], '/') + 1;
        snprintf(link, sizeof(link), "](%s", name);
        if (strcmp(name, "index.md") != 0)
            CU_ASSERT_CONTAINS(index, link);
    }
    free(index);
    globfree(&pages);
}

/* The anchor of a heading: letters in lower case, digits, dashes for spaces, no punctuation. */
static bool has_heading(const char *text, const char *anchor, size_t len)
{
    bool in_code = false;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        in_code ^= strncmp(line, "```", 3) == 0;
        if (*line != '#' || in_code)
            continue;
        char slug[256];
        size_t n = 0;
        for (const char *c = line + strspn(line, "# "); *c && *c != '\n' && n < sizeof(slug); c++)
            if (isalnum((unsigned char)*c) || *c == '-' || *c == '_' || *c == ' ')
                slug[n++] = *c == ' ' ? '-' : (char)tolower((unsigned char)*c);
        if (n == len && strncmp(slug, anchor, len) == 0)
            return true;
    }
    char name[256];
    snprintf(name, sizeof(name), "<a name=\"%.*s\">", (int)len, anchor);
    return strstr(text, name) != NULL;
}

/* One link of a page; those to other machines are not followed. */
static void check_link(const char *page, const char *link, size_t len)
{
    const size_t n_path = strcspn(link, "#)");
    const char *slash = strrchr(page, '/');
    char path[8400];
    if (strncmp(link, "http", 4) == 0 || strncmp(link, "mailto:", 7) == 0)
        return;
    strait_test_context("%s: %.*s", page, (int)len, link);
    snprintf(path, sizeof(path), "%.*s/%.*s", (int)(slash - page), page, (int)n_path, link);
    const char *target = n_path > 0 ? path : page;
    CU_ASSERT_EQUAL(access(target, R_OK), 0);
    if (n_path < len && access(target, R_OK) == 0) {
        char *text = text_of(target);
        CU_ASSERT(has_heading(text, link + n_path + 1, len - n_path - 1));
        free(text);
    }
}

static void linked(void)
{
    static const char *const patterns[] = {"*.md", "docs/*.md", "*/README.md", "*/*/README.md",
                                           NULL};
    glob_t pages = pages_of(patterns);
    unsigned n = 0;
    for (size_t i = 0; i < pages.gl_pathc; i++) {
        char *text = text_of(pages.gl_pathv[i]);
        for (const char *at = text; (at = strstr(at, "](")) != NULL; n++) {
            at += 2;
            check_link(pages.gl_pathv[i], at, strcspn(at, ")\n"));
        }
        free(text);
    }
    CU_ASSERT(n > 100);
    globfree(&pages);
}

/* "ended late, ... ms": what stands between dots is in a source. */
static void check_quote(const char *quote, size_t len)
{
    char text[300];
    snprintf(text, sizeof(text), "%.*s", (int)len, quote);
    for (char *rest = text, *part; (part = strtok_r(rest, ".", &rest)) != NULL;) {
        part += strspn(part, " ,");
        part[strcspn(part, ",")] = '\0';
        while (*part && part[strlen(part) - 1] == ' ')
            part[strlen(part) - 1] = '\0';
        const char *const argv[] = {
            "grep",           "-rqF",        "--include=*.c",   part,        DATA("analysis"),
            DATA("campaign"), DATA("cli"),   DATA("codecs"),    DATA("emu"), DATA("learn"),
            DATA("mpi"),      DATA("serve"), DATA("workloads"), NULL};
        strait_test_context("%s", part);
        if (strlen(part) > 3)
            CU_ASSERT_EQUAL(strait_process_run(NULL, 0, argv, NULL, 60, NULL), 0);
    }
}

static void quoted(void)
{
    char *text = text_of(DATA("docs/troubleshooting.md"));
    unsigned n = 0;
    for (const char *bold = text; (bold = strstr(bold, "**")) != NULL;) {
        const char *end = strstr(bold + 2, "**"), *open = bold;
        CU_ASSERT_PTR_NOT_NULL_FATAL(end);
        while ((open = strchr(open + 1, '"')) != NULL && open < end) {
            const char *close = strchr(open + 1, '"');
            CU_ASSERT_FATAL(close && close < end);
            check_quote(open + 1, (size_t)(close - open - 1));
            open = close;
            n++;
        }
        bold = end + 2;
    }
    CU_ASSERT(n > 8);
    free(text);
}

static const struct strait_test tests[] = {
    {"docs/index.md names every page", indexed},
    {"links lead to files and headings that are there", linked},
    {"troubleshooting quotes what programs say", quoted},
};
STRAIT_SUITE("docs/pages", tests);
