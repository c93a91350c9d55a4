/* Commands in which memory runs out, or a call of the system fails, once at each place of the
 * program that asks for it: they end with an error that says so, or with the right answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cli/kit/command.h"
#include "tests/kit/failing/faulty.h"
#include "tests/kit/failing/scarce.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"

enum { MAX_ARGS = 16, SAID_BYTES = 1 << 16 };

/* What a small question is, and a round of real training. */
static const char
    fedavg[] =
        "{\"schema\": \"strait-experiment/1\", \"model\": \"cnn\","
        " \"strategy\": {\"name\": \"fedavg\", \"rounds\": 1},"
        " \"codec\": {\"name\": \"sz\", \"bound\": {\"range\": 1e-3}},"
        " \"network\": {\"client\": {\"rate\": \"100 Mbps\"}, \"server\": {\"rate\": \"1 Gbps\"}},"
        " \"vary\": {\"/clients\": [1, 2]}}\n",
    quadratic[] =
        "{\"schema\": \"strait-experiment/1\", \"model\": \"quadratic\","
        " \"training\": {\"task\": \"quadratic\", \"dim\": 1000, \"batch\": 8, \"lr\": 0.2},"
        " \"strategy\": {\"name\": \"fedavg\", \"rounds\": 2}, \"codec\": \"none\","
        " \"network\": {\"client\": {\"rate\": \"100 Mbps\"}, \"server\": {\"rate\": \"1 Gbps\"}},"
        " \"clients\": 2}\n";

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *args[MAX_ARGS];
} commands[] = {
    {"check", strait_command_check, {"check", "fedavg.json"}},
    {"run",
     strait_command_run,
     {"run", "fedavg.json", "--on", "fluid", "--out", "new", "--fresh", "-j", "1"}},
    {"run, training",
     strait_command_run,
     {"run", "quadratic.json", "--on", "fluid", "--out", "new", "--fresh", "-j", "1"}},
    {"compare", strait_command_compare, {"compare", "there", "there"}},
    {"plot", strait_command_plot, {"plot", "there", "--out", "new.svg"}},
    {"list experiments", strait_command_list, {"list", "experiments"}},
    {"tune",
     strait_command_tune,
     {"tune", "quadratic.json", "--param", "/strategy/local_steps", "--range", "1..3", "--trials",
      "2"}},
    {"encode",
     strait_command_codec,
     {"codec", "encode", "x.f32", "--codec", "sz:range=1e-3", "-o", "x.strait"}},
    {"net run",
     strait_command_net,
     {"net", "run", "fedavg.json", "--set", "/clients=2", "--", "true"}},
};
enum { N_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

/* What can fail. */
static const struct kind {
    const char *name;
    void (*begin)(long n);
    bool (*end)(void);
    void (*record)(struct strait_places *p);
} kinds[] = {
    {"allocation", strait_scarce_begin, strait_scarce_end, strait_scarce_record},
    {"call", strait_faulty_begin, strait_faulty_end, strait_faulty_record},
};

static char folder[] = "/tmp/strait-failing-XXXXXX";
static int streams[2]; /* the command's standard output and error */

struct said {
    int status; /* 128 + signal */
    bool has_failed;
    char out[SAID_BYTES], err[SAID_BYTES];
};

static void read_stream(char *text, int fd)
{
    const ssize_t n = pread(fd, text, SAID_BYTES - 1, 0);
    text[n > 0 ? n : 0] = '\0';
}

/* In a process of its own: a crash is one command's. n: the call that fails; -1: none. */
static void call(struct said *s, const struct command *c, const struct kind *kind, long n)
{
    int argc = 0, status;
    while (c->args[argc])
        argc++;
    fflush(stdout);
    CU_ASSERT_FATAL(ftruncate(streams[0], 0) == 0 && ftruncate(streams[1], 0) == 0);
    const pid_t pid = fork();
    if (pid == 0) {
        char *argv[MAX_ARGS + 1] = {NULL};
        for (int i = 0; i < argc; i++)
            argv[i] = (char *)(uintptr_t)c->args[i];
        if (chdir(folder) != 0 || dup2(streams[0], 1) != 1 || dup2(streams[1], 2) != 2 ||
            lseek(1, 0, SEEK_SET) != 0 || lseek(2, 0, SEEK_SET) != 0)
            _exit(126);
        if (kind)
            kind->begin(n);
        status = c->run(argc, argv);
        s->has_failed = kind && kind->end();
        status = strait_command_end(status);
        /* 64: what failed; the exit status itself is 0 to 3 */
        _exit(status < 0 || status > 3 ? 127 : status | (s->has_failed ? 64 : 0));
    }
    CU_ASSERT_FATAL(pid > 0 && waitpid(pid, &status, 0) == pid);
    s->has_failed = WIFEXITED(status) && (WEXITSTATUS(status) & 64) != 0;
    s->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status) & ~64;
    read_stream(s->out, streams[0]);
    read_stream(s->err, streams[1]);
}

