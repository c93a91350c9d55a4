/* strait net run from outside: copies, their variables, what fails, and what is left. */
#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "tests/kit/program.h"

static const char experiment[] =
    "{\"schema\": \"strait-experiment/1\", \"title\": \"net\", \"model\": \"cnn\","
    " \"strategy\": {\"name\": \"fedavg\", \"rounds\": 1, \"local_steps\": 1}, \"codec\": \"none\","
    " \"network\": {\"client\": {\"rate\": \"1 Gbps\", \"rtt\": \"10 ms\"},"
    "               \"server\": {\"rate\": \"1 Gbps\"}}, \"clients\": 3}\n";

/* False, with the test skipped, where this machine or user cannot do it at all. */
static bool begin(struct program *p)
{
    program_set_up(p);
    program_write(p, "net.json", experiment);
    struct said s = PROGRAM_CALL(p, "net", "run", "net.json", "--", "true");
    if (s.status == 3)
        strait_test_skip(s.err);
    else
        CU_ASSERT_EQUAL(s.status, 0);
    const bool good = s.status == 0;
    said_release(&s);
    return good;
}

static bool has_line(const char *text, const char *line)
{
    const char *at = strstr(text, line);
    return at && (at == text || at[-1] == '\n') && at[strlen(line)] == '\n';
}

static void variables(void)
{
    static const char show[] =
        "echo $RANK $WORLD_SIZE $LOCAL_RANK $MASTER_ADDR $MASTER_PORT $GLOO_SOCKET_IFNAME"
        " $TP_SOCKET_IFNAME $NCCL_SOCKET_IFNAME $OMP_NUM_THREADS $STRAIT_RANK $STRAIT_HOST"
        " $STRAIT_ADDR $(uname -n)";
    struct program p;
    unsetenv("MASTER_PORT");
    unsetenv("OMP_NUM_THREADS");
    if (begin(&p)) {
        struct said s = PROGRAM_CALL(&p, "net", "run", "net.json", "--", "sh", "-c", show);
        CU_ASSERT_EQUAL(s.status, 0);
        CU_ASSERT_EQUAL(program_n_lines(s.out), 3);
        CU_ASSERT(has_line(s.out, "client1 | 0 3 0 10.0.0.2 29500 eth0 eth0 eth0 1 1 client1 "
                                  "10.0.0.2 client1"));
        CU_ASSERT(has_line(s.out, "client3 | 2 3 0 10.0.0.2 29500 eth0 eth0 eth0 1 3 client3 "
                                  "10.0.0.4 client3"));
        said_release(&s);
        setenv("MASTER_PORT", "1234", 1);
        setenv("OMP_NUM_THREADS", "8", 1);
        s = PROGRAM_CALL(&p, "net", "run", "net.json", "--ranks", "all", "--", "sh", "-c", show);
        unsetenv("MASTER_PORT");
        unsetenv("OMP_NUM_THREADS");
        CU_ASSERT_EQUAL(program_n_lines(s.out), 4);
        CU_ASSERT(has_line(s.out, "server | 0 4 0 10.0.0.1 1234 eth0 eth0 eth0 8 0 server 10.0.0.1 "
                                  "server"));
        CU_ASSERT(has_line(s.out, "client3 | 3 4 0 10.0.0.1 1234 eth0 eth0 eth0 8 3 client3 "
                                  "10.0.0.4 client3"));
        said_release(&s);
    }
    program_tear_down(&p);
}

static void output(void)
{
    static const char say[] = "echo out; echo; echo err >&2; printf 'no end'";
    struct program p;
    if (begin(&p)) {
        struct said s = PROGRAM_CALL(&p, "net", "run", "net.json", "--set", "/clients=1", "--",
                                     "sh", "-c", say);
        CU_ASSERT_STRING_EQUAL(s.out, "client1 | out\nclient1 |\nclient1 | no end\n");
        CU_ASSERT_STRING_EQUAL(s.err, "client1 | err\n");
        said_release(&s);
        /* a line of 70000 letters is cut after 65536 */
        s = PROGRAM_CALL(&p, "net", "run", "net.json", "--set", "/clients=1", "--", "sh", "-c",
                         "head -c 70000 /dev/zero | tr '\\0' x");
        CU_ASSERT_EQUAL(strlen(s.out), 70000 + 2 * strlen("client1 | \n"));
        CU_ASSERT_EQUAL(strspn(s.out + 10, "x"), 65536);
        CU_ASSERT_EQUAL(strncmp(s.out + 10 + 65536, "\nclient1 | x", 12), 0);
        said_release(&s);
        s = PROGRAM_CALL(&p, "net", "run", "net.json", "--set", "/clients=1", "--ranks", "all",
                         "--log", "logs", "--", "sh", "-c", say);
        CU_ASSERT_EQUAL(s.status, 0);
        CU_ASSERT_STRING_EQUAL(s.out, "");
        CU_ASSERT_STRING_EQUAL(s.err, "");
        said_release(&s);
        char *server = program_read(&p, "logs/server.log"),
             *client = program_read(&p, "logs/client1.log");
        CU_ASSERT_STRING_EQUAL(server, "out\n\nerr\nno end");
        CU_ASSERT_STRING_EQUAL(client, "out\n\nerr\nno end");
        free(server);
        free(client);
    }
    program_tear_down(&p);
}

