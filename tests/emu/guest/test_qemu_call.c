/* What QEMU is called with for the guest that counts instructions, and the guest's files: a script
 * stands in its place. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <archive.h>
#include <archive_entry.h>
#include "emu/guest/qemu.h"
#include "tests/kit/program.h"
#include "tests/kit/suite.h"

/* It keeps how it was called and the guest's files. FAKE_QEMU=junk, none: what it leaves; refuses:
 * it ends with status 1 and a word. */
static const char fake_qemu[] =
    "#!/bin/sh\n"
    "for a; do line=$a; done\n"
    "job=${line##* JOB=}\n"
    "printf '%s\\n' \"$@\" >\"$job/args\"; cp \"$job/files\" \"$job/kept\"\n"
    "case $FAKE_QEMU in junk) echo x >\"$job/back\"; exit;; none) exit;;"
    " refuses) echo 'no such machine' >&2; exit 1;; esac\n"
    "mkdir -p \"$job/there/$job\" && cd \"$job/there\"\n"
    "echo 7 >\"./$job/status\"; echo out >\"./$job/stdout\"; echo err >\"./$job/stderr\"\n"
    "for f in $(cat \"$job/write\"); do mkdir -p \"./$f\"; echo new >\"./$f/made\"; done\n"
    "tar -c $(for f in \"$job/status\" \"$job/stdout\" \"$job/stderr\" $(cat \"$job/write\"); do"
    " echo \"${f#/}\"; done) >\"$job/back\"\n";

/* A name below p's folder, one of some. */
static const char *below(const struct program *p, const char *name)
{
    static char paths[8][160];
    static unsigned n;
    snprintf(paths[n % 8], sizeof(paths[0]), "%s/%s", p->folder, name);
    return paths[n++ % 8];
}

