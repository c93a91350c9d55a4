/* Tables of commands: what is run, what is refused, what is printed where. */
#include "cli/kit/command.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/kit/suite.h"

enum { SAID_BYTES = 8192 };

static int run_add(int argc, char **argv)
{
    printf("%d %s %s\n", argc, argv[0], argc > 1 ? argv[1] : "-");
    return 7;
}

/* What a library leaves that fails without an error: a mistake of ours. */
static int run_silent(int argc, char **argv)
{
    (void)argc, (void)argv;
    return strait_command_fail(&(struct strait_error){0});
}

static const struct strait_subcommand commands[] = {{"add", "FILE", "Add a file.", run_add},
                                                    {"remove", "", "Remove all.", run_add}};
static const struct strait_command_table top = {"", "A test.", commands, 2, "notes\n"},
                                         below = {"net", "A part.", commands, 2, NULL};
static const struct strait_subcommand mistakes[] = {{"silent", "", "Fail.", run_silent}};
static const struct strait_command_table broken = {"", "A test.", mistakes, 1, NULL};

struct said {
    int status;
    char out[SAID_BYTES], err[SAID_BYTES];
};

/* One call, with its two streams in files. */
static struct said call(const struct strait_command_table *t, const char *word, const char *more)
{
    struct said s = {0};
    const char *argv[] = {"strait", word, more, NULL};
    const int streams[] = {STDOUT_FILENO, STDERR_FILENO};
    char *const to[] = {s.out, s.err};
    int files[2], kept[2];
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        files[i] = memfd_create("said", MFD_CLOEXEC);
        kept[i] = dup(streams[i]);
        CU_ASSERT_FATAL(files[i] >= 0 && kept[i] >= 0 && dup2(files[i], streams[i]) >= 0);
    }
    s.status = strait_command_dispatch(t, !word ? 1 : !more ? 2 : 3, (char **)(void *)argv);
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        dup2(kept[i], streams[i]);
        close(kept[i]);
        const ssize_t n = pread(files[i], to[i], SAID_BYTES - 1, 0);
        CU_ASSERT_FATAL(n >= 0);
        close(files[i]);
    }
    return s;
}

static void runs(void)
{
    struct said s = call(&below, "add", "x");
    CU_ASSERT_EQUAL(s.status, 7);
    CU_ASSERT_STRING_EQUAL(s.out, "2 add x\n");
    CU_ASSERT_STRING_EQUAL(s.err, "");
    s = call(&top, "remove", NULL);
    CU_ASSERT_STRING_EQUAL(s.out, "1 remove -\n");
}

static void refusals(void)
{
    struct said s = call(&below, NULL, NULL);
    CU_ASSERT_EQUAL(s.status, 2);
    CU_ASSERT_STRING_EQUAL(s.out, "");
    CU_ASSERT_STRING_EQUAL(s.err,
                           "strait: net: expected a command (strait net --help), found nothing\n");
    s = call(&below, "ad", NULL);
    CU_ASSERT_EQUAL(s.status, 2);
    CU_ASSERT_STRING_EQUAL(s.err, "strait: net: expected a command (strait net --help), found "
                                  "\"ad\", did you mean \"add\"?\n");
    s = call(&top, "xyzzy", NULL);
    CU_ASSERT_EQUAL(s.status, 2);
    CU_ASSERT_STRING_EQUAL(s.err, "strait: expected a command (strait --help), found \"xyzzy\"\n");
}

static void help(void)
{
    static const char *const words[] = {"--help", "-h", "help"};
    struct said first = call(&top, "--help", NULL);
    CU_ASSERT_EQUAL(first.status, 0);
    CU_ASSERT_CONTAINS(first.out, "A test.");
    CU_ASSERT_CONTAINS(first.out, "  add ");
    CU_ASSERT_CONTAINS(first.out, "Remove all.\n");
    CU_ASSERT_CONTAINS(first.out, "notes\n");
    for (size_t i = 0; i < 3; i++) {
        struct said s = call(&top, words[i], NULL);
        CU_ASSERT_EQUAL(s.status, 0);
        CU_ASSERT_STRING_EQUAL(s.out, first.out);
        CU_ASSERT_STRING_EQUAL(s.err, "");
    }
    struct said s = call(&top, NULL, NULL); /* the program alone: help, but nothing was done */
    CU_ASSERT_EQUAL(s.status, 2);
    CU_ASSERT_STRING_EQUAL(s.out, "");
    CU_ASSERT_STRING_EQUAL(s.err, first.out);
    s = call(&below, "--help=json", NULL);
    CU_ASSERT_EQUAL(s.status, 0);
    json_t *json = json_loads(s.out, 0, NULL);
    const json_t *all = json_object_get(json, "commands");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(json, "command")), "net");
    CU_ASSERT_EQUAL(json_array_size(all), 2);
    const json_t *add = json_array_get(all, 0);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(add, "name")), "add");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(add, "arguments")), "FILE");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(add, "summary")), "Add a file.");
    json_decref(json);
}

static void fails_silently(void)
{
    struct said s = call(&broken, "silent", NULL);
    CU_ASSERT_EQUAL(s.status, 1);
    CU_ASSERT_STRING_EQUAL(s.err, "strait: failed without saying why\n");
}

/* What begins again says so once and is ended by the signal; who ignores one goes on. */
static void interrupted(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
        for (int ignored = 0; ignored < 2; ignored++) {
            char said[256] = "";
            int status = 0;
            const int file = memfd_create("said", MFD_CLOEXEC);
            fflush(NULL);
            const pid_t pid = fork();
            CU_ASSERT_FATAL(file >= 0 && pid >= 0);
            if (pid == 0) {
                signal(signals[i], ignored ? SIG_IGN : SIG_DFL);
                alarm(60); /* ends what would not end */
                dup2(file, STDERR_FILENO);
                strait_command_begins_again();
                raise(signals[i]);
                _exit(7);
            }
            CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
            CU_ASSERT(pread(file, said, sizeof(said) - 1, 0) >= 0);
            close(file);
            strait_test_context("signal %d, ignored %d", signals[i], ignored);
            CU_ASSERT_EQUAL(WIFSIGNALED(status) ? WTERMSIG(status) : 0, ignored ? 0 : signals[i]);
            CU_ASSERT_EQUAL(WIFEXITED(status) ? WEXITSTATUS(status) : 0, ignored ? 7 : 0);
            CU_ASSERT_STRING_EQUAL(said, ignored ? ""
                                                 : "strait: interrupted; nothing is kept, the same "
                                                   "command begins again\n");
        }
}

static const struct strait_test tests[] = {
    {"a signal is told once and ends what begins again", interrupted},
    {"a failure without an error is no success", fails_silently},
    {"a command is run with its own words", runs},
    {"what is no command is refused in one line", refusals},
    {"help is printed where it was asked for, and as JSON", help},
};
STRAIT_SUITE("cli/kit/command", tests);
