/* A network on two hosts, which two namespaces of this machine play: each has a device of its own
 * and reaches the other by it alone. */
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "core/process.h"
#include "tests/kit/links/mpi_world.h"
#include "tests/kit/program.h"

/* What a test has: the program, and the hosts' names, which are their namespaces'. */
struct place {
    struct program p;
    char a[32], b[32];
};

/* Server and client1 on the first host, client2 and client3 on the second. Between hosts at most
 * 200 Mbps: what two clients may send, and what leaves the first one, too. */
static const char experiment[] =
    "{\"schema\": \"strait-experiment/1\", \"title\": \"net\", \"clients\": 3, \"seed\": 5,"
    " \"training\": {\"task\": \"quadratic\", \"lr\": 0.2},"
    " \"strategy\": {\"name\": \"fedavg\", \"rounds\": 3, \"local_steps\": 2},"
    " \"codec\": {\"name\": \"sz\", \"bound\": {\"range\": 1e-3}},"
    " \"network\": {\"client\": {\"rate\": \"100 Mbps\", \"rtt\": \"20 ms\"},"
    "               \"server\": {\"rate\": \"1 Gbps\"}}}\n";

static bool ip(const char *words, struct strait_error *err)
{
    char copy[256], *rest;
    const char *argv[24];
    size_t n = 0;
    snprintf(copy, sizeof(copy), "ip %s", words);
    for (char *w = strtok_r(copy, " ", &rest); w && n < 23; w = strtok_r(NULL, " ", &rest))
        argv[n++] = w;
    argv[n] = NULL;
    return strait_process_run(NULL, 0, argv, NULL, 60, err) == 0;
}

static void remove_hosts(const struct place *w)
{
    char words[96];
    struct strait_error err = {0};
    snprintf(words, sizeof(words), "netns del %s", w->a);
    ip(words, &err);
    snprintf(words, sizeof(words), "netns del %s", w->b);
    ip(words, &err);
}

static bool make_hosts(const struct place *w, struct strait_error *err)
{
    char words[7][200];
    snprintf(words[0], 200, "netns add %s", w->a);
    snprintf(words[1], 200, "netns add %s", w->b);
    snprintf(words[2], 200, "link add eth1 netns %s type veth peer name eth1 netns %s", w->a, w->b);
    snprintf(words[3], 200, "-n %s addr add 192.0.2.1/24 dev eth1", w->a);
    snprintf(words[4], 200, "-n %s addr add 192.0.2.2/24 dev eth1", w->b);
    snprintf(words[5], 200, "-n %s link set eth1 up", w->a);
    snprintf(words[6], 200, "-n %s link set eth1 up", w->b);
    for (int i = 0; i < 7; i++)
        if (!ip(words[i], err))
            return false;
    snprintf(words[0], 200, "-n %s link add try type vxlan id 1 local 192.0.2.1 dstport 4789",
             w->a);
    snprintf(words[1], 200, "-n %s link del try", w->a);
    return ip(words[0], err) && ip(words[1], err);
}

/* False, with the test skipped, where nobody may play hosts. */
static bool begin(struct place *w)
{
    struct strait_error err = {0};
    snprintf(w->a, sizeof(w->a), "strait-%d-a", (int)getpid());
    snprintf(w->b, sizeof(w->b), "strait-%d-b", (int)getpid());
    if (geteuid() != 0)
        strait_error_set(&err, STRAIT_ERR_HOST, NULL, "only root joins hosts by a VXLAN");
    else if (make_hosts(w, &err)) {
        char lines[256];
        program_set_up(&w->p);
        program_own_tmp(&w->p); /* Open MPI's folders are named by hosts, which others have too */
        program_write(&w->p, "net.json", experiment);
        snprintf(lines, sizeof(lines),
                 "%s address=192.0.2.1 rate=1Gbps\n%s address=192.0.2.2 "
                 "rate=1Gbps\n",
                 w->a, w->b);
        program_write(&w->p, "hosts.txt", lines);
        struct said s = PROGRAM_CALL(&w->p, "net", "probe");
        const bool works = s.status == 0;
        if (!works)
            strait_test_skip(s.err);
        said_release(&s);
        if (!works) {
            unsetenv("TMPDIR");
            program_tear_down(&w->p);
        }
        if (works)
            return true;
    }
    if (err.code != STRAIT_OK)
        strait_test_skip(err.text);
    remove_hosts(w);
    return false;
}

static void end(struct place *w)
{
    unsetenv("TMPDIR");
    program_tear_down(&w->p);
    remove_hosts(w);
}

