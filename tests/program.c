/* The built program from outside, in a folder of the test's own. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "program.h"
#include "suite.h"

void program_set_up(struct program *p)
{
    const char *given = getenv("STRAIT_BIN");
    char self[4000] = "";
    if (given) {
        CU_ASSERT_PTR_NOT_NULL_FATAL(realpath(given, p->path));
    } else {
        CU_ASSERT_FATAL(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
        snprintf(p->path, sizeof(p->path), "%s/../strait", dirname(self));
    }
    snprintf(p->folder, sizeof(p->folder), "/tmp/strait-cli-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(p->folder));
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

void program_tear_down(struct program *p)
{
    remove_tree(p->folder);
}

static void path_of(char path[512], const struct program *p, const char *name)
{
    snprintf(path, 512, "%s%s%s", *name == '/' ? "" : p->folder, *name == '/' ? "" : "/", name);
}

pid_t program_start(const struct program *p, const char *cwd, const char *in,
                    const char *const args[])
{
    char out[512], err[512], input[512];
    path_of(out, p, "stdout");
    path_of(err, p, "stderr");
    path_of(input, p, in ? in : "/dev/null");
    const pid_t pid = fork();
    if (pid != 0)
        return pid;
    const char *argv[PROGRAM_MAX_ARGS + 2] = {p->path};
    for (int i = 0; i < PROGRAM_MAX_ARGS && args[i]; i++)
        argv[i + 1] = args[i];
    if (chdir(cwd ? cwd : p->folder) != 0)
        _exit(126);
    dup2(open(input, O_RDONLY), 0);
    dup2(open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
    dup2(open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
    execv(p->path, (char *const *)(void *)argv);
    _exit(127);
}

int program_wait(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

struct said program_call(const struct program *p, const char *cwd, const char *in,
                         const char *const args[])
{
    struct said s;
    s.status = program_wait(program_start(p, cwd, in, args));
    s.out = program_read(p, "stdout", &s.out_bytes);
    s.err = program_read(p, "stderr", NULL);
    return s;
}

void said_release(struct said *s)
{
    free(s->out);
    free(s->err);
}

char *program_read(const struct program *p, const char *name, size_t *len_bytes)
{
    char path[512];
    struct stat info;
    path_of(path, p, name);
    FILE *in = fopen(path, "r");
    CU_ASSERT_FATAL(in && fstat(fileno(in), &info) == 0);
    char *text = calloc(1, (size_t)info.st_size + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_EQUAL_FATAL(fread(text, 1, (size_t)info.st_size, in), (size_t)info.st_size);
    fclose(in);
    if (len_bytes)
        *len_bytes = (size_t)info.st_size;
    return text;
}

void program_write(const struct program *p, const char *name, const void *bytes, size_t len_bytes)
{
    char path[512];
    path_of(path, p, name);
    FILE *out = fopen(path, "w");
    CU_ASSERT_FATAL(out && fwrite(bytes, 1, len_bytes, out) == len_bytes);
    CU_ASSERT_EQUAL_FATAL(fclose(out), 0);
}

bool program_has(const struct program *p, const char *name)
{
    char path[512];
    path_of(path, p, name);
    return access(path, F_OK) == 0;
}

size_t program_n_lines(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}
