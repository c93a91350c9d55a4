#include "uml.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "core/host.h"
#include "core/process.h"
#include "core/shipped.h"
#include "one_cpu.h"

enum { PATH_CHARS = 4096, CONSOLE_BYTES = 65536 };
static const char init[] = "emu/uml/init.sh"; /* which ships */
/* Kernel and its tables, user land; what a rank's process, namespace and sockets take beside its
 * tensors. */
static const double GUEST_BYTES = 256e6, RANK_BYTES = 12e6;
/* What ranks may take of the guest's free memory, and the guest of the host's. In virtual time the
 * need is better known: what else there is beside the ranks is given, and less is used. */
static const double SHARE = 0.8, VIRTUAL_SHARE = 0.92, STEP_BYTES = 512.0 * 1048576;
static const double LARGE_BYTES = 4096.0 * 1048576, LARGE_STEP_BYTES = 1024.0 * 1048576;

double strait_emu_uml_memory_bytes(bool virtual_time, int n_ranks, double ranks_bytes,
                                   double other_bytes)
{
    const double min_bytes =
        GUEST_BYTES + RANK_BYTES * n_ranks + ranks_bytes / (virtual_time ? 1 : SHARE) + other_bytes;
    double bytes = STEP_BYTES;
    while (bytes < min_bytes && bytes < LARGE_BYTES)
        bytes *= 2;
    return min_bytes <= bytes ? bytes : LARGE_STEP_BYTES * ceil(min_bytes / LARGE_STEP_BYTES);
}

int strait_emu_uml_find(struct strait_emu_guest_kernel *kernel, bool virtual_time, bool again,
                        struct strait_error *err)
{
    const char *argv[16];
    struct strait_error why = {0};
    if (strait_emu_guest_kernel_is_there(virtual_time, err) != 0)
        return -1;
    const size_t n = strait_emu_guest_kernel_wrap(argv, geteuid() == 0);
    argv[n] = "true";
    argv[n + 1] = NULL;
    if (strait_process_run(NULL, 0, argv, NULL, 10, &why) != 0)
        return strait_error_set(err, STRAIT_ERR_HOST, NULL,
                                "no process namespace for User-Mode Linux: %.300s", why.text);
    return strait_emu_guest_kernel_choose(kernel, virtual_time, again, err);
}

int strait_emu_uml_check(bool virtual_time, struct strait_error *err)
{
    struct strait_emu_guest_kernel kernel;
    return strait_emu_uml_find(&kernel, virtual_time, false, err);
}

/* --- memory ------------------------------------------------------------------------------- */

/* The guest's memory is a file without a name: in memory where that has room, else beside the work
 * files. Too little room there would kill the guest in the middle. */
static const char *backing_folder(const char *job, double bytes)
{
    const char *const folders[] = {"/dev/shm", job};
    for (size_t i = 0; i < 2; i++) {
        struct statvfs fs;
        if (statvfs(folders[i], &fs) == 0 && access(folders[i], W_OK) == 0 &&
            (double)fs.f_bavail * (double)fs.f_frsize >= bytes)
            return folders[i];
    }
    return NULL;
}

/* What the kernel itself left there if it was killed. */
static int prepare(const struct strait_emu_uml_plan *plan, struct strait_error *err)
{
    static const char *const old[] = {"guest/pid", "guest/mconsole"};
    char path[PATH_CHARS];
    if (strait_emu_guest_dir_check_folder(strait_share_path(path, sizeof(path), init), err) != 0 ||
        strait_emu_guest_dir_write_plan(plan, err) != 0)
        return -1;
    for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", plan->job, old[i]);
        unlink(path);
    }
    return 0;
}

/* --- running ------------------------------------------------------------------------------ */

static int boot(const struct strait_emu_uml_plan *plan,
                const struct strait_emu_guest_kernel *kernel, const char *backing,
                struct strait_error *err)
{
    char *console = malloc(CONSOLE_BYTES);
    char memory[64], files[PATH_CHARS], where[PATH_CHARS], job[PATH_CHARS], start[PATH_CHARS + 8];
    char shipped[PATH_CHARS];
    const char *argv[32];
    if (!console)
        return strait_error_memory(err, NULL);
    snprintf(memory, sizeof(memory), "mem=%.0fM", ceil(plan->memory_bytes / 1048576));
    snprintf(files, sizeof(files), "TMPDIR=%s", backing);
    snprintf(where, sizeof(where), "uml_dir=%s", plan->job);
    snprintf(job, sizeof(job), "JOB=%s", plan->job);
    snprintf(start, sizeof(start), "init=%s", strait_share_path(shipped, sizeof(shipped), init));
    const size_t n = strait_emu_guest_kernel_wrap(argv, geteuid() == 0);
    const char *const rest[] = {"env", files, kernel->path, memory, "root=/dev/root",
                                "rootfstype=hostfs", "rootflags=/", "ro", start, job, where,
                                "umid=guest", "con=null", "con0=null,fd:1", "quiet",
                                /* what it does not know becomes its first process's environment */
                                plan->virtual_time ? "time-travel=inf-cpu"
                                : kernel->is_built ? NULL
                                                   : "MODULES=yes",
                                NULL};
    memcpy(argv + n, rest, sizeof(rest));
    struct strait_error why = {0};
    /* Of the kernel and its processes one runs at a time. Where the next one has to wake another
     * processor, a guest takes twice the time, and what it measures depends on whose caches hold
     * its data. */
    struct strait_one_cpu one = {.fd = -1};
    if (plan->virtual_time)
        strait_one_cpu_take(&one, "guest");
    const int status = strait_process_run(console, CONSOLE_BYTES, argv, NULL, plan->limit_s, &why);
    strait_one_cpu_give_back(&one);
    strait_emu_guest_dir_write(plan->job, STRAIT_EMU_UML_CONSOLE, console, strlen(console), NULL);
    free(console);
    if (status >= 0 || why.code == STRAIT_ERR_BACKEND) /* its status says nothing, the file does */
        return 0;
    if (why.code == STRAIT_ERR_SYSTEM)
        return strait_error_set(err, STRAIT_ERR_SYSTEM, "User-Mode Linux", "%.400s", why.text);
    if (err && err->code == STRAIT_OK)
        *err = why;
    return -1;
}

int strait_emu_uml_run(const struct strait_emu_uml_plan *plan, struct strait_error *err)
{
    struct strait_emu_guest_kernel kernel;
    if (strait_emu_uml_find(&kernel, plan->virtual_time, false, err) != 0 ||
        prepare(plan, err) != 0)
        return -1;
    const double host_bytes = strait_host_memory_bytes("MemAvailable");
    const double share = plan->virtual_time ? VIRTUAL_SHARE : SHARE;
    if (plan->memory_bytes > share * host_bytes)
        return strait_error_set(err, STRAIT_ERR_HOST, NULL,
                                "User-Mode Linux would need %.3g GB of memory, this machine has "
                                "%.3g GB free and may give %.0f %% of it",
                                plan->memory_bytes / 1e9, host_bytes / 1e9, 100 * share);
    const char *backing = backing_folder(plan->job, plan->memory_bytes);
    if (!backing)
        return strait_error_set(err, STRAIT_ERR_HOST, NULL,
                                "User-Mode Linux needs %.3g GB for its memory's file, neither "
                                "/dev/shm nor %s has that",
                                plan->memory_bytes / 1e9, plan->job);
    return boot(plan, &kernel, backing, err) != 0
               ? -1
               : strait_emu_guest_dir_status(plan, plan->memory_bytes, "User-Mode Linux", err);
}
