/* strait run in QEMU, which is a script: what files the guest is given, with which memory, and that
 * what it did comes back in the archive that it leaves, and only so. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "emu/guest/qemu.h"
#include "tests/kit/data.h"
#include "tests/kit/links/fake_guest.h"

/* It notes its memory, its kernel's words and the files that came with it; then it does the work
 * that is left there, and what that wrote goes into the archive alone. */
static const char fake_qemu[] =
    "#!/bin/sh\n"
    "while [ $# -gt 0 ]; do case $1 in -m) memory=$2;; -initrd) files=$2;; -append) line=$2;;\n"
    "-chardev) back=${2##*path=};; -serial) console=${2#file:};; esac; shift; done\n"
    "for word in $line; do case $word in JOB=*) JOB=${word#JOB=};; esac; done\n"
    "export JOB\n"
    "echo \"$memory $line\" >\"$JOB/said\"\n"
    "wc -c <\"$files\" >\"$JOB/files-bytes\"\n"
    "busybox cpio -t <\"$files\" >\"$JOB/files-seen\" 2>/dev/null\n"
    "case $FAKE_GUEST in dead) exit;; fails) echo 'no accelerator' >&2; exit 1;;"
    " oom) echo 'Out of memory: Killed process 7' >\"$console\"; exit;;"
    " junk) echo junk >\"$back\"; exit;; esac\n"
    "root=$JOB/root; mkdir \"$root\"; (cd \"$root\" && busybox cpio -idu <\"$files\" 2>/dev/null)\n"
    "unshare --mount sh -c 'mount -t tmpfs none /run && exec xargs -0 -a \"$0$JOB/argv\" sh -c "
    "'\\''job=$1; cd \"$2\" && shift 2 && \"$@\" </dev/null >\"$job/stdout\" 2>\"$job/stderr\";"
    " echo $? >\"$job/status\"'\\'' sh \"$JOB\"' \"$root\"\n"
    "cd / && tar -c $(for f in \"$JOB/status\" \"$JOB/stdout\" \"$JOB/stderr\" $(cat "
    "\"$root$JOB/write\"); do echo \"${f#/}\"; done) --exclude=root --exclude=files --exclude=back"
    " >\"$back\" 2>/dev/null\n"
    "rm -rf \"$JOB/status\" \"$JOB/stdout\" \"$JOB/stderr\" \"$JOB/../rows.jsonl\" \"$root\"\n";

static const char experiment[] =
    "{\"schema\": \"strait-experiment/1\", \"title\": \"speck\", \"model\": \"speck.csv\","
    " \"strategy\": {\"name\": \"fedavg\", \"rounds\": 1, \"local_steps\": 1}, \"codec\": \"none\","
    " \"network\": {\"client\": {\"rate\": \"1 Gbps\", \"rtt\": \"20 ms\"},"
    "               \"server\": {\"rate\": \"1 Gbps\"}}, \"clients\": 1}\n";
static const char table[] =
    "fwd_index,layer,param,type,shape,bytes,fwd_us_p50,fwd_us_p90,bwd_us_p50,bwd_us_p90,"
    "ready_us_p50,ready_us_p90,ready_order\n0,fc,weight,Linear,10x25,1000,1,1,1,1,1,1,0\n";

/* What ships, with a kernel. */
static void make_share(const struct program *p)
{
    static const char *const parts[] = {"traces", "experiments", "codecs", "emu"};
    char share[128], path[256], from[PATH_MAX];
    snprintf(share, sizeof(share), "%s/share", p->folder);
    CU_ASSERT_EQUAL_FATAL(mkdir(share, 0755), 0);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", share, parts[i]);
        snprintf(from, sizeof(from), "%s", DATA(parts[i]));
        CU_ASSERT_EQUAL_FATAL(symlink(from, path), 0);
    }
    snprintf(path, sizeof(path), "%s/qguest", share);
    CU_ASSERT_EQUAL_FATAL(mkdir(path, 0755), 0);
    program_write(p, "share/qguest/vmlinuz", "a kernel");
    setenv("STRAIT_SHARE", share, 1);
}

static bool begin(struct program *p)
{
    char path[PATH_MAX];
    struct strait_error err = {0};
    program_set_up(p);
    program_write(p, "e.json", experiment);
    program_write(p, "speck.csv", table);
    make_share(p);
    snprintf(path, sizeof(path), "%s/bin", p->folder);
    CU_ASSERT_EQUAL_FATAL(mkdir(path, 0755), 0);
    program_write(p, "bin/qemu-system-x86_64", fake_qemu);
    snprintf(path, sizeof(path), "%s/bin/qemu-system-x86_64", p->folder);
    chmod(path, 0755);
    snprintf(path, sizeof(path), "%s/bin:%s", p->folder, getenv("PATH"));
    setenv("PATH", path, 1);
    if (strait_emu_qemu_check(&err) != 0) { /* busybox and ping are real */
        strait_test_skip(err.text);
        return false;
    }
    return can_emulate(p);
}

static void end(struct program *p)
{
    setenv("PATH", strchr(getenv("PATH"), ':') + 1, 1);
    unsetenv("STRAIT_SHARE");
    unsetenv("FAKE_GUEST");
    program_tear_down(p);
}

static struct said run(const struct program *p)
{
    return PROGRAM_CALL(p, "run", "e.json", "--on", "emu", "--timing", "replay", "--launcher",
                        "qemu", "--out", "r", "--json");
}

