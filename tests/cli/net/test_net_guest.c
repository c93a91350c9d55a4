/* strait net run in a guest: what the guest is given, what comes back, and what is left of it. The
 * guest is a script that runs the work here. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "tests/kit/links/fake_guest.h"

static const char experiment[] =
    "{\"schema\": \"strait-experiment/1\", \"title\": \"net\", \"model\": \"cnn\","
    " \"strategy\": {\"name\": \"fedavg\", \"rounds\": 1, \"local_steps\": 1}, \"codec\": \"none\","
    " \"network\": {\"client\": {\"rate\": \"1 Gbps\", \"rtt\": \"10 ms\"},"
    "               \"server\": {\"rate\": \"1 Gbps\"}}, \"clients\": 2}\n";

/* Work folders are made in tmp of the test's folder. */
static bool begin(struct program *p)
{
    program_set_up(p);
    program_write(p, "net.json", experiment);
    program_own_tmp(p);
    return fake_guest_set_up(p);
}

static void end(struct program *p)
{
    unsetenv("TMPDIR");
    fake_guest_tear_down();
    program_tear_down(p);
}

/* The work folder that was left there, "tmp/strait-net-..."; false: none. */
static bool left(char out[128], const struct program *p)
{
    char path[128];
    bool found = false;
    snprintf(path, sizeof(path), "%s/tmp", p->folder);
    DIR *dir = opendir(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
    for (const struct dirent *e; (e = readdir(dir));)
        if (strncmp(e->d_name, "strait-net-", 11) == 0) {
            CU_ASSERT_FALSE(found);
            snprintf(out, 128, "tmp/%.100s", e->d_name);
            found = true;
        }
    closedir(dir);
    return found;
}

/* A file of the folder that was left, its NULs and newlines as "|". */
static char *read_left(const struct program *p, const char *folder, const char *name)
{
    char path[256];
    size_t n;
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    char *text = program_read_bytes(p, path, &n);
    for (size_t i = 0; i < n; i++)
        if (text[i] == '\0' || text[i] == '\n')
            text[i] = '|';
    return text;
}

/* Programs, their outputs and the worst status are those of the same command without a guest. */
static void work(void)
{
    static const char show[] = "echo $STRAIT_RANK $COLOUR; echo bad >&2; exit $((STRAIT_RANK + 1))";
    struct program p;
    char folder[128];
    if (begin(&p)) {
        setenv("COLOUR", "blue", 1);
        struct said here = PROGRAM_CALL(&p, "net", "run", "net.json", "--ranks", "clients",
                                        "--keep-going", "--", "sh", "-c", show);
        if (here.status == 3) {
            strait_test_skip(here.err);
        } else {
            struct said there =
                PROGRAM_CALL(&p, "net", "run", "net.json", "--launcher", "vuml", "--ranks",
                             "clients", "--keep-going", "--", "sh", "-c", show);
            CU_ASSERT_EQUAL(there.status, here.status);
            CU_ASSERT_NOT_EQUAL(there.status, 0);
            CU_ASSERT_CONTAINS(there.out, "client1 | 1 blue\n");
            CU_ASSERT_CONTAINS(there.out, "client2 | 2 blue\n");
            CU_ASSERT_EQUAL(program_n_lines(there.out), 2);
            CU_ASSERT_CONTAINS(there.err, "client2 | bad\n");
            /* 256 MB, 12 and 64 MB a rank, 256 MB: 740 MB, so 1 GiB = 1074 MB */
            CU_ASSERT_EQUAL(strncmp(there.err,
                                    "User-Mode Linux in virtual time with 1074 MB of memory; what "
                                    "it says comes at its end\n",
                                    83),
                            0);
            CU_ASSERT_FALSE(left(folder, &p));
            said_release(&there);
        }
        said_release(&here);
        unsetenv("COLOUR");
    }
    end(&p);
}

/* A guest that ends at once leaves its work folder: what it was to run, with what variables, and
 * which folders it was to see. */
static void what_it_is_given(void)
{
    struct program p;
    char folder[128], part[512], log[128];
    if (begin(&p)) {
        setenv("FAKE_GUEST", "dead", 1);
        setenv("COLOUR", "blue", 1);
        setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
        setenv("STRAIT_TUN", "/dev/net/tun", 1);
        struct said s = PROGRAM_CALL(&p, "net", "run", "net.json", "--launcher=vuml", "--limit",
                                     "50", "--memory", "300 MB", "--log", "logs", "--name", "n",
                                     "--", "cat", "--launcher", "net.json");
        unsetenv("COLOUR");
        unsetenv("XDG_RUNTIME_DIR");
        unsetenv("STRAIT_TUN");
        CU_ASSERT_EQUAL(s.status, 1);
        CU_ASSERT_CONTAINS(s.err, " with 300 MB of memory;");
        CU_ASSERT_CONTAINS(s.err, "User-Mode Linux ended before the program in it did; see ");
        CU_ASSERT_TRUE_FATAL(left(folder, &p));
        CU_ASSERT_CONTAINS(s.err, folder);
        said_release(&s);
        char *argv = read_left(&p, folder, "argv"), *kernel = read_left(&p, folder, "kernel-args");
        snprintf(part, sizeof(part), "%s|env|", p.folder);
        CU_ASSERT_EQUAL(strncmp(argv, part, strlen(part)), 0);
        CU_ASSERT_CONTAINS(argv, "|COLOUR=blue|");
        CU_ASSERT_CONTAINS(argv, "|PATH=");
        CU_ASSERT_CONTAINS(argv, "|STRAIT_NET_FOLDER=/run/strait-net|/");
        static const char *const not_there[] = {"|TMPDIR=", "|XDG_RUNTIME_DIR=", "|STRAIT_TUN=",
                                                "|STRAIT_NET=", "|STRAIT_NET_FOLDER=/tmp"};
        for (size_t i = 0; i < sizeof(not_there) / sizeof(not_there[0]); i++)
            CU_ASSERT_PTR_NULL(strstr(argv, not_there[i]));
        CU_ASSERT_CONTAINS(argv, "/strait|net|run|net.json|--log|logs|--name|n|--|cat|"
                                 "--launcher|net.json|");
        CU_ASSERT_CONTAINS(kernel, "mem=287M "); /* 300e6 / 1048576 = 286.1 */
        CU_ASSERT_CONTAINS(kernel, " time-travel=inf-cpu|");
        free(argv);
        free(kernel);
        snprintf(log, sizeof(log), "%s/logs|", p.folder);
        char *write = read_left(&p, folder, "write"), *read = read_left(&p, folder, "read");
        CU_ASSERT_STRING_EQUAL(write, log);
        snprintf(part, sizeof(part), "%s|", p.folder);
        CU_ASSERT_CONTAINS(read, part);
        free(write);
        free(read);
    }
    end(&p);
}

static void memory_that_ran_out(void)
{
    struct program p;
    char folder[128];
    if (begin(&p)) {
        setenv("FAKE_GUEST", "oom", 1);
        struct said s = PROGRAM_CALL(&p, "net", "run", "net.json", "--launcher", "vuml", "--memory",
                                     "256 MB", "--", "true");
        CU_ASSERT_EQUAL(s.status, 1);
        CU_ASSERT_CONTAINS(s.err, "its memory of 0.256 GB ran out; see ");
        CU_ASSERT_TRUE(left(folder, &p)); /* where the console is */
        said_release(&s);
    }
    end(&p);
}

static void wrong_options(void)
{
    static const struct {
        const char *option, *value, *launcher, *error;
    } cases[] = {
        {"--memory", "255 MB", "vuml",
         "strait: net run: expected at least 256 MB after --memory, found \"255 MB\"\n"},
        {"--memory", "1 Gbps", "vuml", "strait: --memory: expected "},
        {"--memory", "1 GB", "auto",
         "strait: net run: expected --launcher uml or vuml with --memory: it is for a guest\n"},
        {"--limit", "50", "auto",
         "strait: net run: expected --launcher uml or vuml with --limit: it is for a guest\n"},
        {"--name", "n", "vulm",
         "strait: net run: expected uml, vuml or auto after --launcher, found \"vulm\", did you "
         "mean \"vuml\"?\n"},
        {"--log", "net.json", "vuml",
         "strait: net.json: cannot make the folder of logs: Not a directory\n"},
    };
    struct program p;
    char folder[128];
    if (begin(&p))
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
            struct said s =
                PROGRAM_CALL(&p, "net", "run", "net.json", "--launcher", cases[i].launcher,
                             cases[i].option, cases[i].value, "--", "true");
            strait_test_context("%s %s", cases[i].option, cases[i].value);
            CU_ASSERT_EQUAL(s.status, 2);
            CU_ASSERT_EQUAL(strncmp(s.err, cases[i].error, strlen(cases[i].error)), 0);
            CU_ASSERT_EQUAL(program_n_lines(s.err), 1);
            CU_ASSERT_FALSE(left(folder, &p));
            said_release(&s);
        }
    end(&p);
}

