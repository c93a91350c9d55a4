#include "bad_lines.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "tests/kit/data.h"
#include "tests/kit/folder.h"
#include "tests/kit/program.h"

enum { LINE_CHARS = 2048 };

static struct program program;

static void files(void)
{
    char path[128];
    program_write(&program, "empty.json", "{}\n");
    program_write(&program, "nothing", "");
    program_write(&program, "text", "no JSON, no tensor\n");
    snprintf(path, sizeof(path), "%s/folder", program.folder);
    CU_ASSERT_EQUAL_FATAL(mkdir(path, 0777), 0);
    struct said s = PROGRAM_CALL(&program, "run", "wan-check", "--on", "fluid", "--no-break-even",
                                 "--out", "r");
    CU_ASSERT_EQUAL_FATAL(s.status, 0);
    said_release(&s);
    snprintf(path, sizeof(path), "%s/old", program.folder);
    CU_ASSERT_EQUAL_FATAL(mkdir(path, 0777), 0);
    char *rows = program_read(&program, "r/results.jsonl");
    program_write(&program, "old/results.jsonl", strchr(rows, '\n') + 1);
    free(rows);
}

/* The words of a line, which it cuts up. */
static void split(const char *args[PROGRAM_MAX_ARGS], char *line)
{
    size_t n = 0;
    while (*(line += strspn(line, " "))) {
        CU_ASSERT_FATAL(n + 1 < PROGRAM_MAX_ARGS);
        char *to = line;
        args[n++] = line;
        for (bool quoted = false; *line && (quoted || *line != ' '); line++) {
            if (*line == '\'')
                quoted = !quoted;
            else
                *to++ = *line;
        }
        const bool more = *line == ' ';
        *to = '\0';
        line += more ? 1 : 0;
    }
    args[n] = NULL;
}

/* Is text what the pattern says, whose "..." stand for anything? */
static bool fits(const char *text, const char *pattern)
{
    const char *dots = strstr(pattern, "...");
    if (!dots)
        return strcmp(text, pattern) == 0;
    const size_t n = (size_t)(dots - pattern);
    if (strncmp(text, pattern, n) != 0)
        return false;
    for (const char *rest = text + n;; rest++) {
        if (fits(rest, dots + 3))
            return true;
        if (!*rest)
            return false;
    }
}

static void check(const char *name, char *command, const char *expected)
{
    const char *args[PROGRAM_MAX_ARGS];
    char shown[LINE_CHARS], found[LINE_CHARS];
    snprintf(shown, sizeof(shown), "%s", command);
    split(args, command);
    struct said s = program_call(&program, args);
    const size_t n = strlen(s.err);
    const bool one_line = n > 0 && strchr(s.err, '\n') == s.err + n - 1;
    snprintf(found, sizeof(found), "%d %.*s", s.status, n > 0 ? (int)n - 1 : 0, s.err);
    const bool good = one_line && fits(found, expected) && s.out_bytes == 0;
    CU_ASSERT_TRUE(good);
    if (!good)
        fprintf(stderr, "%s: strait %s\n  expected %s\n  found    %s%s\n", name, shown, expected,
                found, s.out_bytes > 0 ? " and text on standard output" : "");
    said_release(&s);
}

/* One file of cases. */
static unsigned check_file(const char *folder, const char *name)
{
    char *text = folder_text(folder, name), command[LINE_CHARS] = "", *end;
    unsigned n = 0;
    for (char *line = text; *line; line = end) {
        end = line + strcspn(line, "\n");
        if (*end)
            *end++ = '\0';
        if (line[0] == '$') {
            snprintf(command, sizeof(command), "%s", line + 2);
        } else if (*line) {
            CU_ASSERT_FATAL(*command != '\0');
            if (!IS_SANITIZED || n % 2 == 0)
                check(name, command, line);
            *command = '\0';
            n++;
        }
    }
    free(text);
    return n;
}

void bad_lines_of(const char *name, unsigned n_least)
{
    program_set_up(&program);
    files();
    CU_ASSERT(check_file(DATA("tests/bad/commands"), name) >= n_least);
    program_tear_down(&program);
}
