/* strait run: plan, compute what is missing, show. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/compare.h"
#include "analysis/label.h"
#include "analysis/tradeoff.h"
#include "campaign/backends.h"
#include "core/names.h"
#include "cli/kit/command.h"
#include "cli/guest/guest.h"
#include "cli/net/run_on_hosts.h"
#include "core/clock.h"
#include "core/host.h"
#include "cli/kit/options.h"
#include "campaign/breakeven_sweep.h"
#include "campaign/session.h"
#include "campaign/worker_pool.h"
#include "cli/show/show.h"
#include "cli/kit/tolerance.h"

/* --- showing ------------------------------------------------------------------------------ */

static bool is_tradeoff(const struct strait_session *r)
{
    const char *table = json_string_value(json_object_get(r->sweep->base, "table"));
    return table && strcmp(table, "tradeoff") == 0 && r->shard.n <= 1; /* which needs all rows */
}

/* The break-even of every curve: NULL where it was not asked for, or cannot be found and stderr
 * says why. */
static int find_breakevens(json_t **records, struct strait_session *r, struct strait_error *err)
{
    struct strait_error why = {0};
    *records = NULL;
    if (r->no_breakeven || r->shard.n > 1 || is_tradeoff(r) || strcmp(r->on, "emu") == 0 ||
        strait_breakeven_sweep_find(records, r->sweep, &r->plan, r->store, (int)r->n_jobs, r->fresh,
                                    &why) == 0)
        return 0;
    if (why.code != STRAIT_ERR_INPUT && why.code != STRAIT_ERR_HOST) {
        *err = why;
        return -1;
    }
    fprintf(stderr, "strait: no break-even: %s%s%s\n", why.where, *why.where ? ": " : "", why.text);
    return 0;
}

static int show_tradeoff(struct strait_session *r, const json_t *rows, struct strait_error *err)
{
    struct strait_curves *curves;
    if (strait_curves_load(&curves, NULL, err) != 0)
        return -1;
    json_t *tradeoff = strait_tradeoff(rows, curves, err);
    int status = tradeoff ? 0 : -1;
    if (tradeoff && json_object_size(r->sweep->set) > 0)
        json_object_set(tradeoff, "set", r->sweep->set);
    if (tradeoff && r->json) {
        strait_command_print_json(tradeoff);
    } else if (tradeoff) {
        strait_show_head(stdout, rows);
        fputs("\n", stdout);
        status = strait_show_tradeoff(stdout, tradeoff, err);
    }
    json_decref(tradeoff);
    strait_curves_free(curves);
    return status;
}

static int show_tables(struct strait_session *r, const json_t *breakevens, struct strait_error *err)
{
    size_t n;
    const struct strait_backend *const *backends = strait_backends(&n);
    int status = 0, n_shown = 0;
    for (size_t i = 0; i < n && status == 0; i++) {
        json_t *rows = strait_session_rows(r, backends[i]);
        size_t k, n_valid = 0;
        json_t *row;
        json_array_foreach (rows, k, row)
            n_valid += json_is_true(json_object_get(row, "valid"));
        if (n_valid > 0) {
            if (n_shown > 0)
                fputs("\n", stdout);
            status = is_tradeoff(r)
                         ? show_tradeoff(r, rows, err)
                         : strait_show_rows(stdout, rows, n_shown == 0 ? breakevens : NULL, err);
            n_shown++;
        }
        json_decref(rows);
    }
    return status;
}

static int show_comparison(struct strait_session *r, struct strait_error *err)
{
    if (!strait_session_is_both(r))
        return 0;
    json_t *predicted = strait_session_rows(r, &strait_sim),
           *measured = strait_session_rows(r, &strait_emu);
    json_t *comparison = strait_compare(predicted, measured, &r->within, err);
    int status = comparison ? 0 : -1;
    if (!comparison && err->code == STRAIT_ERR_BACKEND) { /* all rows INVALID: the run is over */
        strait_command_fail(err);
        *err = (struct strait_error){0};
        r->failed = true;
        status = 0;
    }
    if (comparison && r->json) {
        json_object_set_new(comparison, "record", json_string("comparison"));
        strait_command_print_json(comparison);
    } else if (comparison) {
        fputs("\n", stdout);
        status = strait_show_comparison(stdout, comparison, &r->within, err);
    }
    if (comparison && !json_is_true(json_object_get(comparison, "within")))
        r->failed = true;
    json_decref(comparison);
    json_decref(predicted);
    json_decref(measured);
    return status;
}