#define ON_HOSTS(w, ...)                                                                           \
    PROGRAM_CALL(&(w)->p, "net", "run", "net.json", "--hosts", "hosts.txt", "--launch",            \
                 "ip netns exec {host}", __VA_ARGS__)

/* All four ranks, by their own words. A packet has 1450 bytes, 50 less than fit between the
 * hosts. */
static void copies_are_one_world(void)
{
    struct place w;
    if (!begin(&w))
        return;
    struct said s =
        ON_HOSTS(&w, "--ranks", "all", "--", "sh", "-c",
                 "echo $RANK of $WORLD_SIZE by $MASTER_ADDR on ${STRAIT_NET_ON##*-}, "
                 "$(cat /sys/class/net/eth0/mtu) bytes; ping -c 1 -W 20 -q 10.0.0.4 > /dev/null");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_EQUAL(program_n_lines(s.out), 4);
    CU_ASSERT_CONTAINS(s.out, "server | 0 of 4 by 10.0.0.1 on a, 1450 bytes\n");
    CU_ASSERT_CONTAINS(s.out, "client1 | 1 of 4 by 10.0.0.1 on a, 1450 bytes\n");
    CU_ASSERT_CONTAINS(s.out, "client2 | 2 of 4 by 10.0.0.1 on b, 1450 bytes\n");
    CU_ASSERT_CONTAINS(s.out, "client3 | 3 of 4 by 10.0.0.1 on b, 1450 bytes\n");
    CU_ASSERT_CONTAINS(s.err, "the way between hosts adds");
    said_release(&s);
    /* The first that fails ends the others on both hosts. */
    s = ON_HOSTS(&w, "--", "sh", "-c", "test $RANK != 1 && exec sleep 1000; exit 3");
    CU_ASSERT_EQUAL(s.status, 1);
    CU_ASSERT_CONTAINS(s.err, "strait: net run: 1 of 3 failed: client2 (exit status 3)\n");
    said_release(&s);
    end(&w);
}

/* A round trip crosses four links of 10 and 0 ms: 20 ms, whichever hosts are between. Only what
 * comes later is the machine's. ping measures with the time of day, which may be slewed against the
 * relays' clock: by 700 ppm it was. */
static void paths_are_the_networks(void)
{
    struct place w;
    if (!begin(&w))
        return;
    struct said s = ON_HOSTS(&w, "--", "ping", "-n", "-q", "-c", "5", "-i", "0.1", "server");
    int n = 0;
    CU_ASSERT_EQUAL(s.status, 0);
    for (const char *at = s.out; (at = strstr(at, "min/avg/max/mdev = ")); n++) {
        double min_ms = 0;
        at += strlen("min/avg/max/mdev = ");
        sscanf(at, "%lf", &min_ms);
        CU_ASSERT_AT_LEAST(min_ms, 0.995 * 20);
    }
    CU_ASSERT_EQUAL(n, 3);
    said_release(&s);
    end(&w);
}

/* mpirun on the first host starts strait's own ranks on both; what they send and sum is what a
 * simulation says, to the last bit, and the row says where they were. */
