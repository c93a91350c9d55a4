/* Calls of the system fail, one at a time, in six commands: each ends with an error or the right
 * result, hangs never, and leaves nothing in its results folder that is wrong. make test draws a
 * few; FAULTS=N in the environment tries up to N of each kind of call and command, spread over all
 * of them (make faults). */
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "core/random.h"
#include "tests/kit/folder.h"
#include "tests/kit/program.h"
#include "tests/kit/suite.h"

enum { N_KINDS = 11, N_COMMANDS = 6, A_FEW = 12, HANG_S = 120 };
static const char *const kinds[N_KINDS] = {"malloc", "open",    "read",  "write", "mmap", "fork",
                                           "socket", "connect", "memfd", "send",  "recv"};

static const char experiment[] =
    "{\"schema\": \"strait-experiment/1\", \"title\": \"faults\", \"model\": \"cnn\",\n"
    " \"strategy\": {\"name\": \"fedavg\", \"rounds\": 2, \"local_steps\": 1},\n"
    " \"codec\": {\"name\": \"sz\", \"bound\": {\"range\": 1e-3}},\n"
    " \"network\": {\"topology\": \"star\", \"client\": {\"rate\": \"100 Mbps\", \"rtt\": \"10 "
    "ms\"},\n"
    "             \"server\": {\"rate\": \"1 Gbps\"}}, \"clients\": 2, \"seed\": 1}\n";

struct command {
    const char *name;
    const char *args[16];
    const char *makes; /* a file whose bytes are the result; NULL: standard output is, and rows */
    bool timed;        /* what rows say is measured: only their keys are compared */
};

static const struct command commands[N_COMMANDS] = {
    {"check", {"check", "faults.json"}, NULL, false},
    {"fluid", {"run", "faults.json", "--on", "fluid", "--set", "/clients=2"}, NULL, false},
    {"sim", {"run", "faults.json", "--on", "sim", "--no-break-even"}, NULL, false},
    {"emu",
     {"run", "faults.json", "--on", "emu", "--timing", "replay", "--realisation", "relay",
      "--dilation", "2", "--no-break-even"},
     NULL,
     true},
    {"encode",
     {"codec", "encode", "x.f32", "--codec", "sz:range=1e-3", "-o", "x.strait"},
     "x.strait",
     false},
    {"plot", {"plot", "drawn", "--out", "p.svg"}, "p.svg", false},
};

static void count_file(struct program *p, uint64_t counts[N_KINDS], bool fill)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/counts", p->folder);
    FILE *f = fopen(path, fill ? "w" : "r");
    CU_ASSERT_FATAL(f != NULL);
    if (fill)
        CU_ASSERT_FATAL(fwrite(counts, sizeof(*counts), N_KINDS, f) == N_KINDS);
    else
        CU_ASSERT_FATAL(fread(counts, sizeof(*counts), N_KINDS, f) == N_KINDS);
    fclose(f);
    setenv("STRAIT_FAULT_COUNT", path, 1);
}

/* Exit status, 128 + signal, or -1: it hung and was killed. */
static int call(struct program *p, const struct command *c, const char *fault)
{
    uint64_t none[N_KINDS] = {0};
    char library[4200];
    snprintf(library, sizeof(library), "%.*s/tests/faults.so",
             (int)(strrchr(p->path, '/') - p->path), p->path);
    if (fault) {
        count_file(p, none, true);
        setenv("STRAIT_FAULT", fault, 1);
        setenv("LD_PRELOAD", library, 1);
    }
    const pid_t pid = program_start(p, "said", c->args);
    unsetenv("LD_PRELOAD");
    int status = 0;
    for (int waited_ms = 0; waitpid(pid, &status, WNOHANG) == 0; waited_ms += 5) {
        if (waited_ms >= 1000 * HANG_S) {
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            return -1;
        }
        usleep(5000);
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* What a command's rows say, sorted by key, without times of this machine. */
static json_t *rows_of(const struct program *p, const struct command *c)
{
    json_t *rows = json_object();
    if (strcmp(c->args[0], "run") != 0 || !program_has(p, "results/faults/results.jsonl"))
        return rows;
    char *text = program_read(p, "results/faults/results.jsonl");
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        json_t *row = json_loads(line, 0, NULL);
        const char *record = json_string_value(json_object_get(row, "record"));
        const char *key = json_string_value(json_object_get(row, "key"));
        json_object_del(row, "wall_s");
        json_object_del(row, "check");
        json_object_del(row, "report"); /* of processes and memory */
        const bool kept = record && key && !strstr(record, "net_cpu");
        char id[128];
        snprintf(id, sizeof(id), "%s %s", record ? record : "", key ? key : "");
        if (kept)
            json_object_set_new(rows, id, c->timed ? json_true() : json_incref(row));
        json_decref(row);
    }
    free(text);
    return rows;
}

/* The command's other result, or NULL. */
static char *result_of(const struct program *p, const struct command *c, size_t *len_bytes)
{
    *len_bytes = 0;
    if (strcmp(c->args[0], "run") == 0 || (c->makes && !program_has(p, c->makes)))
        return NULL;
    return program_read_bytes(p, c->makes ? c->makes : "said.out", len_bytes);
}

static void clean(const struct program *p, const struct command *c)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", p->folder, c->makes ? c->makes : "results");
    if (c->makes)
        unlink(path);
    else if (program_has(p, "results"))
        folder_remove(path);
}

struct reference {
    json_t *rows;
    char *bytes;
    size_t len_bytes;
    uint64_t counts[N_KINDS];
};

