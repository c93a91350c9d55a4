#include "guest_kernel.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "core/hash.h"
#include "core/process.h"
#include "core/shipped.h"
#include "guest_dir.h"

#define PROMPT_NICE "-15"
enum { PATH_CHARS = STRAIT_EMU_KERNEL_PATH_CHARS, CONSOLE_BYTES = 65536, REASON_CHARS = 300 };
static const char stock[] = "linux.uml", trial_script[] = "emu/uml/vcheck.sh"; /* which ships */
/* What the trial's first process says (emu/uml/vcheck.sh). */
static const char boots_mark[] = "strait: boots", uptime_mark[] = "strait: uptime ",
                  cpu_mark[] = "strait: host_cpu ";
/* An idle machine takes 2 s. */
static const double TRIAL_LIMIT_S = 60;
static const double SLEPT_S = 3600;

size_t strait_emu_guest_kernel_wrap(const char **argv, bool as_root)
{
    size_t n = 0;
    if (as_root) { /* each of its system calls is two switches of the host's: no waiting for them */
        argv[n++] = "nice";
        argv[n++] = "-n";
        argv[n++] = PROMPT_NICE;
    }
    argv[n++] = "unshare";
    if (!as_root) { /* an ordinary user makes it in a user namespace */
        argv[n++] = "--user";
        argv[n++] = "--map-root-user";
    }
    /* Everything in a PID namespace ends with its first process. That is not the kernel, whose way
     * to end a panic is a signal that a first process does not get, but timeout, without a time of
     * its own. */
    argv[n++] = "--pid";
    argv[n++] = "--fork";
    argv[n++] = "--kill-child";
    argv[n++] = "timeout";
    argv[n++] = "0";
    return n;
}

/* The kernel that `make vkernel` builds; STRAIT_VKERNEL names another.
 * Returns: buf, or that name */
static const char *vkernel(char *buf, size_t cap)
{
    const char *named = getenv("STRAIT_VKERNEL");
    return named && *named ? named : strait_share_path(buf, cap, "vkernel/linux");
}

/* --- what was found before ---------------------------------------------------------------- */

/* The first line of a file that begins so, or "". */
static void line_of(char *out, size_t cap, const char *path, const char *begin)
{
    FILE *f = fopen(path, "re");
    bool found = false;
    while (f && !found && fgets(out, (int)cap, f))
        found = strncmp(out, begin, strlen(begin)) == 0;
    if (f)
        fclose(f);
    if (!found)
        *out = '\0';
}

/* Of everything that the answer depends on. */
static int key_of(char key[STRAIT_KEY_CHARS], const char *path, bool virtual_time)
{
    char flags[8192], name[512];
    struct utsname host;
    struct stat file, script = {0};
    if (stat(path, &file) != 0 || uname(&host) != 0)
        return -1;
    stat(strait_share_path(flags, sizeof(flags), trial_script), &script);
    line_of(flags, sizeof(flags), "/proc/cpuinfo", "flags");
    line_of(name, sizeof(name), "/proc/cpuinfo", "model name");
    json_t *all =
        json_pack("{s:s, s:I, s:I, s:I, s:I, s:s, s:s, s:s, s:s, s:b}", "path", path, "bytes",
                  (json_int_t)file.st_size, "inode", (json_int_t)file.st_ino, "changed",
                  1000000000 * (json_int_t)file.st_mtim.tv_sec + file.st_mtim.tv_nsec, "script",
                  (json_int_t)script.st_mtime, "release", host.release, "version", host.version,
                  "flags", flags, "processor", name, "virtual", virtual_time);
    const bool hashed = all && strait_hash_json(key, all);
    json_decref(all);
    return hashed ? 0 : -1;
}

/* The file that keeps the answer; its folder is made. False: this user has no such place. */
static bool cache_path(char path[PATH_CHARS], const char *kernel, bool virtual_time)
{
    char key[STRAIT_KEY_CHARS], folder[PATH_CHARS - 64];
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const bool named = cache && *cache == '/';
    if ((!named && (!home || *home != '/')) || key_of(key, kernel, virtual_time) != 0)
        return false;
    snprintf(folder, sizeof(folder), "%s%s", named ? cache : home, named ? "" : "/.cache");
    mkdir(folder, 0700);
    strncat(folder, "/strait", sizeof(folder) - strlen(folder) - 1);
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        return false;
    snprintf(path, PATH_CHARS, "%s/kernel-%s", folder, key);
    return true;
}

