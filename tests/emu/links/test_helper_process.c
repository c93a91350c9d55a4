/* What a process that serves a network is: its signals, its end, its files. */
#include "emu/links/helper_process.h"
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/kit/suite.h"

static bool is_handled_by(int number, void (*handler)(int))
{
    struct sigaction found;
    return sigaction(number, NULL, &found) == 0 && found.sa_handler == handler;
}

static void begin(const char *name, const char *wanted)
{
    int ends_with = 0;
    char found[32] = "";
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    signal(SIGUSR1, SIG_IGN);
    signal(SIGRTMAX, SIG_IGN);
    prctl(PR_SET_NAME, "before");
    CU_ASSERT_FALSE(strait_emu_helper_begin(getpid(), "none")); /* that is not its parent */
    prctl(PR_GET_NAME, found);
    CU_ASSERT_STRING_EQUAL(found, "before");
    CU_ASSERT_TRUE(strait_emu_helper_begin(getppid(), name));
    prctl(PR_GET_NAME, found);
    CU_ASSERT_STRING_EQUAL(found, wanted);
    CU_ASSERT_EQUAL(prctl(PR_GET_PDEATHSIG, &ends_with), 0);
    CU_ASSERT_EQUAL(ends_with, SIGKILL);
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    CU_ASSERT_FALSE(sigismember(&blocked, SIGTERM));
    for (int s = 1; s < NSIG; s++) {
        struct sigaction found_action;
        const bool ignored = s == SIGPIPE || s == SIGINT || s == SIGQUIT || s == SIGHUP;
        if (sigaction(s, NULL, &found_action) != 0)
            continue; /* the C library's own */
        strait_test_context("signal %d", s);
        CU_ASSERT_TRUE(is_handled_by(s, ignored ? SIG_IGN : SIG_DFL));
    }
}

static void begin_named(void)
{
    begin("strait-test", "strait-test");
}

static void begin_nameless(void)
{
    begin(NULL, "before");
}

/* Of descriptors 0 to 40 and 900, those in any order that are to be kept. */
static void keep(void)
{
    int kept[] = {900, 12, 5, 13};
    for (int fd = 3; fd <= 40; fd++)
        dup2(STDERR_FILENO, fd);
    dup2(STDERR_FILENO, 900);
    dup2(STDERR_FILENO, 901);
    strait_emu_helper_keep(kept, 4);
    for (int fd = 0; fd <= 901; fd++)
        if ((fcntl(fd, F_GETFD) >= 0) != (fd == 5 || fd == 12 || fd == 13 || fd == 900))
            _exit(1);
}

static void keep_the_first(void)
{
    int kept[] = {0};
    strait_emu_helper_keep(kept, 1);
    for (int fd = 0; fd <= 40; fd++)
        if ((fcntl(fd, F_GETFD) >= 0) != (fd == 0))
            _exit(1);
}

/* From what it inherits to what it has then; it is passed on to no child. */
static void hurry_from(int policy, int inherited, int wanted)
{
    struct sched_param p = {.sched_priority = inherited};
    if (sched_setscheduler(0, policy, &p) != 0 || !strait_emu_helper_hurry() ||
        sched_getscheduler(0) != (SCHED_FIFO | SCHED_RESET_ON_FORK) || sched_getparam(0, &p) != 0 ||
        p.sched_priority != wanted)
        _exit(1);
}

static void hurry_as_ordinary(void)
{
    hurry_from(SCHED_OTHER, 0, 1);
}

static void hurry_as_urgent(void)
{
    hurry_from(SCHED_RR, 10, 11);
}

static void hurry_as_highest(void)
{
    const int highest = sched_get_priority_max(SCHED_FIFO);
    hurry_from(SCHED_FIFO, highest, highest);
}

static void in_a_child(void (*what)(void))
{
    int status = 0;
    const pid_t pid = fork();
    CU_ASSERT_FATAL(pid >= 0);
    if (pid == 0) {
        what();
        _exit(0);
    }
    CU_ASSERT(waitpid(pid, &status, 0) == pid && status == 0);
}

static void beginnings(void)
{
    in_a_child(begin_named);
    in_a_child(begin_nameless);
}

static void files(void)
{
    in_a_child(keep);
    in_a_child(keep_the_first);
}

static void may_hurry(void)
{
    const struct sched_param lowest = {.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_RR, &lowest) != 0)
        _exit(77);
}

static void priorities(void)
{
    int status = 0;
    const pid_t pid = fork();
    CU_ASSERT_FATAL(pid >= 0);
    if (pid == 0) {
        may_hurry();
        _exit(0);
    }
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    if (status != 0) {
        strait_test_skip("this user may not have real-time priority");
        return;
    }
    in_a_child(hurry_as_ordinary);
    in_a_child(hurry_as_urgent);
    in_a_child(hurry_as_highest);
}

static const struct strait_test tests[] = {
    {"it ends with its parent, has a name, and signals as a new program has", beginnings},
    {"it has the files that it keeps, and no other", files},
    {"its priority is above that of what it serves", priorities},
};
STRAIT_SUITE("emu/links/helper_process", tests);
