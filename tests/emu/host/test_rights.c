/* What a process of a run may still do once the network stands. */
#include "emu/host/rights.h"
#include "emu/host/syscalls.h"
#include <errno.h>
#include <linux/seccomp.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/kit/emu_world.h"
#include "tests/kit/suite.h"

/* A line of /proc/self/status, hexadecimal; "NoNewPrivs" is one digit. */
static double status_of(const char *key)
{
    char line[256];
    unsigned long long value = 1ULL << 63;
    FILE *f = fopen("/proc/self/status", "re");
    while (f && fgets(line, sizeof(line), f))
        if (strncmp(line, key, strlen(key)) == 0)
            value = strtoull(line + strlen(key) + 1, NULL, 16);
    if (f)
        fclose(f);
    return (double)value;
}

/* What /proc says of a process whose system calls are filtered. */
#if defined(__SANITIZE_ADDRESS__) || !(defined(__x86_64__) || defined(__aarch64__))
enum { HAS_FILTER = 0 };
#else
enum { HAS_FILTER = 1 };
#define WITH_FILTER
#endif

enum { EFFECTIVE, PERMITTED, BOUNDING, NO_NEW_PRIVS, MOUNTED, FILTERS, N_NOTES };

static void note_rights(struct strait_rank *r)
{
    double *notes = board_of(r)->numbers[r->me];
    notes[EFFECTIVE] = status_of("CapEff");
    notes[PERMITTED] = status_of("CapPrm");
    notes[BOUNDING] = status_of("CapBnd");
    notes[NO_NEW_PRIVS] = status_of("NoNewPrivs");
    notes[MOUNTED] = mount("tmpfs", "/mnt", "tmpfs", 0, NULL) == 0;
    notes[FILTERS] = status_of("Seccomp:");
}

static void a_rank_keeps_the_right_to_be_prompt_only(void)
{
    const double nice = 1 << 23; /* CAP_SYS_NICE is number 23 */
    struct world w;
    struct strait_error err = {.code = STRAIT_OK};
    world_init(&w, 2, 1e9, 0.01);
    w.run.rank_main = note_rights;
    w.run.realisation = "relay";
    w.run.dilation = 1;
    if (strait_emu.check(&w.run, &err) != 0) {
        strait_test_skip(err.text);
    } else {
        CU_ASSERT_FATAL(strait_emu.run(&w.run, &err) == 0);
        for (int i = 0; i < 2; i++) {
            const double *notes = w.board->numbers[i];
            /* some containers never give it */
            CU_ASSERT(notes[BOUNDING] == nice || notes[BOUNDING] == 0);
            CU_ASSERT_EQUAL(notes[EFFECTIVE], notes[BOUNDING]);
            CU_ASSERT_EQUAL(notes[PERMITTED], notes[BOUNDING]);
            CU_ASSERT_EQUAL(notes[NO_NEW_PRIVS], 1);
            CU_ASSERT_EQUAL(notes[MOUNTED], 0);
            if (HAS_FILTER && prctl(PR_GET_SECCOMP) >= 0)
                CU_ASSERT_EQUAL(notes[FILTERS], SECCOMP_MODE_FILTER);
        }
    }
    world_release(&w);
}

/* In a child: give up all but what is to be kept. */
static int drop_and_look(uint64_t keep, bool no_new_privs)
{
    const bool told_before = status_of("NoNewPrivs") == 1; /* by a container */
    const pid_t pid = fork();
    if (pid == 0) {
        struct strait_error err = {.code = STRAIT_OK};
        const bool dropped = strait_emu_rights_drop(keep, no_new_privs, &err) == 0;
        const bool none = status_of("CapEff") == 0 && status_of("CapPrm") == 0 &&
                          status_of("CapInh") == 0 && status_of("CapAmb") == 0;
        const bool told = status_of("NoNewPrivs") == (no_new_privs || told_before);
        _exit(dropped && none && told && setuid(1) == (geteuid() == 1 ? 0 : -1) ? 0 : 1);
    }
    int status = 1;
    waitpid(pid, &status, 0);
    return status;
}

static void all_rights_can_be_given_up(void)
{
    CU_ASSERT_EQUAL(drop_and_look(STRAIT_EMU_KEEP_NOTHING, true), 0);
    CU_ASSERT_EQUAL(drop_and_look(STRAIT_EMU_KEEP_NOTHING, false), 0);
}

