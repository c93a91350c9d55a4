/* Runs that are interrupted or killed, and what they leave. */
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include "analysis/store.h"
#include "tests/kit/program.h"

static struct program program;

/* A sweep of 1,000 points, cheap on fluid. */
static void set_up(void)
{
    char text[8192];
    int n = snprintf(text, sizeof(text),
                     "{\"schema\": \"strait-experiment/1\", \"title\": \"big\", \"model\": \"cnn\","
                     " \"strategy\": {\"name\": \"fedavg\", \"rounds\": 2, \"local_steps\": 1},"
                     " \"codec\": \"none\", \"network\":"
                     " {\"client\": {\"rate\": \"100 Mbps\", \"rtt\": \"10 ms\"},"
                     "  \"server\": {\"rate\": \"100 Mbps\"}}, \"clients\": 1,"
                     " \"vary\": {\"/clients\": [");
    for (int i = 1; i <= 500; i++)
        n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%d", i > 1 ? ", " : "", 1 + i % 400);
    snprintf(text + n, sizeof(text) - (size_t)n, "], \"/seed\": [1, 2]}}\n");
    program_set_up(&program);
    program_write(&program, "big.json", text);
}

static size_t n_rows(void)
{
    if (!program_has(&program, "out/results.jsonl"))
        return 0;
    char *rows = program_read(&program, "out/results.jsonl");
    const size_t n = program_n_lines(rows);
    free(rows);
    return n;
}

/* It stays to be waited for. */
static bool has_ended(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
}

/* Some rows after its header; what is complete is kept. */
static void interrupt(int signal_number, int expected_status)
{
    static const char *const args[] = {"run", "big.json",        "--on", "fluid", "--out",
                                       "out", "--no-break-even", NULL};
    const struct timespec moment = {.tv_nsec = 20 * 1000 * 1000};
    char out[160];
    set_up();
    snprintf(out, sizeof(out), "%s/out", program.folder);
    const pid_t pid = program_start(&program, "run", args);
    while (n_rows() < 20 && !has_ended(pid)) /* however busy the machine is */
        nanosleep(&moment, NULL);
    CU_ASSERT(program_n_left(&program) > 0);
    kill(pid, signal_number);
    CU_ASSERT_EQUAL(program_wait(pid), expected_status);
    CU_ASSERT_EQUAL(program_n_left_soon(&program), 0);
    struct strait_store *store;
    CU_ASSERT_FATAL(strait_store_open(&store, out, true, NULL) == 0); /* the lock is free */
    const size_t n = json_array_size(strait_store_records(store));
    CU_ASSERT(n >= 20);
    CU_ASSERT(n < 1000);
    strait_store_free(store);
    program_tear_down(&program);
}

/* Whether a handler of the process catches the signal. */
static bool catches(pid_t pid, int signal_number)
{
    char path[64], line[256];
    unsigned long long caught = 0;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "SigCgt: %llx", &caught) == 1)
            break;
    if (file)
        fclose(file);
    return caught >> (signal_number - 1) & 1;
}

/* What writes its result at the end says that nothing is kept, and ends by the signal. */
static void begins_again(void)
{
    static const char *const args[] = {"codec", "bench", NULL};
    const struct timespec moment = {.tv_nsec = 5 * 1000 * 1000};
    program_set_up(&program);
    const pid_t pid = program_start(&program, "bench", args);
    while (!catches(pid, SIGTERM) && !has_ended(pid))
        nanosleep(&moment, NULL);
    kill(pid, SIGTERM);
    CU_ASSERT_EQUAL(program_wait(pid), 128 + SIGTERM);
    char *said = program_read(&program, "bench.err");
    CU_ASSERT_STRING_EQUAL(said,
                           "strait: interrupted; nothing is kept, the same command begins again\n");
    free(said);
    program_tear_down(&program);
}

static void interrupted(void)
{
    interrupt(SIGINT, 1);
    interrupt(SIGTERM, 1);
}

static void killed(void)
{
    interrupt(SIGKILL, 128 + SIGKILL);
}

static const struct strait_test tests[] = {
    {"a benchmark that is interrupted says that it begins again", begins_again},
    {"an interrupted run leaves whole rows, no process and no lock", interrupted},
    {"so does a killed one", killed},
};
STRAIT_SUITE("cli/cli_interrupt", tests);
