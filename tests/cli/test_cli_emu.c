/* strait run --on emu from outside: what a row says of how it was emulated, which rows are
 * believed, and who may run it. A busy machine spoils a run now and then, which it then says
 * itself: what does not depend on the machine is asked of any row. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "tests/kit/program.h"

static struct program program;
#define CALL(...) PROGRAM_CALL(&program, __VA_ARGS__)

static const char tiny[] =
    "{\"schema\": \"strait-experiment/1\", \"model\": \"cnn\", \"clients\": 2,"
    " \"strategy\": {\"name\": \"fedavg\", \"rounds\": 1, \"local_steps\": 1},"
    " \"codec\": {\"name\": \"sz\", \"bound\": {\"range\": 1e-3}},"
    " \"network\": {\"client\": {\"rate\": \"100 Mbps\", \"rtt\": \"10 ms\"},"
    "               \"server\": {\"rate\": \"100 Mbps\"}}}\n";

/* A kilobyte there and back takes 0.12 ms by the network and about as long until processes wake. */
static const char speck[] =
    "{\"schema\": \"strait-experiment/1\", \"model\": \"speck.csv\", \"clients\": 1,"
    " \"strategy\": {\"name\": \"fedavg\", \"rounds\": 40, \"local_steps\": 1}, \"codec\": "
    "\"none\","
    " \"network\": {\"client\": {\"rate\": \"1 Gbps\", \"rtt\": \"0.1 ms\"},"
    "               \"server\": {\"rate\": \"1 Gbps\"}}}\n";
static const char speck_table[] =
    "fwd_index,layer,param,type,shape,bytes,fwd_us_p50,fwd_us_p90,bwd_us_p50,bwd_us_p90,"
    "ready_us_p50,ready_us_p90,ready_order\n0,fc,weight,Linear,10x25,1000,1,1,1,1,1,1,0\n";

static void set_up(void)
{
    program_set_up(&program);
    program_write(&program, "tiny.json", tiny);
    program_write(&program, "speck.json", speck);
    program_write(&program, "speck.csv", speck_table);
}

/* Can this machine emulate? If not, the test is skipped. */
static bool can_emulate(void)
{
    struct said s = CALL("check", "tiny.json", "--on", "emu");
    const bool can = s.status == 0;
    if (!can) {
        CU_ASSERT_EQUAL(s.status, 3);
        s.err[strcspn(s.err, "\n")] = '\0';
        strait_test_skip(s.err);
    }
    said_release(&s);
    return can;
}

/* The i-th row among JSON Lines: a new reference, NULL where there are not so many. */
static json_t *row_of(const char *out, int i)
{
    for (const char *line = out; *line; line = strchr(line, '\n') + 1) {
        json_t *row = json_loadb(line, (size_t)(strchr(line, '\n') - line), 0, NULL);
        const char *record = json_string_value(json_object_get(row, "record"));
        if (record && strcmp(record, "row") == 0 && i-- == 0)
            return row;
        json_decref(row);
    }
    return NULL;
}

static double number_at(const json_t *json, const char *name, const char *inner)
{
    const json_t *at = json_object_get(json, name);
    return json_number_value(inner ? json_object_get(at, inner) : at);
}

static const char *text_at(const json_t *json, const char *name, const char *inner)
{
    const json_t *at = json_object_get(json, name);
    const char *text = json_string_value(inner ? json_object_get(at, inner) : at);
    return text ? text : "";
}

static bool is_valid(const json_t *row)
{
    return json_is_true(json_object_get(row, "valid"));
}

static const char *first_sign(const json_t *row)
{
    const char *text = json_string_value(json_array_get(json_object_get(row, "invalid"), 0));
    return text ? text : "";
}

