/* The emulated network without rights, and where it cannot be. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include "emu/links/qdisc_probe.h"
#include "tests/kit/judged.h"
#include "tests/kit/links/net_world.h"

/* What an ordinary user finds, sent back by the child that became one. */
struct found {
    struct strait_emu_ability ability;
    struct strait_error err;
    double rtt_s; /* the shortest: other work on the machine only lengthens some */
    uint64_t tx_bytes;
    bool launched, up;
};

static void as_ordinary_user(struct found *f, struct world *w)
{
    struct strait_emu_counters c = {0};
    if (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0 ||
        strait_emu_net_probe(&f->ability, w->plan.tun_path, &f->err) != 0)
        return;
    f->launched = strait_emu_launch_userns(&f->err) == 0;
    f->up = f->launched && strait_emu_net_up(&w->net, &w->plan, &f->err) == 0;
    if (f->up && strait_emu_net_ping(&f->rtt_s, NULL, w->net, 1, 0, 11, &f->err) == 0 &&
        strait_emu_net_counters(&c, w->net, 1, &f->err) == 0)
        f->tx_bytes = c.tx_bytes;
    strait_emu_net_free(w->net);
}

static void ordinary_user(void)
{
    char folder[] = "/tmp/strait-test-XXXXXX", node[64];
    struct world w;
    struct found f = {0};
    int ends[2];
    if (getuid() != 0 || !mkdtemp(folder)) {
        strait_test_skip("not root: every other test runs as an ordinary user already");
        return;
    }
    snprintf(node, sizeof(node), "%s/tun", folder);
    const bool made = chmod(folder, 0755) == 0 &&
                      mknod(node, S_IFCHR | 0666, makedev(10, 200)) == 0 && chmod(node, 0666) == 0;
    const int fd = made ? open(node, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) {
        strait_test_skip("cannot make and open a TUN node in a folder of the test");
    } else {
        close(fd);
        world_init(&w, 2, 1e8, 0.010);
        w.plan.tun_path = node;
        CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_CLOEXEC), 0);
        const pid_t child = fork();
        if (child == 0) {
            as_ordinary_user(&f, &w);
            _exit(write(ends[1], &f, sizeof(f)) == (ssize_t)sizeof(f) ? 0 : 1);
        }
        close(ends[1]);
        CU_ASSERT_EQUAL(read(ends[0], &f, sizeof(f)), (ssize_t)sizeof(f));
        close(ends[0]);
        waitpid(child, NULL, 0);
        CU_ASSERT_FALSE(f.ability.in_place.yes);
        if (!f.ability.userns.yes) {
            CU_ASSERT_FALSE(f.launched);
            strait_test_skip(f.ability.userns.reason);
        } else {
            CU_ASSERT(f.ability.tun.yes);
            CU_ASSERT(f.launched && f.up);
            CU_ASSERT(strstr(f.ability.congestion, "reno") != NULL);
            if (f.ability.ping.yes) {
                /* ping prints tenths of a millisecond: what it calls 10.0 may be 10.04 */
                CU_ASSERT_AT_LEAST(f.rtt_s, 0.0099);
                if (time_is_judged())
                    CU_ASSERT_AT_MOST(f.rtt_s, 0.011);
                CU_ASSERT_EQUAL(f.tx_bytes, 11 * 84);
            }
            if (!f.up)
                fprintf(stderr, "%s: %s\n", f.err.where, f.err.text);
        }
    }
    unlink(node);
    rmdir(folder);
}

