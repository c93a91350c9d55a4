#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "core/process.h"
#include "tests/kit/suite.h"

enum { DEADLINE_S = 20 }; /* far beyond what any of these needs on a busy machine */

static int shell(char *out, size_t cap_bytes, const char *script, const char *input,
                 double deadline_s, struct strait_error *err)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    return strait_process_run(out, cap_bytes, argv, input, deadline_s, err);
}

static unsigned count_fds(void)
{
    unsigned n = 0;
    DIR *dir = opendir("/proc/self/fd");
    CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static bool no_children(void)
{
    return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD;
}

static void output(void)
{
    struct strait_error err = {0};
    char out[64] = "before";
    const char *const argv[] = {"printf", "%s|", "a b", "$HOME", "*", NULL};
    CU_ASSERT_EQUAL(strait_process_run(out, sizeof(out), argv, NULL, DEADLINE_S, &err), 0);
    CU_ASSERT_STRING_EQUAL(out, "a b|$HOME|*|"); /* no shell has touched it */
    CU_ASSERT_EQUAL(strait_process_run(out, 4, argv, NULL, DEADLINE_S, &err), 0);
    CU_ASSERT_STRING_EQUAL(out, "a b");
    CU_ASSERT_EQUAL(strait_process_run(NULL, 0, argv, NULL, INFINITY, &err), 0);
    CU_ASSERT_EQUAL(err.code, STRAIT_OK);
}

static void input(void)
{
    struct strait_error err = {0};
    enum { N = 1 << 20 }; /* far more than a pipe holds */
    char *text = malloc(N + 1), *out = malloc(N + 100);
    CU_ASSERT_FATAL(text && out);
    for (size_t i = 0; i < N; i++)
        text[i] = (char)('a' + i % 26);
    text[N] = '\0';
    CU_ASSERT_EQUAL(shell(out, N + 100, "cat", text, DEADLINE_S, &err), 0);
    CU_ASSERT_STRING_EQUAL(out, text);
    /* a program that does not read it, one that has none */
    CU_ASSERT_EQUAL(shell(out, N, "echo done", text, DEADLINE_S, &err), 0);
    CU_ASSERT_STRING_EQUAL(out, "done\n");
    CU_ASSERT_EQUAL(shell(out, N, "cat; echo end", NULL, DEADLINE_S, &err), 0);
    CU_ASSERT_STRING_EQUAL(out, "end\n");
    CU_ASSERT_EQUAL(err.code, STRAIT_OK);
    free(text);
    free(out);
}

static void flood(void)
{
    struct strait_error err = {0};
    char out[100];
    /* 4 MB on each, at once, where neither is read by a program that waits for the other */
    CU_ASSERT_EQUAL(shell(out, sizeof(out),
                          "head -c 4000000 /dev/zero | tr '\\0' e >&2;"
                          " head -c 4000000 /dev/zero | tr '\\0' o; exit 4",
                          NULL, DEADLINE_S, &err),
                    4);
    CU_ASSERT_EQUAL(strlen(out), 99);
    CU_ASSERT_EQUAL(strspn(out, "o"), 99);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_BACKEND);
    CU_ASSERT_EQUAL(strspn(err.text, "e"), strlen(err.text));
    CU_ASSERT(strlen(err.text) > 100);
}

static void failures(void)
{
    struct strait_error err = {0};
    CU_ASSERT_EQUAL(shell(NULL, 0, "echo; echo 'RTNETLINK: no' >&2; echo more >&2; exit 2", NULL,
                          DEADLINE_S, &err),
                    2);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_BACKEND);
    CU_ASSERT_STRING_EQUAL(err.text, "RTNETLINK: no");
    CU_ASSERT_EQUAL(strncmp(err.where, "sh -c echo; echo", 16), 0);
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(shell(NULL, 0, "exit 255", NULL, DEADLINE_S, &err), 255);
    CU_ASSERT_STRING_EQUAL(err.text, "exit status 255");
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(shell(NULL, 0, "kill -SEGV $$", NULL, DEADLINE_S, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_SYSTEM);
    CU_ASSERT_STRING_EQUAL(err.text, "killed by SIGSEGV");
    CU_ASSERT(no_children());
}