static void write_below(const struct program *p, const char *name)
{
    char path[160];
    snprintf(path, sizeof(path), "%s", below(p, name));
    for (char *at = strchr(path + strlen(p->folder) + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        mkdir(path, 0777);
        *at = '/';
    }
    program_write(p, name, "x");
}

/* Where /bin has a busybox: here, or in a mount namespace whose /usr/bin gets a file of that name;
 * false, with the test skipped, where neither can be. */
static bool have_busybox(const struct program *p)
{
    char options[512];
    if (access("/bin/busybox", X_OK) == 0)
        return true;
    CU_ASSERT_EQUAL_FATAL(mkdir(below(p, "upper"), 0755), 0);
    CU_ASSERT_EQUAL_FATAL(mkdir(below(p, "work"), 0755), 0);
    program_write(p, "upper/busybox", "#!/bin/sh\n");
    chmod(below(p, "upper/busybox"), 0755);
    snprintf(options, sizeof(options), "lowerdir=/usr/bin,upperdir=%s,workdir=%s",
             below(p, "upper"), below(p, "work"));
    if (unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
        mount("none", "/usr/bin", "overlay", 0, options) == 0 && access("/bin/busybox", X_OK) == 0)
        return true;
    strait_test_skip("/usr/bin cannot get a busybox here");
    return false;
}

/* A folder of what ships, deeper than guests see it, a kernel, and QEMU in PATH. */
static void put_qemu(const struct program *p)
{
    static const char *const all[] = {"share/traces/1/2/t3",
                                      "share/traces/1/2/3/t4",
                                      "share/experiments/1/e2",
                                      "share/experiments/1/2/e3",
                                      "share/codecs/profiles/p1",
                                      "share/codecs/profiles/1/p2",
                                      "share/emu/uml/work.sh",
                                      "share/emu/qemu/init.sh",
                                      "share/qguest/vmlinuz",
                                      "share/docs/no",
                                      "read/r1",
                                      "read/1/r2",
                                      "one-file",
                                      "write/w1"};
    char path[4300];
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        write_below(p, all[i]);
    mkdir(below(p, "job"), 0777);
    mkdir(below(p, "bin"), 0777);
    program_write(p, "bin/qemu-system-x86_64", fake_qemu);
    chmod(below(p, "bin/qemu-system-x86_64"), 0755);
    snprintf(path, sizeof(path), "%s:%s", below(p, "bin"), getenv("PATH"));
    setenv("PATH", path, 1);
    setenv("STRAIT_SHARE", below(p, "share"), 1);
}

/* Whether the archive has that file, below p's folder or anywhere; what a link leads to. */
static bool packed(const struct program *p, const char *name, char target[64])
{
    const char *wanted = name[0] == '/' ? name : below(p, name);
    struct archive_entry *e;
    struct archive *a = archive_read_new();
    bool found = false;
    archive_read_support_format_cpio(a);
    CU_ASSERT_EQUAL_FATAL(archive_read_open_filename(a, below(p, "job/kept"), 10240), ARCHIVE_OK);
    while (!found && archive_read_next_header(a, &e) == ARCHIVE_OK) {
        found = strcmp(archive_entry_pathname(e), wanted + 1) == 0;
        if (found && target)
            snprintf(target, 64, "%s", archive_entry_symlink(e));
    }
    archive_read_free(a);
    return found;
}

/* All that a guest is called with, but for the paths; its memory is what the plan wants and twice
 * its files, in steps of 256 MiB. */
static void expect_call(const struct program *p, double memory_bytes)
{
    char wanted[4096];
    struct stat kept;
    CU_ASSERT_EQUAL_FATAL(stat(below(p, "job/kept"), &kept), 0);
    const double mib = (memory_bytes + 2 * (double)kept.st_size) / 1048576;
    snprintf(
        wanted, sizeof(wanted),
        "-M\nmicrovm,pic=on,pit=on,rtc=on\n-accel\ntcg,thread=single\n-icount\n"
        "shift=0,sleep=off\n-cpu\nmax,-rdrand,-rdseed,-erms\n-seed\n1\n-rtc\n"
        "base=2024-01-01,clock=vm\n-smp\n1\n-m\n%.0fM\n-nodefaults\n-no-user-config\n-display\n"
        "none\n-serial\nfile:%s/job/console\n-chardev\nfile,id=back,path=%s/job/back\n"
        "-device\nisa-serial,chardev=back,index=1,iobase=0x2f8,irq=3\n-no-reboot\n-kernel\n"
        "%s/share/qguest/vmlinuz\n-initrd\n%s/job/files\n-append\nconsole=ttyS0 panic=-1 quiet "
        "reboot=t mitigations=off tsc=reliable rootfstype=ramfs "
        "rdinit=%s/share/emu/qemu/init.sh STRAIT_GUEST=qemu JOB=%s/job\n",
        256 * ceil(mib / 256), p->folder, p->folder, p->folder, p->folder, p->folder, p->folder);
    char *args = program_read(p, "job/args");
    CU_ASSERT_STRING_EQUAL(args, wanted);
    free(args);
}

static void run_the_script(void)
{
    static const char *const seen[] = {"share/traces/1/2/t3",
                                       "share/experiments/1/e2",
                                       "share/codecs/profiles/p1",
                                       "share/emu/uml/work.sh",
                                       "share/emu/qemu/init.sh",
                                       "share/qguest/vmlinuz",
                                       "read/r1",
                                       "one-file",
                                       "write/w1",
                                       "job/argv",
                                       "job/read",
                                       "job/write",
                                       "/usr/bin/ping",
                                       "/usr/bin/env"};
    static const char *const unseen[] = {"share/traces/1/2/3/t4",
                                         "share/experiments/1/2/e3",
                                         "share/codecs/profiles/1/p2",
                                         "share/docs/no",
                                         "read/1/r2",
                                         "job/files",
                                         "bin/qemu-system-x86_64"};
    struct program p;
    struct strait_error err = {0};
    char target[64] = "", job[160], folder[160], read_[160], one[160], write_[160];
    program_set_up(&p);
    put_qemu(&p);
    if (!have_busybox(&p)) {
        program_tear_down(&p);
        return;
    }
    snprintf(job, sizeof(job), "%s", below(&p, "job"));
    snprintf(folder, sizeof(folder), "%s", p.folder);
    snprintf(read_, sizeof(read_), "%s", below(&p, "read"));
    snprintf(one, sizeof(one), "%s", below(&p, "one-file"));
    snprintf(write_, sizeof(write_), "%s", below(&p, "write"));
    const char *const argv[] = {"/usr/bin/env", "true", NULL}, *const reads[] = {read_, one, NULL},
                      *const writes[] = {write_, NULL};
    struct strait_emu_uml_plan plan = {.argv = argv,
                                       .folder = folder,
                                       .job = job,
                                       .read = reads,
                                       .write = writes,
                                       .memory_bytes = 300e6,
                                       .limit_s = 60};
    CU_ASSERT_EQUAL(strait_emu_qemu_run(&plan, &err), 7);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    expect_call(&p, 300e6);
    char *out = program_read(&p, "job/stdout"), *made = program_read(&p, "write/made");
    CU_ASSERT_STRING_EQUAL(out, "out\n");
    CU_ASSERT_STRING_EQUAL(made, "new\n");
    free(out);
    free(made);
    CU_ASSERT_FALSE(program_has(&p, "job/files"));
    CU_ASSERT_FALSE(program_has(&p, "job/back"));
    for (size_t i = 0; i < sizeof(seen) / sizeof(*seen); i++) {
        strait_test_context("%s", seen[i]);
        CU_ASSERT_TRUE(packed(&p, seen[i], NULL));
    }
    for (size_t i = 0; i < sizeof(unseen) / sizeof(*unseen); i++) {
        strait_test_context("%s", unseen[i]);
        CU_ASSERT_FALSE(packed(&p, unseen[i], NULL));
    }
    CU_ASSERT_TRUE(packed(&p, "/bin/sh", target));
    CU_ASSERT_STRING_EQUAL(target, "busybox");

    /* Without folders of its own; and what can go wrong. */
    plan.read = plan.write = NULL;
    setenv("FAKE_QEMU", "none", 1);
    CU_ASSERT_EQUAL(strait_emu_qemu_run(&plan, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_BACKEND);
    CU_ASSERT_CONTAINS(err.text, "QEMU's guest ended before the program in it did; see ");
    CU_ASSERT_FALSE(packed(&p, "read/r1", NULL));
    setenv("FAKE_QEMU", "junk", 1);
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(strait_emu_qemu_run(&plan, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_BACKEND);
    CU_ASSERT_CONTAINS(err.text, "what QEMU's guest wrote cannot be unpacked: ");
    CU_ASSERT_FALSE(program_has(&p, "job/back"));
    setenv("FAKE_QEMU", "refuses", 1);
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(strait_emu_qemu_run(&plan, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_BACKEND);
    CU_ASSERT_STRING_EQUAL(err.where, "QEMU");
    CU_ASSERT_CONTAINS(err.text, "no such machine");
    plan.memory_bytes = 1e15;
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(strait_emu_qemu_run(&plan, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_HOST);
    CU_ASSERT_CONTAINS(err.text, "QEMU's guest would need 1e+06 GB of memory, this machine has ");
    CU_ASSERT_CONTAINS(err.text, " GB free and may give 80 % of it");
    CU_ASSERT_FALSE(program_has(&p, "job/files"));
    setenv("STRAIT_SHARE", below(&p, "read"), 1);
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(strait_emu_qemu_check(&err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_HOST);
    CU_ASSERT_STRING_EQUAL(err.text, "the kernel of QEMU's guest is not there: make qemu");
    program_tear_down(&p);
}

/* In a process of its own, whose /usr/bin may get another file. */
static void the_script(void)
{
    int status = 0;
    fflush(stdout);
    const pid_t pid = fork();
    CU_ASSERT_FATAL(pid >= 0);
    if (pid == 0) {
        run_the_script();
        _exit(0);
    }
    CU_ASSERT(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
static const struct strait_test tests[] = {
    {"QEMU is called with all of the guest, whose files come and go by archives", the_script},
};
STRAIT_SUITE("emu/guest/qemu_call", tests);