/* The row of a run with these words, VALID or not. */
static json_t *row_of_run(const char *const args[])
{
    struct said s = program_call(&program, args);
    json_t *row = row_of(s.out, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(row);
    CU_ASSERT_EQUAL(s.status, is_valid(row) ? 0 : 1);
    if (!is_valid(row))
        printf("    %s\n", first_sign(row));
    said_release(&s);
    return row;
}
#define ROW(...) row_of_run((const char *const[]){__VA_ARGS__, "--json", NULL})

static void bad_values_are_refused(void)
{
    static const char *const cases[][8] = {{"--on", "emu", "--timing", "fast"},
                                           {"--on", "emu", "--timing", ""},
                                           {"--on", "emu", "--timing"},
                                           {"--on", "sim", "--timing", "replay"},
                                           {"--timing", "serial"},
                                           {"--check"},
                                           {"--on", "fluid", "--check"},
                                           {"--on", "emu", "--check=2"},
                                           {"--on", "emu", "--tries", "0"},
                                           {"--on", "emu", "--repeats", "0"},
                                           {"--on", "emu", "--dilation", "2000"}};
    set_up();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *args[12] = {"run", "tiny.json"};
        memcpy(args + 2, cases[i], sizeof(cases[i]));
        struct said s = program_call(&program, args);
        CU_ASSERT_EQUAL(s.status, 2);
        CU_ASSERT_STRING_EQUAL(s.out, "");
        CU_ASSERT_EQUAL(program_n_lines(s.err), 1);
        CU_ASSERT_EQUAL(strncmp(s.err, "strait: ", 8), 0);
        if (s.status != 2 || program_n_lines(s.err) != 1)
            printf("    %zu: exit %d: %s", i, s.status, s.err);
        said_release(&s);
    }
    CU_ASSERT_FALSE(program_has(&program, "results"));
    program_tear_down(&program);
}

/* Of a valid row that was checked: the same point again at twice the dilation. */
static void expect_invariance(const json_t *row)
{
    const json_t *again = json_object_get(row, "invariance");
    const double relative = number_at(again, "relative", NULL);
    CU_ASSERT_EQUAL(number_at(again, "dilation", NULL), 2 * number_at(row, "report", "dilation"));
    CU_ASSERT_TRUE(is_valid(again));
    CU_ASSERT(fabs(relative) <= 0.02);
    /* one round: its median is itself */
    CU_ASSERT_DOUBLE_EQUAL(number_at(again, "round_s", NULL) / number_at(row, "round_s", NULL),
                           1 + relative, 1e-9);
}

static void expect_replayed(const json_t *row, const json_t *sim)
{
    const json_t *bytes = json_object_get(row, "bytes"), *report = json_object_get(row, "report");
    CU_ASSERT_TRUE(json_equal(bytes, json_object_get(sim, "bytes")));
    /* what went through the sockets: payload and frames, to the byte */
    CU_ASSERT_EQUAL(number_at(report, "sent_bytes", NULL),
                    number_at(bytes, "payload", NULL) + number_at(bytes, "frame", NULL));
    CU_ASSERT_STRING_EQUAL(text_at(row, "payload", NULL), "sized");
    CU_ASSERT_STRING_EQUAL(text_at(row, "cost", NULL), "profile");
    CU_ASSERT_EQUAL(number_at(report, "dilation_cpu", NULL), 1);
    CU_ASSERT_EQUAL(number_at(report, "n_measured_jobs", NULL), 0);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(row, "flags")), 0);
    char *said = json_dumps(json_object_get(row, "approximations"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "no codec runs"));
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "replayed: what is sent are so many bytes"));
    free(said);
}

/* Measured jobs of 8 clients would need 8 / 0.75 = 10.7 times the time of one spare processor. */
static void replay_sends_the_profiles_bytes_at_little_dilation(void)
{
    set_up();
    if (can_emulate()) {
        struct said s = CALL("run", "tiny.json", "--on", "sim", "--set", "/clients=8", "--json",
                             "--no-break-even");
        json_t *sim = row_of(s.out, 0);
        json_t *row = ROW("run", "tiny.json", "--on", "emu", "--timing", "replay", "--check",
                          "--set", "/clients=8");
        CU_ASSERT_PTR_NOT_NULL_FATAL(sim);
        expect_replayed(row, sim);
        if (is_valid(row))
            expect_invariance(row);
        json_decref(row);
        json_decref(sim);
        said_release(&s);
    }
    program_tear_down(&program);
}

