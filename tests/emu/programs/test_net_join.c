/* Who wants to use a network, with the test in the place of its supervisor: what is asked, what is
 * made of the answers, and how a program begins in a rank's namespaces, here those of the test. */
#include "emu/programs/net_join.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "emu/programs/program_network.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"

static char folder[] = "/tmp/strait-test-XXXXXX";
static struct strait_emu_registry place;

static void begin(void)
{
    struct strait_error err = {0};
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    CU_ASSERT_FATAL(mkdtemp(folder) != NULL);
    setenv("STRAIT_NET_FOLDER", folder, 1);
    CU_ASSERT_EQUAL_FATAL(strait_emu_registry_init(&place, "it", &err), 0);
}

static void end(void)
{
    unsetenv("STRAIT_NET_FOLDER");
    folder_remove(folder);
}

/* A supervisor that hears one question, which has to be this one, and does what it should. */
static pid_t supervise(int request, int rank, void (*answer)(int fd))
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int ready[2];
    char byte = 'r';
    const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    memcpy(a.sun_path, place.socket, sizeof(place.socket));
    unlink(place.socket);
    CU_ASSERT_FATAL(listener >= 0 && pipe2(ready, O_CLOEXEC) == 0 &&
                    bind(listener, (const struct sockaddr *)&a, sizeof(a)) == 0);
    fflush(stdout);
    const pid_t pid = fork();
    CU_ASSERT_FATAL(pid >= 0);
    if (pid == 0) {
        struct strait_emu_question q = {0};
        CU_ASSERT_EQUAL(listen(listener, 1), 0); /* whose process is the other end's */
        CU_ASSERT_EQUAL(write(ready[1], &byte, 1), 1);
        const int fd = accept(listener, NULL, NULL);
        CU_ASSERT_EQUAL(recv(fd, &q, sizeof(q), MSG_WAITALL), (ssize_t)sizeof(q));
        CU_ASSERT_EQUAL(q.request, request);
        CU_ASSERT_EQUAL(q.rank, rank);
        answer(fd);
        close(fd);
        _exit(0);
    }
    CU_ASSERT_EQUAL(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    close(listener);
    return pid;
}

static void nothing(int fd)
{
    (void)fd;
}

static void say_state(int fd)
{
    CU_ASSERT_EQUAL(send(fd, "{\"n\": 3}", 8, 0), 8);
}

static void say_garbage(int fd)
{
    CU_ASSERT_EQUAL(send(fd, "{\"n\"", 4, 0), 4);
}

static void expect(const struct strait_error *err, enum strait_error_code code, const char *text)
{
    CU_ASSERT_EQUAL(err->code, code);
    CU_ASSERT_STRING_EQUAL(err->where, "net");
    CU_ASSERT_STRING_EQUAL(err->text, text);
}

static void states(void)
{
    struct strait_error err = {0};
    begin();
    CU_ASSERT_PTR_NULL(strait_emu_join_state(&place, &err));
    expect(&err, STRAIT_ERR_USAGE, "no network \"it\" is up (strait net up, strait net list)");
    const int lock = strait_emu_registry_lock(&place, &err);
    CU_ASSERT_FATAL(lock >= 0);
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(strait_emu_join_end(&place, &err), -1);
    expect(&err, STRAIT_ERR_BACKEND, "network \"it\" is being set up or taken down");

    pid_t pid = supervise(STRAIT_EMU_ASK_STATE, 0, say_state);
    err = (struct strait_error){0};
    json_t *state = strait_emu_join_state(&place, &err);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(state, "n")), 3);
    json_decref(state);
    waitpid(pid, NULL, 0);
    pid = supervise(STRAIT_EMU_ASK_STATE, 0, say_garbage);
    CU_ASSERT_PTR_NULL(strait_emu_join_state(&place, &err));
    expect(&err, STRAIT_ERR_BACKEND, "the supervisor of \"it\" does not answer");
    waitpid(pid, NULL, 0);
    close(lock);
    end();
}

/* The one that answers ends, and is a zombie until the test waits for it. */
static void ends(void)
{
    struct strait_error err = {0};
    int status = -1;
    begin();
    close(strait_emu_registry_lock(&place, &err)); /* which nobody holds any more */
    const pid_t pid = supervise(STRAIT_EMU_ASK_END, 0, nothing);
    CU_ASSERT_EQUAL(strait_emu_join_end(&place, &err), 0);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT_EQUAL(waitpid(pid, &status, WNOHANG), pid);
    CU_ASSERT_EQUAL(status, 0);
    CU_ASSERT_EQUAL(access(place.socket, F_OK), -1);
    end();
}

