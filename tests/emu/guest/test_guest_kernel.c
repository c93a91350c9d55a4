/* Which kernel a guest boots, with scripts in the places of both kernels: they say what a kernel's
 * console says, and leave a word for each time that they were booted. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/process.h"
#include "emu/guest/guest_kernel.h"
#include "emu/guest/uml.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"

/* As Debian's says on a processor with AMX, ended by the signal of its panic. */
#define PANICS                                                                                     \
    "echo 'umid is in use'; echo 'userspace - ptrace set fp regs failed, errno = 14'; "            \
    "echo 'Kernel panic - not syncing: Attempted to kill init!'; kill -ABRT $$"
#define BOOTS    "echo 'strait: boots'"
#define NO_WORD  "exit 1"
#define TIME(to) "echo 'strait: host_cpu 5200'; echo 'strait: uptime 7 " to "'; " BOOTS

struct world {
    char folder[64], path[PATH_MAX], before[PATH_MAX], cache_before[PATH_MAX];
    char built[96], stock[96];
};

static void set_up(struct world *w)
{
    const char *cache = getenv("XDG_CACHE_HOME");
    snprintf(w->cache_before, sizeof(w->cache_before), "%s", cache ? cache : "");
    snprintf(w->before, sizeof(w->before), "%s", getenv("PATH"));
    strcpy(w->folder, "/tmp/strait-test-XXXXXX");
    CU_ASSERT_FATAL(mkdtemp(w->folder) != NULL);
    snprintf(w->stock, sizeof(w->stock), "%s/linux.uml", w->folder);
    snprintf(w->built, sizeof(w->built), "%s/built", w->folder);
    snprintf(w->path, sizeof(w->path), "%s:/usr/sbin:/usr/bin:/sbin:/bin", w->folder);
    setenv("PATH", w->path, 1);
    setenv("XDG_CACHE_HOME", w->folder, 1);
    setenv("STRAIT_VKERNEL", w->built, 1);
}

static void tear_down(struct world *w)
{
    setenv("PATH", w->before, 1);
    unsetenv("STRAIT_VKERNEL");
    if (*w->cache_before)
        setenv("XDG_CACHE_HOME", w->cache_before, 1);
    else
        unsetenv("XDG_CACHE_HOME");
    folder_remove(w->folder);
}

static void write_kernel(const char *path, const char *says)
{
    FILE *f = fopen(path, "we");
    CU_ASSERT_FATAL(f != NULL);
    fprintf(f, "#!/bin/sh\necho x >>%s.booted\n%s\n", path, says);
    fclose(f);
    chmod(path, 0755);
}

static int n_boots(const char *path)
{
    char name[128];
    snprintf(name, sizeof(name), "%s.booted", path);
    char *text = folder_text("/", name);
    const int n = (int)strlen(text) / 2;
    free(text);
    return n;
}

/* "stock", "built", or what was said. */
static const char *choice(const struct world *w, bool virtual_time, bool again,
                          struct strait_error *err)
{
    struct strait_emu_guest_kernel kernel;
    *err = (struct strait_error){0};
    if (strait_emu_guest_kernel_choose(&kernel, virtual_time, again, err) != 0) {
        CU_ASSERT_EQUAL(err->code, STRAIT_ERR_HOST); /* exit status 3 */
        return err->text;
    }
    const char *wanted = kernel.is_built ? w->built : w->stock;
    CU_ASSERT_STRING_EQUAL(kernel.path, wanted);
    return kernel.is_built ? "built" : "stock";
}

/* The trial runs in a PID namespace. */
static bool can_try(void)
{
    const char *argv[16];
    const size_t n = strait_emu_guest_kernel_wrap(argv, geteuid() == 0);
    struct strait_error err = {0};
    argv[n] = "true";
    argv[n + 1] = NULL;
    if (strait_process_run(NULL, 0, argv, NULL, 30, &err) == 0)
        return true;
    strait_test_skip("no process namespace here");
    return false;
}

static void stock_first(void)
{
    struct world w = {0};
    struct strait_error err;
    if (!can_try())
        return;
    set_up(&w);
    write_kernel(w.stock, BOOTS);
    write_kernel(w.built, BOOTS);
    CU_ASSERT_STRING_EQUAL(choice(&w, false, false, &err), "stock");
    CU_ASSERT_EQUAL(n_boots(w.built), 0);
    write_kernel(w.stock, PANICS);
    CU_ASSERT_STRING_EQUAL(choice(&w, false, false, &err), "built");
    tear_down(&w);
}

