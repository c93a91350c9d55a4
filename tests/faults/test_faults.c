/* Calls of the system fail, one at a time, in six commands: each ends with an error or the right
 * result, hangs never, and leaves nothing in its results folder that is wrong. make test draws a
 * few; FAULTS=N in the environment tries up to N of each kind of call and command, spread over all
 * of them (make faults). */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "commands.h"

enum { N_KINDS = 11, A_FEW = 12, HANG_S = 120 };
static const char *const kinds[N_KINDS] = {"malloc", "open",    "read",  "write", "mmap", "fork",
                                           "socket", "connect", "memfd", "send",  "recv"};

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

/* One fault. */
static void try_fault(struct program *p, const struct command *c, const struct reference *r,
                      const uint64_t counts[N_KINDS], int kind, uint64_t index, bool verbose)
{
    char fault[64];
    snprintf(fault, sizeof(fault), "%s:%llu", kinds[kind], (unsigned long long)index);
    clean(p, c);
    const int status = call(p, c, fault);
    char *said = program_read(p, "said.err");
    strait_test_context("%s of %s, of %llu: status %d, %.300s", fault, c->name,
                        (unsigned long long)counts[kind], status, said);
    CU_ASSERT(status >= 0 && status <= 3); /* no hang, no signal */
    const bool right = status == 0 ? equals(p, c, r) : holds_only(p, c, r);
    CU_ASSERT(right);
    CU_ASSERT(status == 0 || *said); /* an error says what it is */
    if (verbose && (status < 0 || status > 3 || !right || (status != 0 && !*said)))
        fprintf(stderr, "%s %s: status %d%s: %s\n", c->name, fault, status,
                right ? "" : ", another result", said);
    if (status != 0) { /* what it left is in nobody's way */
        const int again = call(p, c, NULL);
        /* on a busy machine an emulated row may be INVALID without a fault: status 1 */
        CU_ASSERT(again == 0 || (c->timed && again == 1));
        CU_ASSERT(again == 1 || equals(p, c, r));
        if (verbose && (again != 0 || !equals(p, c, r)))
            fprintf(stderr, "%s %s: the next one has status %d\n", c->name, fault, again);
    }
    free(said);
}

static void learn(struct reference *r, uint64_t counts[N_KINDS], struct program *p,
                  const struct command *c)
{
    *r = (struct reference){.rows = NULL};
    clean(p, c);
    strait_test_context("%s without a fault", c->name);
    CU_ASSERT_EQUAL_FATAL(call(p, c, "none:0"), 0);
    count_file(p, counts, false);
    r->rows = rows_of(p, c);
    r->bytes = result_of(p, c, &r->len_bytes);
    CU_ASSERT(r->len_bytes > 0 || json_object_size(r->rows) > 0);
}

/* All kinds and commands in turn, up to `most` calls of each, spread evenly. */
static void try_all(struct program *p, uint64_t most)
{
    for (int i = 0; i < N_COMMANDS; i++) {
        struct reference r;
        uint64_t counts[N_KINDS];
        const char *only = getenv("FAULTS_OF");
        if (only && strcmp(only, commands[i].name) != 0)
            continue;
        learn(&r, counts, p, &commands[i]);
        for (int kind = 0; kind < N_KINDS; kind++) {
            const uint64_t n = counts[kind], tried = n < most ? n : most;
            for (uint64_t t = 0; t < tried; t++)
                try_fault(p, &commands[i], &r, counts, kind, t * n / tried, true);
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
            uint64_t counts[N_KINDS];
            learn(&r, counts, &p, &commands[few[i]]);
            for (uint64_t t = 0; t < A_FEW; t++) {
                const int kind = (int)(strait_random_bits(seed, "kind", i, t) % N_KINDS);
                const uint64_t n = counts[kind];
                if (n > 0)
                    try_fault(&p, &commands[few[i]], &r, counts, kind,
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
STRAIT_SUITE_WITH("faults/faults", tests, .release = true, .slow_s = 3, .deadline_s = 36000);