/* --- namespaces ------------------------------------------------------------------------------- */

static const char *const spaces[STRAIT_EMU_N_KEYS] = {"net", "mnt", "uts", "pid", "user"};

static void open_own(int keys[STRAIT_EMU_N_KEYS])
{
    char path[64];
    for (int i = 0; i < STRAIT_EMU_N_KEYS; i++) {
        snprintf(path, sizeof(path), "/proc/self/ns/%s", spaces[i]);
        keys[i] = open(path, O_RDONLY | O_CLOEXEC);
        CU_ASSERT_FATAL(keys[i] >= 0);
    }
}

static void give(int fd, int n)
{
    int keys[STRAIT_EMU_N_KEYS];
    open_own(keys);
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(keys))] = {0};
    char byte = 'k';
    struct iovec io = {&byte, 1};
    struct msghdr m = {.msg_iov = &io,
                       .msg_iovlen = 1,
                       .msg_control = control,
                       .msg_controllen = CMSG_SPACE((size_t)n * sizeof(int))};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
    memcpy(CMSG_DATA(c), keys, (size_t)n * sizeof(int));
    CU_ASSERT_EQUAL(sendmsg(fd, &m, 0), 1);
}

static void give_all(int fd)
{
    give(fd, STRAIT_EMU_N_KEYS);
}

static void give_less(int fd)
{
    give(fd, STRAIT_EMU_N_KEYS - 1);
}

static void give_a_byte(int fd)
{
    CU_ASSERT_EQUAL(send(fd, "k", 1, 0), 1);
}

static ino_t inode_of(int fd)
{
    struct stat s = {0};
    fstat(fd, &s);
    return s.st_ino;
}

static void rooms(void)
{
    static void (*const wrong[])(int) = {nothing, give_a_byte, give_less};
    struct strait_error err = {0};
    struct strait_emu_join v;
    int own[STRAIT_EMU_N_KEYS];
    begin();
    pid_t pid = supervise(STRAIT_EMU_ASK_ROOM, 7, give_all);
    CU_ASSERT_EQUAL_FATAL(strait_emu_join_open(&v, &place, 7, &err), 0);
    waitpid(pid, NULL, 0);
    open_own(own);
    CU_ASSERT_EQUAL(inode_of(v.net_fd), inode_of(own[0]));
    CU_ASSERT_EQUAL(inode_of(v.mount_fd), inode_of(own[1]));
    CU_ASSERT_EQUAL(inode_of(v.uts_fd), inode_of(own[2]));
    CU_ASSERT_EQUAL(inode_of(v.pid_fd), inode_of(own[3]));
    CU_ASSERT_EQUAL(inode_of(v.user_fd), inode_of(own[4]));
    CU_ASSERT(fcntl(v.net_fd, F_GETFD) & FD_CLOEXEC);
    CU_ASSERT_EQUAL(strait_emu_join_join(&v, &err), 0); /* it is there already */
    strait_emu_join_release(&v);
    CU_ASSERT(v.net_fd == -1 && v.mount_fd == -1 && v.uts_fd == -1);
    CU_ASSERT(v.pid_fd == -1 && v.user_fd == -1);
    for (int i = 0; i < STRAIT_EMU_N_KEYS; i++)
        close(own[i]);
    strait_test_may_leave(STRAIT_EMU_N_KEYS - 1); /* who is given less than all gives up */
    for (int i = 0; i < 3; i++) {
        pid = supervise(STRAIT_EMU_ASK_ROOM, 2, wrong[i]);
        err = (struct strait_error){0};
        CU_ASSERT_EQUAL(strait_emu_join_open(&v, &place, 2, &err), -1);
        expect(&err, STRAIT_ERR_BACKEND, "the supervisor of \"it\" does not let one into rank 2");
        CU_ASSERT(v.net_fd == -1 && v.user_fd == -1);
        waitpid(pid, NULL, 0);
    }
    end();
}

/* --- programs --------------------------------------------------------------------------------- */

