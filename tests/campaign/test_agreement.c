/* The point of strait: what is predicted is what the emulation measures, phase by phase, and a
 * prediction that leaves something out is caught. Runs the program as a user does. The whole matrix
 * is `make agreement`; here stand its corners. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/process.h"
#include "tests/kit/folder.h"
#include "tests/kit/judged.h"
#include "tests/kit/suite.h"

enum { ARGS = 40 };

static const char *program(void)
{
    const char *bin = getenv("STRAIT_BIN");
    return bin ? bin : "build/strait";
}

static char printed[1 << 20]; /* what strait printed last */

/* strait with these words; its exit status. */
static int strait(const char *const words[])
{
    struct strait_error err = {0};
    const char *argv[ARGS] = {program()};
    for (int i = 0; words[i] && i + 2 < ARGS; i++)
        argv[i + 1] = words[i];
    const int status = strait_process_run(printed, sizeof(printed), argv, NULL, 300, &err);
    printf("%s %s: exit %d %s\n%s\n", words[0], words[1], status, err.text, printed);
    return status;
}

static bool can_emulate(void)
{
    const char *const words[] = {"check", "experiments/wan-check.json", "--on", "emu", NULL};
    return strait(words) == 0;
}

#define SZ "{\"name\":\"sz\",\"bound\":{\"range\":1e-3}}"

/* Run on both backends into a folder of its own, compare, and give compare's exit status. In: codec
 * NULL: without, and with sz. */
static int agreement(const char *model, const char *rate, const char *rtt, int n_clients,
                     int local_steps, const char *codec, const char *control)
{
    char folder[] = "/tmp/strait-agreement-XXXXXX", set[5][128];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(set[0], sizeof(set[0]), "/model=%s", model);
    snprintf(set[1], sizeof(set[1]), "/network/client={\"rate\":\"%s\",\"rtt\":\"%s\"}", rate, rtt);
    snprintf(set[2], sizeof(set[2]), "/clients=%d", n_clients);
    snprintf(set[3], sizeof(set[3]), "/strategy/local_steps=%d", local_steps);
    snprintf(set[4], sizeof(set[4]), "/codec=%s", codec ? codec : "");
    const char *run[] = {"run",   "experiments/agreement.json",
                         "--on",  "both",
                         "--out", folder,
                         "--set", "/strategy/rounds=2",
                         "--set", set[0],
                         "--set", set[1],
                         "--set", set[2],
                         "--set", set[3],
                         NULL,    NULL,
                         NULL,    NULL,
                         NULL};
    size_t n = 0;
    while (run[n])
        n++;
    if (codec) {
        run[n++] = "--set";
        run[n++] = set[4];
    }
    if (control) {
        run[n++] = "--control";
        run[n++] = control;
    }
    const char *const compare[] = {"compare", folder, "--tolerance", "10 %",
                                   "--floor", "5 ms", NULL};
    const int ran = strait(run);
    const int status = ran == 0 || control ? strait(compare) : -1;
    folder_remove(folder);
    return status;
}

static bool agrees(const char *model, const char *rate, const char *rtt, int n_clients,
                   int local_steps, const char *codec)
{
    return agreement(model, rate, rtt, n_clients, local_steps, codec, NULL) == 0;
}

static bool skipped(void)
{
    if (can_emulate())
        return false;
    strait_test_skip("this machine cannot emulate");
    return true;
}

/* What real time adds to a prediction is this machine's. */
static bool is_not_judged(void)
{
    if (time_is_judged())
        return skipped();
    strait_test_skip("measured times are judged in virtual time (make vtest) and by make judged");
    return true;
}

static void small_model(void)
{
    if (is_not_judged())
        return;
    CU_ASSERT_TRUE(agrees("cnn", "1 Gbps", "50 ms", 1, 0, "none"));
    CU_ASSERT_TRUE(agrees("cnn", "100 Mbps", "10 ms", 4, 2, SZ));
}

static void eight_clients(void)
{
    if (is_not_judged())
        return;
    CU_ASSERT_TRUE(agrees("resnet", "1 Gbps", "50 ms", 8, 2, NULL));
}

/* The checksum of everything that an emulated run with tensors from this folder sent. */
static void sent(char *out, size_t cap, const char *tensors, const char *codec)
{
    char folder[] = "/tmp/strait-agreement-XXXXXX", set[2][256];
    static char row[1 << 20];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(set[0], sizeof(set[0]), "/tensors=%s", tensors);
    snprintf(set[1], sizeof(set[1]), "/codec=%s", codec);
    const char *const run[] = {program(),
                               "run",
                               "experiments/agreement.json",
                               "--on",
                               "emu",
                               "--set",
                               set[0],
                               "--set",
                               set[1],
                               "--set",
                               "/clients=1",
                               "--set",
                               "/strategy/local_steps=0",
                               "--set",
                               "/strategy/rounds=1",
                               "--set",
                               "/model=cnn",
                               "--set",
                               "/network/client={\"rate\":\"1 Gbps\"}",
                               "--out",
                               folder,
                               "--json",
                               NULL};
    strait_process_run(row, sizeof(row), run, NULL, 100, NULL);
    json_t *json = json_loads(row, JSON_DISABLE_EOF_CHECK, NULL);
    const char *found =
        json_string_value(json_object_get(json_object_get(json, "report"), "sent_checksum"));
    CU_ASSERT_PTR_NOT_NULL_FATAL(found);
    snprintf(out, cap, "%s", found);
    json_decref(json);
    folder_remove(folder);
}

