/* What is said before an emulation: a network's cost that the folder knows is not measured again,
 * and nothing is measured that is not needed. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "campaign/emu_estimate.h"
#include "campaign/session.h"
#include "tests/kit/program.h"

static const char experiment[] =
    "{\"schema\": \"strait-experiment/1\", \"title\": \"e\", \"clients\": 3,"
    " \"model\": {\"params\": \"1 k\", \"step\": \"1 s\"}, \"codec\": \"none\","
    " \"strategy\": {\"name\": \"fedavg\", \"rounds\": 3, \"local_steps\": 2},"
    " \"network\": {\"client\": {\"rate\": \"1 Mbps\"}, \"server\": {\"rate\": \"1 Mbps\"}},"
    " \"vary\": {\"/seed\": [1, 2], \"/network/client/rate\": [\"1 Mbps\", \"2 Mbps\"]}}";

/* The four points wait to be emulated; the folder knows each network's cost: 4 s a gigabit at
 * 1 Mbps, 6 s at 2 Mbps. text: what is said, to be freed. False: this machine cannot emulate. */
static bool estimated(char **text, const struct program *p, double dilation, bool check,
                      const char *timing, struct strait_error *err)
{
    char path[128], folder[96], key[STRAIT_KEY_CHARS];
    size_t n;
    struct strait_session r = {.on = "emu",
                               .out = folder,
                               .profile_name = "default",
                               .timing = timing,
                               .notes = open_memstream(text, &n),
                               .n_jobs = 1,
                               .n_repeats = 1,
                               .n_tries = 1,
                               .check = check,
                               .dilation = dilation};
    snprintf(folder, sizeof(folder), "%s/r", p->folder);
    snprintf(path, sizeof(path), "%s/e.json", p->folder);
    bool can = strait_session_prepare(&r, path, err) == 0;
    if (can) {
        CU_ASSERT_EQUAL_FATAL(r.plan.n_tasks, 4);
        CU_ASSERT_EQUAL_FATAL(strait_store_open(&r.store, folder, true, err), 0);
        r.missing = calloc(4, sizeof(*r.missing));
        for (size_t i = 0; i < 4; i++) {
            const bool slow = i % 2 == 0;
            r.missing[r.n_missing++] = i;
            strait_plan_net_cpu_key(key, &r.plan.setup, r.plan.tasks[i].resolved, 4);
            json_t *known = json_pack("{s:s, s:s, s:f}", "record", "net_cpu_estimate", "key", key,
                                      "s_per_gbit", slow ? 4.0 : 6.0);
            if (i < 2)
                CU_ASSERT_EQUAL(strait_store_add(r.store, known, err), 0);
            json_decref(known);
        }
        CU_ASSERT_EQUAL(strait_emu_estimate_find(&r, err), 0);
        CU_ASSERT_EQUAL(json_array_size(r.measured), 0);
        CU_ASSERT_EQUAL(json_object_size(r.plan.setup.net_cpus), dilation > 0 ? 0 : 2);
    }
    fclose(r.notes);
    strait_session_release(&r);
    return can;
}

/* Three rounds of two steps of a second, and messages of 4 KB at 1 or 2 Mbps: 18 to 25 s for all
 * four points; with a check each is run again at twice the dilation. */
static void said_before(void)
{
    static const struct {
        double dilation;
        bool check;
        const char *begin;
        double least_s, most_s;
    } cases[] = {{0, false,
                  "emulating 4 points at dilation 1; the network takes 4 to 6 s of processor "
                  "time a gigabit (measured); expected to take ",
                  24, 27},
                 {0, true,
                  "emulating 4 points at dilation 1; the network takes 4 to 6 s of processor "
                  "time a gigabit (measured); expected to take ",
                  72, 81},
                 {2, false, "emulating 4 points at dilation 2; expected to take ", 48, 54}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct program p;
        struct strait_error err = {0};
        char *text;
        program_set_up(&p);
        program_write(&p, "e.json", experiment);
        const bool can = estimated(&text, &p, cases[i].dilation, cases[i].check, "replay", &err);
        if (can) {
            const char *at = strstr(text, "emulating ");
            strait_test_context("%s", text);
            CU_ASSERT_PTR_NOT_NULL_FATAL(at);
            CU_ASSERT_EQUAL(strncmp(at, cases[i].begin, strlen(cases[i].begin)), 0);
            const double took_s = strtod(at + strlen(cases[i].begin), NULL);
            CU_ASSERT_AT_LEAST(took_s, cases[i].least_s);
            CU_ASSERT_AT_MOST(took_s, cases[i].most_s);
        } else {
            CU_ASSERT_EQUAL(err.code, STRAIT_ERR_HOST);
            strait_test_skip(err.text);
        }
        free(text);
        program_tear_down(&p);
    }
}

static const struct strait_test tests[] = {
    {"what a network costs is taken from the folder", said_before},
};
STRAIT_SUITE("campaign/emu_estimate", tests);