/* Runs it with files as its streams; its status. */
static int start(const char *const *argv, const char *cwd, bool own_group, struct strait_error *err)
{
    static const char *const env[] = {"STRAIT_TEST_A=one two", "STRAIT_TEST_B=", NULL};
    char path[64];
    int keys[STRAIT_EMU_N_KEYS], status = -1;
    struct strait_emu_command p = {.argv = argv, .env = env, .cwd = cwd, .own_group = own_group};
    open_own(keys);
    const struct strait_emu_join v = {keys[0], keys[1], keys[2], keys[3], keys[4]};
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "%s/%d", folder, i);
        p.stdio[i] = open(path, O_RDWR | O_CREAT | O_CLOEXEC | (i > 0 ? O_TRUNC : 0), 0600);
    }
    const pid_t pid = strait_emu_join_start(&v, &p, err);
    if (pid > 0)
        CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    for (int i = 0; i < 3; i++)
        close(p.stdio[i]);
    for (int i = 0; i < STRAIT_EMU_N_KEYS; i++)
        close(keys[i]);
    return pid > 0 ? status : -1;
}

static void expect_file(const char *name, const char *wanted)
{
    char *text = folder_text(folder, name);
    CU_ASSERT_STRING_EQUAL(text, wanted);
    free(text);
}

/* Of ignored signals all but 29 to 36: make has programs begin with the C library's own, 32 and 33,
 * ignored (posix_spawn). */
static void programs(void)
{
    static const char script[] = "cat; echo $STRAIT_TEST_A,$STRAIT_TEST_B; pwd -P; "
                                 "echo $(ls /proc/self/fd); "
                                 "grep SigIgn /proc/$$/status | tr -d '\\t' | "
                                 "sed 's/..\\(.......\\)$/--\\1/'; "
                                 "[ $(ps -o pgid= $$) = $$ ] && echo own; echo bad >&2; exit 3";
    char wanted[200], at[64];
    struct strait_error err = {0};
    if (geteuid() != 0) {
        strait_test_skip("only root enters namespaces again");
        return;
    }
    begin();
    snprintf(at, sizeof(at), "%s/0", folder);
    FILE *f = fopen(at, "we");
    CU_ASSERT_FATAL(f && fputs("said\n", f) >= 0 && fclose(f) == 0);
    signal(SIGPIPE, SIG_IGN);
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    for (int own = 0; own < 2; own++) {
        CU_ASSERT_EQUAL(start((const char *const[]){"sh", "-c", script, NULL}, folder, own, &err),
                        3 << 8);
        CU_ASSERT_STRING_EQUAL(err.text, "");
        snprintf(wanted, sizeof(wanted), "said\none two,\n%s\n0 1 2 3\nSigIgn:0000000--0000000\n%s",
                 folder, own ? "own\n" : "");
        expect_file("1", wanted);
        expect_file("2", "bad\n");
    }
    static const char mask[] = "grep SigBlk /proc/self/status | tr -d '\\t'";
    CU_ASSERT_EQUAL(start((const char *const[]){"sh", "-c", mask, NULL}, "/", false, &err), 0);
    expect_file("1", "SigBlk:0000000000000000\n");
    sigprocmask(SIG_UNBLOCK, &blocked, NULL);
    signal(SIGPIPE, SIG_DFL);

    CU_ASSERT_EQUAL(start((const char *const[]){"no-such-program", NULL}, "/", false, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_USAGE);
    CU_ASSERT_EQUAL(err.saved_errno, ENOENT);
    CU_ASSERT_STRING_EQUAL(err.where, "no-such-program");
    CU_ASSERT_STRING_EQUAL(err.text, "cannot be started: No such file or directory");
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(start((const char *const[]){"true", NULL}, "/no/such", false, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_SYSTEM);
    CU_ASSERT_EQUAL(err.saved_errno, ENOENT);
    CU_ASSERT_STRING_EQUAL(err.text, "cannot enter the network: No such file or directory");
    end();
}

static const struct strait_test tests[] = {
    {"a network's state is asked for, or it is said why there is none", states},
    {"who ends a network waits until its supervisor has ended", ends},
    {"a rank's namespaces come as five descriptors, or not at all", rooms},
    {"a program begins with its own streams, words, folder and signals", programs},
};
STRAIT_SUITE("emu/programs/net_join", tests);