static void what_to_do(void)
{
    struct world w = {0};
    struct strait_error err;
    char wanted[512];
    if (!can_try())
        return;
    set_up(&w);
    CU_ASSERT_STRING_EQUAL(choice(&w, true, false, &err),
                           "the kernel of the virtual-time guest is not built: make vkernel");
    write_kernel(w.stock, PANICS);
    CU_ASSERT_STRING_EQUAL(choice(&w, false, false, &err),
                           "Debian's User-Mode Linux does not boot on this machine (userspace - "
                           "ptrace set fp regs failed, errno = 14): make vkernel builds a kernel "
                           "that does");
    write_kernel(w.built, PANICS);
    snprintf(wanted, sizeof(wanted),
             "%s does not boot on this machine (userspace - ptrace set fp regs failed, errno = "
             "14): make vkernel builds it anew",
             w.built);
    CU_ASSERT_STRING_EQUAL(choice(&w, false, false, &err), wanted);
    tear_down(&w);
}

/* An hour must have passed, 3600 s of sleep beside at most one. */
static void virtual_time(void)
{
    const struct {
        const char *says;
        bool good;
    } cases[] = {{TIME("3607"), true},
                 {TIME("3608"), true},
                 {TIME("7"), false},
                 {TIME("7300"), false},
                 {"echo 'strait: host_cpu 0'; echo 'strait: uptime 7 3607'; " BOOTS, false},
                 {BOOTS, false}};
    struct world w = {0};
    struct strait_error err;
    if (!can_try())
        return;
    set_up(&w);
    write_kernel(w.stock, BOOTS); /* nobody asks it */
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        write_kernel(w.built, cases[i].says);
        const bool good = strcmp(choice(&w, true, true, &err), "built") == 0;
        CU_ASSERT_EQUAL(good, cases[i].good);
        CU_ASSERT(good ||
                  strstr(err.text, "does not boot on this machine in virtual time") != NULL);
    }
    CU_ASSERT_EQUAL(n_boots(w.stock), 0);
    tear_down(&w);
}

/* Boots and panics are remembered until somebody asks again or the file changes; what may have
 * another reason is not. */
static void memory(void)
{
    struct world w = {0};
    struct strait_error err;
    if (!can_try())
        return;
    set_up(&w);
    write_kernel(w.stock, BOOTS);
    for (int i = 0; i < 3; i++)
        CU_ASSERT_STRING_EQUAL(choice(&w, false, false, &err), "stock");
    CU_ASSERT_EQUAL(n_boots(w.stock), 1);
    CU_ASSERT_STRING_EQUAL(choice(&w, false, true, &err), "stock");
    CU_ASSERT_EQUAL(n_boots(w.stock), 2);
    write_kernel(w.stock, PANICS);
    for (int i = 0; i < 3; i++)
        CU_ASSERT(strstr(choice(&w, false, false, &err), "errno = 14") != NULL);
    CU_ASSERT_EQUAL(n_boots(w.stock), 3);
    write_kernel(w.stock, NO_WORD);
    for (int i = 0; i < 3; i++)
        CU_ASSERT(strstr(choice(&w, false, false, &err), "make vkernel") != NULL);
    CU_ASSERT_EQUAL(n_boots(w.stock), 6);
    /* nowhere to keep it: booted each time, and right all the same */
    setenv("XDG_CACHE_HOME", "/proc/nothing", 1);
    write_kernel(w.stock, BOOTS);
    for (int i = 0; i < 2; i++)
        CU_ASSERT_STRING_EQUAL(choice(&w, false, false, &err), "stock");
    CU_ASSERT_EQUAL(n_boots(w.stock), 8);
    tear_down(&w);
}

/* As root before others; an ordinary user's in a user namespace. Both end with their first process.
 */
