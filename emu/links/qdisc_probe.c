#include "qdisc_probe.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "message.h"
#include "netlink.h"

enum { LO_INDEX = 1 };

/* The kernel's answer: 0, or its errno. */
static int ask(int fd, const union strait_emu_message *m)
{
    struct strait_error err = {0};
    return strait_emu_message_ask(fd, m, "try", NULL, NULL, &err) == 0 ? 0 : err.saved_errno;
}

static void say(struct strait_emu_answer *a, int failure, const char *done, const char *what)
{
    a->yes = failure == 0;
    if (failure)
        snprintf(a->reason, sizeof(a->reason), "cannot make %s: %s", what,
                 failure == ENOENT || failure == EOPNOTSUPP ? "this kernel has none"
                                                            : strerror(failure));
    else
        snprintf(a->reason, sizeof(a->reason), "%s", done);
}

static int make_device(int fd, const char *kind, const char *name)
{
    const struct ifinfomsg info = {.ifi_family = AF_UNSPEC};
    union strait_emu_message m;
    strait_emu_message_begin(&m, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &info, sizeof(info));
    mnl_attr_put_strz(&m.head, IFLA_IFNAME, name);
    struct nlattr *const link = mnl_attr_nest_start(&m.head, IFLA_LINKINFO);
    mnl_attr_put_strz(&m.head, IFLA_INFO_KIND, kind);
    mnl_attr_nest_end(&m.head, link);
    return ask(fd, &m);
}

/* Create it as the root of the loopback device, which disappears with the namespace. */
static int make_discipline(int fd, const char *kind, unsigned short type, const void *options,
                           size_t n_bytes)
{
    const struct tcmsg info = {.tcm_family = AF_UNSPEC,
                               .tcm_ifindex = LO_INDEX,
                               .tcm_handle = 0x10000,
                               .tcm_parent = TC_H_ROOT};
    union strait_emu_message m, undo;
    strait_emu_message_begin(&m, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, &info, sizeof(info));
    mnl_attr_put_strz(&m.head, TCA_KIND, kind);
    struct nlattr *const nest = mnl_attr_nest_start(&m.head, TCA_OPTIONS);
    mnl_attr_put(&m.head, type, n_bytes, options);
    mnl_attr_nest_end(&m.head, nest);
    const int failure = ask(fd, &m);
    strait_emu_message_begin(&undo, RTM_DELQDISC, 0, &info, sizeof(info));
    if (failure == 0)
        ask(fd, &undo);
    return failure;
}

static void try_all(struct strait_emu_qdisc_support *s)
{
    struct strait_error err = {0};
    if (unshare(CLONE_NEWNET) != 0 &&
        (strait_emu_launch_userns(&err) != 0 || unshare(CLONE_NEWNET) != 0))
        return;
    const int fd = strait_emu_netlink_open(&err);
    if (fd < 0)
        return;
    const struct tc_htb_glob htb = {.version = TC_HTB_PROTOVER, .rate2quantum = 10};
    say(&s->veth, make_device(fd, "veth", "strait0"), "made a veth pair", "a veth pair");
    say(&s->bridge, make_device(fd, "bridge", "strait1"), "made a bridge", "a bridge");
    say(&s->htb, make_discipline(fd, "htb", TCA_HTB_INIT, &htb, sizeof(htb)),
        "put htb on a device: rate", "htb");
    close(fd);
}

int strait_emu_qdisc_support_probe(struct strait_emu_qdisc_support *out, struct strait_error *err)
{
    struct strait_emu_qdisc_support s = {.veth = {.yes = false}};
    struct strait_emu_answer *const answers[] = {&s.veth, &s.bridge, &s.htb};
    int ends[2];
    for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++)
        snprintf(answers[i]->reason, sizeof(answers[i]->reason),
                 "not tried: no network namespace to try it in");
    if (pipe2(ends, O_CLOEXEC) != 0)
        return strait_error_system(err, NULL, "cannot make a pipe");
    const pid_t pid = fork();
    if (pid == 0) {
        try_all(&s);
        _exit(write(ends[1], &s, sizeof(s)) == (ssize_t)sizeof(s) ? 0 : 1);
    }
    const int saved = errno;
    close(ends[1]);
    struct strait_emu_qdisc_support found;
    const ssize_t n = pid > 0 ? TEMP_FAILURE_RETRY(read(ends[0], &found, sizeof(found))) : 0;
    close(ends[0]);
    errno = saved;
    if (pid < 0)
        return strait_error_system(err, NULL, "cannot start a child to try what is possible");
    TEMP_FAILURE_RETRY(waitpid(pid, NULL, 0));
    if (n == (ssize_t)sizeof(found)) /* smaller than what a pipe writes atomically */
        s = found;
    *out = s;
    return 0;
}