static void show_invalid(struct strait_session *r)
{
    json_t *rows = strait_session_rows(r, NULL), *row, *why;
    size_t i, k;
    json_array_foreach (rows, i, row) {
        json_array_foreach (json_object_get(row, "invalid"), k, why)
            fprintf(stderr, "strait: %s, %lld clients: INVALID: %s\n",
                    json_string_value(json_object_get(row, "backend")),
                    (long long)json_integer_value(json_object_get(row, "clients")),
                    json_string_value(why));
        if (!json_is_true(json_object_get(row, "valid")))
            r->failed = true;
    }
    json_decref(rows);
}

static void print_json_lines(const json_t *array)
{
    size_t i;
    json_t *value;
    json_array_foreach (array, i, value)
        strait_command_print_json(value);
}

static int show(struct strait_session *r, struct strait_error *err)
{
    json_t *breakevens;
    if (r->step.more) { /* the last part shows all */
        show_invalid(r);
        return 0;
    }
    int status = find_breakevens(&breakevens, r, err);
    if (status == 0 && r->json) {
        json_t *rows = strait_session_rows(r, NULL);
        print_json_lines(rows);
        print_json_lines(breakevens);
        json_decref(rows);
        if (is_tradeoff(r))
            status = show_tables(r, breakevens, err);
    } else if (status == 0) {
        status = show_tables(r, breakevens, err);
    }
    json_decref(breakevens);
    if (status != 0)
        return -1;
    show_invalid(r);
    strait_command_print_failures(r->failures);
    return show_comparison(r, err);
}

/* --- the command -------------------------------------------------------------------------- */

static int run_all(struct strait_session *r, const char *experiment, struct strait_error *err)
{
    if (strait_session_prepare(r, experiment, err) == 0 && strait_session_compute(r, err) == 0 &&
        show(r, err) == 0 && strait_session_finish(r, err) == 0)
        return 0;
    strait_pool_say_kept(err);
    return -1;
}

/* Refuses what is none of names (NULL-terminated), of which `expected` tells. NULL is fine. */
static int check_name(const char *option, const char *expected, const char *given,
                      const char *const *names, struct strait_error *err)
{
    char text[128];
    for (size_t i = 0; given && names[i]; i++)
        if (strcmp(given, names[i]) == 0)
            return 0;
    snprintf(text, sizeof(text), "%s after --%s", expected, option);
    return given ? strait_refuse_name(err, STRAIT_ERR_USAGE, "run", text, given, names) : 0;
}