static void wrapped(void)
{
    static const char *const expected[] = {
        "unshare --user --map-root-user --pid --fork --kill-child timeout 0",
        "nice -n -15 unshare --pid --fork --kill-child timeout 0"};
    for (int as_root = 0; as_root < 2; as_root++) {
        const char *argv[16];
        char joined[200] = "";
        const size_t n = strait_emu_guest_kernel_wrap(argv, as_root);
        for (size_t i = 0; i < n; i++)
            snprintf(joined + strlen(joined), sizeof(joined) - strlen(joined), "%s%s",
                     i > 0 ? " " : "", argv[i]);
        CU_ASSERT_STRING_EQUAL(joined, expected[as_root]);
    }
}

/* What a kernel that is no kernel is started with, and what it finds in the folder of its job. */
static void started(void)
{
    static const char *const argv[] = {"/bin/echo", "two words", NULL},
                             *const env[] = {"A=b", NULL}, *const read[] = {"/usr", "/opt", NULL};
    struct world w = {0};
    struct strait_error err = {0};
    char says[700], job[96], file[128], expected[400];
    size_t n;
    if (!can_try())
        return;
    set_up(&w);
    snprintf(job, sizeof(job), "%s/job", w.folder);
    CU_ASSERT_EQUAL_FATAL(mkdir(job, 0755), 0);
    snprintf(says, sizeof(says),
             "case \"$*\" in *JOB=%s*) echo $*; echo files $TMPDIR; echo 7 >%s/status;; *) " BOOTS
             ";; esac",
             job, job);
    write_kernel(w.stock, says);
    static const char *const old[] = {"guest/pid", "guest/mconsole", "status", "stdout", "stderr"};
    snprintf(file, sizeof(file), "%s/guest", job);
    CU_ASSERT_EQUAL_FATAL(mkdir(file, 0755), 0);
    for (size_t i = 0; i < sizeof(old) / sizeof(*old); i++) { /* of a guest that was killed */
        snprintf(file, sizeof(file), "%s/%s", job, old[i]);
        FILE *f = fopen(file, "we");
        CU_ASSERT_FATAL(f && fputs("9", f) >= 0 && fclose(f) == 0);
    }
    const struct strait_emu_uml_plan plan = {.argv = argv,
                                             .folder = "/home",
                                             .job = job,
                                             .read = read,
                                             .setenv = env,
                                             .memory_bytes = 5 * 1048576,
                                             .limit_s = 60};
    CU_ASSERT_EQUAL(strait_emu_uml_run(&plan, &err), 7);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    for (size_t i = 0; i < sizeof(old) / sizeof(*old); i++) {
        snprintf(file, sizeof(file), "%s/%s", job, old[i]);
        CU_ASSERT_EQUAL(access(file, F_OK) == 0, strcmp(old[i], "status") == 0);
    }
    snprintf(file, sizeof(file), "%s/console", job);
    char *console = folder_text("/", file);
    CU_ASSERT_EQUAL(
        strncmp(console, "mem=5M root=/dev/root rootfstype=hostfs rootflags=/ ro init=", 59), 0);
    snprintf(expected, sizeof(expected),
             " JOB=%s uml_dir=%s umid=guest con=null con0=null,fd:1 quiet MODULES=yes\nfiles ", job,
             job);
    CU_ASSERT_CONTAINS(console, expected);
    free(console);
    snprintf(file, sizeof(file), "%s/argv", job);
    char *bytes = folder_bytes("/", file, &n);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    static const char list[] = "/home\0env\0A=b\0/bin/echo\0two words";
    CU_ASSERT_EQUAL_FATAL(n, sizeof(list));
    CU_ASSERT_EQUAL(memcmp(bytes, list, n), 0);
    free(bytes);
    snprintf(file, sizeof(file), "%s/read", job);
    char *folders = folder_text("/", file);
    CU_ASSERT_STRING_EQUAL(folders, "/usr\n/opt\n");
    free(folders);
    tear_down(&w);
}

static const struct strait_test tests[] = {
    {"a guest is started with its memory, folders and command", started},
    {"a guest's kernel runs in a process namespace, root's before others", wrapped},
    {"Debian's kernel serves where it boots, else the built one", stock_first},
    {"where none boots the reason and what to do are said", what_to_do},
    {"in virtual time an hour passes at once and work is seen", virtual_time},
    {"what was found is remembered for that file, but not what may change", memory},
};
STRAIT_SUITE("emu/guest/guest_kernel", tests);
