#include "realisation.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "netlink.h"

void strait_emu_close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

int strait_emu_write_sysctl(const char *name, const char *value, struct strait_error *err)
{
    char path[128];
    snprintf(path, sizeof(path), "/proc/sys/net/%s", name);
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return strait_error_system(err, path, "cannot set it to \"%s\"", value);
    const ssize_t n = write(fd, value, strlen(value));
    const int saved = errno;
    close(fd);
    errno = saved;
    return n < 0 ? strait_error_system(err, path, "cannot set it to \"%s\"", value) : 0;
}

int strait_emu_no_ipv6(struct strait_error *err)
{
    if (access("/proc/sys/net/ipv6", F_OK) != 0) /* a kernel without it */
        return 0;
    return strait_emu_write_sysctl("ipv6/conf/all/disable_ipv6", "1", err) != 0 ||
                   strait_emu_write_sysctl("ipv6/conf/default/disable_ipv6", "1", err) != 0
               ? -1
               : 0;
}

int strait_emu_namespace_new(struct strait_error *err)
{
    if (unshare(CLONE_NEWNET) != 0)
        return strait_error_set(err, STRAIT_ERR_HOST, NULL, "cannot make a network namespace: %s",
                                strerror(errno));
    const int fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    return fd < 0 ? strait_error_system(err, "/proc/thread-self/ns/net", "cannot open it") : fd;
}

int strait_emu_router_new(int *namespace_fd, int *netlink_fd,
                          const struct strait_emu_net_plan *plan, int trunk_index,
                          struct strait_error *err)
{
    int host_fd = plan->trunk ? strait_emu_netlink_open(err) : -1;
    *namespace_fd = *netlink_fd = -1;
    int failed = plan->trunk && host_fd < 0;
    if (!failed)
        failed = (*namespace_fd = strait_emu_namespace_new(err)) < 0 ||
                 strait_emu_no_ipv6(err) != 0 ||
                 strait_emu_write_sysctl("ipv4/ip_forward", "1", err) != 0 ||
                 (*netlink_fd = strait_emu_netlink_open(err)) < 0;
    if (!failed && plan->trunk)
        failed = strait_emu_trunk_make(plan->trunk, host_fd, *namespace_fd, *netlink_fd,
                                       trunk_index, plan->n_nodes, err) != 0;
    strait_emu_close_fd(&host_fd);
    return failed ? -1 : 0;
}
