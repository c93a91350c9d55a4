/* docs/tutorial.md is what a reader sees who types it: its files are written, its commands run in
 * their order in a folder of their own, and their outputs are those of the page. `make tutorial`
 * writes them into it. */
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/kit/data.h"
#include "tests/kit/program.h"
#include "tests/kit/suite.h"

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
    fprintf(page, "%.*s%s", (int)(end - line), line, s.out);
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

static void tutorial(void)
{
    const char *path = DATA("docs/tutorial.md");
    struct program p;
    program_set_up(&p);
    char dirs[8192], bin[sizeof(p.path)];
    snprintf(bin, sizeof(bin), "%s", p.path);
    snprintf(dirs, sizeof(dirs), "%s:%s", dirname(bin), getenv("PATH"));
    setenv("PATH", dirs, 1);
    setenv("COLUMNS", "100", 1); /* of the page */
    snprintf(p.path, sizeof(p.path), "/bin/sh");
    char *text = text_of(path), *now = run_page(&p, text);
    if (getenv("STRAIT_WRITE_TUTORIAL")) {
        FILE *page = fopen(path, "w");
        CU_ASSERT_PTR_NOT_NULL_FATAL(page);
        fputs(now, page);
        fclose(page);
    } else {
        CU_ASSERT_STRING_EQUAL(now, text);
    }
    free(text);
    free(now);
    program_tear_down(&p);
}

static const struct strait_test tests[] = {
    {"the tutorial's commands say what its page shows", tutorial},
};
STRAIT_SUITE("docs/tutorial", tests);