/* 1: it boots, 0: it does not (reason), -1: nobody knows. */
static int remembered(char reason[REASON_CHARS], const char *path)
{
    char line[REASON_CHARS] = "";
    FILE *f = fopen(path, "re");
    const bool there = f && fgets(line, sizeof(line), f);
    if (f)
        fclose(f);
    line[strcspn(line, "\n")] = '\0';
    if (!there || strncmp(line, "boots", 5) == 0)
        return there ? 1 : -1;
    snprintf(reason, REASON_CHARS, "%s", line);
    return *line ? 0 : -1;
}

/* Whole or not at all: commands may run side by side. */
static void remember(const char *path, const char *text)
{
    char draft[PATH_CHARS + 16];
    snprintf(draft, sizeof(draft), "%s.%d", path, (int)getpid());
    FILE *f = fopen(draft, "we");
    const bool written = f && fprintf(f, "%s\n", text) > 0;
    if ((f && fclose(f) != 0) || !written || rename(draft, path) != 0)
        unlink(draft);
}

/* --- booting it --------------------------------------------------------------------------- */

/* In virtual time an hour of sleep must pass, no more and no less, and work must be seen. */
static bool console_is_good(const char *console, bool virtual_time)
{
    double before_s, after_s, cpu;
    const char *slept = strstr(console, uptime_mark), *worked = strstr(console, cpu_mark);
    if (!strstr(console, boots_mark))
        return false;
    return !virtual_time ||
           (slept && sscanf(slept + strlen(uptime_mark), "%lf %lf", &before_s, &after_s) == 2 &&
            after_s - before_s >= SLEPT_S && after_s - before_s <= SLEPT_S + 1 && worked &&
            sscanf(worked + strlen(cpu_mark), "%lf", &cpu) == 1 && cpu > 0);
}

/* What of the console tells why: what is not modules' and devices' small talk. */
static void reason_of(char reason[REASON_CHARS], const char *console)
{
    static const char *const signs[] = {"ptrace ", "Kernel panic", "annot ", "rror", "ailed"};
    const char *at = NULL;
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]) && !at; i++)
        at = strstr(console, signs[i]);
    while (at && at > console && at[-1] != '\n')
        at--;
    snprintf(reason, REASON_CHARS, "%.*s", at ? (int)strcspn(at, "\r\n") : 0, at ? at : "");
    if (!at)
        snprintf(reason, REASON_CHARS, "it ended without a word of its first process");
}

/* A folder for the kernel's own files; its memory is a file beside them, which has no name. */
static int try_in(const char *folder, char *console, const struct strait_emu_guest_kernel *kernel,
                  bool virtual_time, struct strait_error *why)
{
    char files[PATH_CHARS + 16], where[PATH_CHARS + 16];
    char start[PATH_CHARS + 16], script[PATH_CHARS];
    const char *argv[32];
    const size_t n = strait_emu_guest_kernel_wrap(argv, geteuid() == 0);
    snprintf(files, sizeof(files), "TMPDIR=%s", folder);
    snprintf(where, sizeof(where), "uml_dir=%s", folder);
    snprintf(start, sizeof(start), "init=%s",
             strait_share_path(script, sizeof(script), trial_script));
    const char *const rest[] = {"env",
                                files,
                                kernel->path,
                                "mem=64M",
                                "root=/dev/root",
                                "rootfstype=hostfs",
                                "rootflags=/",
                                "ro",
                                start,
                                where,
                                "umid=trial",
                                "con=null",
                                "con0=null,fd:1",
                                "quiet",
                                virtual_time ? "time-travel=inf-cpu" : NULL,
                                NULL};
    memcpy(argv + n, rest, sizeof(rest));
    return strait_process_run(console, CONSOLE_BYTES, argv, NULL, TRIAL_LIMIT_S, why);
}

static void remove_trial(const char *folder)
{
    static const char *const left[] = {"trial/pid", "trial/mconsole", "trial", ""};
    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
        char path[PATH_CHARS + 16];
        snprintf(path, sizeof(path), "%s/%s", folder, left[i]);
        remove(path);
    }
}

/* 1: it boots, 0: it ends in a panic, -1: it does not, for a reason that may go away. */
static int try_it(char reason[REASON_CHARS], const struct strait_emu_guest_kernel *kernel,
                  bool virtual_time)
{
    const char *base = getenv("TMPDIR");
    char folder[PATH_CHARS];
    struct strait_error why = {0};
    char *console = calloc(1, CONSOLE_BYTES);
    snprintf(folder, sizeof(folder), "%.4000s/strait-kernel-XXXXXX", base && *base ? base : "/tmp");
    if (!console || !mkdtemp(folder)) {
        snprintf(reason, REASON_CHARS, "no folder to try it in: %s", strerror(errno));
        free(console);
        return -1;
    }
    const int status = try_in(folder, console, kernel, virtual_time, &why);
    remove_trial(folder);
    const bool good = console_is_good(console, virtual_time);
    const bool panicked = strstr(console, "Kernel panic") || strstr(console, "ptrace ") ||
                          strstr(why.text, "ptrace ");
    if (status < 0 && why.code == STRAIT_ERR_SYSTEM && !panicked)
        snprintf(reason, REASON_CHARS, "%.250s", why.text);
    else if (!good)
        reason_of(reason, panicked || !*why.text ? console : why.text);
    free(console);
    return good ? 1 : panicked ? 0 : -1;
}