/* The list of an archive has the path, without its first slash. */
static bool was_given(const char *list, const char *path)
{
    char line[2 * PATH_MAX];
    snprintf(line, sizeof(line), "%s\n", path + 1);
    const char *at = strstr(list, line);
    return at && (at == list || at[-1] == '\n');
}

/* 512 MiB, and the files twice, in steps of 256 MiB. */
static double memory_of(const struct program *p)
{
    char *text = program_read(p, "r/qemu/files-bytes");
    const double step_bytes = 268435456, files_bytes = strtod(text, NULL);
    free(text);
    CU_ASSERT(files_bytes > 1e6);
    return step_bytes * ceil((536870912 + 2 * files_bytes) / step_bytes);
}

static void work(void)
{
    struct program p;
    if (begin(&p)) {
        struct said s = run(&p);
        CU_ASSERT_EQUAL(s.status, 0);
        CU_ASSERT_EQUAL(program_n_lines(s.out), 1);
        CU_ASSERT_CONTAINS(s.out, "\"backend\":\"emu\"");
        CU_ASSERT_EQUAL(strncmp(s.err, "QEMU with ", 10), 0);
        CU_ASSERT_CONTAINS(s.err, " MB of memory beside its files; what it says comes at its end, "
                                  "and then is in ");
        said_release(&s);
        char *list = program_read(&p, "r/qemu/files-seen"), *said = program_read(&p, "r/qemu/said");
        static const char *const given[] = {"/bin/busybox", "/bin/sh", "/usr/bin/ping",
                                            "/usr/bin/env"},
                                 *const own[] = {"e.json",
                                                 "speck.csv",
                                                 "r/qemu/argv",
                                                 "r/qemu/read",
                                                 "r/qemu/write",
                                                 "r",
                                                 "share/qguest/vmlinuz",
                                                 "share/emu/uml/work.sh",
                                                 "share/emu/qemu/init.sh",
                                                 "share/traces/published.json"};
        for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
            strait_test_context("%s", given[i]);
            CU_ASSERT_TRUE(was_given(list, given[i]));
        }
        for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
            char path[256];
            snprintf(path, sizeof(path), "%s/%s", p.folder, own[i]);
            strait_test_context("%s", own[i]);
            CU_ASSERT_TRUE(was_given(list, path));
        }
        CU_ASSERT_TRUE(was_given(list, p.path) || strstr(list, "/strait\n"));
        CU_ASSERT_CONTAINS(list, "/libc.so.6\n");            /* of the program */
        CU_ASSERT_PTR_NULL(strstr(list, "share/emu/guest")); /* not all of the tree */
        double megabytes = 0;
        CU_ASSERT_EQUAL(sscanf(said, "%lfM console=ttyS0 ", &megabytes), 1);
        CU_ASSERT_EQUAL(megabytes, memory_of(&p) / 1048576);
        CU_ASSERT_CONTAINS(said, " rdinit=");
        CU_ASSERT_CONTAINS(said, "/share/emu/qemu/init.sh " STRAIT_EMU_QEMU_MARK " JOB=");
        CU_ASSERT_FALSE(program_has(&p, "r/qemu/files"));
        CU_ASSERT_FALSE(program_has(&p, "r/qemu/back"));
        free(list);
        free(said);
    }
    end(&p);
}

static void failures(void)
{
    static const struct {
        const char *how, *error;
    } cases[] = {{"dead", "QEMU's guest ended before the program in it did; see "},
                 {"fails", "no accelerator"},
                 {"oom", " GB ran out; see "},
                 {"junk", "what QEMU's guest wrote cannot be unpacked: "}};
    struct program p;
    if (begin(&p))
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
            setenv("FAKE_GUEST", cases[i].how, 1);
            struct said s = run(&p);
            strait_test_context("%s", cases[i].how);
            CU_ASSERT_EQUAL(s.status, 1);
            CU_ASSERT_CONTAINS(s.err, cases[i].error);
            if (strcmp(cases[i].how, "oom") == 0) {
                char text[64];
                snprintf(text, sizeof(text), "strait: QEMU's guest: its memory of %.3g GB",
                         memory_of(&p) / 1e9);
                CU_ASSERT_CONTAINS(s.err, text);
            }
            CU_ASSERT_FALSE(program_has(&p, "r/qemu/files"));
            CU_ASSERT_FALSE(program_has(&p, "r/qemu/back"));
            said_release(&s);
        }
    end(&p);
}

static void what_is_missing(void)
{
    struct program p;
    struct strait_error err = {0};
    char path[128];
    if (begin(&p)) {
        snprintf(path, sizeof(path), "%s/share/qguest/vmlinuz", p.folder);
        unlink(path);
        CU_ASSERT_EQUAL(strait_emu_qemu_check(&err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_HOST);
        CU_ASSERT_STRING_EQUAL(err.text, "the kernel of QEMU's guest is not there: make qemu");
        err = (struct strait_error){0};
        char *before = strdup(getenv("PATH"));
        setenv("PATH", "/nowhere:", 1);
        CU_ASSERT_EQUAL(strait_emu_qemu_check(&err), -1);
        setenv("PATH", before, 1);
        free(before);
        CU_ASSERT_STRING_EQUAL(err.text, "QEMU (qemu-system-x86) is not installed: make qemu");
    }
    end(&p);
}

static const struct strait_test tests[] = {
    {"a run's files, memory and rows", work},
    {"each way to fail is one error, and no large file is left", failures},
    {"what is missing is named", what_is_missing},
};
STRAIT_SUITE("cli/guest/guest_qemu", tests);