static void not_there(void)
{
    struct strait_error err = {0};
    char before[4096];
    const char *const argv[] = {"strait-no-such-program", "x", NULL};
    snprintf(before, sizeof(before), "%s", getenv("PATH"));
    setenv("PATH", "/usr/bin:/bin", 1); /* a folder that this user may not read is another error */
    CU_ASSERT_EQUAL(strait_process_run(NULL, 0, argv, NULL, DEADLINE_S, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_HOST);
    char said[8] = "before";
    CU_ASSERT_EQUAL(strait_process_run(said, sizeof(said), argv, NULL, DEADLINE_S, NULL), -1);
    CU_ASSERT_STRING_EQUAL(said, "");
    CU_ASSERT_STRING_EQUAL(err.where, "strait-no-such-program x");
    CU_ASSERT_STRING_EQUAL(err.text, "strait-no-such-program is not installed");
    setenv("PATH", before, 1);
    err = (struct strait_error){0};
    const char *const folder[] = {"/tmp", NULL};
    CU_ASSERT_EQUAL(strait_process_run(NULL, 0, folder, NULL, DEADLINE_S, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_SYSTEM);
    CU_ASSERT_EQUAL(err.saved_errno, EACCES);
    CU_ASSERT(no_children());
}

/* A zombie that nobody has reaped is as good as gone: it runs no longer. */
static bool runs(pid_t pid)
{
    char path[64], line[512] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    const bool read = fgets(line, sizeof(line), file) != NULL;
    fclose(file);
    const char *end = strrchr(line, ')');
    return read && end && end[1] == ' ' && end[2] != 'Z' && end[2] != 'X';
}

/* Wait for its end; false when it still runs after the deadline. */
static bool ends(pid_t pid)
{
    const struct timespec pause = {0, 10 * 1000 * 1000};
    for (int i = 0; i < 100 * DEADLINE_S && runs(pid); i++)
        nanosleep(&pause, NULL);
    return !runs(pid);
}

static void deadline(void)
{
    struct strait_error err = {0};
    char out[64];
    /* a program with a child of its own, and both are told to live on */
    CU_ASSERT_EQUAL(
        shell(out, sizeof(out), "trap '' TERM INT; sleep 300 & echo $! $$; wait", NULL, 5, &err),
        -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_SYSTEM);
    CU_ASSERT_STRING_EQUAL(err.text, "expected an end within 5 s, killed it");
    CU_ASSERT(no_children());
    int child = 0, self = 0;
    CU_ASSERT_EQUAL_FATAL(sscanf(out, "%d %d", &child, &self), 2);
    CU_ASSERT(ends(self));
    CU_ASSERT(ends(child));
}

static void orphan(void)
{
    struct strait_error err = {0};
    char out[64];
    int child = 0;
    /* a child that holds the pipes open is not waited for: 300 s would pass the deadline */
    CU_ASSERT_EQUAL(shell(out, sizeof(out), "sleep 300 & echo $!", NULL, DEADLINE_S, &err), 0);
    CU_ASSERT_EQUAL_FATAL(sscanf(out, "%d", &child), 1);
    CU_ASSERT(runs(child));
    kill(child, SIGKILL); /* its number was just printed by its parent: it is ours */
    CU_ASSERT(ends(child));
}

static void descriptors(void)
{
    struct strait_error err = {0};
    char out[256];
    const int leaked = open("/dev/null", O_RDONLY); /* without O_CLOEXEC */
    const unsigned n_before = count_fds();
    /* ls itself opens the folder as 3 */
    CU_ASSERT_EQUAL(shell(out, sizeof(out), "exec ls /proc/self/fd", NULL, DEADLINE_S, &err), 0);
    CU_ASSERT_STRING_EQUAL(out, "0\n1\n2\n3\n");
    shell(out, sizeof(out), "exit 1", "input", DEADLINE_S, &err);
    shell(out, sizeof(out), "sleep 300", NULL, 0.05, &err);
    const char *const none[] = {"strait-no-such-program", NULL};
    strait_process_run(NULL, 0, none, NULL, DEADLINE_S, &err);
    CU_ASSERT_EQUAL(count_fds(), n_before);
    close(leaked);
}

/* In a child: our own 0, 1 and 2 are closed, as in a daemon. */
static void closed_stdio(void)
{
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        struct strait_error err = {0};
        char out[64];
        close(0);
        close(1);
        close(2);
        const int status = shell(out, sizeof(out), "cat; echo said >&2; exit 3", "in", 60, &err);
        _exit(status == 3 && strcmp(out, "in") == 0 && strcmp(err.text, "said") == 0 ? 0 : 1);
    }
    int status = -1;
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT_EQUAL(status, 0);
}

static void signals(void)
{
    struct strait_error err = {0};
    char out[128];
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    void (*const old)(int) = signal(SIGPIPE, SIG_IGN);
    /* SigBlk and SigIgn of the program: nothing blocked, SIGPIPE not ignored */
    CU_ASSERT_EQUAL(shell(out, sizeof(out), "exec grep -E 'SigBlk|SigIgn' /proc/self/status", NULL,
                          DEADLINE_S, &err),
                    0);
    sigset_t after;
    pthread_sigmask(SIG_SETMASK, &before, &after);
    signal(SIGPIPE, old);
    CU_ASSERT(sigismember(&after, SIGTERM) == 1 && sigismember(&after, SIGHUP) == 0);
    unsigned long long block = 1, ignore = 0;
    CU_ASSERT_EQUAL_FATAL(sscanf(out, "SigBlk: %llx SigIgn: %llx", &block, &ignore), 2);
    CU_ASSERT_EQUAL(block, 0);
    CU_ASSERT_EQUAL(ignore & (1ull << (SIGPIPE - 1)), 0);
}

/* The runner is killed in the middle: what it runs must end too. */
static void death(void)
{
    int fds[2];
    CU_ASSERT_EQUAL_FATAL(pipe2(fds, O_CLOEXEC), 0);
    fflush(NULL);
    const pid_t runner = fork();
    if (runner == 0) { /* the program tells its number through a file that the runner gave it */
        struct strait_error err = {0};
        char script[64];
        snprintf(script, sizeof(script), "echo $$ > /proc/%d/fd/%d; exec sleep 300", (int)getpid(),
                 fds[1]);
        shell(NULL, 0, script, NULL, 60, &err);
        _exit(0);
    }
    close(fds[1]);
    char text[32] = "";
    const ssize_t n = read(fds[0], text, sizeof(text) - 1);
    close(fds[0]);
    kill(runner, SIGKILL);
    CU_ASSERT_EQUAL(waitpid(runner, NULL, 0), runner);
    CU_ASSERT_FATAL(n > 0);
    CU_ASSERT(ends(atoi(text)));
}

static const struct strait_test tests[] = {
    {"standard output is captured, cut or thrown away", output},
    {"standard input is what was given, however long", input},
    {"a program that says much on both pipes does not block", flood},
    {"a failure tells its status and the first line of its stderr", failures},
    {"a program that is not installed is an error of this host", not_there},
    {"at the deadline the program and its children are killed", deadline},
    {"a child that outlives the program is not waited for", orphan},
    {"no descriptor leaks either way", descriptors},
    {"it works with 0, 1 and 2 closed", closed_stdio},
    {"the program starts with clean signals and ours stay", signals},
    {"the program dies with the one that runs it", death},
};
STRAIT_SUITE("core/process", tests);
