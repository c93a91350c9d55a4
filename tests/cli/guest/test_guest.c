/* strait run in a guest, which is a script that runs the work here: its rows, its words, its parts
 * and its errors. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/kit/links/fake_guest.h"

/* 1 kB there and back, or another model. */
#define EXPERIMENT(model, counts)                                                                  \
    "{\"schema\": \"strait-experiment/1\", \"title\": \"speck\", \"model\": \"" model "\","        \
    " \"strategy\": {\"name\": \"fedavg\", \"rounds\": 1, \"local_steps\": 1}, \"codec\": "        \
    "\"none\","                                                                                    \
    " \"network\": {\"client\": {\"rate\": \"1 Gbps\", \"rtt\": \"20 ms\"},"                       \
    "               \"server\": {\"rate\": \"1 Gbps\"}}, \"clients\": 1,"                          \
    " \"vary\": {\"/clients\": [" counts "]}}\n"
static const char table[] =
    "fwd_index,layer,param,type,shape,bytes,fwd_us_p50,fwd_us_p90,bwd_us_p50,bwd_us_p90,"
    "ready_us_p50,ready_us_p90,ready_order\n0,fc,weight,Linear,10x25,1000,1,1,1,1,1,1,0\n";

static bool begin(struct program *p)
{
    program_set_up(p);
    program_write(p, "e.json", EXPERIMENT("speck.csv", "1, 2"));
    program_write(p, "speck.csv", table);
    return fake_guest_set_up(p) && can_emulate(p);
}

static void end(struct program *p)
{
    fake_guest_tear_down();
    program_tear_down(p);
}

/* Each row has a guest of its own, begun anew until none is missing; what they print on stdout is
 * whole in the last. */
static void parts(void)
{
    struct program p;
    if (begin(&p)) {
        struct said s = PROGRAM_CALL(&p, "run", "e.json", "--on", "emu", "--launcher", "vuml",
                                     "--out", "r", "--json");
        bool valid = true; /* this guest has the machine's clock, and that may be busy */
        CU_ASSERT_EQUAL(program_n_lines(s.out), 2);
        const char *line = s.out;
        for (int i = 1; i <= 2; i++) {
            json_t *row = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
            const json_t *labels = json_object_get(row, "labels");
            CU_ASSERT_EQUAL(json_integer_value(json_object_get(labels, "/clients")), i);
            CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(row, "backend")), "emu");
            /* of the host, as the guest was told */
            const char *cpu =
                json_string_value(json_object_get(json_object_get(row, "machine"), "cpu"));
            CU_ASSERT_PTR_NOT_NULL_FATAL(cpu);
            CU_ASSERT_CONTAINS(cpu, ", User-Mode Linux");
            valid = valid && json_is_true(json_object_get(row, "valid"));
            json_decref(row);
            line = strchr(line, '\n') + 1;
        }
        CU_ASSERT_EQUAL(s.status, valid ? 0 : 1);
        CU_ASSERT_EQUAL(strncmp(s.err, "User-Mode Linux in virtual time with ", 37), 0);
        CU_ASSERT_CONTAINS(s.err, "; what it says comes at its end, until then it is in ");
        char *step = program_read(&p, "r/uml/step"),
             *kernel = program_read(&p, "r/uml/kernel-args");
        CU_ASSERT_STRING_EQUAL(step, "2 0\n");
        CU_ASSERT_EQUAL(program_n_lines(kernel), 2); /* guests */
        free(step);
        free(kernel);
        said_release(&s);
        /* all rows are there and VALID: one guest finds that out */
        s = PROGRAM_CALL(&p, "run", "e.json", "--on", "emu", "--launcher", "vuml", "--out", "r",
                         "--json");
        CU_ASSERT_EQUAL(program_n_lines(s.out), 2);
        kernel = program_read(&p, "r/uml/kernel-args");
        if (valid) {
            CU_ASSERT_EQUAL(s.status, 0);
            CU_ASSERT_EQUAL(program_n_lines(kernel), 3);
        }
        free(kernel);
        said_release(&s);
    }
    end(&p);
}

/* What the command is in the guest: without --launcher, with the host's processor by its name. */
static void arguments(void)
{
    struct program p;
    if (begin(&p)) {
        setenv("FAKE_GUEST", "dead", 1);
        struct said s = PROGRAM_CALL(&p, "run", "e.json", "--on", "emu", "--launcher=vuml",
                                     "--repeats", "2", "--out", "a/b/r");
        CU_ASSERT_EQUAL(s.status, 1);
        CU_ASSERT_CONTAINS(s.err, "User-Mode Linux ended before the program in it did; see ");
        CU_ASSERT_CONTAINS(s.err, "/a/b/r/uml/console\n");
        size_t n;
        char *argv = program_read_bytes(&p, "a/b/r/uml/argv", &n);
        for (size_t i = 0; i < n; i++)
            argv[i] = argv[i] == '\0' ? '|' : argv[i];
        CU_ASSERT_CONTAINS(argv, "|env|STRAIT_SHARE=");
        CU_ASSERT_CONTAINS(argv, "|STRAIT_HOST_PROCESSOR=");
        CU_ASSERT_CONTAINS(argv, "|STRAIT_STEP=");
        CU_ASSERT_CONTAINS(argv, "|run|e.json|--on|emu|--repeats|2|--out|a/b/r|");
        free(argv);
        char *write = program_read(&p, "a/b/r/uml/write"), expected[128];
        snprintf(expected, sizeof(expected), "%s/a/b/r\n", p.folder);
        CU_ASSERT_STRING_EQUAL(write, expected);
        free(write);
        said_release(&s);
    }
    end(&p);
}