static bool equals(const struct program *p, const struct command *c, const struct reference *r)
{
    size_t len_bytes;
    json_t *rows = rows_of(p, c);
    char *bytes = result_of(p, c, &len_bytes);
    const bool same = json_equal(rows, r->rows) && len_bytes == r->len_bytes &&
                      (len_bytes == 0 || memcmp(bytes, r->bytes, len_bytes) == 0);
    json_decref(rows);
    free(bytes);
    return same;
}

/* Are all rows that are there right? */
static bool holds_only(const struct program *p, const struct command *c, const struct reference *r)
{
    json_t *rows = rows_of(p, c), *row;
    const char *id;
    bool right = true;
    json_object_foreach (rows, id, row)
        right = right && json_equal(row, json_object_get(r->rows, id));
    json_decref(rows);
    return right;
}

/* One fault. */
static void try_fault(struct program *p, const struct command *c, const struct reference *r,
                      int kind, uint64_t index, bool verbose)
{
    char fault[64];
    snprintf(fault, sizeof(fault), "%s:%llu", kinds[kind], (unsigned long long)index);
    clean(p, c);
    const int status = call(p, c, fault);
    char *said = program_read(p, "said.err");
    strait_test_context("%s of %s, of %llu: status %d, %.300s", fault, c->name,
                        (unsigned long long)r->counts[kind], status, said);
    CU_ASSERT(status >= 0 && status <= 3); /* no hang, no signal */
    const bool right = status == 0 ? equals(p, c, r) : holds_only(p, c, r);
    CU_ASSERT(right);
    CU_ASSERT(status == 0 || *said); /* an error says what it is */
    if (verbose && (status < 0 || status > 3 || !right || (status != 0 && !*said)))
        fprintf(stderr, "%s %s: status %d%s: %s\n", c->name, fault, status,
                right ? "" : ", another result", said);
    if (status != 0) { /* what it left is in nobody's way */
        const int again = call(p, c, NULL);
        CU_ASSERT_EQUAL(again, 0);
        CU_ASSERT(equals(p, c, r));
        if (verbose && (again != 0 || !equals(p, c, r)))
            fprintf(stderr, "%s %s: the next one has status %d\n", c->name, fault, again);
    }
    free(said);
}

static void learn(struct reference *r, struct program *p, const struct command *c)
{
    *r = (struct reference){.rows = NULL};
    clean(p, c);
    strait_test_context("%s without a fault", c->name);
    CU_ASSERT_EQUAL_FATAL(call(p, c, "none:0"), 0);
    count_file(p, r->counts, false);
    r->rows = rows_of(p, c);
    r->bytes = result_of(p, c, &r->len_bytes);
    CU_ASSERT(r->len_bytes > 0 || json_object_size(r->rows) > 0);
}

static void forget(struct reference *r)
{
    json_decref(r->rows);
    free(r->bytes);
}

static bool prepare(struct program *p)
{
    static const char *const drawn[] = {
        "run",        "faults.json", "--on",  "fluid",           "--set",
        "/clients=2", "--out",       "drawn", "--no-break-even", NULL};
    float values[1000];
    program_set_up(p);
    program_write(p, "faults.json", experiment);
    for (int i = 0; i < 1000; i++)
        values[i] = (float)strait_random_unit(1, "faults", (uint64_t)i, 0);
    program_write_bytes(p, "x.f32", values, sizeof(values));
    struct said s = program_call(p, drawn);
    CU_ASSERT_EQUAL(s.status, 0);
    said_release(&s);
    return true;
}

/* All kinds and commands in turn, up to `most` calls of each, spread evenly. */
static void try_all(struct program *p, uint64_t most)
{
    for (int i = 0; i < N_COMMANDS; i++) {
        struct reference r;
        const char *only = getenv("FAULTS_OF");
        if (only && strcmp(only, commands[i].name) != 0)
            continue;
        learn(&r, p, &commands[i]);
        for (int kind = 0; kind < N_KINDS; kind++) {
            const uint64_t n = r.counts[kind], tried = n < most ? n : most;
            for (uint64_t t = 0; t < tried; t++)
                try_fault(p, &commands[i], &r, kind, t * n / tried, true);
            fprintf(stderr, "%-7s %-8s %llu of %llu calls failed once\n", commands[i].name,
                    kinds[kind], (unsigned long long)tried, (unsigned long long)n);
        }
        forget(&r);
    }
}

static void a_call_that_fails_gives_an_error_or_the_right_result(void)
{
    struct program p;
    const char *all = getenv("FAULTS");
    const uint64_t seed = strait_test_seed();
    prepare(&p);
    if (all) {
        try_all(&p, strtoull(all, NULL, 10));
    } else {
        /* an emulation needs rights that not everybody has; make faults has it */
        static const int few[] = {0, 1, 4};
        for (uint64_t i = 0; i < sizeof(few) / sizeof(few[0]); i++) {
            struct reference r;
            learn(&r, &p, &commands[few[i]]);
            for (uint64_t t = 0; t < A_FEW; t++) {
                const int kind = (int)(strait_random_bits(seed, "kind", i, t) % N_KINDS);
                const uint64_t n = r.counts[kind];
                if (n > 0)
                    try_fault(&p, &commands[few[i]], &r, kind,
                              strait_random_bits(seed, "index", i, t) % n, false);
            }
            forget(&r);
        }
    }
    program_tear_down(&p);
}

static const struct strait_test tests[] = {
    {"a call that fails gives an error or the right result",
     a_call_that_fails_gives_an_error_or_the_right_result},
};
STRAIT_SUITE_WITH("faults/faults", tests, .release = true, .slow = true, .deadline_s = 36000);
