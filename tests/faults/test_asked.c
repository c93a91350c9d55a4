/* What commands ask of the kernel, process by process, is what tests/golden/asked.txt says: flags,
 * options, signals, limits, rights and mounts (record.c). A command that this machine cannot run is
 * left out. STRAIT_WRITE_GOLDEN=all writes the list anew, which is then read. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "tests/kit/data.h"
#include "tests/kit/folder.h"
#include "tests/kit/program.h"

enum { RECORD_BYTES = 1 << 22, MAX_LINES = 2000, MAX_CALLS = 3 };

static const char experiment[] =
    "{\"schema\": \"strait-experiment/1\", \"title\": \"asked\", \"model\": \"cnn\","
    " \"strategy\": {\"name\": \"fedavg\", \"rounds\": 1, \"local_steps\": 1}, \"codec\": \"none\","
    " \"network\": {\"client\": {\"rate\": %s, \"rtt\": \"%d ms\"},"
    "               \"server\": {\"rate\": \"1 Gbps\"}}, \"clients\": 2}\n";
/* Boots where it is tried, and does nothing where it should run. */
static const char kernel[] = "#!/bin/sh\necho 'strait: host_cpu 1'; echo 'strait: uptime 0 3600'; "
                             "echo 'strait: boots'\n";

struct command {
    const char *name;
    const char *calls[MAX_CALLS][20]; /* one after another */
    int status;                       /* of all of them */
    bool is_served;                   /* until an interrupt */
};

static const struct command commands[] = {
    {"emulation by the relay",
     {{"run", "near.json", "--on", "emu", "--realisation", "relay", "--timing", "replay",
       "--dilation", "2", "--no-break-even"}},
     0,
     false},
    {"emulation by the kernel's links",
     {{"run", "flat.json", "--on", "emu", "--realisation", "kernel", "--timing", "replay",
       "--dilation", "2", "--no-break-even"}},
     0,
     false},
    {"foreign programs on the relay",
     {{"net", "run", "near.json", "--realisation", "relay", "--", "true"}},
     0,
     false},
    {"foreign programs on the kernel's links, whose rates change",
     {{"net", "run", "tides.json", "--realisation", "kernel", "--", "true"}},
     0,
     false},
    {"a network that stays up",
     {{"net", "up", "near.json"}, {"net", "exec", "--", "true"}, {"net", "down"}},
     0,
     false},
    {"a guest", {{"run", "near.json", "--on", "emu", "--launcher", "vuml"}}, 1, false},
    {"a guest for foreign programs",
     {{"net", "run", "near.json", "--launcher", "vuml", "--", "true"}},
     1,
     false},
    {"simulation", {{"run", "near.json", "--on", "sim", "--no-break-even"}}, 0, false},
    {"the page", {{"serve", "--port", "PORT"}}, 0, true},
};
enum { N_COMMANDS = sizeof(commands) / sizeof(*commands) };

static void write_files(struct program *p)
{
    char text[1024], path[128];
    snprintf(text, sizeof(text), experiment, "\"1 Gbps\"", 10);
    program_write(p, "near.json", text);
    snprintf(text, sizeof(text), experiment, "\"1 Gbps\"", 0);
    program_write(p, "flat.json", text);
    snprintf(text, sizeof(text), experiment,
             "[{\"at\": \"0 s\", \"rate\": \"1 Gbps\"}, "
             "{\"at\": \"3600 s\", \"rate\": \"2 Gbps\"}]",
             0);
    program_write(p, "tides.json", text);
    program_write(p, "kernel", kernel);
    snprintf(path, sizeof(path), "%s/kernel", p->folder);
    chmod(path, 0755);
    setenv("STRAIT_VKERNEL", path, 1);
    setenv("XDG_CACHE_HOME", p->folder, 1);
}

/* The record's file, empty. */
static void new_record(const struct program *p)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/asked", p->folder);
    unlink(path);
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    CU_ASSERT_FATAL(fd >= 0 && ftruncate(fd, RECORD_BYTES) == 0);
    close(fd);
    setenv("STRAIT_ASKED", path, 1);
}

