/* Standard outputs that are full or closed, and devices as outputs. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/kit/program.h"

static struct program program;

/* Runs it with standard output as fd, or closed where fd is below 0; its exit status. */
static int run_with_output(int fd, const char *const args[])
{
    const pid_t pid = fork();
    CU_ASSERT_FATAL(pid >= 0);
    if (pid == 0) {
        char err[128];
        snprintf(err, sizeof(err), "%s/err", program.folder);
        const int to = open(err, O_WRONLY | O_CREAT | O_TRUNC, 0666);
        if (to < 0 || dup2(to, STDERR_FILENO) < 0)
            _exit(100);
        if (fd >= 0)
            dup2(fd, STDOUT_FILENO);
        else
            close(STDOUT_FILENO);
        program_exec(&program, args);
    }
    return program_wait(pid);
}

static void write_tensor(void)
{
    float x[2000];
    for (size_t i = 0; i < sizeof(x) / sizeof(*x); i++)
        x[i] = (float)i;
    program_write_bytes(&program, "some.f32", x, sizeof(x));
}

/* A disk that is full, and a standard output that is closed: never 0, one line that says so. */
static void outputs(void)
{
    static const char *const commands[][8] = {
        {"--help"},
        {"--version"},
        {"list"},
        {"list", "--json"},
        {"codec", "list", "sz"},
        {"codec", "--help"},
        {"check", "wan-check", "--on", "sim"},
        {"check", "wan-check", "--json"},
        {"run", "wan-check", "--on", "fluid", "--no-break-even"},
        {"run", "wan-check", "--on", "fluid", "--json", "--no-break-even"},
        {"calibrate", "codecs", "--codec", "none", "some.f32"},
        {"net", "list"},
        {"net", "--help"},
        {"doctor"}};
    program_set_up(&program);
    const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    CU_ASSERT_FATAL(full >= 0);
    write_tensor();
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
        for (int closed = 0; closed < 2; closed++) {
            const int status = run_with_output(closed ? -1 : full, commands[i]);
            char *err = program_read(&program, "err");
            const char *said = strstr(err, "strait: standard output: cannot write: ");
            CU_ASSERT(status == 1 || status == 3); /* 3: doctor and check, where none can emulate */
            CU_ASSERT_PTR_NOT_NULL(said);
            CU_ASSERT(said && !strstr(said + 1, "strait: "));
            if ((status != 1 && status != 3) || !said)
                fprintf(stderr, "%s %s, closed %d: %d: %s\n", commands[i][0],
                        commands[i][1] ? commands[i][1] : "", closed, status, err);
            free(err);
        }
    /* a closed output is not the file that was opened next: its rows are whole */
    char *rows = program_read(&program, "results/wan-check/results.jsonl");
    CU_ASSERT_PTR_NULL(strstr(rows, "clients  codec"));
    free(rows);
    close(full);
    program_tear_down(&program);
}

/* What is told to be written to a device goes there, and the device stays one. */
static void devices(void)
{
    struct stat before, after;
    program_set_up(&program);
    write_tensor();
    char device[128];
    snprintf(device, sizeof(device), "%s/device", program.folder);
    if (mknod(device, S_IFCHR | 0666, (dev_t)(1 << 8 | 7)) != 0) { /* as /dev/full */
        program_tear_down(&program);
        strait_test_skip("only root makes devices");
        return;
    }
    CU_ASSERT_EQUAL(stat(device, &before), 0);
    program_write(&program, "small.json",
                  "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"clients\":2,"
                  "\"strategy\":{\"name\":\"bsp\",\"rounds\":1},"
                  "\"network\":{\"client\":{\"rate\":\"100 Mbps\"}}}");
    const char *const commands[][10] = {
        {"calibrate", "codecs", "--codec", "none", "some.f32", "--out", "device"},
        {"calibrate", "host", "--codec", "none", "some.f32", "--out", "device"},
        {"codec", "encode", "--codec", "none", "some.f32", "-o", "device"},
        {"codec", "decode", "some.enc", "-o", "device"},
        {"model", "new", "--params", "3M", "--step", "20ms", "--out", "device"},
        {"report", "small", "--out", "device"},
        {"timeline", "small", "--out", "device", "--format", "text"},
        {"timeline", "small", "--out", "device", "--format", "chrome"},
        {"timeline", "small", "--out", "device", "--format", "paje"}};
    struct said made =
        PROGRAM_CALL(&program, "run", "small.json", "--on", "fluid", "--out", "small");
    CU_ASSERT_EQUAL(made.status, 0);
    said_release(&made);
    made =
        PROGRAM_CALL(&program, "codec", "encode", "--codec", "none", "some.f32", "-o", "some.enc");
    CU_ASSERT_EQUAL(made.status, 0);
    said_release(&made);
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
        struct said s = program_call(&program, commands[i]);
        strait_test_context("%s %s %s: %s", commands[i][0], commands[i][1], commands[i][5], s.err);
        CU_ASSERT_EQUAL(s.status, 1);
        CU_ASSERT_PTR_NOT_NULL(strstr(s.err, "cannot write"));
        CU_ASSERT_EQUAL(stat(device, &after), 0);
        CU_ASSERT_EQUAL(after.st_mode, before.st_mode);
        CU_ASSERT_EQUAL(after.st_rdev, before.st_rdev);
        said_release(&s);
    }
    program_tear_down(&program);
}

static const struct strait_test tests[] = {
    {"a full or closed standard output is never success", outputs},
    {"a device is written to, not replaced", devices},
};
STRAIT_SUITE_WITH("cli/bad/bad_outputs", tests, .slow_s = 4);
