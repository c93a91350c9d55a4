/* strait net exec: a program in a rank of a network; strait net rsh: the same, called as ssh is. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "emu/programs/outside.h"
#include "net_command.h"

enum { NO_PROGRAM = 127, NO_START = 126 }; /* as env(1) has it */

/* Signals that are passed on to the program. */
static sigset_t block_signals(void)
{
    static const int numbers[] = {SIGCHLD, SIGHUP,  SIGINT,  SIGQUIT,
                                  SIGTERM, SIGUSR1, SIGUSR2, SIGALRM};
    sigset_t mask;
    sigemptyset(&mask);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        sigaddset(&mask, numbers[i]);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    return mask;
}

/* The program's exit status, as a shell tells it. */
static int attend(pid_t pid, const sigset_t *mask)
{
    for (;;) {
        int status;
        const pid_t ended = waitpid(pid, &status, WNOHANG);
        if (ended == pid)
            return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        if (ended < 0 && errno != EINTR)
            return 1;
        siginfo_t info;
        const int number = sigwaitinfo(mask, &info);
        /* The program is in the same process group and gets a terminal's signals itself. */
        if (number > 0 && number != SIGCHLD && info.si_code <= 0)
            kill(pid, number);
    }
}

/* The command line that runs argv in a rank of another host, through the launcher. Its words are
 * letters and digits alone, since a launcher may be a shell's. NULL without memory. */
static const char **forward(const json_t *state, int rank, const char *const *argv)
{
    const json_t *hosts = json_object_get(state, "hosts");
    const json_t *on =
        json_object_get(json_array_get(json_object_get(state, "ranks"), (size_t)rank), "on");
    const int h = (int)json_integer_value(on);
    json_t *words = json_array();
    for (size_t i = 0; argv[i]; i++)
        json_array_append_new(words, json_string(argv[i]));
    char *line = json_dumps(words, JSON_COMPACT | JSON_ENSURE_ASCII);
    const size_t n = line ? strlen(line) : 0;
    char *hex = malloc(2 * n + 1), name[STRAIT_EMU_NAME_CHARS + 16], number[24];
    for (size_t i = 0; i < n && hex; i++)
        sprintf(hex + 2 * i, "%02x", (unsigned)(unsigned char)line[i]);
    snprintf(name, sizeof(name), "%s.h%d", json_string_value(json_object_get(hosts, "network")), h);
    snprintf(number, sizeof(number), "%d", rank);
    const char *const more[] = {json_string_value(json_object_get(hosts, "program")),
                                "net",
                                "exec",
                                "--name",
                                name,
                                "--rank",
                                number,
                                "--hex",
                                hex,
                                NULL};
    const char **out =
        hex ? strait_net_launch_words(
                  json_string_value(json_object_get(hosts, "launch")),
                  json_string_value(json_array_get(json_object_get(hosts, "names"), (size_t)h)),
                  more)
            : NULL;
    free(hex);
    free(line);
    json_decref(words);
    return out;
}

/* Whether a rank is on another of the hosts that share the network. */
static bool is_elsewhere(const json_t *state, int rank)
{
    const json_t *hosts = json_object_get(state, "hosts");
    const json_t *on =
        json_object_get(json_array_get(json_object_get(state, "ranks"), (size_t)rank), "on");
    return hosts && rank >= 0 && !json_equal(on, json_object_get(hosts, "here"));
}

/* Run argv in a rank; ends with its exit status, or with ours after printing one line. */
static void exec_in(const char *name, const char *rank_text, const char *const *argv)
    __attribute__((noreturn));
static void exec_in(const char *name, const char *rank_text, const char *const *argv)
{
    struct strait_error err = {0};
    struct strait_emu_registry place;
    struct strait_emu_join visit = {-1, -1, -1, -1, -1};
    struct strait_net_env env;
    char *const cwd = getcwd(NULL, 0);
    json_t *state = NULL;
    const char **forwarded = NULL;
    pid_t pid = -1;
    int rank = -1;
    if (!cwd)
        strait_error_system(&err, NULL, "cannot find the working directory");
    else if (strait_emu_registry_init(&place, name, &err) == 0)
        state = strait_emu_join_state(&place, &err);
    if (state)
        rank = strait_net_rank(state, rank_text, &err);
    const sigset_t mask = block_signals();
    const bool elsewhere = is_elsewhere(state, rank);
    if (elsewhere && !(forwarded = forward(state, rank, argv)))
        strait_error_memory(&err, NULL);
    int status = -1;
    if (forwarded) /* signals end us, and so the program there */
        sigprocmask(SIG_UNBLOCK, &mask, NULL);
    if (forwarded)
        status = strait_emu_outside_run(
            json_string_value(json_object_get(json_object_get(state, "hosts"), "outside")),
            forwarded, &err);
    else if (rank >= 0 && err.code == STRAIT_OK &&
             strait_emu_join_open(&visit, &place, rank, &err) == 0 &&
             strait_emu_join_join(&visit, &err) == 0) {
        strait_net_env_room(&env, &place, state, rank);
        const struct strait_emu_command program = {
            .argv = argv,
            .env = env.items,
            .cwd = cwd,
            .stdio = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}};
        pid = strait_emu_join_start(&visit, &program, &err);
    }
    strait_emu_join_release(&visit);
    json_decref(state);
    free(forwarded);
    free(cwd);
    if (pid > 0)
        strait_net_leave(attend(pid, &mask));
    if (status >= 0)
        strait_net_leave(status);
    status = strait_command_fail(&err);
    const bool is_programs_fault = err.code == STRAIT_ERR_USAGE && err.saved_errno != 0;
    const int of_env = err.saved_errno == ENOENT ? NO_PROGRAM : NO_START;
    strait_net_leave(is_programs_fault ? of_env : status);
}

