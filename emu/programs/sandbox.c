#include "sandbox.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

/* Covered only briefly, in our own mount namespace. */
static const char SCRATCH[] = "/tmp";

int strait_emu_sandbox_prepare(struct strait_error *err)
{
    if (unshare(CLONE_NEWNS) != 0)
        return strait_error_system(err, NULL, "cannot make a mount namespace");
    /* Follow later mounts and unmounts of the machine, but propagate none of ours. */
    if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0)
        return strait_error_system(err, "/", "cannot keep the mounts to oneself");
    /* Forbidden to users in containers that hide parts of /proc: programs then see the machine's
     * /proc, with process ids other than their own. */
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0)
        errno = 0;
    return 0;
}

struct making {
    struct strait_emu_sandbox *sandbox;
    bool congestion_set;
    int net_fd;
    const char *host, *hosts, *congestion;
    struct strait_error err;
    int status;
};

/* Make `path` contain `text`, by a bind mount of a file in the scratch folder. */
static int cover(const char *path, const char *file, const char *text, struct strait_error *err)
{
    char source[64];
    snprintf(source, sizeof(source), "%s/%s", SCRATCH, file);
    const int fd = open(source, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return strait_error_system(err, source, "cannot make it");
    const ssize_t n = write(fd, text, strlen(text));
    close(fd);
    if (n != (ssize_t)strlen(text))
        return strait_error_system(err, source, "cannot write it");
    return mount(source, path, NULL, MS_BIND, NULL) == 0
               ? 0
               : strait_error_system(err, path, "cannot put the network's own over it");
}

static int cover_files(const struct making *m, struct strait_error *err)
{
    char line[80];
    snprintf(line, sizeof(line), "%s\n", m->host);
    if (cover("/etc/hosts", "hosts", m->hosts, err) != 0)
        return -1;
    /* Any of these may be missing. No name server can be reached: configure none, since asking one
     * would time out. */
    if (access("/etc/hostname", F_OK) == 0 && cover("/etc/hostname", "hostname", line, err) != 0)
        return -1;
    if (access("/etc/resolv.conf", F_OK) == 0 &&
        cover("/etc/resolv.conf", "resolv.conf", "nameserver 127.0.0.1\n", err) != 0)
        return -1;
    return 0;
}

/* Programs look for devices in /sys. Only the two folders that differ are covered, so that the
 * control groups below /sys stay visible; if mounting is not allowed, it stays unchanged. */
static void cover_devices(void)
{
    static const char *const folders[] = {"/sys/devices/virtual/net", "/sys/class/net"};
    char source[64], inner[64];
    snprintf(inner, sizeof(inner), "%s/sys", SCRATCH);
    if (mkdir(inner, 0755) != 0 || mount("sysfs", inner, "sysfs", MS_RDONLY, NULL) != 0)
        return;
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        snprintf(source, sizeof(source), "%s%s", SCRATCH, folders[i]);
        mount(source, folders[i], NULL, MS_BIND, NULL);
    }
}

static bool set_congestion(const char *name)
{
    const int fd = open("/proc/sys/net/ipv4/tcp_congestion_control", O_WRONLY | O_CLOEXEC);
    const bool done = fd >= 0 && write(fd, name, strlen(name)) > 0;
    if (fd >= 0)
        close(fd);
    return done;
}

static int make(struct making *m, struct strait_error *err)
{
    if (setns(m->net_fd, CLONE_NEWNET) != 0 || unshare(CLONE_NEWNS | CLONE_NEWUTS) != 0)
        return strait_error_system(err, NULL, "cannot make the namespaces of %s", m->host);
    if (sethostname(m->host, strlen(m->host)) != 0)
        return strait_error_system(err, NULL, "cannot set the host name %s", m->host);
    m->congestion_set = set_congestion(m->congestion);
    if (mount("tmpfs", SCRATCH, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m") != 0)
        return strait_error_system(err, SCRATCH, "cannot mount a scratch folder there");
    const int covered = cover_files(m, err);
    cover_devices();
    if (umount2(SCRATCH, MNT_DETACH) != 0 || covered != 0)
        return strait_error_system(err, SCRATCH, "cannot take the scratch folder away");
    m->sandbox->mount_fd = open("/proc/thread-self/ns/mnt", O_RDONLY | O_CLOEXEC);
    m->sandbox->uts_fd = open("/proc/thread-self/ns/uts", O_RDONLY | O_CLOEXEC);
    if (m->sandbox->mount_fd < 0 || m->sandbox->uts_fd < 0)
        return strait_error_system(err, "/proc/thread-self/ns", "cannot open a namespace");
    return 0;
}

static void *make_in_thread(void *arg)
{
    struct making *m = arg;
    m->status = make(m, &m->err);
    return NULL;
}

int strait_emu_sandbox_make(struct strait_emu_sandbox *out, bool *congestion_set,
                            const struct strait_emu_net *net, int node, const char *host,
                            const char *hosts, const char *congestion, struct strait_error *err)
{
    struct making m = {.sandbox = out,
                       .net_fd = strait_emu_net_namespace_fd(net, node),
                       .host = host,
                       .hosts = hosts,
                       .congestion = congestion};
    pthread_t thread;
    *out = (struct strait_emu_sandbox){-1, -1};
    errno = pthread_create(&thread, NULL, make_in_thread, &m);
    if (errno != 0)
        return strait_error_system(err, NULL, "cannot start a thread");
    pthread_join(thread, NULL);
    *congestion_set = m.congestion_set;
    if (m.status != 0 && err && err->code == STRAIT_OK)
        *err = m.err;
    return m.status;
}
