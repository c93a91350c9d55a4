#include "userns.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/wait.h>
#include <unistd.h>
#include "core/names.h"
#include "core/process.h"
#include "netlink.h"
#include "qdisc.h"
#include "tun.h"

static int write_file(const char *path, const char *text)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    const ssize_t n = write(fd, text, strlen(text));
    const int saved = errno;
    close(fd);
    errno = saved;
    return n == (ssize_t)strlen(text) ? 0 : -1;
}

static int not_allowed(const char *what, struct strait_error *err)
{
    return strait_error_set(err, STRAIT_ERR_HOST, NULL, "cannot %s: %s", what, strerror(errno));
}

int strait_emu_launch_userns(struct strait_error *err)
{
    char uid_map[64], gid_map[64];
    snprintf(uid_map, sizeof(uid_map), "0 %u 1", (unsigned)geteuid());
    snprintf(gid_map, sizeof(gid_map), "0 %u 1", (unsigned)getegid());
    /* After a change of user the files below belong to root unless the process is dumpable. */
    prctl(PR_SET_DUMPABLE, 1UL);
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return not_allowed("make a user namespace", err);
    if (write_file("/proc/self/setgroups", "deny") != 0 && errno != ENOENT)
        return not_allowed("give up group changes in the user namespace", err);
    if (write_file("/proc/self/uid_map", uid_map) != 0)
        return not_allowed("map the user into the user namespace", err);
    if (write_file("/proc/self/gid_map", gid_map) != 0)
        return not_allowed("map the group into the user namespace", err);
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return not_allowed("make the mounts private", err);
    return 0;
}

static void say(struct strait_emu_answer *a, bool yes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void say(struct strait_emu_answer *a, bool yes, const char *format, ...)
{
    va_list args;
    a->yes = yes;
    va_start(args, format);
    vsnprintf(a->reason, sizeof(a->reason), format, args);
    va_end(args);
}

/* A test that runs in a child, and so may change its own process. */
typedef void (*trial)(struct strait_emu_ability *a, const char *tun_path);

static void try_in_place(struct strait_emu_ability *a, const char *tun_path)
{
    (void)tun_path;
    if (unshare(CLONE_NEWNET) == 0)
        say(&a->in_place, true, "made a network namespace as user %u", (unsigned)geteuid());
    else
        say(&a->in_place, false, "cannot make a network namespace: %s", strerror(errno));
}

static void try_userns(struct strait_emu_ability *a, const char *tun_path)
{
    (void)tun_path;
    struct strait_error err = {0};
    if (strait_emu_launch_userns(&err) != 0)
        say(&a->userns, false, "%.250s", err.text);
    else if (unshare(CLONE_NEWNET) != 0)
        say(&a->userns, false, "made a user namespace, but no network namespace in it: %s",
            strerror(errno));
    else
        say(&a->userns, true, "made a user namespace and a network namespace in it");
}

static void try_congestion(struct strait_emu_ability *a)
{
    static const char *const names[] = {"reno", "bbr", "cubic", "dctcp", "vegas"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 &&
            setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, names[i], (socklen_t)strlen(names[i])) == 0)
            strait_text_add(a->congestion, sizeof(a->congestion), "%s%s", *a->congestion ? " " : "",
                            names[i]);
        if (fd >= 0)
            close(fd);
    }
}

static void try_ping(struct strait_emu_ability *a)
{
    struct strait_error err = {0};
    const struct strait_emu_device lo = {0};
    const int netlink_fd = strait_emu_netlink_open(&err);
    if (netlink_fd < 0 || strait_emu_netlink_device_up(netlink_fd, 1, &lo, &err) != 0) {
        say(&a->ping, false, "%.250s", err.text);
        return;
    }
    static const char *const argv[] = {"ping", "-n", "-q", "-c", "1", "-W", "1", "127.0.0.1", NULL};
    const int status = strait_process_run(NULL, 0, argv, NULL, 5, &err);
    if (status == 0)
        say(&a->ping, true, "ping answered on the loopback device of a namespace");
    else
        say(&a->ping, false, "%.120s: %.120s", err.where[0] ? err.where : "ping",
            err.text[0] ? err.text : "no answer on the loopback device of a namespace");
}

