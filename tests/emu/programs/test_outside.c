/* The way out of a network: programs that the host runs for whom asks through a socket, with the
 * asker's streams, and requests that are none. */
#include "emu/programs/outside.h"
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"

static char folder[] = "/tmp/strait-test-XXXXXX";
static char path[STRAIT_EMU_PLACE_CHARS];

static void write_file(const char *name, const char *text)
{
    char at[128];
    snprintf(at, sizeof(at), "%s/%s", folder, name);
    FILE *f = fopen(at, "we");
    CU_ASSERT_FATAL(f != NULL);
    fputs(text, f);
    fclose(f);
}

/* Asks in a process whose streams are files: its status, and what was said. */
static int ask(const char *const *argv, char out[256], char err_text[256])
{
    int status;
    write_file("in", "from here\n");
    fflush(stdout);
    const pid_t pid = fork();
    CU_ASSERT_FATAL(pid >= 0);
    if (pid == 0) {
        struct strait_error err = {0};
        if (chdir(folder) != 0 || !freopen("in", "r", stdin) || !freopen("out", "w", stdout) ||
            !freopen("err", "w", stderr))
            _exit(99);
        const int found = strait_emu_outside_run(path, argv, &err);
        if (found < 0)
            dprintf(STDERR_FILENO, "%d %s: %s", (int)err.code, err.where, err.text);
        _exit(found < 0 ? 98 : found);
    }
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    char *o = folder_text(folder, "out"), *e = folder_text(folder, "err");
    snprintf(out, 256, "%s", o);
    snprintf(err_text, 256, "%s", e);
    free(o);
    free(e);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect(const char *const *argv, int status, const char *out, const char *err)
{
    char said[256], wrong[256];
    strait_test_context("%s %s", argv[0], argv[1] ? argv[1] : "");
    CU_ASSERT_EQUAL(ask(argv, said, wrong), status);
    CU_ASSERT_STRING_EQUAL(said, out);
    CU_ASSERT_STRING_EQUAL(wrong, err);
}

static void programs(void)
{
    expect((const char *const[]){"sh", "-c", "cat; echo out; echo err >&2; exit 7", NULL}, 7,
           "from here\nout\n", "err\n");
    expect((const char *const[]){"printf", "<%s>", "a b", "", "c'd", NULL}, 0, "<a b><><c'd>", "");
    expect((const char *const[]){"sh", "-c", "kill -TERM $$", NULL}, 128 + SIGTERM, "", "");
    /* by its path: a PATH may name folders of another user, where nothing may be looked for */
    expect((const char *const[]){"/no-such-program", NULL}, 127, "",
           "strait: net: /no-such-program: No such file or directory\n");
    expect((const char *const[]){"true", NULL}, 0, "", "");
    /* a group of its own, and no signal that this program ignores, of 1 to 28 and from 37 on */
    expect((const char *const[]){"sh", "-c",
                                 "[ $(ps -o pgid= $$) = $$ ] && "
                                 "grep -c 'SigIgn:.0000000..0000000$' /proc/self/status",
                                 NULL},
           0, "1\n", "");
}

static int connect_there(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
    CU_ASSERT_FATAL(fd >= 0 && connect(fd, (const struct sockaddr *)&a, sizeof(a)) == 0);
    return fd;
}

/* Sends a head with so many descriptors, then text, and hears a status, or -1: nothing. */
static int request(uint32_t n_bytes, uint32_t n_words, int n_fds, const char *text, size_t n)
{
    uint32_t head[2] = {n_bytes, n_words};
    int32_t status = -1;
    const int streams[3] = {0, 1, 2}, fd = connect_there();
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(streams))] = {0};
    struct iovec io = {head, sizeof(head)};
    struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1};
    if (n_fds > 0) {
        m.msg_control = control;
        m.msg_controllen = CMSG_SPACE((size_t)n_fds * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN((size_t)n_fds * sizeof(int));
        memcpy(CMSG_DATA(c), streams, (size_t)n_fds * sizeof(int));
    }
    CU_ASSERT_EQUAL(sendmsg(fd, &m, MSG_NOSIGNAL), (ssize_t)sizeof(head));
    send(fd, text, n, MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    const ssize_t heard = recv(fd, &status, sizeof(status), MSG_WAITALL);
    CU_ASSERT(heard <= 0 || heard == (ssize_t)sizeof(status));
    close(fd);
    return heard == (ssize_t)sizeof(status) ? status : -1;
}

static void no_requests(void)
{
    static const char words[] = "sh\0-c\0exit 5"; /* of 13 bytes, its end too */
    CU_ASSERT_EQUAL(request(13, 3, 2, words, 13), -1);
    CU_ASSERT_EQUAL(request(13, 3, 0, words, 13), -1);
    CU_ASSERT_EQUAL(request(0, 3, 3, words, 13), -1);
    CU_ASSERT_EQUAL(request(13, 0, 3, words, 13), -1);
    CU_ASSERT_EQUAL(request((1 << 20) + 1, 3, 3, words, 13), -1);
    CU_ASSERT_EQUAL(request(14, 3, 3, words, 13), -1); /* one less than was said */
    write_file("in", "");
}

/* Who asked has gone: so does the program, with what it started. */
static void gone(void)
{
    char name[128], *text;
    snprintf(name, sizeof(name), "echo $$ >%s/pid; sleep 300 & wait", folder);
    const char *const argv[] = {"sh", "-c", name, NULL};
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
        strait_emu_outside_run(path, argv, NULL);
        _exit(0);
    }
    int left = 6000;
    while ((!(text = folder_text(folder, "pid")) || !*text) && left-- > 0) {
        free(text);
        usleep(10000);
    }
    const int program = text ? atoi(text) : 0;
    free(text);
    CU_ASSERT_FATAL(program > 1);
    CU_ASSERT_EQUAL(kill(-program, 0), 0);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    while (kill(-program, 0) == 0 && left-- > 0)
        usleep(10000);
    CU_ASSERT_EQUAL(kill(-program, 0), -1);
}

