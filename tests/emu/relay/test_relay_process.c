/* The relay as a process: it ends with its parent, and its death is noticed. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "tests/kit/links/net_world.h"

/* A child of `parent` that is called strait-relay, or 0. */
static pid_t relay_of(pid_t parent)
{
    DIR *proc = opendir("/proc");
    pid_t found = 0;
    for (struct dirent *e; proc && (e = readdir(proc)) != NULL && !found;) {
        char path[300], comm[32];
        int pid, ppid;
        snprintf(path, sizeof(path), "/proc/%.200s/stat", e->d_name);
        FILE *f = e->d_name[0] >= '0' && e->d_name[0] <= '9' ? fopen(path, "r") : NULL;
        if (f && fscanf(f, "%d (%31[^)]) %*c %d", &pid, comm, &ppid) == 3 && ppid == parent &&
            strcmp(comm, "strait-relay") == 0)
            found = pid;
        if (f)
            fclose(f);
    }
    if (proc)
        closedir(proc);
    return found;
}

static bool links_to(const char *path, ino_t inode)
{
    char target[64], wanted[64];
    const ssize_t n = readlink(path, target, sizeof(target) - 1);
    snprintf(wanted, sizeof(wanted), "net:[%lu]", (unsigned long)inode);
    if (n > 0)
        target[n] = '\0';
    return n > 0 && strcmp(target, wanted) == 0;
}

/* Does any process live in the namespace, or hold a descriptor of it? */
static bool in_use(ino_t inode)
{
    DIR *proc = opendir("/proc");
    bool used = false;
    for (struct dirent *e; proc && (e = readdir(proc)) != NULL && !used;) {
        char path[600];
        if (e->d_name[0] < '0' || e->d_name[0] > '9')
            continue;
        snprintf(path, sizeof(path), "/proc/%.200s/ns/net", e->d_name);
        used = links_to(path, inode);
        snprintf(path, sizeof(path), "/proc/%.200s/fd", e->d_name);
        DIR *fds = opendir(path);
        for (struct dirent *d; fds && (d = readdir(fds)) != NULL && !used;) {
            snprintf(path, sizeof(path), "/proc/%.200s/fd/%.200s", e->d_name, d->d_name);
            used = links_to(path, inode);
        }
        if (fds)
            closedir(fds);
    }
    if (proc)
        closedir(proc);
    return used;
}

static bool gone(pid_t pid)
{
    char path[64], state = 'Z';
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
        state = 'Z';
    if (f)
        fclose(f);
    return state == 'Z';
}

static void killed_parent(void)
{
    struct world w;
    int ends[2];
    ino_t inodes[3] = {0};
    world_init(&w, 3, 1e9, 0.010);
    if (!world_up(&w)) /* here only to know that it can be done */
        return;
    strait_emu_net_free(w.net);
    CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_CLOEXEC), 0);
    const pid_t parent = fork();
    if (parent == 0) {
        bool good = strait_emu_net_up(&w.net, &w.plan, NULL) == 0;
        for (int i = 0; i < 3 && good; i++) {
            struct stat st;
            good = fstat(strait_emu_net_namespace_fd(w.net, i), &st) == 0;
            inodes[i] = st.st_ino;
        }
        if (good && write(ends[1], inodes, sizeof(inodes)) > 0)
            pause();
        _exit(EXIT_FAILURE);
    }
    close(ends[1]);
    CU_ASSERT_EQUAL(read(ends[0], inodes, sizeof(inodes)), (ssize_t)sizeof(inodes));
    close(ends[0]);
    const pid_t relay = relay_of(parent);
    CU_ASSERT(relay > 0);
    for (int i = 0; i < 3; i++)
        CU_ASSERT(in_use(inodes[i]));
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    bool left = true;
    for (int i = 0; i < 6000 && left; i++) {
        left = !gone(relay) || in_use(inodes[0]) || in_use(inodes[1]) || in_use(inodes[2]);
        if (left)
            sleep_ms(10);
    }
    CU_ASSERT_FALSE(left);
}

static void dead_relay(void)
{
    struct world w;
    struct strait_error err = {0};
    struct strait_emu_relay_report r;
    world_init(&w, 2, 1e9, 0.010);
    if (!world_up(&w))
        return;
    const pid_t relay = relay_of(getpid());
    CU_ASSERT_FATAL(relay > 0);
    kill(relay, SIGKILL);
    CU_ASSERT_EQUAL(strait_emu_net_report(&r, w.net, false, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_BACKEND);
    CU_ASSERT_PTR_NULL(r.out);
    strait_emu_net_free(w.net);
}

static const struct strait_test tests[] = {
    {"nothing is left when the parent is killed", killed_parent},
    {"a dead relay is an error, not a hang", dead_relay},
};
STRAIT_SUITE("emu/relay/relay_process", tests);