static const char exec_notes[] =
    "The program has the rank's network, host name, hosts file and process numbers,\n"
    "your standard streams, working directory and signals; STRAIT_RANK, STRAIT_HOST\n"
    "and STRAIT_ADDR say where it runs. The exit status is the program's, 128 + the\n"
    "signal that ended it, 127 if there is no such program, or 126 if it cannot be\n"
    "started. Time is real (dilation 1).\n"
    "\n"
    "  strait net exec --rank client1 -- iperf3 -c server\n"
    "  strait net exec -- bash\n";

/* The words that `forward` wrote: NULL-terminated, owned by *words; or NULL with *err. */
static const char **unpack(json_t **words, const char *hex, struct strait_error *err)
{
    const size_t n = strlen(hex) / 2;
    char *line = malloc(n + 1);
    for (size_t i = 0; i < n && line; i++) {
        const char digits[] = {hex[2 * i], hex[2 * i + 1], '\0'};
        line[i] = (char)strtoul(digits, NULL, 16);
    }
    *words = line ? json_loadb(line, n, 0, NULL) : NULL;
    const size_t n_words = json_array_size(*words);
    const char **argv = n_words > 0 ? calloc(n_words + 1, sizeof(*argv)) : NULL;
    for (size_t i = 0; i < n_words && argv; i++)
        if (!(argv[i] = json_string_value(json_array_get(*words, i))))
            argv[0] = NULL;
    free(line);
    if (argv && argv[0])
        return argv;
    free(argv);
    strait_error_set(err, STRAIT_ERR_USAGE, "net exec",
                     "expected words as net rsh writes them after --hex");
    return NULL;
}

int strait_net_exec(int argc, char **argv)
{
    const char *name = strait_net_default_name(), *rank = "0", *hex = NULL, *none[1];
    const char **unpacked = NULL;
    json_t *words = NULL;
    char **command = NULL;
    const struct strait_option options[] = {
        {"name", 0, STRAIT_OPTION_TEXT, &name, "NAME", "name of the network (\"default\")"},
        {"rank", 0, STRAIT_OPTION_TEXT, &rank, "RANK", "number, host name or address (0)"},
        {"hex", 0, STRAIT_OPTION_TEXT, &hex, "WORDS", "COMMAND in hexadecimal, from another host"}};
    const struct strait_usage usage = {
        "net exec",
        "-- COMMAND [ARGUMENTS]",
        "Run a program in a rank of a network that is up.",
        STRAIT_OPTIONS(options),
        exec_notes,
    };
    struct strait_error err = {0};
    const int status = strait_net_parse(&usage, argc, argv, none, 0, &command, &err);
    if (status == 0 && hex)
        unpacked = unpack(&words, hex, &err);
    else if (status == 0 && (!command || !*command))
        strait_error_set(&err, STRAIT_ERR_USAGE, "net exec",
                         "expected a program behind \"--\", found none");
    if (err.code != STRAIT_OK)
        return strait_command_fail(&err);
    if (status == 1)
        return 0;
    exec_in(name, rank, unpacked ? unpacked : (const char *const *)(void *)command);
}

static const char rsh_notes[] =
    "For programs such as mpirun that start processes on other hosts through rsh or\n"
    "ssh: the words after HOST are one command line for sh, as with ssh. Uses the\n"
    "network in which it is called (STRAIT_NET). Options of ssh before HOST\n"
    "(-n -q -x -T) are accepted and ignored.\n"
    "\n"
    "  strait net exec -- mpirun --host server,client1 \\\n"
    "      --mca plm_rsh_agent \"strait net rsh\" ./ring\n";

static char *join(char *const *words)
{
    size_t n = 1;
    for (char *const *w = words; *w; w++)
        n += strlen(*w) + 1;
    char *line = malloc(n), *at = line;
    for (char *const *w = words; line && *w; w++)
        at += sprintf(at, "%s%s", w == words ? "" : " ", *w);
    return line;
}

int strait_net_rsh(int argc, char **argv)
{
    const struct strait_usage usage = {
        "net rsh", "HOST COMMAND...", "Run a command line in a host, called as ssh is.", NULL,
        0,         rsh_notes};
    static const char *const of_ssh[] = {"-n", "-q", "-x", "-T"};
    struct strait_error err = {0};
    int at = 1;
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        strait_options_print(&usage, stdout);
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "--help=json") == 0) {
        strait_options_print_json(&usage);
        return 0;
    }
    for (size_t i = 0; at < argc && i < sizeof(of_ssh) / sizeof(*of_ssh); i++)
        if (strcmp(argv[at], of_ssh[i]) == 0) {
            at++;
            i = (size_t)-1; /* begin again with the next one */
        }
    if (at + 1 >= argc || argv[at][0] == '-') {
        strait_error_set(&err, STRAIT_ERR_USAGE, "net rsh",
                         "expected a host and a command (strait net rsh --help), found %s%s%s",
                         at < argc ? "\"" : "", at < argc ? argv[at] : "nothing",
                         at < argc ? "\"" : "");
        return strait_command_fail(&err);
    }
    char *line = join(argv + at + 1);
    if (!line) {
        strait_error_set(&err, STRAIT_ERR_NOMEM, "net rsh", "memory ran out");
        return strait_command_fail(&err);
    }
    /* The only use of a shell: rsh's callers quote for one. */
    const char *const shell[] = {"sh", "-c", line, NULL};
    exec_in(strait_net_default_name(), argv[at], shell);
}