/* Two clients, one job at a time: k_cpu = 2 / (0.75 x 1). */
static void serial_measures_one_job_at_a_time(void)
{
    set_up();
    json_t *row =
        can_emulate() ? ROW("run", "tiny.json", "--on", "emu", "--timing", "serial") : NULL;
    if (row) {
        CU_ASSERT_EQUAL(number_at(row, "report", "n_compute"), 1);
        CU_ASSERT_DOUBLE_EQUAL(number_at(row, "report", "dilation_cpu"), 2 / 0.75, 1e-12);
        CU_ASSERT(number_at(row, "report", "dilation") >= 3);
        CU_ASSERT_EQUAL(number_at(row, "dilation", NULL), number_at(row, "report", "dilation"));
        CU_ASSERT_STRING_EQUAL(text_at(row, "payload", NULL), "real");
        CU_ASSERT_STRING_EQUAL(text_at(row, "cost", NULL), "measured");
        /* a round: two encode, the server decodes two and adds two */
        CU_ASSERT(number_at(row, "report", "n_measured_jobs") >= 4);
        CU_ASSERT(number_at(row, "report", "n_slow_readings") == 0 ||
                  json_array_size(json_object_get(row, "flags")) == 1);
    }
    json_decref(row);
    program_tear_down(&program);
}

static bool says_dilation_matters(const json_t *row)
{
    bool says = false;
    size_t i;
    json_t *text;
    json_array_foreach (json_object_get(row, "invalid"), i, text) {
        const char *sign = json_string_value(text);
        if (strncmp(sign, "a median round took", 19) == 0) {
            says = true;
            CU_ASSERT_CONTAINS(sign, "at 2, expected at most 2 % between them");
        }
    }
    return says;
}

/* At dilation 1 half of a speck's round is this machine's waking up, at 2 only a third: by how much
 * they differ is the machine's, that more than 2 % makes the row INVALID is ours. */
static void what_dilation_changes_is_invalid(void)
{
    set_up();
    if (can_emulate()) {
        struct said s = CALL("run", "speck.json", "--on", "emu", "--timing", "replay", "--dilation",
                             "1", "--check", "--json");
        json_t *row = row_of(s.out, 0);
        CU_ASSERT_PTR_NOT_NULL_FATAL(row);
        CU_ASSERT_EQUAL(s.status, is_valid(row) ? 0 : 1);
        CU_ASSERT_EQUAL(strstr(s.err, "INVALID: ") != NULL, !is_valid(row));
        CU_ASSERT_STRING_EQUAL(
            text_at(json_object_get(json_object_get(row, "report"), "net_cpu_estimate"), "source",
                    NULL),
            "built in"); /* a dilation that is given needs none */
        const json_t *again = json_object_get(row, "invariance"),
                     *relative = json_object_get(again, "relative");
        printf("    valid %d, relative %g: %s\n", is_valid(row), json_number_value(relative),
               first_sign(row));
        if (is_valid(again)) /* it too may be late here, which is INVALID in other words */
            CU_ASSERT_EQUAL(says_dilation_matters(row), fabs(json_number_value(relative)) > 0.02);
        json_decref(row);
        said_release(&s);
    }
    program_tear_down(&program);
}

/* The same kernel as the emulation asks. */
static bool hystart_is_on(void)
{
    FILE *f = fopen("/sys/module/tcp_cubic/parameters/hystart", "r");
    const int on = f ? fgetc(f) : '1';
    if (f)
        fclose(f);
    return on != '0';
}

static void congestion_control_that_dilation_breaks_is_refused(void)
{
    set_up();
    if (!hystart_is_on()) {
        strait_test_skip("cubic's HyStart is off on this machine");
    } else if (can_emulate()) {
        struct said s = CALL("run", "tiny.json", "--on", "emu", "--dilation", "2", "--set",
                             "/network/tcp={\"congestion\": \"cubic\"}");
        CU_ASSERT_EQUAL(s.status, 2);
        CU_ASSERT_EQUAL(program_n_lines(s.err), 1);
        CU_ASSERT_PTR_NOT_NULL(strstr(s.err, "expected congestion control reno or bbr at dilation "
                                             "2, found cubic, whose HyStart is on"));
        CU_ASSERT_FALSE(program_has(&program, "results"));
        said_release(&s);
    }
    program_tear_down(&program);
}