/* Try a pair of devices in the present namespace, with one of the kernel's shapers on either. */
static void try_kernel(struct strait_emu_ability *a)
{
    struct strait_error err = {0}, why = {0};
    const struct strait_emu_veth_end here = {1001, "here", {2, 0, 0, 0, 0, 1}},
                                     there = {1002, "there", {2, 0, 0, 0, 0, 2}};
    const struct strait_emu_qdisc tbf = {.has_tbf = true,
                                         .rate_bytes_per_s = 1000000,
                                         .burst_bytes = 16384,
                                         .limit_bytes = 1000000},
                                  netem = {.has_netem = true, .delay_ns = 1000000};
    const int namespace_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    const int netlink_fd = strait_emu_netlink_open(&err);
    if (netlink_fd < 0 ||
        strait_emu_netlink_veth(netlink_fd, &here, &there, namespace_fd, &err) != 0 ||
        strait_emu_qdisc_add(netlink_fd, here.index, &tbf, &err) != 0)
        say(&a->tbf, false, "%.250s", err.text);
    else
        say(&a->tbf, true, "made a veth pair and shaped its rate");
    if (!a->tbf.yes)
        say(&a->netem, false, "not tried: no device to try it on");
    else if (strait_emu_qdisc_add(netlink_fd, there.index, &netem, &why) != 0)
        say(&a->netem, false, "%.250s", why.text);
    else
        say(&a->netem, true, "shaped the delay of a veth device");
    close(netlink_fd);
    close(namespace_fd);
}

static void try_inside(struct strait_emu_ability *a, const char *tun_path)
{
    struct strait_error err = {0};
    if (!a->in_place.yes && strait_emu_launch_userns(&err) != 0)
        return;
    if (unshare(CLONE_NEWNET) != 0)
        return;
    int index;
    const int fd = strait_emu_tun_open(&index, tun_path, STRAIT_EMU_DEVICE, &err);
    if (fd < 0)
        say(&a->tun, false, "%.120s: %.120s", err.where, err.text);
    else
        say(&a->tun, true, "made a TUN device with segmentation offload from %.120s", tun_path);
    try_kernel(a);
    try_congestion(a);
    try_ping(a);
}

/* Run a test in a child, which sends back its result. */
static int in_child(struct strait_emu_ability *a, trial fn, const char *tun_path,
                    struct strait_error *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return strait_error_system(err, NULL, "cannot make a pipe");
    const pid_t pid = fork();
    if (pid == 0) {
        fn(a, tun_path);
        const bool sent = write(ends[1], a, sizeof(*a)) == (ssize_t)sizeof(*a);
        _exit(sent ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    const int saved = errno;
    close(ends[1]);
    struct strait_emu_ability found;
    const ssize_t n = pid > 0 ? TEMP_FAILURE_RETRY(read(ends[0], &found, sizeof(found))) : 0;
    close(ends[0]);
    if (pid < 0) {
        errno = saved;
        return strait_error_system(err, NULL, "cannot start a child to try what is possible");
    }
    TEMP_FAILURE_RETRY(waitpid(pid, NULL, 0));
    if (n == (ssize_t)sizeof(found)) /* smaller than what a pipe writes atomically */
        *a = found;
    return 0;
}

int strait_emu_net_probe(struct strait_emu_ability *out, const char *tun_path,
                         struct strait_error *err)
{
    static const char *const untried = "not tried: no network namespace to try it in";
    const char *const path = tun_path ? tun_path : "/dev/net/tun";
    *out = (struct strait_emu_ability){0};
    say(&out->in_place, false, "the trial ended early");
    say(&out->userns, false, "the trial ended early");
    say(&out->tun, false, "%s", untried);
    say(&out->tbf, false, "%s", untried);
    say(&out->netem, false, "%s", untried);
    say(&out->ping, false, "%s", untried);
    if (in_child(out, try_in_place, path, err) != 0 || in_child(out, try_userns, path, err) != 0)
        return -1;
    return out->in_place.yes || out->userns.yes ? in_child(out, try_inside, path, err) : 0;
}
