#include "run_on_hosts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/guest/guest_job.h"
#include "core/hash.h"
#include "emu/programs/host_shares.h"
#include "emu/programs/program_network.h"
#include "core/names.h"

/* What runs in the network's first rank, $@ being mpirun and the ranks: their results go to a
 * folder that does not stay, the row to whoever started all this. */
static const char script[] = "out=$(mktemp -d) || exit 3; \"$@\" --out \"$out\"; status=$?; "
                             "rm -rf \"$out\"; exit $status";

static void add_setting(struct strait_guest_texts *t, const char *pointer, const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY), *both = NULL;
    if (text && asprintf(&both, "%s=%s", pointer, text) < 0)
        both = NULL;
    strait_guest_texts_add(t, "--set");
    strait_guest_texts_add(t, both ? both : "");
    free(both);
    free(text);
}

/* The ranks' command: mpirun on the first rank's node, which reaches the others' by strait net rsh;
 * strait rank with the settings that make the sweep this point. */
static void add_command(struct strait_guest_texts *t, const struct strait_run_on_hosts *on,
                        const struct strait_task_plan *task, const json_t *resolved,
                        const struct strait_experiment *e, const char *program)
{
    static const char *const first[] = {/* plm, ras: not by Slurm, which knows no nodes of ours */
                                        "sh",    "-c",     script,
                                        "sh",    "mpirun", "--allow-run-as-root",
                                        "--mca", "btl",    "tcp,self",
                                        "--mca", "plm",    "rsh",
                                        "--mca", "ras",    "^slurm,tm,lsf,gridengine"};
    const struct strait_session *r = on->session;
    char agent[4200], host[32], *all = NULL;
    const char *pointer;
    json_t *value;
    size_t n = 0;
    for (size_t i = 0; i < sizeof(first) / sizeof(*first); i++)
        strait_guest_texts_add(t, first[i]);
    FILE *f = open_memstream(&all, &n);
    for (int i = 0; f && i < e->n_ranks; i++)
        fprintf(f, "%s%s", i > 0 ? "," : "", strait_emu_program_host(host, e, i));
    if (f)
        fclose(f);
    snprintf(agent, sizeof(agent), "%s net rsh", program);
    strait_guest_texts_add(t, "--mca");
    strait_guest_texts_add(t, "plm_rsh_agent");
    strait_guest_texts_add(t, agent);
    strait_guest_texts_add(t, "--host");
    strait_guest_texts_add(t, all ? all : "");
    free(all);
    strait_guest_texts_add(t, program);
    strait_guest_texts_add(t, "rank");
    strait_guest_texts_add(t, r->sweep->file);
    for (size_t i = 0; i < r->settings.n; i++) {
        strait_guest_texts_add(t, "--set");
        strait_guest_texts_add(t, r->settings.items[i]);
    }
    json_object_foreach (task->labels, pointer, value)
        add_setting(t, pointer, value);
    if (json_object_get(resolved, "seed"))
        add_setting(t, "/seed", json_object_get(resolved, "seed"));
    if (r->timing) {
        strait_guest_texts_add(t, "--timing");
        strait_guest_texts_add(t, r->timing);
    }
    if (r->profile_name) {
        strait_guest_texts_add(t, "--profile");
        strait_guest_texts_add(t, r->profile_name);
    }
    strait_guest_texts_add(t, "--json");
}

/* The row among what the first rank printed: lines behind "server | ". */
static json_t *row_in(FILE *said)
{
    char *line = NULL;
    size_t cap = 0;
    json_t *row = NULL;
    rewind(said);
    while (!row && getline(&line, &cap, said) > 0) {
        const char *text = strstr(line, " | {");
        row = text ? json_loads(text + 3, 0, NULL) : NULL;
        if (row && !json_object_get(row, "backend")) {
            json_decref(row);
            row = NULL;
        }
    }
    free(line);
    return row;
}

