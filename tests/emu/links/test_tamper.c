/* Links of the kernel that somebody changes while a run goes on, by the stock tc. Rates are tbf's;
 * what needs netem is skipped where that is missing, and runs in User-Mode Linux (test_uml). */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "core/process.h"
#include "emu/links/net.h"
#include "emu/links/qdisc.h"
#include "process/dilated_clock.h"
#include "tests/kit/emu_world.h"
#include "tests/kit/suite.h"

enum { N = 3 };

/* What tc is told, word by word. */
struct change {
    const char *words, *sign;
};

/* In a namespace, or in the caller's (-1). */
static bool tc(int namespace_fd, const char *words)
{
    char text[256] = "";
    snprintf(text, sizeof(text), "tc %s", words);
    const char *argv[32];
    size_t n = 0;
    char *rest = NULL;
    for (char *w = strtok_r(text, " ", &rest); w && n < 31; w = strtok_r(NULL, " ", &rest))
        argv[n++] = w;
    argv[n] = NULL;
    const pid_t pid = fork();
    if (pid == 0) {
        struct strait_error err = {0};
        setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
        if (namespace_fd >= 0 && setns(namespace_fd, CLONE_NEWNET) != 0)
            _exit(9);
        const int status = strait_process_run(NULL, 0, argv, NULL, 10, &err);
        if (status != 0)
            fprintf(stderr, "tc %s: %s\n", words, err.text);
        _exit(status == 0 ? 0 : err.code == STRAIT_ERR_HOST ? 3 : 1);
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool has_tc(void)
{
    if (access("/usr/sbin/tc", X_OK) == 0 || access("/sbin/tc", X_OK) == 0)
        return true;
    strait_test_skip("tc is not installed: apt install iproute2");
    return false;
}

/* --- a network ---------------------------------------------------------------------------- */

struct net {
    struct strait_link out[N], in[N];
    struct strait_emu_net *net;
};

/* schedule: of what leaves node 1. */
static bool net_up_with(struct net *w, double delay_s, const struct strait_schedule *schedule,
                        const _Atomic(int64_t) *start_ns)
{
    struct strait_error err = {0};
    struct strait_emu_net_plan plan = {.n_nodes = N,
                                       .out = w->out,
                                       .in = w->in,
                                       .start_ns = start_ns,
                                       .realisation = STRAIT_EMU_KERNEL};
    for (int i = 0; i < N; i++)
        w->out[i] = w->in[i] = (struct strait_link){.rate_bits_per_s = 1e8, .delay_s = delay_s};
    w->out[1].schedule = schedule;
    if (!has_tc())
        return false;
    if (strait_emu_net_up(&w->net, &plan, &err) == 0)
        return true;
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_HOST);
    strait_test_skip(err.text);
    return false;
}

static bool net_up(struct net *w, double delay_s)
{
    return net_up_with(w, delay_s, NULL, NULL);
}

/* Does the network say that n links are no longer as they were, and of the first what? */
static void expect(struct net *w, int n, const char *what)
{
    struct strait_emu_relay_report r;
    CU_ASSERT_EQUAL_FATAL(strait_emu_net_report(&r, w->net, true, NULL), 0);
    CU_ASSERT_EQUAL(r.n_changed, n);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.change, what));
    if (!strstr(r.change, what) || (*r.change && !*what))
        printf("    found: %s\n", r.change);
    CU_ASSERT(*what || !*r.change);
    for (int i = 0; i < N; i++) /* counters that begin again are not below zero */
        CU_ASSERT(r.out[i].wire_bytes < 1000000 && r.in[i].wire_bytes < 1000000);
    strait_emu_relay_report_release(&r);
}

/* The router's namespace is nobody's to enter but through a descriptor of this process. */
static int router_of(const struct net *w)
{
    struct stat own, st;
    CU_ASSERT_EQUAL_FATAL(stat("/proc/thread-self/ns/net", &own), 0);
    for (int fd = 3; fd < 1024; fd++) {
        char path[64], target[64] = "";
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        bool is_node = false;
        if (readlink(path, target, sizeof(target) - 1) < 0 || strncmp(target, "net:[", 5) != 0 ||
            fstat(fd, &st) != 0 || st.st_ino == own.st_ino)
            continue;
        for (int i = 0; i < N; i++)
            is_node = is_node || strait_emu_net_namespace_fd(w->net, i) == fd;
        if (!is_node)
            return fd;
    }
    return -1;
}

static void every_change_is_seen(const struct change *changes, size_t n, double delay_s)
{
    for (size_t i = 0; i < n; i++) {
        struct net w;
        if (!net_up(&w, delay_s))
            return;
        expect(&w, 0, "");
        const bool done = tc(strait_emu_net_namespace_fd(w.net, 1), changes[i].words);
        if (done) {
            expect(&w, 1, changes[i].sign);
            expect(&w, 1, "the out link of node 1: ");   /* once seen, it stays said */
        } else if (strstr(changes[i].words, "clsact")) { /* stock User-Mode Linux has none */
            strait_test_skip("this kernel is built without clsact");
        } else {
            CU_FAIL("tc does not do it");
        }
        strait_emu_net_free(w.net);
    }
}

