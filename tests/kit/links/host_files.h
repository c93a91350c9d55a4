/* A function of a test in a process for which files of the host (/proc/cpuinfo) have other text. */
#pragma once
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/kit/suite.h"

struct host_file {
    const char *path, *text; /* path NULL: the end */
};

static inline bool host_file_covers(const struct host_file *file)
{
    char own[] = "/tmp/strait-host-XXXXXX";
    const int fd = mkstemp(own);
    const size_t n = strlen(file->text);
    bool done = fd >= 0 && write(fd, file->text, n) == (ssize_t)n;
    done = done && mount(own, file->path, NULL, MS_BIND, NULL) == 0;
    if (fd >= 0)
        close(fd);
    unlink(own);
    return done;
}

/** Run fn there; its checks count. False, with the test skipped, where this user may not mount. */
static inline bool with_host_files(const struct host_file *files, void (*fn)(void *), void *arg)
{
    enum { CANNOT = 77 };
    int status = 0;
    fflush(stdout);
    fflush(stderr);
    const pid_t pid = fork();
    CU_ASSERT_FATAL(pid >= 0);
    if (pid == 0) {
        const bool root = geteuid() == 0;
        bool can = unshare(CLONE_NEWNS | (root ? 0 : CLONE_NEWUSER)) == 0 &&
                   mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
        for (; can && files->path; files++)
            can = host_file_covers(files);
        if (can)
            fn(arg);
        fflush(stderr);
        _exit(can ? 0 : CANNOT);
    }
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT) {
        strait_test_skip("this user may not mount");
        return false;
    }
    CU_ASSERT_EQUAL(status, 0);
    return true;
}
