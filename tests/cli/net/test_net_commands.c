/* strait net from outside: the life of a network, its rooms, what is left when it is killed. */
#include <dirent.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "net_up.h"

static void sleep_ms(long ms)
{
    const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static long supervisor_of(const struct program *p, const char *name)
{
    struct said s = PROGRAM_CALL(p, "net", "status", "--json", "--name", name);
    json_t *state = json_loads(s.out, 0, NULL);
    const long pid = (long)json_integer_value(json_object_get(state, "supervisor"));
    json_decref(state);
    said_release(&s);
    CU_ASSERT_FATAL(pid > 1);
    return pid;
}

/* --- tests -------------------------------------------------------------------------------- */

/* A line of words with one blank between, of the n-th line of a table; "" behind its end. */
static const char *words_of(char out[256], const char *table, size_t n)
{
    for (; n > 0 && *table; n--)
        table += strcspn(table, "\n") + (strchr(table, '\n') != NULL);
    char line[256], *rest = NULL;
    size_t used = 0;
    snprintf(line, sizeof(line), "%.*s", (int)strcspn(table, "\n"), table);
    *out = '\0';
    for (char *word = strtok_r(line, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        used += (size_t)snprintf(out + used, 256 - used, "%s%s", used > 0 ? " " : "", word);
    return out;
}

/* The one network that is up, as a line and as JSON. */
static void expect_listed(struct program *p, const char *name)
{
    char words[256], begin[64];
    struct said s = PROGRAM_CALL(p, "net", "list");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_STRING_EQUAL(words_of(words, s.out, 0), "name ranks supervisor launcher experiment");
    snprintf(begin, sizeof(begin), "%s 3 %d ", name, (int)supervisor_of(p, name));
    size_t line = 1; /* below a rule, where there is one */
    while (line < 3 && strncmp(words_of(words, s.out, line), begin, strlen(begin)) != 0)
        line++;
    CU_ASSERT_EQUAL(strncmp(words, begin, strlen(begin)), 0);
    CU_ASSERT_CONTAINS(words, "net.json");
    said_release(&s);
    s = PROGRAM_CALL(p, "net", "list", "--json");
    json_t *state = json_loads(s.out, JSON_DISABLE_EOF_CHECK, NULL);
    CU_ASSERT_EQUAL(program_n_lines(s.out), 1);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(state, "name")), name);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(state, "ranks")), 3);
    json_decref(state);
    said_release(&s);
}

/* A line each of what the device of every rank has counted. */
static void expect_counters(struct program *p)
{
    static const char *const hosts[] = {"server ", "client1 ", "client2 "};
    struct said s = PROGRAM_CALL(p, "net", "status");
    char words[256];
    CU_ASSERT_EQUAL(s.status, 0);
    const char *table = strstr(s.out, "\n\nhost ");
    CU_ASSERT_PTR_NOT_NULL_FATAL(table);
    table += 2;
    CU_ASSERT_STRING_EQUAL(words_of(words, table, 0),
                           "host sent packets received packets dropped or failed");
    const size_t n_lines = program_n_lines(table);
    for (size_t i = 0; i < 3; i++) {
        words_of(words, table, n_lines - 3 + i);
        CU_ASSERT_EQUAL(strncmp(words, hosts[i], strlen(hosts[i])), 0);
        CU_ASSERT_STRING_EQUAL(strrchr(words, ' '), " 0"); /* nothing was dropped */
    }
    said_release(&s);
}

/* After a second a line of each rank, for programs: idle links of 1 Gbps carry less than 1 % of it.
 */
static void expect_rates(struct program *p)
{
    static const char *const hosts[] = {"server", "client1", "client2"};
    struct said s = PROGRAM_CALL(p, "net", "top", "-n", "1", "--json");
    const char *at = s.out;
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_EQUAL_FATAL(program_n_lines(s.out), 3);
    for (size_t i = 0; i < 3; i++, at = strchr(at, '\n') + 1) {
        json_t *line = json_loads(at, JSON_DISABLE_EOF_CHECK, NULL);
        const json_t *out = json_object_get(line, "out_bits_per_s"),
                     *in = json_object_get(line, "in_bits_per_s");
        CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(line, "host")), hosts[i]);
        CU_ASSERT(json_number_value(json_object_get(line, "at_s")) >= 1);
        CU_ASSERT(json_is_number(out) && json_number_value(out) >= 0);
        CU_ASSERT(json_is_number(in) && json_number_value(in) >= 0);
        CU_ASSERT(json_number_value(out) < 1e7 && json_number_value(in) < 1e7);
        json_decref(line);
    }
    said_release(&s);
}