static void refusals(void)
{
    struct world w;
    struct strait_error err = {0};
    world_init(&w, 2, 1e9, 0.010);
    w.plan.tun_path = "/nonexistent/tun";
    if (geteuid() == 0) {
        CU_ASSERT_EQUAL(strait_emu_net_up(&w.net, &w.plan, &err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_HOST);
        CU_ASSERT_STRING_EQUAL(err.where, "/nonexistent/tun");
        CU_ASSERT_PTR_NULL(w.net);
    }
    struct strait_emu_ability a;
    CU_ASSERT_EQUAL_FATAL(strait_emu_net_probe(&a, "/nonexistent/tun", NULL), 0);
    CU_ASSERT_FALSE(a.tun.yes);
    CU_ASSERT(strlen(a.tun.reason) > 0 && strlen(a.in_place.reason) > 0);
    err = (struct strait_error){0};
    w.plan.tun_path = NULL;
    w.in[1].rate_bits_per_s = -5;
    CU_ASSERT_EQUAL(strait_emu_net_up(&w.net, &w.plan, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text,
                           "expected a rate above 0 for the in link of node 1, found -5 bps");
}

/* One whose root directory is not the machine's can make no namespace at all. */
struct unable {
    struct strait_emu_ability ability;
    struct strait_emu_qdisc_support support;
    struct strait_error without_processes[2]; /* who may not start any */
    int status[4];
};

static void as_nobody(struct unable *u, const char *folder)
{
    const struct rlimit none = {0, 0};
    if (chroot(folder) != 0 || chdir("/") != 0 || setgroups(0, NULL) != 0 || setgid(65534) != 0 ||
        setuid(65534) != 0)
        return;
    u->status[0] = strait_emu_net_probe(&u->ability, NULL, NULL);
    u->status[1] = strait_emu_qdisc_support_probe(&u->support, NULL);
    struct strait_emu_ability ignored;
    struct strait_emu_qdisc_support ignored_too;
    setrlimit(RLIMIT_NPROC, &none);
    u->status[2] = strait_emu_net_probe(&ignored, NULL, &u->without_processes[0]);
    u->status[3] = strait_emu_qdisc_support_probe(&ignored_too, &u->without_processes[1]);
}

static void says(const struct strait_emu_answer *a, const char *reason)
{
    CU_ASSERT_FALSE(a->yes);
    CU_ASSERT_STRING_EQUAL(a->reason, reason);
}

static void unable(void)
{
    static const char untried[] = "not tried: no network namespace to try it in";
    char folder[] = "/tmp/strait-test-XXXXXX";
    struct unable *u =
        mmap(NULL, sizeof(*u), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_FATAL(u != MAP_FAILED && mkdtemp(folder) != NULL);
    if (getuid() != 0) {
        strait_test_skip("only root may change its root directory");
    } else {
        for (int i = 0; i < 4; i++)
            u->status[i] = 7;
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            as_nobody(u, folder);
            _exit(0);
        }
        waitpid(child, NULL, 0);
        CU_ASSERT_EQUAL(u->status[0], 0);
        CU_ASSERT_EQUAL(u->status[1], 0);
        says(&u->ability.in_place, "cannot make a network namespace: Operation not permitted");
        says(&u->ability.userns, "cannot make a user namespace: Operation not permitted");
        says(&u->ability.tun, untried);
        says(&u->ability.tbf, untried);
        says(&u->ability.netem, untried);
        says(&u->ability.ping, untried);
        CU_ASSERT_STRING_EQUAL(u->ability.congestion, "");
        says(&u->support.veth, untried);
        says(&u->support.bridge, untried);
        says(&u->support.htb, untried);
        for (int i = 0; i < 2; i++) {
            CU_ASSERT_EQUAL(u->status[2 + i], -1);
            CU_ASSERT_EQUAL(u->without_processes[i].code, STRAIT_ERR_SYSTEM);
            CU_ASSERT_EQUAL(u->without_processes[i].saved_errno, EAGAIN);
            CU_ASSERT_STRING_EQUAL(u->without_processes[i].text,
                                   "cannot start a child to try what is possible: Resource "
                                   "temporarily unavailable");
        }
    }
    munmap(u, sizeof(*u));
    rmdir(folder);
}

static const struct strait_test tests[] = {
    {"an ordinary user has the same network with a TUN node of the test", ordinary_user},
    {"what cannot be is refused with the reason", refusals},
    {"who can make no namespace, or no process, is told so", unable},
};
STRAIT_SUITE("emu/links/userns", tests);