static void nobody(void)
{
    struct strait_error err = {0};
    const char *const argv[] = {"true", NULL};
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    char none[64];
    snprintf(none, sizeof(none), "%s/none", folder);
    CU_ASSERT_EQUAL(strait_emu_outside_run(none, argv, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_SYSTEM);
    CU_ASSERT_STRING_EQUAL(err.where, none);
    CU_ASSERT_CONTAINS(err.text, "cannot reach the host");
    /* one that listens and hangs up */
    snprintf(a.sun_path, sizeof(a.sun_path), "%s", none);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CU_ASSERT_FATAL(fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0 &&
                    listen(fd, 1) == 0);
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
        char some[8];
        const int one = accept(fd, NULL, NULL);
        _exit(recv(one, some, sizeof(some), 0) > 0 ? 0 : 1);
    }
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(strait_emu_outside_run(none, argv, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_BACKEND);
    CU_ASSERT_STRING_EQUAL(err.text, "the host does not answer");
    CU_ASSERT_STRING_EQUAL(err.where, none);
    waitpid(pid, NULL, 0);
    close(fd);
}

/* In a process of its own, with which the one that answers ends. */
static void with_host(void (*what)(void))
{
    int status = -1;
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    CU_ASSERT_FATAL(mkdtemp(folder) != NULL);
    fflush(stdout);
    const pid_t pid = fork();
    CU_ASSERT_FATAL(pid >= 0);
    if (pid == 0) {
        struct strait_emu_registry place = {0};
        struct strait_error err = {0};
        struct stat st;
        snprintf(place.folder, sizeof(place.folder), "%s", folder);
        snprintf(place.name, sizeof(place.name), "one");
        write_file("one.outside", "of one that was killed");
        signal(SIGPIPE, SIG_IGN); /* as strait does */
        CU_ASSERT_EQUAL(strait_emu_outside_open(path, &place, &err), 0);
        CU_ASSERT_STRING_EQUAL(err.text, "");
        CU_ASSERT(stat(path, &st) == 0 && S_ISSOCK(st.st_mode));
        CU_ASSERT_STRING_EQUAL(strrchr(path, '/'), "/one.outside");
        what();
        _exit(0);
    }
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT_EQUAL(status, 0);
    folder_remove(folder);
}

static void runs(void)
{
    with_host(programs);
}

static void refuses(void)
{
    with_host(no_requests);
}

static void ends(void)
{
    with_host(gone);
}

static void lacks(void)
{
    with_host(nobody);
}

static void too_long(void)
{
    struct strait_emu_registry place = {0};
    struct strait_error err = {0};
    char long_path[STRAIT_EMU_PLACE_CHARS];
    memset(place.folder, 'x', sizeof(place.folder) - 1);
    memset(place.name, 'y', sizeof(place.name) - 1);
    CU_ASSERT_EQUAL(strait_emu_outside_open(long_path, &place, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err.text, "expected a shorter path for a socket");
}

static const struct strait_test tests[] = {
    {"a program has the asker's streams, its words and its status", runs},
    {"what is no request is not answered", refuses},
    {"a program ends with who asked for it", ends},
    {"who asks where nobody answers is told so", lacks},
    {"a socket's path has a limit", too_long},
};
STRAIT_SUITE("emu/programs/outside", tests);