/* Not shaped: INVALID, and so computed again, and of no use to compare. */
static void an_invalid_row_is_never_used(void)
{
    set_up();
    if (can_emulate()) {
        struct said s = CALL("run", "speck.json", "--on", "sim", "--out", "r", "--no-break-even");
        CU_ASSERT_EQUAL(s.status, 0);
        said_release(&s);
        for (int i = 0; i < 2; i++) {
            s = CALL("run", "speck.json", "--on", "emu", "--timing", "replay", "--control",
                     "unshaped", "--out", "r", "--json");
            json_t *row = row_of(s.out, 0);
            CU_ASSERT_EQUAL(s.status, 1);
            CU_ASSERT_PTR_NOT_NULL(row);
            CU_ASSERT_FALSE(is_valid(row));
            CU_ASSERT_FALSE(json_is_true(json_object_get(row, "stored")));
            CU_ASSERT_PTR_NOT_NULL(strstr(s.err, "1 row, 1 computed now"));
            json_decref(row);
            said_release(&s);
        }
        s = CALL("compare", "r");
        CU_ASSERT(s.status == 1 || s.status == 2);
        CU_ASSERT_PTR_NULL(strstr(s.out, "within tolerance"));
        CU_ASSERT_PTR_NOT_NULL(strstr(s.err, "INVALID"));
        said_release(&s);
    }
    program_tear_down(&program);
}

static size_t n_times(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        n++;
    return n;
}

static void rows_say_where_when_and_how(void)
{
    static const char *const net_cpu = "\"record\":\"net_cpu_estimate\"";
    set_up();
    if (can_emulate()) {
        struct said s = CALL("run", "speck.json", "--on", "emu", "--timing", "replay", "--repeats",
                             "2", "--json");
        CU_ASSERT(s.status == 0 || s.status == 1);
        CU_ASSERT_PTR_NOT_NULL(strstr(s.err, "emulating 2 points at dilation "));
        CU_ASSERT_PTR_NOT_NULL(strstr(s.err, "(measured); expected to take "));
        bool all_valid = true;
        for (int i = 0; i < 2; i++) {
            json_t *row = row_of(s.out, i);
            CU_ASSERT_EQUAL(number_at(row, "repeat", NULL), i);
            CU_ASSERT_EQUAL(number_at(row, "machine", "cores"), sysconf(_SC_NPROCESSORS_ONLN));
            CU_ASSERT(strlen(text_at(row, "machine", "kernel")) > 0);
            const json_t *cost =
                json_object_get(json_object_get(row, "report"), "net_cpu_estimate");
            CU_ASSERT(number_at(cost, "s_per_gbit", NULL) > 0);
            CU_ASSERT_STRING_EQUAL(text_at(cost, "source", NULL), "measured before the run");
            all_valid = all_valid && is_valid(row);
            json_decref(row);
        }
        said_release(&s);
        s = CALL("run", "speck.json", "--on", "emu", "--timing", "replay", "--repeats", "2",
                 "--json");
        for (int i = 0; i < 2 && all_valid; i++) {
            json_t *row = row_of(s.out, i);
            CU_ASSERT_TRUE(json_is_true(json_object_get(row, "stored")));
            json_decref(row);
        }
        CU_ASSERT(!all_valid || strstr(s.err, "emulating") == NULL);
        said_release(&s);
        char *store = program_read(&program, "results/speck/results.jsonl");
        CU_ASSERT_EQUAL(n_times(store, net_cpu), 1); /* once for both */
        free(store);
    }
    program_tear_down(&program);
}

/* --- another question in the same folder -------------------------------------------------- */

/* What the folder's profile lacks is measured, and only that; the run itself may come out INVALID
 * on a busy machine, or beyond the tolerance, which is 1. */
static void what_if_in_the_same_folder(void)
{
    static const struct {
        const char *setting;
        bool calibrates, emulates;
        size_t n_entries; /* of the profile: codecs', zstd's for small tensors, and memory's */
    } steps[] = {{"/codec/bound={\"range\":1e-2}", true, true, 3},
                 {"/codec/bound={\"range\":1e-2}", false, false, 3},
                 {"/codec/bound={\"ratio\":5.5}", true, true, 4},
                 {"/codec={\"name\":\"qsgd\",\"levels\":31}", true, true, 5},
                 {"/codec/bound={\"range\":1e-2}", false, false, 5},
                 {"/codec=zstd", true, true, 6}};
    set_up();
    if (can_emulate()) {
        bool was_valid = true;
        for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
            struct said s = CALL("run", "tiny.json", "--on", "both", "--tries", "1", "--set",
                                 steps[i].setting, "--json");
            const bool calibrated = strstr(s.err, "calibrating") != NULL;
            char *text = program_read(&program, "results/tiny/profile.json");
            CU_ASSERT(s.status == 0 || s.status == 1);
            CU_ASSERT_EQUAL(calibrated, steps[i].calibrates);
            CU_ASSERT_EQUAL(n_times(text, "\"codec\":"), steps[i].n_entries);
            if (i == 0)
                was_valid = strstr(s.err, "INVALID") == NULL;
            if (was_valid) /* the emulated row of the first question is still true */
                CU_ASSERT_EQUAL(strstr(s.err, "emulating") != NULL, steps[i].emulates);
            free(text);
            said_release(&s);
        }
        char *store = program_read(&program, "results/tiny/results.jsonl");
        CU_ASSERT_CONTAINS(store, "\"models\":{\"cnn\":[\""); /* its table, no tensors of its own */
        CU_ASSERT_CONTAINS(store, "\",\"\"]}");
        free(store);
    }
    program_tear_down(&program);
}

