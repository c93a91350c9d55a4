/* A network and its programs in a guest: for netem where the host has none, or in virtual time. A
 * child runs the guest, so that a signal can end everything. */
#include "net_guest.h"
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "core/names.h"
#include "core/units.h"
#include "core/shipped.h"
#include "emu/guest/uml.h"
#include "cli/guest/guest_files.h"
#include "cli/guest/guest_job.h"
#include "net_command.h"

enum { PATH_CHARS = STRAIT_GUEST_PATH_CHARS, N_OPEN = 8, MAX_CHARS = 120000 };
static const double LIMIT_S = 3600;
/* Memory of a program unless --memory is given, and of what they share. */
static const double COPY_BYTES = 64e6, OTHER_BYTES = 256e6, MIN_BYTES = 256e6;

struct job {
    char path[PATH_CHARS], self[PATH_CHARS], here[PATH_CHARS];
    struct strait_guest_texts arguments, env, read, write;
};

int strait_net_guest_is_wanted(const struct strait_net_guest *g, struct strait_error *err)
{
    const char *launcher = g->launcher ? g->launcher : "auto";
    if (strcmp(launcher, "uml") == 0 || strcmp(launcher, "vuml") == 0)
        return 1;
    if (strcmp(launcher, "auto") != 0)
        return strait_refuse_name(err, STRAIT_ERR_USAGE, "net run",
                                  "uml, vuml or auto after --launcher", launcher,
                                  (const char *const[]){"uml", "vuml", "auto", NULL});
    if (g->memory || g->limit_s > 0)
        return strait_error_set(err, STRAIT_ERR_USAGE, "net run",
                                "expected --launcher uml or vuml with %s: it is for a guest",
                                g->memory ? "--memory" : "--limit");
    return 0;
}

/* --- what it is given ----------------------------------------------------------------------- */

static int memory_of(double *bytes, const struct strait_net_guest *g, bool virtual_time,
                     const struct strait_experiment *e, struct strait_error *err)
{
    if (g->memory &&
        strait_quantity_parse(bytes, STRAIT_UNIT_BYTES, g->memory, "--memory", err) != 0)
        return -1;
    if (g->memory && *bytes < MIN_BYTES)
        return strait_error_set(err, STRAIT_ERR_USAGE, "net run",
                                "expected at least 256 MB after --memory, found \"%s\"", g->memory);
    if (!g->memory)
        *bytes = strait_emu_uml_memory_bytes(virtual_time, e->n_ranks, COPY_BYTES * e->n_ranks,
                                             OTHER_BYTES);
    return 0;
}

/* The caller's variables, but for those that name places which the guest has not. Its /run/strait
 * is not for networks alone. */
static void add_env(struct strait_guest_texts *t)
{
    static const char *const not_there[] = {
        "TMPDIR=", "XDG_RUNTIME_DIR=", "STRAIT_NET=", "STRAIT_TUN=", "STRAIT_NET_FOLDER="};
    for (char **e = environ; *e; e++) {
        bool is_there = strchr(*e, '=') != NULL && **e != '-' && **e != '=';
        for (size_t i = 0; i < sizeof(not_there) / sizeof(not_there[0]); i++)
            is_there = is_there && strncmp(*e, not_there[i], strlen(not_there[i])) != 0;
        if (is_there)
            strait_guest_texts_add(t, *e);
    }
    strait_guest_texts_add(t, "STRAIT_NET_FOLDER=/run/strait-net");
}

static int fill(struct job *j, const char *log, int argc, char **argv, struct strait_error *err)
{
    static const char *const not_there[] = {"--launcher", "--memory", "--limit", NULL};
    char real[PATH_CHARS], share[PATH_CHARS];
    if (strait_guest_find_self(j->self, j->here, err) != 0)
        return -1;
    if (log && !realpath(log, real))
        return strait_error_system(err, log, "cannot be found");
    strait_guest_texts_add(&j->arguments, j->self);
    strait_guest_texts_add(&j->arguments, "net");
    strait_guest_add_arguments(&j->arguments, argc, argv, not_there);
    add_env(&j->env);
    strait_guest_add_folder(&j->read, strait_share_path(share, sizeof(share), ""));
    strait_guest_add_folder(&j->read, j->self);
    strait_guest_add_folder(&j->read, j->here);
    const struct strait_guest_files files = {.read = &j->read};
    for (int i = 1; i < argc; i++)
        strait_guest_see_argument(&files, argv[i]);
    if (log)
        strait_guest_texts_add(&j->write, real);
    if (j->arguments.is_short || j->env.is_short || j->read.is_short || j->write.is_short)
        return strait_error_memory(err, NULL);
    const size_t n = j->arguments.n_chars + j->env.n_chars;
    if (n > MAX_CHARS)
        return strait_refuse(
            err, "net run",
            "expected at most %d characters of arguments and environment for a guest, found %zu",
            MAX_CHARS, n);
    return 0;
}