/* More than fits into the guest's command. */
static void large_environment(void)
{
    static char large[120001];
    struct program p;
    if (begin(&p)) {
        memset(large, 'x', sizeof(large) - 1);
        setenv("LARGE", large, 1);
        struct said s =
            PROGRAM_CALL(&p, "net", "run", "net.json", "--launcher", "vuml", "--", "true");
        unsetenv("LARGE");
        CU_ASSERT_EQUAL(s.status, 2);
        CU_ASSERT_CONTAINS(s.err, "strait: net run: expected at most 120000 characters of "
                                  "arguments and environment for a guest, found 12");
        said_release(&s);
    }
    end(&p);
}

/* A signal ends the guest and all of it, and its folder goes, too. */
/* From a folder that is gone nothing can be asked of a guest, and none begins. */
static void folder_that_is_gone(void)
{
    struct program p;
    char words[9000], folder[128];
    if (begin(&p)) {
        snprintf(words, sizeof(words),
                 "mkdir gone && cd gone && rmdir ../gone && exec '%s' net run %s/net.json "
                 "--launcher vuml -- echo up",
                 p.path, p.folder);
        struct program shell = p;
        snprintf(shell.path, sizeof(shell.path), "/bin/sh");
        struct said s = PROGRAM_CALL(&shell, "-c", words);
        CU_ASSERT_EQUAL(s.status, 1);
        CU_ASSERT_STRING_EQUAL(s.out, "");
        CU_ASSERT_STRING_EQUAL(s.err, "strait: cannot find out where this program is: No such file "
                                      "or directory\n");
        CU_ASSERT_FALSE(left(folder, &p));
        said_release(&s);
    }
    end(&p);
}

