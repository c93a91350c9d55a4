#include "golden_points.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cli/kit/command.h"
#include "golden_rows.h"
#include "tests/kit/data.h"

enum { MAX_ARGS = 40 };

const json_t *golden_base(json_t **all, const struct program *p, const char *name)
{
    char file[256];
    snprintf(file, sizeof(file), "tests/golden/rows/%s.json", name);
    *all = json_load_file(DATA(file), 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(*all);
    char *base = json_dumps(json_object_get(*all, "base"), 0);
    program_write(p, "e.json", base);
    free(base);
    return json_object_get(*all, "settings");
}

char *golden_called(int *status, const struct program *p, int (*command)(int, char **),
                    const char *const *args, const json_t *sets)
{
    char *argv[MAX_ARGS] = {NULL};
    int argc = 0;
    size_t i, len_bytes;
    json_t *set;
    for (; args[argc]; argc++)
        argv[argc] = (char *)(uintptr_t)args[argc];
    json_array_foreach ((json_t *)(uintptr_t)sets, i, set) {
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
        const int ended = strait_command_end(command(argc, argv));
        fflush(stderr); /* in a file it is buffered */
        _exit(ended);
    }
    CU_ASSERT_EQUAL(waitpid(pid, status, 0), pid);
    return program_read_bytes(p, *status != 0 ? "err" : "said", &len_bytes);
}

void golden_text(const char *name, char *text, bool writes)
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

void golden_points_of(const char *name)
{
    struct program p;
    struct golden g;
    char out[32], file[256], *text;
    size_t i, len_bytes;
    json_t *all, *sets;
    const char *const run[] = {"run",   "e.json", "--on",   "fluid", "-j", "1", "--no-break-even",
                               "--out", out,      "--json", NULL};
    program_set_up(&p);
    const json_t *settings = golden_base(&all, &p, name);
    FILE *refused = open_memstream(&text, &len_bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(refused);
    golden_open(&g, name, "fluid");
    json_array_foreach ((json_t *)(uintptr_t)settings, i, sets) {
        int status;
        snprintf(out, sizeof(out), "out%zu", i);
        strait_test_context("%s %s", name, json_string_value(json_array_get(sets, 0)));
        char *said = golden_called(&status, &p, strait_command_run, run, sets);
        if (status == 0)
            golden_rows(&g, said);
        else
            fprintf(refused, "%zu: %d: %s", i, WEXITSTATUS(status), said);
        free(said);
    }
    fclose(refused);
    snprintf(file, sizeof(file), "tests/golden/rows/%s.txt", name);
    golden_text(file, text, g.writes);
    golden_close(&g);
    free(text);
    json_decref(all);
    program_tear_down(&p);
}
