#include "qemu.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/host.h"
#include "core/process.h"
#include "core/shipped.h"
#include "guest_archive.h"
#include <archive.h>
#include "guest_dir.h"

enum { PATH_CHARS = 4096, MAX_ARGS = 300 };
static const char program[] = "qemu-system-x86_64", busybox[] = "/bin/busybox";
static const char kernel[] = "qguest/vmlinuz"; /* below what ships */
/* In the guest's memory files are there twice, while the kernel unpacks them. */
static const double COPIES = 2, SHARE = 0.8, STEP_BYTES = 256.0 * 1048576;
static const double TAR_LIMIT_S = 60;

/* What of the tree a run reads, and how deep. */
static const struct {
    const char *path;
    int depth;
} shipped[] = {{"traces", 3},  {"experiments", 2}, {"codecs/profiles", 1},
               {"emu/uml", 1}, {"emu/qemu", 1},    {"qguest", 1}};
/* What runs there beside our own program and busybox; found in PATH of the guest. */
static const char *const programs[] = {"/usr/bin/ping", "/usr/bin/env"};

int strait_emu_qemu_check(struct strait_error *err)
{
    char path[PATH_CHARS];
    if (!strait_emu_guest_dir_program(path, sizeof(path), program))
        return strait_error_set(err, STRAIT_ERR_HOST, NULL,
                                "QEMU (qemu-system-x86) is not installed: make qemu");
    if (access(busybox, X_OK) != 0)
        return strait_error_set(err, STRAIT_ERR_HOST, NULL,
                                "busybox-static, for QEMU's guest, is not installed: make qemu");
    if (access(programs[0], X_OK) != 0)
        return strait_error_set(err, STRAIT_ERR_HOST, NULL,
                                "ping, for QEMU's guest, is not installed: apt install "
                                "iputils-ping");
    if (access(strait_share_path(path, sizeof(path), kernel), R_OK) != 0)
        return strait_error_set(err, STRAIT_ERR_HOST, NULL,
                                "the kernel of QEMU's guest is not there: make qemu");
    return 0;
}

/* --- the guest's files -------------------------------------------------------------------- */

static int add_any(struct strait_emu_archive *a, const char *path, struct strait_error *err)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode)
               ? strait_emu_archive_add_folder(a, path, 1, err)
               : strait_emu_archive_add(a, path, err);
}

static int add_job(struct strait_emu_archive *a, const char *job, struct strait_error *err)
{
    static const char *const names[] = {"argv", "read", "write"};
    int failed = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !failed; i++) {
        char path[PATH_CHARS];
        snprintf(path, sizeof(path), "%s/%s", job, names[i]);
        failed = strait_emu_archive_add(a, path, err);
    }
    return failed;
}

static int add_all(struct strait_emu_archive *a, const struct strait_emu_uml_plan *plan,
                   struct strait_error *err)
{
    char path[PATH_CHARS];
    int failed = strait_emu_archive_add(a, busybox, err) != 0 ||
                 strait_emu_archive_add_link(a, "/bin/sh", "busybox", err) != 0 ||
                 strait_emu_archive_add_program(a, plan->argv[0], err) != 0 ||
                 strait_emu_archive_add(a, plan->folder, err) != 0 ||
                 add_job(a, plan->job, err) != 0;
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]) && !failed; i++)
        failed = strait_emu_archive_add_program(a, programs[i], err);
    for (size_t i = 0; i < sizeof(shipped) / sizeof(shipped[0]) && !failed; i++)
        failed = strait_emu_archive_add_folder(
            a, strait_share_path(path, sizeof(path), shipped[i].path), shipped[i].depth, err);
    for (size_t i = 0; plan->read && plan->read[i] && !failed; i++)
        failed = add_any(a, plan->read[i], err);
    for (size_t i = 0; plan->write && plan->write[i] && !failed; i++)
        failed = strait_emu_archive_add_folder(a, plan->write[i], 1, err);
    return failed ? -1 : 0;
}

static int pack(double *n_bytes, const char *path, const struct strait_emu_uml_plan *plan,
                struct strait_error *err)
{
    struct strait_emu_archive a;
    if (strait_emu_archive_init(&a, path, err) != 0)
        return -1;
    const int failed = add_all(&a, plan, err) != 0 ? -1 : strait_emu_archive_finish(&a, err);
    *n_bytes = (double)archive_filter_bytes(a.writer, -1);
    strait_emu_archive_release(&a);
    return failed;
}

/* --- running ------------------------------------------------------------------------------ */