static void failures(void)
{
    struct program p;
    if (begin(&p)) {
        struct said s = PROGRAM_CALL(&p, "net", "run", "net.json", "--", "sh", "-c",
                                     "[ $RANK = 1 ] && exit 3; sleep 100");
        CU_ASSERT_EQUAL(s.status, 1);
        CU_ASSERT_STRING_EQUAL(s.err, "strait: net run: 1 of 3 failed: client2 (exit status 3); 2 "
                                      "others were ended\n");
        said_release(&s);
        s = PROGRAM_CALL(&p, "net", "run", "net.json", "--keep-going", "--", "sh", "-c",
                         "[ $RANK = 2 ] && kill -9 $$; exit $RANK");
        CU_ASSERT_EQUAL(s.status, 1);
        CU_ASSERT_PTR_NOT_NULL(strstr(s.err, "2 of 3 failed: "));
        CU_ASSERT_PTR_NOT_NULL(strstr(s.err, "client2 (exit status 1)"));
        CU_ASSERT_PTR_NOT_NULL(strstr(s.err, "client3 (signal 9, Killed)"));
        CU_ASSERT_EQUAL(program_n_lines(s.err), 1);
        said_release(&s);
    }
    program_tear_down(&p);
}

/* One other is one; where there are logs they are named; a log that cannot be written is said
 * before anything runs. */
static void others_and_logs(void)
{
    struct program p;
    if (begin(&p)) {
        struct said s =
            PROGRAM_CALL(&p, "net", "run", "net.json", "--set", "/clients=2", "--log", "logs", "--",
                         "sh", "-c", "[ $RANK = 1 ] && exit 3; sleep 100");
        CU_ASSERT_EQUAL(s.status, 1);
        CU_ASSERT_STRING_EQUAL(s.err,
                               "strait: net run: 1 of 2 failed: client2 (exit status 3); 1 other "
                               "was ended; see the logs in logs\n");
        said_release(&s);
        s = PROGRAM_CALL(&p, "net", "run", "net.json", "--set", "/clients=1", "--", "sh", "-c",
                         "exit 4");
        CU_ASSERT_EQUAL(s.status, 1);
        CU_ASSERT_STRING_EQUAL(s.err, "strait: net run: 1 of 1 failed: client1 (exit status 4)\n");
        said_release(&s);
        char folder[128];
        snprintf(folder, sizeof(folder), "%s/taken", p.folder);
        CU_ASSERT_EQUAL(mkdir(folder, 0700), 0);
        snprintf(folder, sizeof(folder), "%s/taken/client1.log", p.folder);
        CU_ASSERT_EQUAL(mkdir(folder, 0700), 0);
        s = PROGRAM_CALL(&p, "net", "run", "net.json", "--set", "/clients=1", "--log", "taken",
                         "--", "touch", "ran");
        CU_ASSERT_EQUAL(s.status, 1);
        CU_ASSERT_STRING_EQUAL(s.err,
                               "strait: taken/client1.log: cannot be written: Is a directory\n");
        CU_ASSERT_FALSE(program_has(&p, "ran"));
        said_release(&s);
    }
    program_tear_down(&p);
}

/* A daemon that left its parent's group and session ends with the network. */
static void orphans(void)
{
    struct program p;
    if (begin(&p)) {
        struct said s = PROGRAM_CALL(&p, "net", "run", "net.json", "--", "sh", "-c",
                                     "setsid sleep 100 & exit 0");
        CU_ASSERT_EQUAL(s.status, 0);
        CU_ASSERT_EQUAL(program_n_left_soon(&p), 0);
        said_release(&s);
    }
    program_tear_down(&p);
}

static void interrupted(int number, int status, const char *script)
{
    const struct timespec moment = {.tv_nsec = 20 * 1000 * 1000};
    const char *const args[] = {"net", "run", "net.json", "--name", "it",
                                "--",  "sh",  "-c",       script,   NULL};
    struct program p;
    if (begin(&p)) {
        const pid_t pid = program_start(&p, "run", args);
        for (int i = 0; i < 3000; i++) {
            char *out = program_read(&p, "run.out");
            const bool all = program_n_lines(out) == 3;
            free(out);
            if (all)
                break;
            nanosleep(&moment, NULL);
        }
        CU_ASSERT(program_n_left(&p) >= 8); /* strait, supervisor, three shells and sleeps */
        struct said s = PROGRAM_CALL(&p, "net", "exec", "--name", "it", "--", "uname", "-n");
        CU_ASSERT_STRING_EQUAL(s.out, "server\n");
        said_release(&s);
        kill(pid, number);
        CU_ASSERT_EQUAL(program_wait(pid), status);
        CU_ASSERT_EQUAL(program_n_left_soon(&p), 0);
        s = PROGRAM_CALL(&p, "net", "list");
        CU_ASSERT_STRING_EQUAL(s.out, "no network is up (strait net up --help)\n");
        said_release(&s);
    }
    program_tear_down(&p);
}

static void interrupt(void)
{
    interrupted(SIGINT, 1, "trap 'exit 0' INT; echo up; sleep 100 & wait");
    interrupted(SIGTERM, 1, "echo up; sleep 100; true");
}

static void killed(void)
{
    interrupted(SIGKILL, 128 + SIGKILL, "echo up; sleep 100; true");
}

static const struct strait_test tests[] = {
    {"every copy knows its rank, its master, its interface and itself", variables},
    {"output is lines with the host's name, or a file a copy", output},
    {"a copy that fails is named, ends the others or lets them go on", failures},
    {"others that were ended, and logs, are told of", others_and_logs},
    {"what a copy left behind ends with the network", orphans},
    {"an interrupted run takes all of it down", interrupt},
    {"so does a killed one", killed},
};
STRAIT_SUITE("cli/net/net_run", tests);
