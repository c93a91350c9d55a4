/* A script in the place of a guest's kernel: it says what a kernel in virtual time says where it is
 * tried, and runs the work that is left for it as the guest's first process does, on this machine.
 * What happens around and in a guest can so be tested, and counted, where none boots. */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "emu/guest/uml.h"
#include "tests/kit/program.h"

/* FAKE_GUEST=dead: it ends without a word; sleep: it never ends; oom: its memory runs out. */
static const char fake_kernel[] =
    "#!/bin/sh\n"
    "for a; do case $a in JOB=*) JOB=${a#JOB=};; esac; done\n"
    "[ \"$JOB\" ] || { echo 'strait: host_cpu 1'; echo 'strait: uptime 0 3600';"
    " echo 'strait: boots'; exit; }\n"
    "echo \"$*\" >>\"$JOB/kernel-args\"\n"
    "case $FAKE_GUEST in dead) exit;; sleep) touch \"$JOB/sleeps\"; exec sleep 1000;;"
    " oom) echo 'Out of memory: Killed process 7'; exit;; esac\n"
    "export JOB\n"
    "exec unshare --mount sh -c 'mount -t tmpfs none /run && exec xargs -0 -a \"$JOB/argv\" sh -c "
    "'\\''job=$1; cd \"$2\" && shift 2 && \"$@\" </dev/null >\"$job/stdout\" 2>\"$job/stderr\";"
    " echo $? >\"$job/status\"'\\'' sh \"$JOB\"'\n";

/** From now on guests are this script. False, with the test skipped, where not even it can run. */
static inline bool fake_guest_set_up(const struct program *p)
{
    char path[128];
    struct strait_error err = {0};
    program_write(p, "kernel", fake_kernel);
    snprintf(path, sizeof(path), "%s/kernel", p->folder);
    chmod(path, 0755);
    setenv("STRAIT_VKERNEL", path, 1);
    setenv("XDG_CACHE_HOME", p->folder, 1); /* which kernels boot */
    if (strait_emu_uml_check(true, &err) == 0)
        return true;
    strait_test_skip(err.text);
    return false;
}

/** Whether e.json can be emulated here; else the test is skipped. */
static inline bool can_emulate(const struct program *p)
{
    struct said s = PROGRAM_CALL(p, "check", "e.json", "--on", "emu");
    const bool can = s.status == 0;
    if (!can)
        strait_test_skip(s.err);
    said_release(&s);
    return can;
}

static inline void fake_guest_tear_down(void)
{
    unsetenv("STRAIT_VKERNEL");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("FAKE_GUEST");
}