/* What the guest wrote, from the archive that it left: nothing else may be in there. */
static int unpack(const char *back, const struct strait_emu_uml_plan *plan,
                  struct strait_error *err)
{
    const char *argv[MAX_ARGS] = {
        "tar", "-x", "-m", "--no-same-owner", "--no-overwrite-dir", "-C", "/", "-f", back, "--"};
    size_t n = 10;
    char job[PATH_CHARS];
    struct stat st;
    snprintf(job, sizeof(job), "%s", plan->job + 1);
    if (stat(back, &st) != 0 || st.st_size == 0)
        return 0; /* it ended before; its status is missing and will be noticed */
    argv[n++] = job;
    for (size_t i = 0; plan->write && plan->write[i] && n < MAX_ARGS - 1; i++)
        argv[n++] = plan->write[i] + 1;
    argv[n] = NULL;
    struct strait_error why = {0};
    if (strait_process_run(NULL, 0, argv, NULL, TAR_LIMIT_S, &why) == 0)
        return 0;
    return strait_error_set(err, STRAIT_ERR_BACKEND, plan->job,
                            "what QEMU's guest wrote cannot be unpacked: %.300s", why.text);
}

/* What x86 takes of the kernel's command line. */
enum { LINE_CHARS = 2048 };

static int boot(const struct strait_emu_uml_plan *plan, double memory_bytes, const char *files,
                const char *back, struct strait_error *err)
{
    char memory[64], console[PATH_CHARS + 16], chardev[PATH_CHARS + 32], line[LINE_CHARS];
    char at[PATH_CHARS], init[PATH_CHARS];
    snprintf(memory, sizeof(memory), "%.0fM", memory_bytes / 1048576);
    snprintf(console, sizeof(console), "file:%s/" STRAIT_EMU_UML_CONSOLE, plan->job);
    snprintf(chardev, sizeof(chardev), "file,id=back,path=%s", back);
    if (snprintf(line, sizeof(line),
                 "console=ttyS0 panic=-1 quiet reboot=t mitigations=off tsc=reliable "
                 "rootfstype=ramfs rdinit=%s " STRAIT_EMU_QEMU_MARK " JOB=%s",
                 strait_share_path(init, sizeof(init), "emu/qemu/init.sh"),
                 plan->job) >= LINE_CHARS)
        return strait_refuse(err, plan->job,
                             "expected a shorter path, a kernel takes %d characters",
                             LINE_CHARS - 1);
    const char *const argv[] = {
        program, "-M", "microvm,pic=on,pit=on,rtc=on", "-accel", "tcg,thread=single",
        /* one instruction, one nanosecond; and no waiting where nothing is to be done */
        "-icount", "shift=0,sleep=off",
        /* its random numbers would be the host's; and it counts every byte that erms copies */
        "-cpu", "max,-rdrand,-rdseed,-erms", "-seed", "1", "-rtc", "base=2024-01-01,clock=vm",
        "-smp", "1", "-m", memory, "-nodefaults", "-no-user-config", "-display", "none", "-serial",
        console, "-chardev", chardev, "-device",
        "isa-serial,chardev=back,index=1,iobase=0x2f8,irq=3", "-no-reboot", "-kernel",
        strait_share_path(at, sizeof(at), kernel), "-initrd", files, "-append", line, NULL};
    struct strait_error why = {0};
    const int status = strait_process_run(NULL, 0, argv, NULL, plan->limit_s, &why);
    if (status == 0)
        return 0;
    return strait_error_set(err, status > 0 ? STRAIT_ERR_BACKEND : why.code, "QEMU", "%.400s",
                            why.text);
}

int strait_emu_qemu_run(const struct strait_emu_uml_plan *plan, struct strait_error *err)
{
    char files[PATH_CHARS], back[PATH_CHARS], share[PATH_CHARS];
    double files_bytes = 0;
    snprintf(files, sizeof(files), "%s/files", plan->job);
    snprintf(back, sizeof(back), "%s/back", plan->job);
    if (strait_emu_qemu_check(err) != 0 ||
        strait_emu_guest_dir_check_folder(strait_share_path(share, sizeof(share), ""), err) != 0 ||
        strait_emu_guest_dir_write_plan(plan, err) != 0)
        return -1;
    unlink(back);
    int status = pack(&files_bytes, files, plan, err);
    const double bytes =
        STEP_BYTES * ceil((plan->memory_bytes + COPIES * files_bytes) / STEP_BYTES);
    const double host_bytes = strait_host_memory_bytes("MemAvailable");
    if (status == 0 && bytes > SHARE * host_bytes)
        status = strait_error_set(err, STRAIT_ERR_HOST, NULL,
                                  "QEMU's guest would need %.3g GB of memory, this machine has "
                                  "%.3g GB free and may give %.0f %% of it",
                                  bytes / 1e9, host_bytes / 1e9, 100 * SHARE);
    if (status == 0)
        status = boot(plan, bytes, files, back, err);
    if (status == 0)
        status = unpack(back, plan, err);
    unlink(files);
    unlink(back);
    return status != 0 ? -1 : strait_emu_guest_dir_status(plan, bytes, "QEMU's guest", err);
}
