/* strait net run --launcher uml: foreign programs over netem, in a guest. */
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "core/heap.h"
#include "tests/kit/guest.h"
#include "tests/kit/program.h"

static const char experiment[] =
    "{\"schema\": \"strait-experiment/1\", \"model\": \"cnn\", \"strategy\": {\"name\": "
    "\"fedavg\"}, \"network\": {\"client\": {\"rate\": \"100 Mbps\", \"rtt\": \"50 ms\"},"
    " \"server\": {\"rate\": \"100 Mbps\"}}, \"clients\": 2}\n";

/* Temporary files of the program lie in a folder of their own: tmp. */
static void begin(struct program *p)
{
    program_set_up(p);
    program_write(p, "net.json", experiment);
    program_own_tmp(p);
}

/* An empty folder can be removed. */
static void end(struct program *p, bool is_empty)
{
    CU_ASSERT_EQUAL(program_n_left_soon(p), 0);
    CU_ASSERT_EQUAL(rmdir(getenv("TMPDIR")) == 0, is_empty);
    unsetenv("TMPDIR");
    program_tear_down(p);
}

static bool is_long(void)
{
    if (!getenv("STRAIT_LONG"))
        strait_test_skip("some seconds in a guest: make uml");
    return getenv("STRAIT_LONG") && guest_boots(false);
}

static void refused(const struct program *p, int status, const char *text, const char *const args[])
{
    struct said s = program_call(p, args);
    CU_ASSERT_EQUAL(s.status, status);
    CU_ASSERT_EQUAL(program_n_lines(s.err), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.err, text));
    said_release(&s);
}
#define REFUSED(p, status, text, ...)                                                              \
    refused(p, status, text, (const char *const[]){"net", __VA_ARGS__, NULL})

static void refusals(void)
{
    struct program p;
    char before[4096];
    begin(&p);
    REFUSED(&p, 2, "expected uml, vuml or auto after --launcher, found \"qemu\"", "run", "net.json",
            "--launcher", "qemu", "--", "true");
    REFUSED(&p, 2, "--memory: it is for a guest", "run", "net.json", "--memory", "1GB", "--",
            "true");
    REFUSED(&p, 2, "strait net run --launcher runs programs in it", "up", "net.json", "--launcher",
            "uml");
    snprintf(before, sizeof(before), "%s", getenv("PATH"));
    setenv("PATH", "/nonexistent", 1);
    setenv("STRAIT_VKERNEL", "/nonexistent", 1);
    REFUSED(&p, 3, "apt install user-mode-linux", "run", "net.json", "--launcher", "uml", "--",
            "true");
    unsetenv("STRAIT_VKERNEL");
    setenv("PATH", before, 1);
    end(&p, true);
}

/* The copy of rank 1 reads a file of the host that only its arguments name, waits two trips of
 * 25 ms and fails; the other one is let alone. */
static void logs(void)
{
    static const char say[] =
        "[ $RANK = 0 ] && echo $WORLD_SIZE $WORD && exit; ping -c 1 server; cat \"$0\"; exit 3";
    struct program p;
    char file[128];
    double rtt_ms = 0;
    if (!guest_boots(false))
        return;
    begin(&p);
    program_write(&p, "word", "from the host\n");
    snprintf(file, sizeof(file), "%s/word", p.folder);
    setenv("WORD", "two words", 1);
    struct said s = PROGRAM_CALL(&p, "net", "run", "net.json", "--launcher=uml", "--log", "logs",
                                 "--keep-going", "--memory", "512MB", "--", "sh", "-c", say, file);
    unsetenv("WORD");
    CU_ASSERT_EQUAL(s.status, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.err, "strait: net run: 1 of 2 failed: client2 (exit status 3); "
                                         "see the logs in logs\n"));
    CU_ASSERT_STRING_EQUAL(s.out, "");
    said_release(&s);
    char *first = program_read(&p, "logs/client1.log"),
         *second = program_read(&p, "logs/client2.log");
    CU_ASSERT_STRING_EQUAL(first, "2 two words\n");
    CU_ASSERT_PTR_NOT_NULL(strstr(second, "from the host\n"));
    const char *at = strstr(second, " time=");
    CU_ASSERT_FATAL(at && sscanf(at, " time=%lf ms", &rtt_ms) == 1);
    CU_ASSERT_AT_LEAST(rtt_ms, 49.9);
    free(first);
    free(second);
    end(&p, true);
}

static void lines(void)
{
    struct program p;
    if (!is_long())
        return;
    begin(&p);
    struct said s = PROGRAM_CALL(&p, "net", "run", "net.json", "--launcher", "uml", "--", "sh",
                                 "-c", "echo rank $RANK; echo bad >&2");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "client1 | rank 0\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "client2 | rank 1\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(s.err, "client2 | bad\n"));
    said_release(&s);
    end(&p, true);
}