static void life(void)
{
    struct program p;
    program_set_up(&p);
    program_write(&p, "text", "through\n");
    p.in = "text";
    if (up(&p, "default")) {
        EXPECT(&p, 0, "through\n", "exec", "--", "cat");
        EXPECT(&p, 7, "", "exec", "--", "sh", "-c", "exit 7");
        EXPECT(&p, 128 + 9, "", "exec", "--", "sh", "-c", "kill -9 $$");
        /* by its path: in PATH there may be folders that this user may not search (126) */
        struct said s = PROGRAM_CALL(&p, "net", "exec", "--", "/no-such-program");
        CU_ASSERT_EQUAL(s.status, 127);
        CU_ASSERT_EQUAL(program_n_lines(s.err), 1);
        said_release(&s);
        EXPECT(&p, 126, "", "exec", "--", "/etc/hosts");
        s = PROGRAM_CALL(&p, "net", "exec", "--", "sh", "-c", "echo to stderr >&2");
        CU_ASSERT_STRING_EQUAL(s.out, "");
        CU_ASSERT_STRING_EQUAL(s.err, "to stderr\n");
        said_release(&s);
        CU_ASSERT_EQUAL(n_files(&p), 3);
        expect_listed(&p, "default");
        expect_counters(&p);
        expect_rates(&p);
        EXPECT(&p, 0, "", "down");
        CU_ASSERT_EQUAL(n_files(&p), 0);
        EXPECT(&p, 2, "", "down");
        EXPECT(&p, 0, "no network is up (strait net up --help)\n", "list");
    }
    program_tear_down(&p);
}

static void room(void)
{
    static const char hosts[] = "127.0.0.1\tlocalhost\n10.0.0.1\tserver rank0\n"
                                "10.0.0.2\tclient1 rank1\n10.0.0.3\tclient2 rank2\n";
    struct program p;
    program_set_up(&p);
    char *before = program_read(&p, "/etc/hosts"), *mounts = program_read(&p, "/proc/self/mounts");
    char *cwd = calloc(1, 80);
    sprintf(cwd, "%s\n", p.folder);
    if (up(&p, "default")) {
        EXPECT(&p, 0, "client2\n", "exec", "--rank", "2", "--", "uname", "-n");
        EXPECT(&p, 0, "client2\n", "exec", "--rank", "rank2", "--", "cat", "/etc/hostname");
        EXPECT(&p, 0, "server\n", "exec", "--rank", "10.0.0.1", "--", "uname", "-n");
        EXPECT(&p, 0, hosts, "exec", "--rank", "client1", "--", "cat", "/etc/hosts");
        EXPECT(&p, 0, "eth0\nlo\n", "exec", "--", "sh", "-c",
               "sed -n 's/^ *\\([a-z0-9]*\\):.*/\\1/p' /proc/net/dev | sort");
        EXPECT(&p, 0, "10.0.0.2\n", "exec", "--rank", "1", "--", "sh", "-c", "echo $STRAIT_ADDR");
        EXPECT(&p, 0, cwd, "exec", "--", "pwd");
        EXPECT(&p, 0, "client1\n", "exec", "--", p.path, "net", "rsh", "client1", "uname", "-n");
        EXPECT(&p, 0, "client1\n", "exec", "--", p.path, "net", "rsh", "-x", "-n", "-q", "client1",
               "uname", "-n"); /* as Open MPI calls ssh */
        if (geteuid() == 0)
            EXPECT(&p, 0, "eth0\nlo\n", "exec", "--", "ls", "/sys/class/net");
        /* the supervisor is process 1 there, whoever looks from the machine */
        EXPECT(&p, 0, "strait-net\n", "exec", "--", "cat", "/proc/1/comm");
        char *during = program_read(&p, "/etc/hosts"),
             *mounted = program_read(&p, "/proc/self/mounts");
        CU_ASSERT_STRING_EQUAL(before, during);
        CU_ASSERT_STRING_EQUAL(mounts, mounted);
        free(during);
        free(mounted);
        EXPECT(&p, 0, "", "down");
    }
    free(before);
    free(mounts);
    free(cwd);
    program_tear_down(&p);
}