/* Run in this worker, with what the programs print in `said`. */
static int run(const struct strait_run_on_hosts *on, const char *const *command,
               const struct strait_experiment *e, FILE *said, struct strait_error *err)
{
    char name[32];
    snprintf(name, sizeof(name), "run-%d", (int)getpid());
    const struct strait_net_order order = {.name = name, .command = command, .n = 1};
    fflush(stdout);
    const int own = dup(STDOUT_FILENO);
    if (own < 0 || dup2(fileno(said), STDOUT_FILENO) < 0)
        return strait_error_system(err, NULL, "cannot redirect standard output");
    const int failed = strait_net_hosts_run(&on->hosts, &order, e, on->session->sweep->file, err);
    fflush(stdout);
    dup2(own, STDOUT_FILENO);
    close(own);
    return failed;
}

/* Its costs on the network and its machines are those of strait rank; the rest is the plan's. */
static json_t *row_of(const struct strait_afar *afar, const struct strait_task_plan *task,
                      const json_t *resolved, const struct strait_experiment *e,
                      struct strait_error *err)
{
    const struct strait_run_on_hosts *on = (const struct strait_run_on_hosts *)(const void *)afar;
    struct strait_guest_texts command = {0};
    char self[4096], constants[STRAIT_KEY_CHARS];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[n > 0 ? n : 0] = '\0';
    add_command(&command, on, task, resolved, e, on->hosts.program ? on->hosts.program : self);
    const char *const *words = strait_guest_texts_items(&command);
    FILE *said = tmpfile();
    json_t *row = NULL, *none = json_object();
    int failed = !words ? strait_error_memory(err, NULL)
                 : said ? run(on, words, e, said, err)
                        : strait_error_system(err, "tmpfile", "cannot make a file");
    if (!failed && !(row = row_in(said)))
        strait_error_set(err, STRAIT_ERR_BACKEND, "run", "the ranks ended without a row");
    if (row) {
        json_object_set_new(row, "backend", json_string("emu"));
        json_object_set_new(row, "key", json_string(task->key));
        json_object_set(row, "labels", task->labels);
        json_object_set_new(row, "repeat", json_integer(task->repeat));
        json_object_set_new(row, "constants", json_string(strait_hash_json(constants, none)));
        json_object_set(row, "facts_constants", none);
        json_object_del(row, "stored");
        json_object_del(row, "set");
    }
    if (said)
        fclose(said);
    json_decref(none);
    strait_guest_texts_release(&command);
    return row;
}

int strait_run_on_hosts(struct strait_session *r, struct strait_run_on_hosts *on,
                        struct strait_error *err)
{
    struct strait_emu_hosts *list = calloc(1, sizeof(*list));
    const char *other = r->launcher       ? "launcher"
                        : r->realisation  ? "realisation"
                        : r->control      ? "control"
                        : r->check        ? "check"
                        : r->dilation > 0 ? "dilation"
                        : r->live         ? "live"
                        : r->spans        ? "spans"
                                          : NULL;
    int failed = 0;
    if (!strait_session_is_both(r) && strcmp(r->on, "emu") != 0)
        failed = strait_error_set(err, STRAIT_ERR_USAGE, "run",
                                  "expected --on emu or both with --hosts, found --on %s", r->on);
    else if (other)
        failed = strait_error_set(err, STRAIT_ERR_USAGE, "run",
                                  "expected --hosts without --%s: on several hosts time is real "
                                  "and ranks are started by mpirun",
                                  other);
    else if (r->timing && strcmp(r->timing, "replay") != 0)
        failed = strait_error_set(err, STRAIT_ERR_USAGE, "run",
                                  "expected live or replay after --timing with --hosts, found "
                                  "\"%s\"",
                                  r->timing);
    else if (!list)
        failed = strait_error_memory(err, NULL);
    else
        failed = strait_emu_hosts_read(list, on->hosts.file, err);
    snprintf(on->launcher, sizeof(on->launcher), "hosts");
    for (int i = 0; !failed && i < list->n; i++)
        strait_text_add(on->launcher, sizeof(on->launcher), " %s", list->items[i].name);
    free(list);
    if (failed)
        return -1;
    on->afar.row = row_of;
    on->session = r;
    r->afar = &on->afar;
    r->launcher = on->launcher; /* part of a row's key */
    return 0;
}