/* Who shapes the links, and where: "auto" is the same as nothing said. */
static int check_emulation(struct strait_session *r, struct strait_error *err)
{
    static const char *const realisations[] = {"relay", "kernel", "auto", NULL};
    static const char *const timings[] = {"live", "serial", "replay", NULL};
    static const char *const launchers[] = {"root", "userns", "uml", "vuml", "qemu", "auto", NULL};
    if ((r->realisation || r->launcher) && !strait_session_is_both(r) && strcmp(r->on, "emu") != 0)
        return strait_error_set(err, STRAIT_ERR_USAGE, "run",
                                "expected --on emu or both with --%s, found --on %s",
                                r->realisation ? "realisation" : "launcher", r->on);
    if (check_name("realisation", "relay, kernel or auto", r->realisation, realisations, err) !=
            0 ||
        check_name("launcher", "root, userns, uml, vuml, qemu or auto", r->launcher, launchers,
                   err) != 0)
        return -1;
    if (r->timing && !strait_session_is_both(r) && strcmp(r->on, "emu") != 0)
        return strait_error_set(err, STRAIT_ERR_USAGE, "run",
                                "expected --on emu or both with --timing, found --on %s", r->on);
    if (check_name("timing", "live, serial or replay", r->timing, timings, err) != 0)
        return -1;
    if (r->launcher && strcmp(r->launcher, "qemu") == 0 &&
        (strcmp(r->on, "emu") != 0 || !r->timing || strcmp(r->timing, "replay") != 0))
        return strait_error_set(err, STRAIT_ERR_USAGE, "run",
                                "expected --on emu --timing replay with --launcher qemu: "
                                "every instruction takes a nanosecond there, so measured costs "
                                "mean nothing");
    if (r->timing && strcmp(r->timing, "live") == 0)
        r->timing = NULL;
    if (r->launcher && strcmp(r->launcher, "auto") == 0)
        r->launcher = NULL;
    if (r->realisation && strcmp(r->realisation, "auto") == 0)
        r->realisation = NULL;
    return 0;
}

/* "2/8": the second of eight. */
static int check_shard(struct strait_session *r, const char *text, struct strait_error *err)
{
    unsigned i, n;
    char behind;
    if (!text)
        return 0;
    if (sscanf(text, "%u/%u%c", &i, &n, &behind) != 2 || i < 1 || i > n)
        return strait_error_set(err, STRAIT_ERR_USAGE, "run",
                                "expected I/N with I from 1 to N after --shard, found \"%s\"",
                                text);
    if (n > 1 && strait_session_is_both(r) && !r->profile_name)
        return strait_error_set(err, STRAIT_ERR_USAGE, "run",
                                "expected --profile with --shard and --on both, since each shard "
                                "would calibrate codecs for itself");
    r->shard = (struct strait_shard){i - 1, n};
    return 0;
}

static int check_options(struct strait_session *r, struct strait_error *err)
{
    static const char *const backends[] = {"sim", "fluid", "emu", "both", NULL};
    static const char *const controls[] = {"no-ramp", "no-codec-cost", "unshaped", "loopback",
                                           NULL};
    static const char *const sizes[] = {"sent", "profile", NULL};
    if (check_name("sizes", "sent or profile", r->sizes, sizes, err) != 0)
        return -1;
    if (check_name("on", "sim, fluid, emu or both (sim and emu)", r->on, backends, err) != 0 ||
        check_emulation(r, err) != 0 ||
        check_name("control", "no-ramp, no-codec-cost (sim, fluid) or unshaped (emu)", r->control,
                   controls, err) != 0)
        return -1;
    if (r->check && !strait_session_is_both(r) && strcmp(r->on, "emu") != 0)
        return strait_error_set(err, STRAIT_ERR_USAGE, "run",
                                "expected --on emu or both with --check, found --on %s", r->on);
    if (r->n_repeats > 1 && !strait_session_is_both(r) && strcmp(r->on, "emu") != 0)
        return strait_error_set(err, STRAIT_ERR_USAGE, "run",
                                "expected --on emu or both with --repeats, since %s gives the same "
                                "answer every time",
                                r->on);
    if (r->save_state && strcmp(r->on, "emu") == 0)
        return strait_error_set(err, STRAIT_ERR_USAGE, "run",
                                "expected --on sim, fluid or both with --save-state, found --on %s",
                                r->on);
    if (r->live && !strait_session_is_both(r) && strcmp(r->on, "emu") != 0)
        return strait_error_set(err, STRAIT_ERR_USAGE, "run",
                                "expected --on emu or both with --live, found --on %s", r->on);
    if (r->control && !strait_session_is_both(r)) {
        const struct strait_plan_setup setup = {.control = r->control};
        if (!strait_plan_control(&setup, strait_backend_find(r->on)))
            return strait_error_set(err, STRAIT_ERR_USAGE, "run",
                                    "expected a control of %s after --control (no-ramp and "
                                    "no-codec-cost are sim's and fluid's, unshaped is emu's), "
                                    "found \"%s\"",
                                    r->on, r->control);
    }
    return 0;
}