static void two_networks(void)
{
    struct program p;
    program_set_up(&p);
    if (up(&p, "one") && up(&p, "two")) {
        struct said one =
            PROGRAM_CALL(&p, "net", "exec", "--name", "one", "--", "readlink", "/proc/self/ns/net");
        struct said two =
            PROGRAM_CALL(&p, "net", "exec", "--name", "two", "--", "readlink", "/proc/self/ns/net");
        CU_ASSERT_EQUAL(strncmp(one.out, "net:[", 5), 0);
        CU_ASSERT_EQUAL(strncmp(two.out, "net:[", 5), 0);
        CU_ASSERT_STRING_NOT_EQUAL(one.out, two.out);
        said_release(&one);
        said_release(&two);
        struct said s = PROGRAM_CALL(&p, "net", "up", "net.json", "--name", "one");
        CU_ASSERT_EQUAL(s.status, 2);
        CU_ASSERT_STRING_EQUAL(s.err, "strait: net: network \"one\" is up already (strait net down "
                                      "--name one)\n");
        said_release(&s);
        EXPECT(&p, 0, "", "down", "--name", "one");
        EXPECT(&p, 2, "", "exec", "--name", "one", "--", "true");
        EXPECT(&p, 0, "", "exec", "--name", "two", "--", "true");
        EXPECT(&p, 0, "", "down", "--name", "two");
    }
    program_tear_down(&p);
}

/* Is the namespace with this name, "net:[...]", still one of any process? */
static bool in_use(const char *name)
{
    char path[300], target[64];
    bool used = false;
    DIR *proc = opendir("/proc");
    for (const struct dirent *e; proc && (e = readdir(proc));) {
        snprintf(path, sizeof(path), "/proc/%s/ns/net", e->d_name);
        const ssize_t n = readlink(path, target, sizeof(target) - 1);
        used = used || (n > 0 && strncmp(target, name, (size_t)n) == 0);
    }
    if (proc)
        closedir(proc);
    return used;
}

static void killed_supervisor(void)
{
    static const char *const sleeper[] = {"net", "exec", "--rank", "1", "--", "sleep", "100", NULL};
    struct program p;
    program_set_up(&p);
    if (up(&p, "default")) {
        struct said s =
            PROGRAM_CALL(&p, "net", "exec", "--rank", "1", "--", "readlink", "/proc/self/ns/net");
        const pid_t pid = program_start(&p, "sleeper", sleeper);
        for (int i = 0; i < 200 && !in_use(s.out); i++)
            sleep_ms(10);
        CU_ASSERT(in_use(s.out));
        CU_ASSERT(program_n_left(&p) >= 3); /* the supervisor, exec, sleep */
        kill((pid_t)supervisor_of(&p, "default"), SIGKILL);
        CU_ASSERT_EQUAL(program_wait(pid), 128 + SIGKILL);
        CU_ASSERT_EQUAL(program_n_left_soon(&p), 0);
        CU_ASSERT_FALSE(in_use(s.out));
        said_release(&s);
        EXPECT(&p, 2, "", "exec", "--", "true");
        CU_ASSERT_EQUAL(n_files(&p), 0); /* what it left was found stale */
        CU_ASSERT(up(&p, "default"));
        EXPECT(&p, 0, "", "down");
    }
    program_tear_down(&p);
}

static void forwarded_signal(void)
{
    static const char *const trapper[] = {
        "net", "exec", "--",
        "sh",  "-c",   "trap 'echo caught; exit 5' TERM; echo ready; while :; do sleep 0.02; done",
        NULL};
    struct program p;
    program_set_up(&p);
    if (up(&p, "default")) {
        const pid_t pid = program_start(&p, "trapper", trapper);
        bool ready = false;
        for (int i = 0; i < 200 && !ready; i++) {
            sleep_ms(10);
            char *text = program_read(&p, "trapper.out");
            ready = strcmp(text, "ready\n") == 0;
            free(text);
        }
        CU_ASSERT(ready);
        kill(pid, SIGTERM);
        CU_ASSERT_EQUAL(program_wait(pid), 5);
        char *text = program_read(&p, "trapper.out");
        CU_ASSERT_STRING_EQUAL(text, "ready\ncaught\n");
        free(text);
        const int n_before = program_n_left(&p); /* the supervisor and what it needs */
        const pid_t other = program_start(&p, "trapper", trapper);
        for (int i = 0; i < 200 && program_n_left(&p) < n_before + 2; i++)
            sleep_ms(10);
        kill(other, SIGKILL); /* nobody is left to pass anything on: the program is killed, too */
        CU_ASSERT_EQUAL(program_wait(other), 128 + SIGKILL);
        for (int i = 0; i < 200 && program_n_left(&p) > n_before; i++)
            sleep_ms(10);
        CU_ASSERT_EQUAL(program_n_left(&p), n_before);
        EXPECT(&p, 0, "", "down");
    }
    program_tear_down(&p);
}

