/* The built program from outside, in a folder of the test's own. */
#include "program.h"
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
#include "folder.h"

void program_set_up(struct program *p)
{
    const char *given = getenv("STRAIT_BIN");
    char self[4000] = "";
    *p = (struct program){.folder = "/tmp/strait-prog-XXXXXX"};
    if (given) {
        CU_ASSERT_PTR_NOT_NULL_FATAL(realpath(given, p->path));
    } else {
        CU_ASSERT_FATAL(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
        snprintf(p->path, sizeof(p->path), "%s/../strait", dirname(self));
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(p->folder));
    prctl(PR_SET_CHILD_SUBREAPER, 1UL);
}

void program_own_tmp(const struct program *p)
{
    char tmp[128];
    snprintf(tmp, sizeof(tmp), "%s/tmp", p->folder);
    CU_ASSERT_EQUAL_FATAL(mkdir(tmp, 0700), 0);
    setenv("TMPDIR", tmp, 1);
}

void program_tear_down(struct program *p)
{
    CU_ASSERT_EQUAL(program_n_left_soon(p), 0);
    folder_remove(p->folder);
}

static int open_file(const struct program *p, const char *name, const char *end, int flags)
{
    char path[512];
    snprintf(path, sizeof(path), "%s%s%s%s", *name == '/' ? "" : p->folder, *name == '/' ? "" : "/",
             name, end);
    return open(path, flags | O_CLOEXEC, 0600);
}

_Noreturn void program_exec(const struct program *p, const char *const args[])
{
    const char *argv[PROGRAM_MAX_ARGS + 2] = {p->path};
    for (int i = 0; i < PROGRAM_MAX_ARGS && args[i]; i++)
        argv[i + 1] = args[i];
    unsetenv("STRAIT_NET");
    unsetenv("STRAIT_NET_FOLDER");
    setenv("XDG_RUNTIME_DIR", p->folder, 1);
    if (p->tun[0])
        setenv("STRAIT_TUN", p->tun, 1);
    if (p->uid && (setgroups(0, NULL) != 0 || setgid((gid_t)p->uid) != 0 || setuid(p->uid) != 0))
        _exit(126);
    if (chdir(p->cwd ? p->cwd : p->folder) != 0)
        _exit(126);
    execv(p->path, (char *const *)(void *)argv);
    _exit(127);
}

pid_t program_start(const struct program *p, const char *name, const char *const args[])
{
    const int write_new = O_WRONLY | O_CREAT | O_TRUNC;
    const int fds[] = {open_file(p, p->in ? p->in : "/dev/null", "", O_RDONLY),
                       open_file(p, name, ".out", write_new),
                       open_file(p, name, ".err", write_new)};
    CU_ASSERT_FATAL(fds[0] >= 0 && fds[1] >= 0 && fds[2] >= 0);
    const pid_t pid = fork();
    for (int i = 0; i < 3; i++)
        if (pid == 0)
            dup2(fds[i], i);
        else
            close(fds[i]);
    if (pid == 0)
        program_exec(p, args);
    return pid;
}

int program_wait(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

struct said program_call(const struct program *p, const char *const args[])
{
    struct said s = {.status = program_wait(program_start(p, "said", args))};
    s.out = program_read_bytes(p, "said.out", &s.out_bytes);
    s.err = program_read(p, "said.err");
    return s;
}

void said_release(struct said *s)
{
    free(s->out);
    free(s->err);
}

char *program_read_bytes(const struct program *p, const char *name, size_t *len_bytes)
{
    char *bytes = folder_bytes(p->folder, name, len_bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    return bytes;
}

char *program_read(const struct program *p, const char *name)
{
    size_t len_bytes;
    return program_read_bytes(p, name, &len_bytes);
}

void program_write_bytes(const struct program *p, const char *name, const void *bytes,
                         size_t len_bytes)
{
    const int fd = open_file(p, name, "", O_WRONLY | O_CREAT | O_TRUNC);
    CU_ASSERT_EQUAL_FATAL(fchmod(fd, 0644), 0); /* whoever the program runs as may read it */
    CU_ASSERT_EQUAL_FATAL(write(fd, bytes, len_bytes), (ssize_t)len_bytes);
    CU_ASSERT_EQUAL_FATAL(close(fd), 0);
}

void program_write(const struct program *p, const char *name, const char *text)
{
    program_write_bytes(p, name, text, strlen(text));
}

bool program_has(const struct program *p, const char *name)
{
    const int fd = open_file(p, name, "", O_PATH);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

size_t program_n_lines(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

int program_n_left(const struct program *p)
{
    while (waitpid(-1, NULL, WNOHANG) > 0)
        continue;
    return folder_n_processes(p->folder, "environ");
}

int program_n_left_soon(const struct program *p)
{
    const struct timespec moment = {.tv_nsec = 20 * 1000 * 1000};
    int n = program_n_left(p);
    for (int i = 0; i < 3000 && n > 0; i++) {
        nanosleep(&moment, NULL);
        n = program_n_left(p);
    }
    return n;
}
