/* strait net exec: a program in a rank of a network; strait net rsh: the same, called as ssh is. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
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
    pid_t pid = -1;
    int rank = -1;
    if (!cwd)
        strait_error_system(&err, NULL, "cannot find the working directory");
    else if (strait_emu_registry_init(&place, name, &err) == 0)
        state = strait_emu_join_state(&place, &err);
    if (state)
        rank = strait_net_rank(state, rank_text, &err);
    const sigset_t mask = block_signals();
    if (rank >= 0 && strait_emu_join_open(&visit, &place, rank, &err) == 0 &&
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
    free(cwd);
    if (pid > 0)
        strait_net_leave(attend(pid, &mask));
    const int status = strait_command_fail(&err);
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

int strait_net_exec(int argc, char **argv)
{
    const char *name = strait_net_default_name(), *rank = "0", *none[1];
    char **command;
    const struct strait_option options[] = {
        {"name", 0, STRAIT_OPTION_TEXT, &name, "NAME", "of the network (default)"},
        {"rank", 0, STRAIT_OPTION_TEXT, &rank, "RANK", "number, host name or address (0)"}};
    const struct strait_usage usage = {
        "net exec",
        "-- COMMAND [ARGUMENTS]",
        "Run a program in a rank of a network that is up.",
        options,
        sizeof(options) / sizeof(*options),
        exec_notes,
    };
    struct strait_error err = {0};
    const int status = strait_net_parse(&usage, argc, argv, none, 0, &command, &err);
    if (status == 0 && (!command || !*command))
        strait_error_set(&err, STRAIT_ERR_USAGE, "net exec",
                         "expected a program behind \"--\", found none");
    if (err.code != STRAIT_OK)
        return strait_command_fail(&err);
    if (status == 1)
        return 0;
    exec_in(name, rank, (const char *const *)(void *)command);
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