static const char notes[] =
    "EXPERIMENT is a path, or the bare name of a shipped one (strait list\n"
    "experiments). A rerun computes only the points missing in its results folder.\n"
    "\n"
    "  strait run wan-scaling\n"
    "  strait run wan-scaling --set /clients=8 \\\n"
    "    --set '/network/client/rate=100 Mbps'\n"
    "  strait run wan-check --on both --repeats 3\n"
    "\n"
    "--on both calibrates the codecs here, simulates, emulates and compares.\n"
    "Units: 1 Gbps, 100 Mbps, 56 kbps (powers of ten, bits); 25 MB, 64 KiB; 50 ms;\n"
    "0.1 %.\n"
    "\n"
    "Emulation:\n"
    "  --timing       live: run and time the codecs; serial: the same, one job at a\n"
    "                 time, with more dilation; replay: take sizes and costs from\n"
    "                 the profile and encode nothing\n"
    "  --realisation  auto: kernel where netem works, else relay\n"
    "  --launcher     auto: root, else userns; uml: User-Mode Linux; vuml: the same\n"
    "                 in virtual time; qemu: counted instructions\n"
    "  --tries        each try doubles the dilation\n"
    "  --check        a difference above 2 % makes the row INVALID\n"
    "  --live         print link statistics twice a second even if stderr is not a\n"
    "                 terminal\n"
    "  --hosts        a file with one host a line (strait help net run); mpirun\n"
    "                 starts the ranks there, in real time\n"
    "--realisation and --launcher may be combined freely.\n"
    "  strait run wan-check --on emu --launcher uml\n"
    "    netem on a machine without it (apt install user-mode-linux kmod)\n"
    "  strait run wan-check --on emu --launcher vuml\n"
    "    virtual time (make vkernel, once): any number of clients, dilation 1\n"
    "  strait run wan-check --on emu --launcher qemu --timing replay\n"
    "    (make qemu, once): two runs give the same digits\n"
    "\n"
    "Negative controls: no-ramp (no TCP slow start), no-codec-cost, unshaped (emu).\n";