/* An emulation measures itself: no profile has to know the codec. */
static void emulation_needs_no_entry(void)
{
    static const char *const codecs[] = {"/codec={\"name\":\"threshold\",\"threshold\":0.0317}",
                                         "/codec={\"name\":\"sz\",\"bound\":{\"range\":0.7}}"};
    set_up();
    for (size_t i = 0; can_emulate() && i < 2; i++) {
        struct said s = CALL("run", "tiny.json", "--on", "emu", "--tries", "1", "--set", codecs[i]);
        CU_ASSERT(s.status == 0 || s.status == 1);
        said_release(&s);
    }
    program_tear_down(&program);
}

/* --- an ordinary user --------------------------------------------------------------------- */

static void an_ordinary_user_emulates_in_namespaces_of_his_own(void)
{
    char node[sizeof(program.tun)];
    set_up();
    snprintf(node, sizeof(node), "%s/tun", program.folder);
    chmod(program.folder, 0777);
    if (getuid() != 0) {
        strait_test_skip("not root: every other test runs as an ordinary user already");
    } else if (mknod(node, S_IFCHR | 0666, makedev(10, 200)) != 0 || chmod(node, 0666) != 0 ||
               access(node, R_OK | W_OK) != 0) {
        strait_test_skip("cannot make a TUN node in a folder of the test");
    } else if (can_emulate()) {
        strcpy(program.tun, node);
        program.uid = 65534;
        struct said s = CALL("run", "tiny.json", "--on", "emu", "--timing", "replay", "--json",
                             "--out", "rows");
        json_t *row = row_of(s.out, 0);
        if (s.status == 127) {
            strait_test_skip("an ordinary user may not run the program where it was built");
        } else if (s.status == 3) {
            s.err[strcspn(s.err, "\n")] = '\0';
            strait_test_skip(s.err);
        } else {
            CU_ASSERT_PTR_NOT_NULL_FATAL(row);
            CU_ASSERT_EQUAL(s.status, is_valid(row) ? 0 : 1);
            CU_ASSERT_STRING_EQUAL(text_at(row, "report", "launcher"), "userns");
            /* whatever the machine was busy with, the links were shaped */
            const char *sign = first_sign(row);
            CU_ASSERT(strstr(sign, "not shaped") == NULL && strstr(sign, "faster than") == NULL);
            CU_ASSERT(number_at(row, "round_s", NULL) > 0.1); /* 2 x 844 KB at 100 Mbps, twice */
        }
        json_decref(row);
        said_release(&s);
    }
    program_tear_down(&program);
}

static const struct strait_test tests[] = {
    {"bad values are one line and exit 2", bad_values_are_refused},
    {"replay sends the profile's bytes at little dilation, and a check repeats it at twice that",
     replay_sends_the_profiles_bytes_at_little_dilation},
    {"serial measures one job at a time", serial_measures_one_job_at_a_time},
    {"what dilation changes is INVALID", what_dilation_changes_is_invalid},
    {"congestion control that dilation breaks is refused",
     congestion_control_that_dilation_breaks_is_refused},
    {"an INVALID row is never used", an_invalid_row_is_never_used},
    {"rows say where, when and how they were emulated", rows_say_where_when_and_how},
    {"another bound, codec or codec without loss in the same folder is calibrated and run",
     what_if_in_the_same_folder},
    {"an emulation needs no entry of a profile", emulation_needs_no_entry},
    {"an ordinary user emulates in namespaces of his own",
     an_ordinary_user_emulates_in_namespaces_of_his_own},
};
STRAIT_SUITE_WITH("cli/cli_emu", tests, .slow_s = 33, .release = true);
