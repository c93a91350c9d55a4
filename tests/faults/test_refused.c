/* What commands say, and their status, when one call of the system is refused: each of some kinds
 * in turn, as in tests/golden/refused.txt. A command that this machine cannot run is left out.
 * STRAIT_WRITE_GOLDEN=all writes the list anew, which is then read. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/kit/data.h"
#include "tests/kit/folder.h"
#include "tests/kit/program.h"

enum { N_KINDS = 11, LIST_CHARS = 1 << 16 }; /* N_KINDS of inject.c */

static const char experiment[] =
    "{\"schema\": \"strait-experiment/1\", \"title\": \"refused\", \"model\": \"cnn\","
    " \"strategy\": {\"name\": \"fedavg\", \"rounds\": 1, \"local_steps\": 1}, \"codec\": \"none\","
    " \"network\": {\"client\": {\"rate\": %s, \"rtt\": \"%d ms\"},"
    "               \"server\": {\"rate\": \"1 Gbps\"}}, \"clients\": 2}\n";

static const struct command {
    const char *args[16];
    struct {
        const char *kind;
        int first, last;
    } calls[4];
} commands[] = {
    {{"run", "near.json", "--on", "emu", "--realisation", "relay", "--timing", "replay",
      "--dilation", "2", "--no-break-even", "--fresh"},
     {{"fork", 4, 11}, {"memfd", 0, 3}}},
    {{"net", "run", "near.json", "--realisation", "relay", "--", "true"},
     {{"fork", 0, 7}, {"socket", 0, 0}, {"socket", 8, 15}, {"connect", 0, 2}}},
    {{"net", "run", "tides.json", "--realisation", "kernel", "--", "true"},
     {{"fork", 4, 9}, {"socket", 8, 18}}},
};
enum { N_COMMANDS = sizeof(commands) / sizeof(*commands) };

/* Without a fault where kind is NULL. */
static int call(struct program *p, const struct command *c, const char *kind, int index)
{
    static const unsigned char none[8 * N_KINDS];
    char library[4200], fault[32], counts[128];
    if (kind) {
        program_write_bytes(p, "counts", none, sizeof(none));
        snprintf(counts, sizeof(counts), "%s/counts", p->folder);
        snprintf(fault, sizeof(fault), "%s:%d", kind, index);
        snprintf(library, sizeof(library), "%.*s/tests/faults.so",
                 (int)(strrchr(p->path, '/') - p->path), p->path);
        setenv("STRAIT_FAULT_COUNT", counts, 1);
        setenv("STRAIT_FAULT", fault, 1);
        setenv("LD_PRELOAD", library, 1);
    }
    const pid_t pid = program_start(p, "said", c->args);
    unsetenv("LD_PRELOAD");
    return program_wait(pid);
}

/* The first line that is about the error, without the test's folder and numbers of processes. */
static void said_of(char line[300], const struct program *p)
{
    char *said = program_read(p, "said.err"), *rest = NULL;
    line[0] = '\0';
    for (char *at = strtok_r(said, "\n", &rest); at && !line[0]; at = strtok_r(NULL, "\n", &rest))
        if (strncmp(at, "strait: ", 8) == 0 && !strstr(at, "INVALID"))
            snprintf(line, 300, "%s", at);
    char *folder = strstr(line, p->folder);
    if (folder)
        memmove(folder, folder + strlen(p->folder), strlen(folder + strlen(p->folder)) + 1);
    char *run = strstr(line, "run-");
    if (run) {
        const size_t n = strspn(run + 4, "0123456789");
        memmove(run + 4, run + 4 + n, strlen(run + 4 + n) + 1);
    }
    free(said);
}

static void add_command(char *found, struct program *p, const struct command *c)
{
    size_t n = strlen(found);
    for (int i = 0; i < 4 && c->calls[i].kind; i++)
        for (int k = c->calls[i].first; k <= c->calls[i].last; k++) {
            char line[300];
            int status = call(p, c, c->calls[i].kind, k);
            said_of(line, p);
            if (status == 1 && !*line) /* INVALID on a busy machine */
                status = 0;
            n += (size_t)snprintf(found + n, LIST_CHARS - n, "%s %d: %d %s\n", c->calls[i].kind, k,
                                  status, line);
            CU_ASSERT_FATAL(n < LIST_CHARS);
        }
}

/* The lines below a command's title. */
static char *part_of(const char *list, const char *title)
{
    const char *at = strstr(list, title), *end = at ? strstr(at + 1, "\n# ") : NULL;
    return !at ? strdup("") : end ? strndup(at, (size_t)(end - at) + 1) : strdup(at);
}

static void refused(void)
{
    const char *const write = getenv("STRAIT_WRITE_GOLDEN");
    const bool anew = write && strcmp(write, "all") == 0;
    struct program p;
    char text[1024];
    if (geteuid() != 0) {
        strait_test_skip("only root is asked about: an ordinary user has other ways");
        return;
    }
    program_set_up(&p);
    snprintf(text, sizeof(text), experiment, "\"1 Gbps\"", 10);
    program_write(&p, "near.json", text);
    snprintf(
        text, sizeof(text), experiment,
        "[{\"at\": \"0 s\", \"rate\": \"1 Gbps\"}, {\"at\": \"3600 s\", \"rate\": \"2 Gbps\"}]", 0);
    program_write(&p, "tides.json", text);
    char *list = folder_text("/", DATA("tests/golden/refused.txt"));
    char *found = calloc(1, LIST_CHARS);
    CU_ASSERT_PTR_NOT_NULL_FATAL(found);
    FILE *f = anew ? fopen(DATA("tests/golden/refused.txt"), "we") : NULL;
    for (int i = 0; i < N_COMMANDS; i++) {
        char title[128];
        snprintf(title, sizeof(title), "# %s %s", commands[i].args[0], commands[i].args[1]);
        for (int k = 2; commands[i].args[k]; k++)
            snprintf(title + strlen(title), sizeof(title) - strlen(title), " %s",
                     commands[i].args[k]);
        char *wanted = part_of(list ? list : "", title);
        const int status = call(&p, &commands[i], NULL, 0);
        snprintf(found, LIST_CHARS, "%s\n", title);
        if (status == 3) {
            char *said = program_read(&p, "said.err");
            strait_test_skip(said);
            free(said);
        } else {
            add_command(found, &p, &commands[i]);
        }
        if (f)
            fputs(status == 3 ? wanted : found, f);
        else if (status != 3)
            CU_ASSERT_STRING_EQUAL(found, wanted);
        free(wanted);
    }
    if (f)
        fclose(f);
    free(found);
    free(list);
    unsetenv("STRAIT_FAULT");
    unsetenv("STRAIT_FAULT_COUNT");
    program_tear_down(&p);
}

static const struct strait_test tests[] = {
    {"commands say what was refused, as the list does", refused},
};
STRAIT_SUITE_WITH("faults/refused", tests, .release = true);