static void ranks_over_mpi(void)
{
    struct place w;
    char why[256], agent[4200], on[2][64];
    if (!mpirun_works(why, sizeof(why))) {
        strait_test_skip(why);
        return;
    }
    if (!begin(&w))
        return;
    snprintf(agent, sizeof(agent), "%s net rsh", w.p.path);
    struct said s =
        ON_HOSTS(&w, "--ranks", "first", "--log", ".", "--", "mpirun", "--allow-run-as-root",
                 "--host", "server,client1,client2,client3", "--mca", "plm_rsh_agent", agent,
                 "--mca", "btl", "tcp,self", w.p.path, "rank", "net.json", "--out", "mpi");
    struct said sim = PROGRAM_CALL(&w.p, "run", "net.json", "--on", "sim", "--json",
                                   "--no-break-even", "--out", "sim");
    CU_ASSERT_EQUAL(s.status, 0);
    if (s.status != 0)
        fprintf(stderr, "%s%s", s.out, s.err);
    /* from the results: what mpirun forwards may stand in the log in any order */
    char *text = s.status == 0 ? program_read(&w.p, "mpi/results.jsonl") : NULL;
    const char *at = text ? strstr(text, "{\"record\":\"row\"") : NULL;
    json_t *row = at ? json_loads(at, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
    json_t *predicted = json_loads(sim.out, JSON_DISABLE_EOF_CHECK, NULL);
    const json_t *hosts = json_object_get(json_object_get(row, "report"), "hosts");
    CU_ASSERT(json_equal(json_object_get(row, "bytes"), json_object_get(predicted, "bytes")));
    CU_ASSERT(json_equal(json_object_get(json_object_get(row, "training"), "loss"),
                         json_object_get(json_object_get(predicted, "training"), "loss")));
    CU_ASSERT_EQUAL(json_object_size(hosts), 4);
    snprintf(on[0], sizeof(on[0]), "server on %s", w.a);
    snprintf(on[1], sizeof(on[1]), "client3 on %s", w.b);
    for (int i = 0; i < 2; i++)
        CU_ASSERT_EQUAL(json_integer_value(json_object_get(hosts, on[i])), 1);
    json_decref(row);
    json_decref(predicted);
    free(text);
    said_release(&s);
    said_release(&sim);
    end(&w);
}

/* strait run brings the network of each point up on both hosts: another number of clients is
 * another network. What ranks send and train is what a simulation says. */
static void points_of_a_sweep(void)
{
    struct place w;
    char why[256], on[64];
    if (!mpirun_works(why, sizeof(why))) {
        strait_test_skip(why);
        return;
    }
    if (!begin(&w))
        return;
    program_write(&w.p, "net.json",
                  "{\"schema\": \"strait-experiment/1\", \"clients\": 3, \"seed\": 5,"
                  " \"training\": {\"task\": \"quadratic\", \"lr\": 0.2},"
                  " \"strategy\": {\"name\": \"fedavg\", \"rounds\": 2}, \"codec\": \"none\","
                  " \"network\": {\"client\": {\"rate\": \"100 Mbps\"},"
                  "               \"server\": {\"rate\": \"1 Gbps\"}},"
                  " \"vary\": {\"/clients\": [2, 3]}}\n");
    struct said s = PROGRAM_CALL(&w.p, "run", "net.json", "--on", "emu", "--json", "--out", "emu",
                                 "--hosts", "hosts.txt", "--launch", "ip netns exec {host}");
    struct said sim =
        PROGRAM_CALL(&w.p, "run", "net.json", "--json", "--no-break-even", "--out", "sim");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_EQUAL(program_n_lines(s.out), 2);
    if (s.status != 0)
        fprintf(stderr, "%s", s.err);
    snprintf(on, sizeof(on), "client2 on %s", w.b);
    const char *at = s.out, *predicted = sim.out;
    for (int n = 2; n <= 3 && s.status == 0; n++) {
        json_t *a = json_loads(at, JSON_DISABLE_EOF_CHECK, NULL),
               *b = json_loads(predicted, JSON_DISABLE_EOF_CHECK, NULL);
        const json_t *hosts = json_object_get(json_object_get(a, "report"), "hosts");
        CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(a, "backend")), "emu");
        CU_ASSERT_EQUAL(json_integer_value(json_object_get(a, "clients")), n);
        CU_ASSERT_EQUAL((int)json_object_size(hosts), n + 1);
        CU_ASSERT_EQUAL(json_integer_value(json_object_get(hosts, on)), 1);
        CU_ASSERT(json_equal(json_object_get(a, "bytes"), json_object_get(b, "bytes")));
        CU_ASSERT(json_equal(json_object_get(json_object_get(a, "training"), "loss"),
                             json_object_get(json_object_get(b, "training"), "loss")));
        json_decref(a);
        json_decref(b);
        at += strcspn(at, "\n") + 1;
        predicted += strcspn(predicted, "\n") + 1;
    }
    said_release(&s);
    said_release(&sim);
    s = PROGRAM_CALL(&w.p, "run", "net.json", "--on", "emu", "--out", "emu", "--hosts", "hosts.txt",
                     "--launch", "ip netns exec {host}");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_CONTAINS(s.err, "2 rows, 0 computed now");
    said_release(&s);
    end(&w);
}

static void expect_refused(struct said s, int status, const char *says)
{
    strait_test_context("%s", says);
    CU_ASSERT_EQUAL(s.status, status);
    CU_ASSERT_STRING_EQUAL(s.out, "");
    CU_ASSERT_EQUAL(program_n_lines(s.err), 1);
    CU_ASSERT_CONTAINS(s.err, says);
    said_release(&s);
}

