#include "syscalls.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#if defined(ARCHITECTURE) && !defined(__SANITIZE_ADDRESS__)
/* On x86-64 numbers from here on are those of its 32-bit pointers: another name of the same
 * calls. */
enum { X32_CALLS = 0x40000000 };

/* clang-format off */
static const unsigned refused[] = {
    /* other programs, other processes */
    SYS_execve, SYS_execveat, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp,
    /* namespaces and mounts */
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_setns, SYS_unshare, SYS_open_tree,
    SYS_move_mount, SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_name_to_handle_at,
    SYS_open_by_handle_at, SYS_swapon, SYS_swapoff, SYS_quotactl,
    /* the kernel */
    SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_kexec_file_load,
    SYS_reboot, SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_io_uring_setup,
    SYS_io_uring_enter, SYS_io_uring_register, SYS_add_key, SYS_request_key, SYS_keyctl, SYS_acct,
    SYS_syslog,
    /* clocks and names */
    SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime, SYS_adjtimex, SYS_sethostname,
    SYS_setdomainname, SYS_personality,
#if defined(__x86_64__)
    SYS_iopl, SYS_ioperm, SYS_modify_ldt,
#endif
};
/* clang-format on */

/* Seccomp reads the number and the architecture of a call as words of struct seccomp_data. */
static struct sock_filter load(size_t offset)
{
    return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset);
}

int strait_emu_syscalls_refuse(struct strait_error *err)
{
    enum { N = sizeof(refused) / sizeof(*refused) };
    struct sock_filter code[N + 6];
    unsigned char n = 0;
    const unsigned char no = N + 5; /* the last: refuse */
    code[n++] = load(offsetof(struct seccomp_data, arch));
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 0, no - 2);
    code[n++] = load(offsetof(struct seccomp_data, nr));
    code[n] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_CALLS, no - n - 1, 0);
    n++;
    for (size_t i = 0; i < N; i++, n++)
        code[n] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused[i], no - n - 1, 0);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    const struct sock_fprog program = {n, code};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0UL, 0UL) == 0 || errno == EINVAL ||
        errno == ENOSYS) /* a guest's kernel may have been built without */
        return 0;
    return strait_error_system(err, "PR_SET_SECCOMP", "cannot give up system calls");
}
#else
int strait_emu_syscalls_refuse(struct strait_error *err)
{
    (void)err;
    return 0;
}
#endif