/* 100 Mbps are 12500000 bytes/s; the burst is what they carry in the time that this kernel may be
 * late. */
static void changed_rates(void)
{
    char burst[80];
    snprintf(burst, sizeof(burst), "asked for tbf burst in bytes %.0f, found 187500",
             12500000 * strait_emu_qdisc_late_s());
    const struct change changes[] = {
        {"qdisc del dev eth0 root", "the out link of node 1: asked for tbf 1, found 0"},
        {"qdisc replace dev eth0 root tbf rate 200mbit burst 18750 limit 2147483647",
         "asked for tbf rate in bytes/s 12500000, found 25000000"},
        {"qdisc replace dev eth0 root tbf rate 100mbit burst 187500 limit 2147483647", burst},
        {"qdisc replace dev eth0 root pfifo limit 5", "asked for tbf 1, found 0"},
        {"qdisc add dev eth0 clsact", "its queues are others than at set-up"},
        {"qdisc add dev eth0 parent 10:1 pfifo limit 5", "its queues are others than at set-up"}};
    every_change_is_seen(changes, sizeof(changes) / sizeof(changes[0]), 0);
}

static void changed_delays(void)
{
    const struct change changes[] = {
        {"qdisc del dev eth0 root", "the out link of node 1: asked for netem 1, found 0"},
        {"qdisc change dev eth0 root netem delay 20ms limit 1000000",
         "asked for netem delay in ns 10000000, found 20000000"},
        {"qdisc change dev eth0 root netem delay 10ms limit 1000000 loss 1%",
         "asked for netem loss of 2^32 - 1 0, found 42949673"},
        {"qdisc change dev eth0 root netem delay 10ms limit 1000000 corrupt 1%",
         "its queues are others than at set-up"},
        {"qdisc change dev eth0 root netem delay 10ms limit 5",
         "its queues are others than at set-up"},
        {"qdisc del dev eth0 parent 1:1", "asked for tbf 1, found 0"}};
    every_change_is_seen(changes, sizeof(changes) / sizeof(changes[0]), 0.01);
}

/* tc at the router's port of node 2, and then at node 0: the first one keeps the word. */
static void the_routers_links(void)
{
    struct net w;
    if (!net_up(&w, 0))
        return;
    const int router = router_of(&w);
    CU_ASSERT_FATAL(router >= 0);
    CU_ASSERT_FATAL(tc(router, "qdisc del dev port2 root"));
    expect(&w, 1, "the in link of node 2: asked for tbf 1, found 0");
    CU_ASSERT_FATAL(tc(strait_emu_net_namespace_fd(w.net, 0), "qdisc del dev eth0 root"));
    expect(&w, 2, "the in link of node 2: asked for tbf 1, found 0");
    strait_emu_net_free(w.net);
}

/* Taken away and put back just as it was: only its counters tell. */
static void put_back(void)
{
    struct net w;
    if (!net_up(&w, 0))
        return;
    const int node = strait_emu_net_namespace_fd(w.net, 1);
    double rtt_s;
    CU_ASSERT_EQUAL(strait_emu_net_ping(&rtt_s, NULL, w.net, 1, 0, 3, NULL), 0);
    expect(&w, 0, "");
    CU_ASSERT(tc(node, "qdisc del dev eth0 root"));
    CU_ASSERT(tc(node, "qdisc add dev eth0 root handle 10: tbf rate 100mbit burst 18750 "
                       "limit 2147483647"));
    expect(&w, 1, "the out link of node 1: ");
    strait_emu_net_free(w.net);
}

/* --- a run -------------------------------------------------------------------------------- */

static bool is_used(const struct strait_run *run, int src, int dst, int channel)
{
    (void)run;
    return src == 1 && dst == 0 && channel == 0;
}

enum { ASKED, CHANGED = 1 }; /* of board->pids: rank 1's slot, then the meddler's */

/* A number for the network namespace of a process; 0: it is gone. */
static int namespace_of(const char *pid)
{
    char path[64];
    struct stat info;
    snprintf(path, sizeof(path), "/proc/%s/ns/net", pid);
    return stat(path, &info) == 0 ? (int)info.st_ino : 0;
}

/* Rank 1 sends twice; in between, where is_asking, somebody may change its port. Ranks have no
 * right to do that themselves. */
static void twice(struct strait_rank *r, bool is_asking)
{
    for (int i = 0; i < 2; i++) {
        struct strait_message m;
        struct strait_packet *p = r->me == 1 ? strait_packet_new(0) : NULL;
        if (r->me == 0 && r->backend->ops->recv(r, &m, 1, 0, INFINITY))
            strait_packet_drop(m.packet);
        if (!p)
            continue;
        p->payload_bytes = 100000;
        if (i == 1 && is_asking) {
            atomic_store(&board_of(r)->pids[ASKED], namespace_of("self"));
            while (atomic_load(&board_of(r)->pids[CHANGED]) == 0)
                usleep(1000);
        }
        r->backend->ops->send(r, 0, 0, 0, p, false);
    }
}

static void untouched(struct strait_rank *r)
{
    twice(r, false);
}