/* What the guest of a run is given, in MiB. */
static double memory_of(struct program *p, const char *text)
{
    program_write(p, "e.json", text);
    struct said s = PROGRAM_CALL(p, "run", "e.json", "--on", "emu", "--launcher", "vuml");
    CU_ASSERT_CONTAINS(s.err, "User-Mode Linux ended before the program in it did; see ");
    said_release(&s);
    char *given = program_read(p, "results/e/uml/kernel-args");
    const char *memory = NULL;
    for (const char *at = given; (at = strstr(at, "mem=")); at++)
        memory = at; /* of the last guest */
    CU_ASSERT_PTR_NOT_NULL_FATAL(memory);
    const double mib = strtod(memory + strlen("mem="), NULL);
    free(given);
    return mib;
}

/* Half a GiB, or what the largest point needs: the ranks' models of 12 MB, each at least twice. */
static void memory(void)
{
    struct program p;
    if (begin(&p)) {
        setenv("FAKE_GUEST", "dead", 1);
        const double mib = memory_of(&p, EXPERIMENT("gpt", "20"));
        CU_ASSERT_EQUAL(memory_of(&p, EXPERIMENT("gpt", "1")), 512);
        CU_ASSERT_AT_LEAST(mib, 512 + 20 * 2 * 12e6 / 1048576);
        CU_ASSERT_AT_MOST(mib, 4096);
        CU_ASSERT_EQUAL(memory_of(&p, EXPERIMENT("gpt", "20, 1")), mib);
        CU_ASSERT_EQUAL(memory_of(&p, EXPERIMENT("gpt", "1, 20")), mib);
    }
    end(&p);
}

static void failures(void)
{
    struct program p;
    if (begin(&p)) {
        /* a file where the results should be, and an experiment that is none */
        struct said s = PROGRAM_CALL(&p, "run", "e.json", "--on", "emu", "--launcher", "vuml",
                                     "--out", "speck.csv/r");
        CU_ASSERT_EQUAL(s.status, 2);
        CU_ASSERT_CONTAINS(s.err, "strait: speck.csv/r: cannot be made: Not a directory\n");
        said_release(&s);
        s = PROGRAM_CALL(&p, "run", "speck.csv", "--on", "emu", "--launcher", "vuml");
        CU_ASSERT_EQUAL(s.status, 2);
        said_release(&s);
        /* a run that fails in the guest ends as it does without one, and no further guest begins */
        s = PROGRAM_CALL(&p, "run", "e.json", "--on", "emu", "--launcher", "vuml", "--out", "r",
                         "--jobs", "none");
        CU_ASSERT_EQUAL(s.status, 2);
        CU_ASSERT_FALSE(program_has(&p, "r/uml/step"));
        said_release(&s);
    }
    end(&p);
}

/* What a kernel leaves there that is killed: the next one would take it for another guest's. */
static void left_behind(void)
{
    static const char *const argv[] = {"/bin/true", NULL}, *const none[] = {NULL};
    struct program p;
    char job[128], path[160];
    struct strait_error err = {0};
    if (begin(&p)) {
        snprintf(job, sizeof(job), "%s/job", p.folder);
        snprintf(path, sizeof(path), "%s/guest", job);
        CU_ASSERT_FATAL(mkdir(job, 0755) == 0 && mkdir(path, 0755) == 0);
        program_write(&p, "job/guest/pid", "1\n");
        program_write(&p, "job/guest/mconsole", "");
        const struct strait_emu_uml_plan plan = {.virtual_time = true,
                                                 .argv = argv,
                                                 .folder = "/",
                                                 .job = job,
                                                 .read = none,
                                                 .write = none,
                                                 .setenv = none,
                                                 .memory_bytes = 1e8,
                                                 .limit_s = 60};
        setenv("FAKE_GUEST", "dead", 1);
        CU_ASSERT_EQUAL(strait_emu_uml_run(&plan, &err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_BACKEND);
        CU_ASSERT_FALSE(program_has(&p, "job/guest/pid"));
        CU_ASSERT_FALSE(program_has(&p, "job/guest/mconsole"));
    }
    end(&p);
}

static const struct strait_test tests[] = {
    {"each row has a guest of its own", parts},
    {"the command that a guest is given", arguments},
    {"a guest has memory for the largest point", memory},
    {"what fails before a guest or in it", failures},
    {"what a killed guest left is gone before the next", left_behind},
};
STRAIT_SUITE("cli/guest/guest", tests);
