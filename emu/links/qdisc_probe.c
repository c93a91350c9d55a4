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
#include "netlink.h"

enum { LO_INDEX = 1 };

struct request {
    struct nlmsghdr head;
    unsigned char body[1024];
};

static struct request request_of(uint16_t type, const void *fixed, size_t n_bytes)
{
    struct request r = {
        .head = {.nlmsg_len = (uint32_t)NLMSG_LENGTH(n_bytes),
                 .nlmsg_type = type,
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL}};
    memcpy(r.body, fixed, n_bytes);
    return r;
}

/* Append an attribute; returns where it begins. */
static uint32_t add(struct request *r, unsigned short type, const void *value, size_t n_bytes)
{
    const uint32_t at = NLMSG_ALIGN(r->head.nlmsg_len);
    const struct rtattr attribute = {.rta_len = (unsigned short)RTA_LENGTH(n_bytes),
                                     .rta_type = type};
    memcpy((unsigned char *)r + at, &attribute, sizeof(attribute));
    if (n_bytes > 0)
        memcpy((unsigned char *)r + at + RTA_LENGTH(0), value, n_bytes);
    r->head.nlmsg_len = at + (uint32_t)RTA_LENGTH(n_bytes);
    return at;
}

static void nest_end(struct request *r, uint32_t at)
{
    const unsigned short len = (unsigned short)(r->head.nlmsg_len - at);
    memcpy((unsigned char *)r + at, &len, sizeof(len)); /* rta_len comes first */
}

/* The kernel's answer: 0, or its errno. */
static int ask(int fd, const struct request *r)
{
    _Alignas(struct nlmsghdr) unsigned char buffer[8192];
    struct nlmsgerr status;
    if (send(fd, r, r->head.nlmsg_len, 0) < 0)
        return errno;
    const ssize_t n = recv(fd, buffer, sizeof(buffer), 0);
    if (n < (ssize_t)NLMSG_LENGTH(sizeof(status)))
        return n < 0 ? errno : EPROTO;
    memcpy(&status, NLMSG_DATA((struct nlmsghdr *)(void *)buffer), sizeof(status));
    return -status.error;
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
    struct request r = request_of(RTM_NEWLINK, &info, sizeof(info));
    add(&r, IFLA_IFNAME, name, strlen(name) + 1);
    const uint32_t at = add(&r, IFLA_LINKINFO, NULL, 0);
    add(&r, IFLA_INFO_KIND, kind, strlen(kind) + 1);
    nest_end(&r, at);
    return ask(fd, &r);
}

/* As the root of the loopback device, which goes away with the namespace. */
static int make_discipline(int fd, const char *kind, unsigned short type, const void *options,
                           size_t n_bytes)
{
    struct tcmsg m = {.tcm_family = AF_UNSPEC,
                      .tcm_ifindex = LO_INDEX,
                      .tcm_handle = 0x10000,
                      .tcm_parent = TC_H_ROOT};
    struct request r = request_of(RTM_NEWQDISC, &m, sizeof(m));
    add(&r, TCA_KIND, kind, strlen(kind) + 1);
    const uint32_t at = add(&r, TCA_OPTIONS, NULL, 0);
    add(&r, type, options, n_bytes);
    nest_end(&r, at);
    const int failure = ask(fd, &r);
    struct request undo = request_of(RTM_DELQDISC, &m, sizeof(m));
    undo.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    if (failure == 0)
        ask(fd, &undo);
    return failure;
}

static void try_all(struct strait_emu_shapers *s)
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

int strait_emu_shapers_probe(struct strait_emu_shapers *out, struct strait_error *err)
{
    struct strait_emu_shapers s = {.veth = {.yes = false}};
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
    struct strait_emu_shapers found;
    ssize_t n = 0;
    while (pid > 0 && (n = read(ends[0], &found, sizeof(found))) < 0 && errno == EINTR)
        continue;
    close(ends[0]);
    errno = saved;
    if (pid < 0)
        return strait_error_system(err, NULL, "cannot start a child to try what is possible");
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    if (n == (ssize_t)sizeof(found)) /* below the size that pipes write at once */
        s = found;
    *out = s;
    return 0;
}