/* The last line is the error, and nothing in it was never filled in. */
static bool is_error(const char *err)
{
    const char *line = err, *next;
    while ((next = strchr(line, '\n')) && next[1])
        line = next + 1;
    return strncmp(line, "strait: ", 8) == 0 && !strstr(err, "(null)");
}

/* Each place that no command before has come through. */
static void each_place(const struct command *c, const struct kind *kind, struct strait_places *p)
{
    const int n_before = atomic_load(&p->n);
    struct said *right = malloc(sizeof(*right)), *s = malloc(sizeof(*s));
    CU_ASSERT_FATAL(right && s);
    kind->record(p);
    call(right, c, kind, -1);
    kind->record(NULL);
    strait_test_context("%s: %s", c->name, right->err);
    const bool cannot = right->status == 3; /* a user who may have no network */
    if (cannot)
        strait_test_skip(right->err);
    CU_ASSERT(right->status == 0 || cannot);
    const int n = atomic_load(&p->n);
    for (int i = n_before; i < n && !cannot; i += IS_SANITIZED ? 2 : 1) {
        call(s, c, kind, p->first[i]);
        strait_test_context("%s: %s %ld of place %d: status %d: %.300s", c->name, kind->name,
                            p->first[i], i, s->status, s->err);
        CU_ASSERT_AT_MOST(s->status, 3);
        CU_ASSERT(s->status == 0 || is_error(s->err));
        if (s->status == 0) /* it can do without */
            CU_ASSERT_STRING_EQUAL(s->out, right->out);
    }
    printf("    %s: %d places\n", c->name, n - n_before);
    free(right);
    free(s);
}

static void write_text(const char *name, const char *text, size_t n)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    CU_ASSERT_FATAL(f && fwrite(text, 1, n, f) == n && fclose(f) == 0);
}

static void set_up(void)
{
    static const struct command there = {
        "run", strait_command_run, {"run", "fedavg.json", "--on", "fluid", "--out", "there"}};
    static float x[2000];
    static struct said s;
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    for (int i = 0; i < 2000; i++)
        x[i] = (float)(i % 7) / 50;
    streams[0] = memfd_create("out", MFD_CLOEXEC);
    streams[1] = memfd_create("err", MFD_CLOEXEC);
    CU_ASSERT_FATAL(streams[0] >= 0 && streams[1] >= 0);
    write_text("fedavg.json", fedavg, strlen(fedavg));
    write_text("quadratic.json", quadratic, strlen(quadratic));
    write_text("x.f32", (const char *)x, sizeof(x));
    call(&s, &there, NULL, -1);
    CU_ASSERT_EQUAL_FATAL(s.status, 0);
}

static void tear_down(void)
{
    close(streams[0]);
    close(streams[1]);
    folder_remove(folder);
}

static void all_of(const struct kind *kind)
{
    struct strait_places *p = strait_places_new();
    set_up();
    for (int i = 0; i < N_COMMANDS; i++)
        each_place(&commands[i], kind, p);
    strait_places_free(p);
    tear_down();
}

static void memory_runs_out(void)
{
    all_of(&kinds[0]);
}

static void calls_fail(void)
{
    all_of(&kinds[1]);
}

static const struct strait_test tests[] = {
    {"memory runs out once at each place", memory_runs_out},
    {"calls of the system fail once at each place", calls_fail},
};
STRAIT_SUITE_WITH("cli/failing_commands", tests, .slow_s = 8);