/* Boot it, and see its first process run; in virtual time an hour must pass at once. The answer is
 * kept in the user's cache folder ($XDG_CACHE_HOME/strait or ~/.cache/strait) for this file, this
 * processor and this host's kernel; but not that it did not end in time, or ended without a panic,
 * which may have other reasons.
 * In:      again  do not look there
 * Returns: 0, or -1 with *err HOST: what the kernel said last */
static int boot_it(const struct strait_emu_guest_kernel *kernel, bool virtual_time, bool again,
                   struct strait_error *err)
{
    char cache[PATH_CHARS], reason[REASON_CHARS] = "";
    const bool keeps = cache_path(cache, kernel->path, virtual_time);
    int boots = keeps && !again ? remembered(reason, cache) : -1;
    if (boots < 0) {
        boots = try_it(reason, kernel, virtual_time);
        if (keeps && boots >= 0)
            remember(cache, boots ? "boots" : reason);
    }
    return boots == 1 ? 0 : strait_error_set(err, STRAIT_ERR_HOST, NULL, "%s", reason);
}

/* --- choosing ----------------------------------------------------------------------------- */

/* Programs of system folders, which an ordinary user's PATH may lack. */
static bool is_in_system(const char *name)
{
    char path[PATH_CHARS];
    if (strait_emu_guest_dir_program(path, sizeof(path), name))
        return true;
    snprintf(path, sizeof(path), "/usr/sbin/%s", name);
    return access(path, X_OK) == 0;
}

/* Debian's, if it is installed with what it needs. */
static int find_stock(struct strait_emu_guest_kernel *out, struct strait_error *why)
{
    out->is_built = false;
    if (!strait_emu_guest_dir_program(out->path, sizeof(out->path), stock))
        return strait_error_set(why, STRAIT_ERR_HOST, NULL,
                                "User-Mode Linux is not installed: apt install user-mode-linux "
                                "kmod, or make vkernel");
    if (!is_in_system("modprobe"))
        return strait_error_set(
            why, STRAIT_ERR_HOST, NULL,
            "modprobe, for User-Mode Linux, is not installed: apt install kmod, or make vkernel");
    return 0;
}

static bool find_built(struct strait_emu_guest_kernel *out)
{
    out->is_built = true;
    char shipped[STRAIT_EMU_KERNEL_PATH_CHARS];
    snprintf(out->path, sizeof(out->path), "%s", vkernel(shipped, sizeof(shipped)));
    return access(out->path, X_OK) == 0;
}

int strait_emu_guest_kernel_is_there(bool virtual_time, struct strait_error *err)
{
    struct strait_emu_guest_kernel kernel;
    if (find_built(&kernel))
        return 0;
    return virtual_time ? strait_error_set(err, STRAIT_ERR_HOST, NULL,
                                           "the kernel of the virtual-time guest is not built: "
                                           "make vkernel")
                        : find_stock(&kernel, err);
}

int strait_emu_guest_kernel_choose(struct strait_emu_guest_kernel *out, bool virtual_time,
                                   bool again, struct strait_error *err)
{
    struct strait_error of_stock = {0}, of_built = {0};
    if (strait_emu_guest_kernel_is_there(virtual_time, err) != 0)
        return -1;
    if (!virtual_time && find_stock(out, &of_stock) == 0 &&
        boot_it(out, false, again, &of_stock) == 0)
        return 0;
    if (!find_built(out))
        return strait_error_set(err, STRAIT_ERR_HOST, NULL,
                                "Debian's User-Mode Linux does not boot on this machine (%.200s): "
                                "make vkernel builds a kernel that does",
                                of_stock.text);
    if (boot_it(out, virtual_time, again, &of_built) == 0)
        return 0;
    return strait_error_set(err, STRAIT_ERR_HOST, NULL,
                            "%.200s does not boot on this machine%s (%.200s): make vkernel builds "
                            "it anew",
                            out->path, virtual_time ? " in virtual time" : "", of_built.text);
}
