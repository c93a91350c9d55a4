/* A network for programs of which one call of the system fails, once at each place that makes one:
 * starting it, asking for its state, running a program in it. It is said, and nothing is left. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "emu/programs/net_join.h"
#include "emu/programs/program_network.h"
#include "tests/kit/failing/faulty.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"

struct scene {
    char folder[64];
    struct strait_experiment *experiment;
    struct strait_error *err; /* shared with the process that uses the network */
    int n_networks;
};

/* `true` in the namespaces of rank 1. */
static int run_program(const struct strait_emu_registry *place, struct strait_error *err)
{
    static const char *const argv[] = {"true", NULL}, *const env[] = {NULL};
    const struct strait_emu_command program = {
        .argv = argv, .env = env, .cwd = "/", .stdio = {0, 1, 2}};
    struct strait_emu_join join;
    int status = -1, ended;
    if (strait_emu_join_open(&join, place, 1, err) == 0 && strait_emu_join_join(&join, err) == 0) {
        const pid_t pid = strait_emu_join_start(&join, &program, err);
        if (pid > 0 && waitpid(pid, &ended, 0) == pid)
            status = WIFEXITED(ended) && WEXITSTATUS(ended) == 0
                         ? 0
                         : strait_error_set(err, STRAIT_ERR_BACKEND, "true", "failed");
    }
    strait_emu_join_release(&join);
    return status;
}

static int use_network(const struct scene *s, const char *name, struct strait_error *err)
{
    struct strait_emu_registry place;
    struct strait_emu_program net = {.leash = -1};
    json_t *state = NULL;
    int status = -1, lock = -1;
    if (strait_emu_registry_init(&place, name, err) == 0 &&
        (lock = strait_emu_registry_lock(&place, err)) >= 0 &&
        strait_emu_program_start(&net, &place, lock, s->experiment, "x.json", NULL, NULL, err) ==
            0 &&
        (state = strait_emu_join_state(&place, err)) != NULL)
        status = run_program(&place, err);
    json_decref(state);
    strait_emu_program_stop(&net);
    return status;
}

/* In a process of its own, since it gives up its namespace of processes. */
static int use_in_child(void *arg, struct strait_error *err)
{
    struct scene *s = arg;
    char name[32];
    int status = 0;
    snprintf(name, sizeof(name), "n%d", s->n_networks++);
    memset(s->err, 0, sizeof(*s->err));
    fflush(stdout);
    const pid_t pid = fork();
    if (pid < 0)
        return strait_error_system(err, "the test", "cannot fork");
    if (pid == 0)
        _exit(use_network(s, name, s->err) == 0 ? 0 : 1);
    CU_ASSERT_FATAL(waitpid(pid, &status, 0) == pid);
    CU_ASSERT(WIFEXITED(status));
    *err = *s->err;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

static size_t n_files(const char *folder)
{
    size_t n = 0;
    DIR *dir = opendir(folder);
    for (const struct dirent *e; dir && (e = readdir(dir));)
        n += e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return n;
}

static void each_place(void)
{
    struct scene s = {.folder = "/tmp/strait-faulty-XXXXXX"};
    struct strait_error err = {0};
    json_t *text = json_pack("{s:s, s:s, s:i, s:{s:s}, s:s, s:{s:{s:s}, s:{s:s}}}", "schema",
                             "strait-experiment/1", "model", "cnn", "clients", 1, "strategy",
                             "name", "fedavg", "codec", "none", "network", "client", "rate",
                             "1 Gbps", "server", "rate", "1 Gbps");
    CU_ASSERT_EQUAL_FATAL(strait_experiment_read(&s.experiment, "x.json", text, &err), 0);
    s.err = mmap(NULL, sizeof(*s.err), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_FATAL(s.err != MAP_FAILED && mkdtemp(s.folder));
    setenv("STRAIT_NET_FOLDER", s.folder, 1);
    if (use_in_child(&s, &err) != 0 && err.code == STRAIT_ERR_HOST) {
        strait_test_skip(err.text);
    } else {
        CU_ASSERT_STRING_EQUAL(err.text, "");
        CU_ASSERT_AT_LEAST(strait_faulty_places(use_in_child, &s), 20);
        CU_ASSERT_EQUAL(use_in_child(&s, &err), 0);
        CU_ASSERT_EQUAL(n_files(s.folder), 0);
    }
    unsetenv("STRAIT_NET_FOLDER");
    folder_remove(s.folder);
    munmap(s.err, sizeof(*s.err));
    strait_experiment_free(s.experiment);
    json_decref(text);
}

static const struct strait_test tests[] = {
    {"a call that fails in a network for programs is said", each_place},
};
STRAIT_SUITE("emu/programs/faulty_program", tests);