static void touched(struct strait_rank *r)
{
    twice(r, true);
}

/* A child that changes rank 1's port once it asks: in the namespace of that process below the test
 * which is in rank 1's. */
static void meddle(struct board *board, const char *words)
{
    const pid_t test = getpid();
    if (fork() != 0)
        return;
    int pids[MAX_PROCESSES];
    char pid[16], path[64];
    bool changed = false;
    for (int i = 0; i < 30000 && atomic_load(&board->pids[ASKED]) == 0; i++)
        usleep(1000);
    const int wanted = atomic_load(&board->pids[ASKED]), n = descendants(test, pids);
    const bool is_own = wanted != 0 && wanted != namespace_of("self");
    for (int i = 0; i < n && is_own && !changed; i++) {
        snprintf(pid, sizeof(pid), "%d", pids[i]);
        snprintf(path, sizeof(path), "/proc/%d/ns/net", pids[i]);
        const int node = namespace_of(pid) == wanted ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        changed = node >= 0 && tc(node, words);
    }
    atomic_store(&board->pids[CHANGED], 1);
    _exit(changed ? 0 : 1);
}

/* The verdicts on a run over links of 50 Mbps without delay. false: this machine cannot. */
static bool verdicts(char all[4096], const char *change)
{
    struct world w;
    struct strait_error err = {0};
    world_init(&w, N, 50e6, 0);
    w.run.rank_main = change ? touched : untouched;
    w.run.uses_stream = is_used;
    w.run.realisation = "kernel";
    all[0] = '\0';
    const bool can = strait_emu.check(&w.run, &err) == 0;
    if (!can) {
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_HOST);
        strait_test_skip(err.text);
    }
    if (can && change)
        meddle(w.board, change);
    CU_ASSERT(!can || strait_emu.run(&w.run, &err) == 0);
    while (waitpid(-1, NULL, 0) > 0)
        ;
    size_t i;
    json_t *text;
    json_array_foreach (w.facts.invalid, i, text) {
        strncat(all, json_string_value(text), 500);
        strcat(all, "\n");
    }
    world_release(&w);
    return can;
}

static void a_run(void)
{
    char all[4096];
    if (!has_tc() || !verdicts(all, NULL))
        return;
    CU_ASSERT_PTR_NULL(strstr(all, "was changed"));
    if (geteuid() != 0)
        return; /* may not enter a rank's namespace */
    verdicts(all, "qdisc del dev eth0 root");
    CU_ASSERT_PTR_NOT_NULL(strstr(all,
                                  "the shaping of 1 links was changed during the run, expected "
                                  "none: the out link of node 1: asked for tbf 1, found 0"));
    verdicts(all, "qdisc change dev eth0 root tbf rate 25mbit burst 9375 limit 2147483647");
    CU_ASSERT_PTR_NOT_NULL(strstr(all, "the out link of node 1: asked for tbf rate in bytes/s "
                                       "6250000, found 3125000"));
}

/* A link whose rate changes has the rates of its schedule, and no other: 100 Mbps, from 1 us on 50.
 * The change is waited for, since the process that makes it says how late it was. */
static void scheduled(void)
{
    static const double at_s[] = {0, 1e-6}, bits_per_s[] = {1e8, 5e7};
    _Atomic(int64_t) *start_ns =
        mmap(NULL, sizeof(*start_ns), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_FATAL(start_ns != MAP_FAILED);
    struct strait_schedule *schedule = strait_schedule_new(2, at_s, bits_per_s, INFINITY);
    CU_ASSERT_PTR_NOT_NULL_FATAL(schedule);
    struct net w;
    if (has_tc() && net_up_with(&w, 0, schedule, start_ns)) {
        const int node = strait_emu_net_namespace_fd(w.net, 1);
        expect(&w, 0, "");
        atomic_store(start_ns, strait_proc_mono_ns());
        for (double late_s = 0; !(late_s > 0);) {
            struct strait_emu_relay_report r;
            CU_ASSERT_EQUAL_FATAL(strait_emu_net_report(&r, w.net, false, NULL), 0);
            late_s = r.late_max_s;
            strait_emu_relay_report_release(&r);
        }
        expect(&w, 0, "");
        CU_ASSERT(tc(node, "qdisc change dev eth0 root tbf rate 70mbit burst 187500 limit "
                           "2147483647"));
        expect(&w, 1, "the out link of node 1: asked for tbf rate in bytes/s");
        strait_emu_net_free(w.net);
    }
    strait_schedule_free(schedule);
    munmap(start_ns, sizeof(*start_ns));
}

static const struct strait_test tests[] = {
    {"a link whose rate changes has the rates that it was given", scheduled},
    {"a rate that is changed, removed or added to is told with its value", changed_rates},
    {"a delay that is changed, removed or added to is told with its value", changed_delays},
    {"links at the router are watched as well, and the first change keeps the word",
     the_routers_links},
    {"a link that was taken away and put back is told by its counters", put_back},
    {"a run whose link was removed or halved meanwhile is INVALID", a_run},
};
STRAIT_SUITE("emu/links/tamper", tests);
