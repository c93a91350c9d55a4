#include <ctype.h>
#include <libgen.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/kit/data.h"
#include "tests/kit/program.h"
#include "tests/kit/suite.h"
#include "transcript.h"

static const char fence[] = "```";

static char *text_of(const char *path)
{
    char *text = NULL;
    size_t cap = 0;
    FILE *in = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(in);
    CU_ASSERT_FATAL(getdelim(&text, &cap, '\0', in) > 0);
    fclose(in);
    return text;
}

/* Compared from the first line that differs on, so that a failure shows it and its number. */
static void check_equal(const char *path, const char *now, const char *text)
{
    size_t n_lines = 1;
    const char *line = now, *wanted = text;
    for (size_t i = 0; now[i] && now[i] == text[i]; i++)
        if (now[i] == '\n') {
            line = now + i + 1;
            wanted = text + i + 1;
            n_lines++;
        }
    strait_test_context("%s:%zu", path, n_lines);
    CU_ASSERT_STRING_EQUAL(line, wanted);
}

/* A line of the page, which the block's end is not. */
static bool in_block(const char *line)
{
    return *line && strncmp(line, fence, strlen(fence)) != 0;
}

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? end + 1 : line + strlen(line);
}

/* The word that follows `save as` in the block's first line: ```json save as NAME */
static bool file_of(char name[64], const char *opening)
{
    char line[256];
    snprintf(line, sizeof(line), "%.*s", (int)strcspn(opening, "\n"), opening);
    return sscanf(line, "```%*s save as %63s", name) == 1;
}

static bool is_session(const char *opening)
{
    return strncmp(opening, "```console\n", strlen("```console\n")) == 0;
}

/* Numbers of more than nine digits are rounded to seven, since the last ones are the machine's, and
 * what rounding leaves of a difference is 0. Keys of rows, which are hashes, become a word. */
static void put_plain(FILE *page, const char *text)
{
    for (const char *c = text; *c;) {
        const size_t n_hex = strspn(c, "0123456789abcdef"), n_digits = strspn(c, "0123456789.");
        char *end = NULL;
        const double value = isdigit(*c) ? strtod(c, &end) : NAN;
        if (n_hex == 32) {
            fputs("(key)", page);
            c += n_hex;
        } else if (value != 0 && fabs(value) < 1e-12) {
            fputs("0", page);
            c = end;
        } else if (n_digits > 9 && end) {
            fprintf(page, "%.7g", value);
            c = end;
        } else {
            const size_t n = n_hex > 0 ? n_hex : n_digits > 0 ? n_digits : 1;
            fwrite(c, 1, n, page);
            c += n;
        }
    }
}

/* Run what stands behind "$ ", lines that end with a backslash included; copy it and what it says
 * to the new page. Returns: the line behind the command. */
static const char *one_command(FILE *page, const struct program *p, const char *line)
{
    char command[4096];
    const char *end = line;
    do
        end = next_line(end);
    while (end - line > 2 && end[-2] == '\\' && in_block(end));
    snprintf(command, sizeof(command), "%.*s", (int)(end - line - 3), line + 2);
    struct said s = PROGRAM_CALL(p, "-c", command);
    strait_test_context("%s: status %d: %s", command, s.status, s.err);
    CU_ASSERT_EQUAL(s.status, 0);
    fprintf(page, "%.*s", (int)(end - line), line);
    put_plain(page, s.out);
    said_release(&s);
    return end;
}

/* A block of commands and outputs, from its first line on. Returns: the line that ends it. */
static const char *session(FILE *page, const struct program *p, const char *line)
{
    while (in_block(line)) {
        if (strncmp(line, "$ ", 2) == 0)
            line = one_command(page, p, line);
        else
            line = next_line(line); /* of an output, which has just been written anew */
    }
    return line;
}

static const char *file_block(const struct program *p, const char *name, const char *line)
{
    const char *end = line;
    char *text;
    while (in_block(end))
        end = next_line(end);
    CU_ASSERT_FATAL(asprintf(&text, "%.*s", (int)(end - line), line) > 0);
    program_write(p, name, text);
    free(text);
    return end;
}

/* The page as it is when its commands have been run. */
static char *run_page(const struct program *p, const char *text)
{
    char *out = NULL, name[64];
    size_t len;
    FILE *page = open_memstream(&out, &len);
    for (const char *line = text, *next; *line; line = next) {
        next = next_line(line);
        fwrite(line, 1, (size_t)(next - line), page);
        if (in_block(line))
            continue;
        const char *end = next;
        if (is_session(line)) {
            end = session(page, p, next);
        } else {
            if (file_of(name, line))
                file_block(p, name, next);
            while (in_block(end))
                end = next_line(end);
            fwrite(next, 1, (size_t)(end - next), page);
        }
        next = next_line(end);
        fwrite(end, 1, (size_t)(next - end), page);
    }
    fclose(page);
    return out;
}

void transcript_check(const char *path, const char *columns, bool write)
{
    struct program p;
    program_set_up(&p);
    char dirs[8192], bin[sizeof(p.path)];
    snprintf(bin, sizeof(bin), "%s", p.path);
    snprintf(dirs, sizeof(dirs), "%s/bin:%s:%s", p.folder, dirname(bin), getenv("PATH"));
    setenv("PATH", dirs, 1);
    setenv("COLUMNS", columns, 1); /* of the page */
    setenv("TREE", DATA("."), 1);  /* where a command finds what the tests keep */
    snprintf(p.path, sizeof(p.path), "/bin/sh");
    char *text = text_of(path), *now = run_page(&p, text);
    if (write) {
        FILE *page = fopen(path, "w");
        CU_ASSERT_PTR_NOT_NULL_FATAL(page);
        fputs(now, page);
        fclose(page);
    } else {
        check_equal(path, now, text);
    }
    free(text);
    free(now);
    program_tear_down(&p);
}