static void signals(void)
{
    static const char *const args[] = {"net",  "run", "net.json", "--launcher",
                                       "vuml", "--",  "true",     NULL};
    static const struct {
        int number;
        const char *error;
    } cases[] = {{SIGTERM, "strait: net run: interrupted by Terminated\n"},
                 {SIGINT, "strait: net run: interrupted by Interrupt\n"},
                 {SIGHUP, "strait: net run: interrupted by Hangup\n"}};
    struct program p;
    if (begin(&p)) {
        setenv("FAKE_GUEST", "sleep", 1);
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
            char folder[128] = "", sleeps[160] = "";
            const pid_t pid = program_start(&p, "said", args);
            const struct timespec pause = {.tv_nsec = 20000000};
            for (int tries = 0; tries < 3000 && (!*folder || !program_has(&p, sleeps)); tries++) {
                nanosleep(&pause, NULL);
                if (left(folder, &p))
                    snprintf(sleeps, sizeof(sleeps), "%s/sleeps", folder);
            }
            CU_ASSERT_TRUE(program_has(&p, sleeps));
            kill(pid, cases[i].number);
            CU_ASSERT_EQUAL(program_wait(pid), 1);
            char *err = program_read(&p, "said.err");
            CU_ASSERT_CONTAINS(err, cases[i].error);
            free(err);
            CU_ASSERT_FALSE(left(folder, &p));
            CU_ASSERT_EQUAL(program_n_left_soon(&p), 0);
        }
    }
    end(&p);
}

static const struct strait_test tests[] = {
    {"programs say and end as they do without a guest", work},
    {"arguments, variables and folders that a guest is given", what_it_is_given},
    {"a guest whose memory ran out says so", memory_that_ran_out},
    {"wrong options are one line", wrong_options},
    {"an environment that is too large is refused", large_environment},
    {"a folder that is gone has no guest", folder_that_is_gone},
    {"signals end the guest, and nothing is left", signals},
};
STRAIT_SUITE("cli/net/net_guest", tests);
