#include "net_program.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { OUT_BYTES = 1 << 20, MAX_ARGS = 32, ENVIRON_BYTES = 1 << 16 };

void net_program_set_up(struct net_program *p)
{
    const char *given = getenv("STRAIT_BIN");
    char self[4000] = "";
    *p = (struct net_program){.folder = "/tmp/strait-prog-XXXXXX"};
    if (given) {
        CU_ASSERT_PTR_NOT_NULL_FATAL(realpath(given, p->path));
    } else {
        CU_ASSERT_FATAL(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
        snprintf(p->path, sizeof(p->path), "%s/../strait", dirname(self));
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(p->folder));
    prctl(PR_SET_CHILD_SUBREAPER, 1UL);
}

static void remove_tree(const char *path)
{
    DIR *dir = opendir(path);
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        char inner[8192];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(inner, sizeof(inner), "%s/%s", path, e->d_name);
        if (unlink(inner) != 0)
            remove_tree(inner);
    }
    if (dir)
        closedir(dir);
    rmdir(path);
}

void net_program_tear_down(struct net_program *p)
{
    CU_ASSERT_EQUAL(net_program_n_left_soon(p), 0);
    remove_tree(p->folder);
}

/* Its outputs are there from the start on, and whoever it runs as may write them. */
static void make_outputs(const struct net_program *p, const char *name)
{
    static const char *const ends[] = {".out", ".err"};
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
        char path[256];
        snprintf(path, sizeof(path), "%s/%s%s", p->folder, name, ends[i]);
        const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        CU_ASSERT_FATAL(fd >= 0 && fchmod(fd, 0666) == 0);
        close(fd);
    }
}

/* In the child: a file of the folder as a descriptor. */
static void redirect(const struct net_program *p, int fd, const char *name, const char *end,
                     int flags)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s%s", p->folder, name, end);
    int from = open(path, flags | O_CLOEXEC);
    if (from < 0 && fd == STDIN_FILENO)
        from = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(from, fd);
}

pid_t net_program_start(const struct net_program *p, const char *name, const char *const args[])
{
    make_outputs(p, name);
    const pid_t pid = fork();
    if (pid != 0)
        return pid;
    const char *argv[MAX_ARGS + 2] = {p->path};
    for (int i = 0; i < MAX_ARGS && args[i]; i++)
        argv[i + 1] = args[i];
    unsetenv("STRAIT_NET");
    unsetenv("STRAIT_NET_FOLDER");
    setenv("XDG_RUNTIME_DIR", p->folder, 1);
    if (p->tun[0])
        setenv("STRAIT_TUN", p->tun, 1);
    if (p->uid && (setgroups(0, NULL) != 0 || setgid((gid_t)p->uid) != 0 || setuid(p->uid) != 0))
        _exit(126);
    if (chdir(p->folder) != 0)
        _exit(126);
    redirect(p, STDIN_FILENO, "stdin", "", O_RDONLY);
    redirect(p, STDOUT_FILENO, name, ".out", O_WRONLY);
    redirect(p, STDERR_FILENO, name, ".err", O_WRONLY);
    execv(p->path, (char *const *)(void *)argv);
    _exit(127);
}

int net_program_wait(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

char *net_program_read(const struct net_program *p, const char *name)
{
    char path[512];
    char *text = calloc(1, OUT_BYTES);
    snprintf(path, sizeof(path), "%s%s%s", *name == '/' ? "" : p->folder, *name == '/' ? "" : "/",
             name);
    FILE *in = fopen(path, "r");
    CU_ASSERT_FATAL(text && in);
    text[fread(text, 1, OUT_BYTES - 1, in)] = '\0';
    fclose(in);
    return text;
}

struct said net_program_call(const struct net_program *p, const char *const args[])
{
    struct said s = {.status = net_program_wait(net_program_start(p, "said", args))};
    s.out = net_program_read(p, "said.out");
    s.err = net_program_read(p, "said.err");
    return s;
}

void net_program_said_free(struct said *s)
{
    free(s->out);
    free(s->err);
}

void net_program_write(const struct net_program *p, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", p->folder, name);
    FILE *out = fopen(path, "w");
    CU_ASSERT_FATAL(out && fputs(text, out) >= 0);
    fclose(out);
    CU_ASSERT_EQUAL(chmod(path, 0644), 0);
}

size_t net_program_n_lines(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static bool has_folder(const char *pid, const char *folder)
{
    char path[300], *text = malloc(ENVIRON_BYTES);
    snprintf(path, sizeof(path), "/proc/%s/environ", pid);
    FILE *in = fopen(path, "r");
    const size_t n = text && in ? fread(text, 1, ENVIRON_BYTES, in) : 0;
    const bool found = n > 0 && memmem(text, n, folder, strlen(folder)) != NULL;
    if (in)
        fclose(in);
    free(text);
    return found;
}

int net_program_n_left(const struct net_program *p)
{
    int n = 0;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        continue;
    DIR *proc = opendir("/proc");
    for (const struct dirent *e; proc && (e = readdir(proc));)
        n += e->d_name[0] >= '0' && e->d_name[0] <= '9' && has_folder(e->d_name, p->folder);
    if (proc)
        closedir(proc);
    return n;
}

int net_program_n_left_soon(const struct net_program *p)
{
    const struct timespec moment = {.tv_nsec = 20 * 1000 * 1000};
    int n = net_program_n_left(p);
    for (int i = 0; i < 250 && n > 0; i++) {
        nanosleep(&moment, NULL);
        n = net_program_n_left(p);
    }
    return n;
}