static void flip(const char *folder, const char *file, long offset)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/%s", folder, file);
    FILE *f = fopen(path, "r+b");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fseek(f, offset, SEEK_SET);
    const int byte = fgetc(f);
    fseek(f, offset, SEEK_SET);
    fputc(byte ^ 1, f);
    fclose(f);
}

/* The last recorded update of cnn.fc1.weight is what clients send. Its lowest bit is sent as it is
 * without a codec; through sz a sign or an exponent has to change to be seen. */
static void changed_byte(void)
{
    static const char *const codecs[] = {"none", "{\"name\":\"sz\",\"bound\":{\"range\":1e-3}}"};
    static const long offsets[] = {4000, 4003};
    if (skipped())
        return;
    for (int i = 0; i < 2; i++) {
        char folder[] = "/tmp/strait-tensors-XXXXXX", once[32], again[32], changed[32];
        CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
        const char *const cp[] = {"cp", "-r", "traces/tensors/.", folder, NULL};
        CU_ASSERT_EQUAL_FATAL(strait_process_run(NULL, 0, cp, NULL, 30, NULL), 0);
        sent(once, sizeof(once), folder, codecs[i]);
        sent(again, sizeof(again), folder, codecs[i]);
        flip(folder, "cnn.fc1.weight.update.s390.f32", offsets[i]);
        sent(changed, sizeof(changed), folder, codecs[i]);
        CU_ASSERT_STRING_EQUAL(once, again);
        CU_ASSERT_STRING_NOT_EQUAL(once, changed);
        folder_remove(folder);
    }
}

/* Rows that the results in a folder have. */
static int n_rows(const char *folder)
{
    char path[128];
    static char line[1 << 20];
    int n = 0;
    snprintf(path, sizeof(path), "%s/results.jsonl", folder);
    FILE *f = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    while (fgets(line, sizeof(line), f)) {
        json_t *record = json_loads(line, 0, NULL);
        const char *kind = json_string_value(json_object_get(record, "record"));
        n += kind && strcmp(kind, "row") == 0;
        json_decref(record);
    }
    fclose(f);
    return n;
}

/* As guests do it: each part emulates one row of two, also when all of them are made again. */
static void in_parts(void)
{
    char folder[] = "/tmp/strait-agreement-XXXXXX", step[80];
    if (skipped())
        return;
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(step, sizeof(step), "%s/step", folder);
    const char *run[] = {"run",     "experiments/agreement.json",
                         "--on",    "emu",
                         "--out",   folder,
                         "--tries", "1",
                         "--set",   "/model=cnn",
                         "--set",   "/network/client={\"rate\":\"1 Gbps\"}",
                         "--set",   "/strategy/local_steps=0",
                         "--set",   "/strategy/rounds=1",
                         "--set",   "/clients=1",
                         NULL,      NULL};
    const size_t last = sizeof(run) / sizeof(*run) - 2;
    setenv("STRAIT_STEP", step, 1);
    for (int part = 0; part < 4; part++) { /* 0 and 1, then both anew */
        int next = -1, more = -1;
        run[last] = part < 2 ? NULL : "--fresh";
        if (part == 2)
            unlink(step);
        CU_ASSERT(strait(run) <= 1); /* INVALID on a busy machine */
        FILE *f = fopen(step, "r");
        CU_ASSERT_FATAL(f && fscanf(f, "%d %d", &next, &more) == 2);
        fclose(f);
        CU_ASSERT_EQUAL(next, part % 2 + 1);
        CU_ASSERT_EQUAL(more, part % 2 == 0);
        CU_ASSERT_EQUAL(n_rows(folder), part + 1);
    }
    unsetenv("STRAIT_STEP");
    folder_remove(folder);
}

/* Measured all right, and predicted otherwise: compare's status is 1 without a valid row too. */
static bool is_caught(const char *model, const char *rtt, const char *codec, const char *control)
{
    return agreement(model, "1 Gbps", rtt, 1, 0, codec, control) == 1 && strstr(printed, "OUTSIDE");
}

static void controls(void)
{
    if (is_not_judged())
        return;
    /* without the ramp cnn on 50 ms is wrong by a factor; without its cost sz on 50 MB by 100 ms */
    CU_ASSERT_TRUE(is_caught("cnn", "50 ms", "none", "no-ramp"));
    CU_ASSERT_TRUE(is_caught("experiments/models/blocks-50mb.csv", "10 ms", SZ, "no-codec-cost"));
}

static const struct strait_test tests[] = {
    {"a small model is predicted per phase", small_model},
    {"eight clients of a recorded model are predicted per phase", eight_clients},
    {"a changed byte in a tensor changes what is sent", changed_byte},
    {"a run in parts emulates one row in each", in_parts},
    {"a prediction without ramp or without codec cost is caught", controls},
};
STRAIT_SUITE_WITH("campaign/agreement", tests, .slow_s = 16, .release = true);