static void what_cannot_be_is_one_line(void)
{
    struct place w;
    char lines[256], other[160];
    if (!begin(&w))
        return;
    snprintf(other, sizeof(other), "%s/other", w.p.folder);
    program_write(&w.p, "other",
                  "#!/bin/sh\nread -r order\nprintf '\\036{\"version\":\"0.0.1\","
                  "\"program\":\"0123456789\",\"mtu_bytes\":1500}\\n'\ncat\n");
    chmod(other, 0755);
    expect_refused(ON_HOSTS(&w, "--program", other, "--", "true"), 2,
                   "and 0.0.1 (01234567) on strait-");
    expect_refused(ON_HOSTS(&w, "--program", "/no/strait", "--", "true"), 3,
                   "expected an answer of strait net part, found \"");
    expect_refused(
        PROGRAM_CALL(&w.p, "net", "run", "net.json", "--hosts", "none.txt", "--", "true"), 2,
        "none.txt: cannot be read as a list of hosts");
    program_write(&w.p, "hosts.txt", "alpha..beta\n");
    expect_refused(ON_HOSTS(&w, "--", "true"), 2, "expected hosts with an IPv4 address");
    program_write(&w.p, "hosts.txt", "nobody address=192.0.2.1 rate=1Gbps\n");
    expect_refused(ON_HOSTS(&w, "--", "true"), 3, "host nobody: expected an answer");
    snprintf(lines, sizeof(lines),
             "%s address=192.0.2.1 rate=1Gbps\n%s address=192.0.2.2 "
             "rate=100Mbps\n",
             w.a, w.b);
    program_write(&w.p, "hosts.txt", lines);
    expect_refused(ON_HOSTS(&w, "--", "true"), 3, "carries 100 Mbps, and its 2 ranks may send 20");
    expect_refused(PROGRAM_CALL(&w.p, "run", "net.json", "--on", "emu", "--hosts", "hosts.txt",
                                "--launch", "ip netns exec {host}"),
                   3, "carries 100 Mbps, and its 2 ranks may send 20");
    snprintf(lines, sizeof(lines), "%s address=192.0.2.1\n%s address=192.0.2.2\n", w.a, w.b);
    program_write(&w.p, "hosts.txt", lines);
    expect_refused(ON_HOSTS(&w, "--", "true"), 2, "expected the rate of strait-");
    end(&w);
}

/* The part of one host is killed while programs run: one line, and nothing is left on either. */
static void lost_host_ends_all(void)
{
    const struct timespec moment = {.tv_nsec = 20 * 1000 * 1000};
    struct place w;
    char launch[256], name[64], says[96];
    if (!begin(&w))
        return;
    program_write(&w.p, "launch", "#!/bin/sh\necho $$ > $1.pid\nexec ip netns exec \"$@\"\n");
    snprintf(launch, sizeof(launch), "sh %s/launch {host}", w.p.folder);
    const char *const args[] = {"net",
                                "run",
                                "net.json",
                                "--hosts",
                                "hosts.txt",
                                "--launch",
                                launch,
                                "--",
                                "sh",
                                "-c",
                                "echo up; sleep 1000; true",
                                NULL};
    const pid_t pid = program_start(&w.p, "run", args);
    size_t n_up = 0;
    for (int i = 0; i < 3000 && n_up < 3; i++) {
        char *out = program_read(&w.p, "run.out");
        n_up = program_n_lines(out);
        free(out);
        nanosleep(&moment, NULL);
    }
    CU_ASSERT_EQUAL(n_up, 3);
    snprintf(name, sizeof(name), "%s.pid", w.b);
    char *text = program_read(&w.p, name);
    CU_ASSERT_FATAL(text && atoi(text) > 1);
    kill(atoi(text), SIGKILL);
    CU_ASSERT_EQUAL(program_wait(pid), 1);
    free(text);
    text = program_read(&w.p, "run.err");
    snprintf(says, sizeof(says), "strait: host %s was lost", w.b);
    CU_ASSERT_CONTAINS(text, says);
    free(text);
    CU_ASSERT_EQUAL(program_n_left_soon(&w.p), 0);
    end(&w);
}

static const struct strait_test tests[] = {
    {"copies on two hosts are one world, and the first that fails ends all", copies_are_one_world},
    {"a path between hosts is the network's", paths_are_the_networks},
    {"strait's own ranks run on two hosts, with the bytes and sums of a simulation",
     ranks_over_mpi},
    {"the points of a sweep run on two hosts, as a simulation says", points_of_a_sweep},
    {"unknown hosts, other programs, links that are too slow: one line",
     what_cannot_be_is_one_line},
    {"a host that is lost ends all, and nothing is left", lost_host_ends_all},
};
STRAIT_SUITE_WITH("cli/net/net_on_hosts", tests, .slow_s = 15, .release = true);