static int call(struct program *p, const struct command *c, const char *const asked[])
{
    char library[4200], port[16];
    const char *args[20];
    snprintf(port, sizeof(port), "%d", 20000 + (int)getpid() % 20000);
    for (int i = 0; i < 20; i++)
        args[i] = asked[i] && strcmp(asked[i], "PORT") == 0 ? port : asked[i];
    snprintf(library, sizeof(library), "%.*s/tests/asked.so",
             (int)(strrchr(p->path, '/') - p->path), p->path);
    setenv("LD_PRELOAD", library, 1);
    const pid_t pid = program_start(p, "said", args);
    unsetenv("LD_PRELOAD");
    for (int i = 0; c->is_served && i < 6000; i++) { /* it says where it is */
        char *said = program_read(p, "said.out");
        const bool there = strstr(said, "http://") != NULL;
        free(said);
        if (there)
            break;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    if (c->is_served)
        kill(pid, SIGINT);
    return program_wait(pid);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* What the record has, each line once and sorted, below the command's name; to be freed. NULL: this
 * machine cannot. */
static char *asked_by(struct program *p, const struct command *c)
{
    static char *lines[MAX_LINES];
    size_t n = 0, n_bytes = 0, n_out = 0;
    new_record(p);
    for (int i = 0; i < MAX_CALLS && c->calls[i][0]; i++) {
        const int status = call(p, c, c->calls[i]);
        char *said = program_read(p, "said.err");
        strait_test_context("%s, %s: %s", c->name, c->calls[i][1], said);
        if (status == 3)
            strait_test_skip(said);
        else if (!strstr(said, "INVALID")) /* on a busy machine */
            CU_ASSERT_EQUAL(status, c->status);
        free(said);
        if (status == 3)
            return NULL;
    }
    char *record = program_read_bytes(p, "asked", &n_bytes);
    for (char *line = strtok(record + sizeof(size_t), "\n"); line && n < MAX_LINES;
         line = strtok(NULL, "\n"))
        lines[n++] = line;
    qsort(lines, n, sizeof(*lines), by_text);
    char *out;
    FILE *f = open_memstream(&out, &n_out);
    fprintf(f, "# %s\n", c->name);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || strcmp(lines[i], lines[i - 1]) != 0)
            fprintf(f, "%s\n", lines[i]);
    fclose(f);
    free(record);
    return out;
}

/* The part of the list that begins with the command's name; to be freed. */
static char *wanted_of(const char *list, const char *name)
{
    char title[200];
    snprintf(title, sizeof(title), "# %s\n", name);
    const char *at = strstr(list, title), *end = at ? strstr(at + 1, "\n# ") : NULL;
    return !at ? strdup("") : end ? strndup(at, (size_t)(end - at) + 1) : strdup(at);
}

/* Lines of a that b lacks. */
static void lacks(const char *what, const char *a, const char *b)
{
    for (const char *at = a, *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
        char line[1000];
        snprintf(line, sizeof(line), "\n%.*s\n", (int)(end - at), at);
        if (at == a || strstr(b, line))
            continue;
        strait_test_context("%s:%s", what, line);
        CU_FAIL("what is asked is as in tests/golden/asked.txt");
    }
}

static void asked(void)
{
    const char *const write = getenv("STRAIT_WRITE_GOLDEN");
    const bool anew = write && strcmp(write, "all") == 0;
    static const int stopping[] = {SIGHUP, SIGINT, SIGTERM};
    sighandler_t before[sizeof(stopping) / sizeof(*stopping)];
    struct program p;
    size_t n_bytes;
    if (geteuid() != 0) {
        strait_test_skip("only root is asked about: an ordinary user has other ways");
        return;
    }
    /* what the caller ignores is not waited for */
    for (size_t i = 0; i < sizeof(stopping) / sizeof(*stopping); i++)
        before[i] = signal(stopping[i], SIG_DFL);
    program_set_up(&p);
    write_files(&p);
    char *list = folder_bytes("/", DATA("tests/golden/asked.txt"), &n_bytes);
    FILE *f = anew ? fopen(DATA("tests/golden/asked.txt"), "we") : NULL;
    for (int i = 0; i < N_COMMANDS; i++) {
        char *found = asked_by(&p, &commands[i]);
        char *wanted = wanted_of(list ? list : "", commands[i].name);
        if (f)
            fputs(found ? found : wanted, f);
        else if (found && strcmp(found, wanted) != 0) {
            char what[200];
            snprintf(what, sizeof(what), "%s: asks, and is not to", commands[i].name);
            lacks(what, found, wanted);
            snprintf(what, sizeof(what), "%s: is to ask, and does not", commands[i].name);
            lacks(what, wanted, found);
        }
        free(found);
        free(wanted);
    }
    if (f)
        fclose(f);
    free(list);
    unsetenv("STRAIT_ASKED");
    unsetenv("STRAIT_VKERNEL");
    unsetenv("XDG_CACHE_HOME");
    program_tear_down(&p);
    for (size_t i = 0; i < sizeof(stopping) / sizeof(*stopping); i++)
        signal(stopping[i], before[i]);
}

static const struct strait_test tests[] = {
    {"commands ask of the kernel what the list says", asked},
};
STRAIT_SUITE_WITH("faults/asked", tests, .release = true);
