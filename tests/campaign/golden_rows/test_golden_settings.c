/* One small point with each of many settings: tests/golden/rows/settings.json has them, settings.txt
 * what commands say of each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>
#include "cli/kit/command.h"
#include "tests/kit/data.h"
#include "tests/kit/pages/golden_points.h"
#include "tests/kit/pages/golden_rows.h"
#include "tests/kit/program.h"

/* One small point with each of many settings. In turn one command more says what it can of it. */
static void settings(void)
{
    struct program p;
    struct golden g;
    char out[32], *text;
    size_t i, len_bytes;
    int status;
    json_t *sets, *all;
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
    program_set_up(&p);
    char *curves = program_read(&p, DATA("tests/data/curves.csv"));
    program_write(&p, "curves.csv", curves);
    free(curves);
    const json_t *settings = golden_base(&all, &p, "settings");
    FILE *told = open_memstream(&text, &len_bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(told);
    golden_open(&g, "settings", "fluid");
    json_array_foreach ((json_t *)(uintptr_t)settings, i, sets) {
        snprintf(out, sizeof(out), "out%zu", i);
        strait_test_context("%s", json_string_value(json_array_get(sets, 0)));
        char *said = golden_called(&status, &p, strait_command_run, run, sets);
        CU_ASSERT_EQUAL(status, 0);
        golden_rows(&g, said);
        free(said);
        said =
            golden_called(&status, &p, tellers[i % N_TELLERS].command, tellers[i % N_TELLERS].args,
                          tellers[i % N_TELLERS].takes_sets ? sets : NULL);
        CU_ASSERT_EQUAL(status, 0);
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