int strait_command_run(int argc, char **argv)
{
    struct strait_session r = {.on = "sim",
                               .notes = stderr,
                               .commit = strait_commit(),
                               .n_jobs = strait_host_processors(),
                               .n_repeats = 1,
                               .n_tries = 3,
                               .start_s = strait_clock_s()};
    struct strait_tolerance tolerance = {NULL, NULL};
    struct strait_run_on_hosts on = {.session = NULL};
    const char *shard = NULL;
    const struct strait_option options[] = {
        {"on", 0, STRAIT_OPTION_TEXT, &r.on, "BACKEND",
         "sim (default), fluid, emu, or both, compared"},
        {"jobs", 'j', STRAIT_OPTION_COUNT, &r.n_jobs, "N", "points at a time (processors; emu: 1)"},
        {"set", 0, STRAIT_OPTION_TEXTS, &r.settings, "/POINTER=VALUE",
         "set a value of the experiment"},
        {"out", 'o', STRAIT_OPTION_TEXT, &r.out, "DIR", "results folder (results/<experiment>)"},
        {"profile", 0, STRAIT_OPTION_TEXT, &r.profile_name, "FILE",
         "codec costs: a name or file (the shipped one)"},
        {"sizes", 0, STRAIT_OPTION_TEXT, &r.sizes, "FROM",
         "sent (both), or profile (else): encoded sizes"},
        {"repeats", 0, STRAIT_OPTION_COUNT, &r.n_repeats, "N", "emu: measure each point N times"},
        {"tries", 0, STRAIT_OPTION_COUNT, &r.n_tries, "N",
         "emu: tries of an INVALID point (3), see below"},
        {"dilation", 0, STRAIT_OPTION_NUMBER, &r.dilation, "K",
         "emu: real seconds a virtual second (chosen)"},
        {"timing", 0, STRAIT_OPTION_TEXT, &r.timing, "MODE",
         "emu: live (default), serial or replay"},
        {"check", 0, STRAIT_OPTION_FLAG, &r.check, NULL,
         "emu: run each point at twice the dilation too"},
        {"every-round", 0, STRAIT_OPTION_FLAG, &r.every_round, NULL,
         "sim, fluid: do not extrapolate rounds"},
        {"save-state", 0, STRAIT_OPTION_TEXT, &r.save_state, "DIR",
         "sim, fluid: keep training that may be stopped"},
        {"realisation", 0, STRAIT_OPTION_TEXT, &r.realisation, "NAME",
         "emu: shape links by relay, kernel or auto"},
        {"launcher", 0, STRAIT_OPTION_TEXT, &r.launcher, "NAME",
         "emu: root, userns, uml, vuml, qemu or auto"},
        {"hosts", 0, STRAIT_OPTION_TEXT, &on.hosts.file, "FILE",
         "emu: share the network among these hosts"},
        {"launch", 0, STRAIT_OPTION_TEXT, &on.hosts.launch, "COMMAND",
         "starts a command on a host (ssh {host})"},
        {"program", 0, STRAIT_OPTION_TEXT, &on.hosts.program, "PATH",
         "path of strait on the hosts (as here)"},
        {"shard", 0, STRAIT_OPTION_TEXT, &shard, "I/N",
         "run every N-th point alone (strait merge)"},
        {"live", 0, STRAIT_OPTION_FLAG, &r.live, NULL,
         "emu: print link statistics without a terminal"},
        {"control", 0, STRAIT_OPTION_TEXT, &r.control, "NAME", "a negative control, see below"},
        {"json", 0, STRAIT_OPTION_FLAG, &r.json, NULL, "rows as JSON Lines on standard output"},
        STRAIT_WIDE_OPTION,
        {"fresh", 0, STRAIT_OPTION_FLAG, &r.fresh, NULL, "compute every point again"},
        {"spans", 0, STRAIT_OPTION_FLAG, &r.spans, NULL,
         "keep the spans of new rows (strait timeline)"},
        STRAIT_TOLERANCE_OPTIONS(tolerance, "both: "),
        {"no-break-even", 0, STRAIT_OPTION_FLAG, &r.no_breakeven, NULL,
         "skip the break-even search"}};
    const struct strait_usage usage = {"run", "EXPERIMENT",
                                       "Run every point of an experiment and show the times.",
                                       STRAIT_OPTIONS(options), notes};
    struct strait_error err = {0};
    const char *experiment = NULL;
    int status;
    if (!strait_command_begin(&status, &usage, argc, argv, &experiment, 1, NULL))
        goto out;
    if (strait_tolerance_parse(&r.within, &tolerance, &err) != 0 || check_options(&r, &err) != 0 ||
        check_shard(&r, shard, &err) != 0 ||
        (on.hosts.file && strait_run_on_hosts(&r, &on, &err) != 0))
        goto failed;
    if (!on.hosts.file && (on.hosts.launch || on.hosts.program)) {
        strait_error_set(&err, STRAIT_ERR_USAGE, "run", "expected --hosts with --%s",
                         on.hosts.launch ? "launch" : "program");
        goto failed;
    }
    if ((tolerance.ratio || tolerance.floor) && !strait_session_is_both(&r)) {
        strait_error_set(&err, STRAIT_ERR_USAGE, "run",
                         "expected --on both with --%s, found --on %s",
                         tolerance.ratio ? "tolerance" : "floor", r.on);
        goto failed;
    }
    if (strait_guest_is_one(r.launcher)) {
        status = strait_guest_run(&r, experiment, argc, argv, &err);
        if (status < 0)
            goto failed;
        goto out;
    }
    if (run_all(&r, experiment, &err) == 0) {
        status = r.failed ? 1 : 0;
        goto out;
    }
failed:
    status = strait_command_fail(&err);
out:
    strait_session_release(&r);
    return status;
}