static void usage(void)
{
    static const char *const cases[][8] = {
        {"net", "upp"},
        {"net", "up"},
        {"net", "up", "nowhere.json"},
        {"net", "up", "net.json", "more"},
        {"net", "up", "net.json", "--name", "../x"},
        {"net", "up", "net.json", "--name", ""},
        {"net", "up", "net.json", "--set", "/network/client/rate=\"fast\""},
        {"net", "up", "net.json", "--set", "/vary={\"/clients\": [2, 4]}"},
        {"net", "up", "wan-scaling"},
        {"net", "exec", "--rank", "1"},
        {"net", "exec", "--"},
        {"net", "exec", "--name", "nowhere", "--", "true"},
        {"net", "run", "net.json"},
        {"net", "run", "--", "true"},
        {"net", "run", "net.json", "--ranks", "some", "--", "true"},
        {"net", "run", "net.json", "--realisation", "kernl", "--", "true"},
        {"net", "up", "net.json", "--realisation", "kernl"},
        {"net", "run", "net.json", "--", "no-such-program"},
        {"net", "down", "now"},
        {"net", "top", "--interval", "0"},
        {"net", "top"},
        {"net", "status"},
        {"net", "rsh", "client1"},
        {"net", "rsh", "-l", "me", "client1", "true"},
        {"net", "probe", "it"},
    };
    struct program p;
    program_set_up(&p);
    const bool can = up(&p, "default");
    if (can)
        EXPECT(&p, 2, "", "exec", "--rank", "3", "--", "true"); /* ranks are 0, 1 and 2 */
    if (can)
        EXPECT(&p, 0, "", "down");
    for (size_t i = 0; can && i < sizeof(cases) / sizeof(*cases); i++) {
        struct said s = program_call(&p, cases[i]);
        CU_ASSERT_EQUAL(s.status, 2);
        CU_ASSERT_STRING_EQUAL(s.out, "");
        CU_ASSERT_EQUAL(program_n_lines(s.err), 1);
        CU_ASSERT_EQUAL(strncmp(s.err, "strait: ", 8), 0);
        if (s.status != 2 || program_n_lines(s.err) != 1)
            fprintf(stderr, "net %s %s: %d: %s", cases[i][1], cases[i][2] ? cases[i][2] : "",
                    s.status, s.err);
        said_release(&s);
    }
    CU_ASSERT_EQUAL(n_files(&p), 0);
    program_tear_down(&p);
}

static void help(void)
{
    static const char *const commands[] = {"up",  "exec",   "down", "run",  "list",
                                           "top", "status", "rsh",  "probe"};
    struct program p;
    program_set_up(&p);
    struct said all = PROGRAM_CALL(&p, "net", "--help");
    CU_ASSERT_EQUAL(all.status, 0);
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
        struct said s = PROGRAM_CALL(&p, "net", commands[i], "--help");
        CU_ASSERT_PTR_NOT_NULL(strstr(all.out, commands[i]));
        CU_ASSERT_EQUAL(s.status, 0);
        CU_ASSERT_EQUAL(strncmp(s.out, "usage: strait net ", 18), 0);
        CU_ASSERT_STRING_EQUAL(s.err, "");
        said_release(&s);
    }
    said_release(&all);
    program_tear_down(&p);
}

static const struct strait_test tests[] = {
    {"a network is brought up, entered and taken down", life},
    {"a room has its host name, hosts file, devices and processes", room},
    {"two networks do not meet, and a name is taken once", two_networks},
    {"a killed supervisor leaves no process, no namespace and no stale state", killed_supervisor},
    {"signals are passed on to the program, which ends with exec", forwarded_signal},
    {"a wrong command line is one line and exit 2", usage},
    {"every command explains itself", help},
};
STRAIT_SUITE_WITH("cli/net/net_commands", tests, .slow_s = 4);