/* --- its work folder ------------------------------------------------------------------------ */

static int make_work_folder(char path[PATH_CHARS], struct strait_error *err)
{
    const char *base = getenv("TMPDIR");
    char real[PATH_CHARS];
    base = base && *base ? base : "/tmp";
    if (!realpath(base, real))
        return strait_error_system(err, base, "cannot be found");
    snprintf(path, PATH_CHARS, "%.4000s/strait-net-XXXXXX", real);
    return mkdtemp(path) ? 0 : strait_error_system(err, path, "cannot be made");
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    remove(path);
    return 0;
}

static void remove_folder(const char *path)
{
    nftw(path, remove_one, N_OPEN, FTW_DEPTH | FTW_PHYS);
}

/* --- running it ----------------------------------------------------------------------------- */

static int run_here(const struct job *j, const struct strait_emu_uml_plan *plan,
                    struct strait_error *err)
{
    struct strait_error why = {0};
    const int status = strait_emu_uml_run(plan, &why);
    strait_guest_show(j->path, STRAIT_EMU_UML_ERR, stderr);
    strait_guest_show(j->path, STRAIT_EMU_UML_OUT, stdout);
    const bool named = why.code == STRAIT_ERR_BACKEND || why.code == STRAIT_ERR_NOMEM;
    if (status >= 0 || !named) /* its complaint names the folder */
        remove_folder(j->path);
    *err = why;
    return status;
}

/* Until the child has ended, or a signal came: then its end, and that of all that it began. */
static int attend(pid_t child, const sigset_t *mask, struct strait_error *err)
{
    for (;;) {
        int status;
        const pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child && WIFEXITED(status))
            return WEXITSTATUS(status);
        const int number = ended == 0 ? sigwaitinfo(mask, NULL) : WTERMSIG(status);
        if (ended == 0 && (number == SIGCHLD || number < 0))
            continue;
        kill(child, SIGKILL);
        while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
            ;
        return strait_error_set(err, STRAIT_ERR_BACKEND, "net run",
                                ended == 0 ? "interrupted by %s"
                                           : "the guest was ended from outside (%s)",
                                strsignal(number));
    }
}

static int run_in_child(const struct job *j, const struct strait_emu_uml_plan *plan,
                        struct strait_error *err)
{
    static const int numbers[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP};
    const pid_t parent = getpid();
    sigset_t mask;
    sigemptyset(&mask);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        sigaddset(&mask, numbers[i]);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* who dies with the child is waited for here */
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        const int status = run_here(j, plan, err);
        strait_net_leave(status < 0 ? strait_command_fail(err) : status);
    }
    const int status = child < 0 ? strait_error_system(err, "fork", "cannot start the guest")
                                 : attend(child, &mask, err);
    if (status < 0)
        remove_folder(j->path);
    return status;
}

int strait_net_guest_run(const struct strait_net_guest *g, const char *file,
                         const struct strait_texts *settings, const char *log, int argc,
                         char **argv, struct strait_error *err)
{
    struct job j = {.path = ""};
    struct strait_experiment *e = NULL;
    double memory_bytes = 0;
    const bool virtual_time = strcmp(g->launcher, "vuml") == 0;
    int status = -1;
    if (strait_emu_uml_check(virtual_time, err) == 0 &&
        strait_net_load(&e, file, settings, err) == 0 &&
        memory_of(&memory_bytes, g, virtual_time, e, err) == 0 &&
        fill(&j, log, argc, argv, err) == 0 && make_work_folder(j.path, err) == 0) {
        const struct strait_emu_uml_plan plan = {.virtual_time = virtual_time,
                                                 .argv = strait_guest_texts_items(&j.arguments),
                                                 .folder = j.here,
                                                 .job = j.path,
                                                 .read = strait_guest_texts_items(&j.read),
                                                 .write = strait_guest_texts_items(&j.write),
                                                 .setenv = strait_guest_texts_items(&j.env),
                                                 .memory_bytes = memory_bytes,
                                                 .limit_s = g->limit_s > 0 ? g->limit_s : LIMIT_S};
        fprintf(stderr, "User-Mode Linux%s with %.0f MB of memory; what it says comes at its end\n",
                virtual_time ? " in virtual time" : "", memory_bytes / 1e6);
        status = run_in_child(&j, &plan, err);
    }
    strait_guest_texts_release(&j.arguments);
    strait_guest_texts_release(&j.env);
    strait_guest_texts_release(&j.read);
    strait_guest_texts_release(&j.write);
    strait_experiment_free(e);
    return status;
}
