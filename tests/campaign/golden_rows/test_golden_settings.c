/* One small point with each of many settings: tests/golden/rows/settings.json has them, settings.txt
 * what commands say of each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <jansson.h>
#include "cli/kit/command.h"
#include "tests/kit/data.h"
#include "tests/kit/pages/golden_rows.h"
#include "tests/kit/program.h"

enum { MAX_ARGS = 32 };

/* In a process of its own, in the folder; text: what it prints, to be freed. */
static char *called(const struct program *p, int (*command)(int, char **), const char *const *args,
                    const json_t *sets)
{
    char *argv[MAX_ARGS] = {NULL}, *text = NULL;
    int argc = 0, status;
    size_t i, len_bytes;
    json_t *set;
    for (; args[argc]; argc++)
        argv[argc] = (char *)(uintptr_t)args[argc];
    json_array_foreach (sets, i, set) {
        argv[argc++] = (char *)(uintptr_t) "--set";
        argv[argc++] = (char *)(uintptr_t)json_string_value(set);
    }
    CU_ASSERT_FATAL(argc < MAX_ARGS);
    fflush(stdout);
    const pid_t pid = fork();
    CU_ASSERT_FATAL(pid >= 0);
    if (pid == 0) {
        if (chdir(p->folder) != 0 || !freopen("said", "w", stdout) || !freopen("err", "w", stderr))
            _exit(126);
        _exit(strait_command_end(command(argc, argv)));
    }
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    if (status != 0) {
        text = program_read(p, "err");
        fprintf(stderr, "%s", text);
        free(text);
    }
    CU_ASSERT_EQUAL(status, 0);
    text = program_read_bytes(p, "said", &len_bytes);
    return text;
}

/* Text that is one sum in no row: what a command says, line by line. */
static void golden_text(const char *name, char *text, bool writes)
{
    char *line = NULL, *rest, *at = strtok_r(text, "\n", &rest);
    size_t cap = 0, n = 0;
    FILE *f = fopen(DATA(name), writes ? "w" : "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    for (; at; at = strtok_r(NULL, "\n", &rest), n++) {
        if (writes) {
            fprintf(f, "%s\n", at);
        } else if (getline(&line, &cap, f) > 0) {
            line[strcspn(line, "\n")] = '\0';
            strait_test_context("%s:%zu", name, n + 1);
            CU_ASSERT_STRING_EQUAL(at, line);
        } else {
            CU_FAIL("there is more text than lines");
            break;
        }
    }
    CU_ASSERT(writes || getline(&line, &cap, f) < 0);
    free(line);
    CU_ASSERT_EQUAL(fclose(f), 0);
}

/* One small point with each of many settings. In turn one command more says what it can of it. */
static void settings(void)
{
    struct program p;
    struct golden g;
    char out[32], *text;
    size_t i, len_bytes;
    json_t *sets, *all = json_load_file(DATA("tests/golden/rows/settings.json"), 0, NULL);
    const char
        *const run[] = {"run",   "e.json", "--on",   "fluid", "-j", "1", "--no-break-even",
                        "--out", out,      "--json", NULL},
               *const again[] = {"run", "e.json", "--on", "fluid", "-j", "1", "--out", out, NULL},
               *const check[] = {"check", "e.json", "--on", "fluid", NULL},
               *const why[] = {"why", out, NULL}, *const timeline[] = {"timeline", out, NULL},
               *const compare_both[] = {"compare", out, out, NULL};
    const struct {
        int (*command)(int, char **);
        const char *const *args;
        bool takes_sets;
    } tellers[] = {{strait_command_run, again, true},
                   {strait_command_why, why, false},
                   {strait_command_check, check, true},
                   {strait_command_timeline, timeline, false},
                   {strait_command_compare, compare_both, false}};
    enum { N_TELLERS = sizeof(tellers) / sizeof(tellers[0]) };
    CU_ASSERT_PTR_NOT_NULL_FATAL(all);
    program_set_up(&p);
    char *base = json_dumps(json_object_get(all, "base"), 0);
    program_write(&p, "e.json", base);
    free(base);
    base = program_read(&p, DATA("tests/data/curves.csv"));
    program_write(&p, "curves.csv", base);
    free(base);
    FILE *told = open_memstream(&text, &len_bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(told);
    golden_open(&g, "settings", "fluid");
    json_array_foreach (json_object_get(all, "settings"), i, sets) {
        snprintf(out, sizeof(out), "out%zu", i);
        strait_test_context("%s", json_string_value(json_array_get(sets, 0)));
        char *said = called(&p, strait_command_run, run, sets);
        golden_rows(&g, said);
        free(said);
        said = called(&p, tellers[i % N_TELLERS].command, tellers[i % N_TELLERS].args,
                      tellers[i % N_TELLERS].takes_sets ? sets : NULL);
        fprintf(told, "== %s: %s\n%s", tellers[i % N_TELLERS].args[0],
                json_string_value(json_array_get(sets, 0)), said);
        free(said);
    }
    fclose(told);
    golden_text("tests/golden/rows/settings.txt", text, g.writes);
    golden_close(&g);
    free(text);
    json_decref(all);
    program_tear_down(&p);
}

static const struct strait_test tests[] = {
    {"rows of single settings, and what commands say of them, are what they were", settings},
};
STRAIT_SUITE_WITH("campaign/golden_rows/golden_settings", tests, .slow_s = 3, .release = true);