/* A guest that boots is ended with its caller; only SIGKILL leaves the work folder. */
static void killed(int number)
{
    static const char *const args[] = {"net", "run",   "net.json", "--launcher", "uml",
                                       "--",  "sleep", "60",       NULL};
    const struct timespec moment = {.tv_nsec = 100000000};
    struct program p;
    begin(&p);
    const pid_t pid = program_start(&p, "it", args);
    for (int i = 0; i < 100 && program_n_left(&p) < 6; i++) /* ours, the kernel's, in it */
        nanosleep(&moment, NULL);
    CU_ASSERT(program_n_left(&p) >= 6);
    kill(pid, number);
    CU_ASSERT_EQUAL(program_wait(pid), number == SIGKILL ? 128 + SIGKILL : 1);
    end(&p, number != SIGKILL);
}

static void killed_by_any(void)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGKILL};
    if (is_long())
        for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
            killed(numbers[i]);
}

/* What the server received in whole seconds after the first one, which has the slow start: the
 * median, as a second in which this machine stood still says nothing about the link. */
static double steady_bits_per_s(const char *text)
{
    double found[16] = {0};
    size_t n = 0, i;
    const char *begins = strchr(text, '{'); /* behind a complaint about IPv6 */
    json_t *all = begins ? json_loads(begins, 0, NULL) : NULL, *interval;
    json_array_foreach (json_object_get(all, "intervals"), i, interval) {
        const json_t *sum = json_object_get(interval, "sum");
        if (i > 0 && n < 16 && json_number_value(json_object_get(sum, "seconds")) > 0.9)
            found[n++] = json_number_value(json_object_get(sum, "bits_per_second"));
    }
    json_decref(all);
    strait_sort(found, n);
    return n >= 3 ? found[n / 2] : 0;
}

static void goodput(void)
{
    static const char both[] = "[ $STRAIT_RANK = 0 ] && exec iperf3 -s -1 -J; sleep 0.5; "
                               "exec iperf3 -c server -t 5";
    struct program p;
    if (!is_long())
        return;
    if (access("/usr/bin/iperf3", X_OK) != 0) {
        strait_test_skip("no iperf3: apt install iperf3");
        return;
    }
    begin(&p);
    struct said s =
        PROGRAM_CALL(&p, "net", "run", "net.json", "--set", "/clients=1", "--ranks", "all", "--log",
                     "logs", "--launcher", "uml", "--", "sh", "-c", both);
    CU_ASSERT_EQUAL(s.status, 0);
    fputs(s.err, stderr);
    said_release(&s);
    char *server = program_read(&p, "logs/server.log");
    /* of a frame of 1538 B on the wire TCP carries 1448: 94.15 Mbit/s */
    const double bits_per_s = steady_bits_per_s(server);
    fprintf(stderr, "iperf3: %.2f Mbit/s\n", bits_per_s / 1e6);
    CU_ASSERT_DOUBLE_EQUAL(bits_per_s, 1e8 * 1448 / 1538, 0.02 * 1e8 * 1448 / 1538);
    free(server);
    end(&p, true);
}

/* A guest's kernel begins without HyStart; a network that asks for it has it. */
static void hystart(void)
{
    static const char *const tcp[] = {
        "/network/tcp={\"congestion\": \"cubic\"}",
        "/network/tcp={\"congestion\": \"cubic\", \"hystart\": true}"};
    static const char *const said[] = {"server | 0\n", "server | 1\n"};
    struct program p;
    if (!is_long() || !guest_boots(true))
        return;
    begin(&p);
    for (int on = 0; on < 2; on++) {
        struct said s = PROGRAM_CALL(&p, "net", "run", "net.json", "--set", tcp[on], "--launcher",
                                     "vuml", "--ranks", "first", "--", "cat",
                                     "/sys/module/tcp_cubic/parameters/hystart");
        CU_ASSERT_EQUAL(s.status, 0);
        CU_ASSERT_CONTAINS(s.out, said[on]);
        said_release(&s);
    }
    end(&p, true);
}

static const struct strait_test tests[] = {
    {"what cannot be is refused in one line", refusals},
    {"logs, files that arguments name and the exit status pass between guest and host", logs},
    {"without logs lines come at the end", lines},
    {"a signal ends the guest and removes its work folder", killed_by_any},
    {"iperf3 gets the rate less the headers", goodput},
    {"cubic has HyStart where the network says so", hystart},
};
STRAIT_SUITE_WITH("emu/guest/net_uml", tests, .slow_s = 7, .release = true);