/* Each of these would fail otherwise than with EPERM, or succeed: there is no such program, no
 * process 0 to trace, and nothing to leave. */
static int refuse_and_try(void)
{
    const pid_t pid = fork();
    if (pid == 0) {
        char *const none[] = {NULL};
        struct strait_error err = {.code = STRAIT_OK};
        const bool ready = prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0 &&
                           strait_emu_syscalls_refuse(&err) == 0;
        const bool no_program = execve("/no/such/program", none, none) == -1 && errno == EPERM,
                   no_trace = ptrace(PTRACE_CONT, 0, NULL, NULL) == -1 && errno == EPERM,
                   no_world = unshare(0) == -1 && errno == EPERM;
        const pid_t other = fork();
        if (other == 0)
            _exit(unshare(0) == -1 && errno == EPERM ? 0 : 1);
        int status = 1;
        const bool inherited = other > 0 && waitpid(other, &status, 0) == other && status == 0;
        _exit(ready && no_program && no_trace && no_world && inherited ? 0 : 1);
    }
    int status = 1;
    waitpid(pid, &status, 0);
    return status;
}

static void system_calls_can_be_given_up(void)
{
    if (!HAS_FILTER || prctl(PR_GET_SECCOMP) < 0)
        strait_test_skip("this build or this kernel has no filters of system calls");
    else
        CU_ASSERT_EQUAL(refuse_and_try(), 0);
}

/* With arguments that none of them takes: bad addresses, files and flags. So they do nothing where
 * they are not refused, and say something else. */
#ifdef WITH_FILTER
static const long refused[] = {
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kcmp,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_setns,
    SYS_unshare,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_name_to_handle_at,
    SYS_open_by_handle_at,
    SYS_swapon,
    SYS_swapoff,
    SYS_quotactl,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_reboot,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_acct,
    SYS_syslog,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_personality,
#if defined(__x86_64__)
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
#endif
};
/* Neighbours of these, what ranks need, and the first and the last numbers. */
static const long allowed[] = {
    SYS_read,   SYS_write,      SYS_close,  SYS_futex,  SYS_sendmsg, SYS_recvmsg,         SYS_mmap,
    SYS_munmap, SYS_epoll_ctl,  SYS_openat, SYS_getpid, SYS_gettid,  SYS_clock_nanosleep, SYS_prctl,
    SYS_getcpu, SYS_close_range};

static bool is_refused(long number)
{
    errno = 0;
    return syscall(number, -1L, -1L, -1L, -1L, -1L, -1L) == -1 && errno == EPERM;
}
#endif

static void each_system_call(void)
{
#ifdef WITH_FILTER
    int status = -1;
    if (prctl(PR_GET_SECCOMP) < 0) {
        strait_test_skip("this kernel has no filters of system calls");
        return;
    }
    fflush(stdout);
    const pid_t pid = fork();
    CU_ASSERT_FATAL(pid >= 0);
    if (pid == 0) {
        CU_ASSERT_EQUAL(prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL), 0);
        CU_ASSERT_EQUAL(strait_emu_syscalls_refuse(NULL), 0);
        for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
            strait_test_context("call %ld", refused[i]);
            CU_ASSERT(is_refused(refused[i]));
        }
        for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed); i++) {
            strait_test_context("call %ld", allowed[i]);
            CU_ASSERT_FALSE(is_refused(allowed[i]));
        }
#if defined(__x86_64__)
        strait_test_context("%s", "calls with 32-bit pointers");
        CU_ASSERT(is_refused(0x40000000 + SYS_getpid));
        CU_ASSERT(is_refused(0x40000000));
#endif
        _exit(0);
    }
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT_EQUAL(status, 0);
#else
    strait_test_skip("this build has no filters of system calls");
#endif
}

static const struct strait_test tests[] = {
    {"a rank keeps the right to be prompt only", a_rank_keeps_the_right_to_be_prompt_only},
    {"all rights can be given up", all_rights_can_be_given_up},
    {"what a rank does not need of the kernel is refused", system_calls_can_be_given_up},
    {"each call of the list is refused, and others are not", each_system_call},
};
STRAIT_SUITE_WITH("emu/host/rights", tests, .release = true);
