#include "core/host.h"
#include "emu_estimate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "analysis/table.h"
#include "emu/host/dilation.h"
#include "emu/judge/net_cpu.h"

/* Figures of the line printed before the emulation. */
struct pace {
    size_t n_points;
    double min_k, max_k;
    double min_net_cpu_s, max_net_cpu_s;
    double wall_s;
    bool built_in, said_why;
};

static void widen(double *least, double *most, double value)
{
    *least = fmin(*least, value);
    *most = fmax(*most, value);
}

/* 0: the built-in figures. Not needed with a fixed dilation or in virtual time. */
static double net_cpu_of(struct strait_session *r, struct pace *pace, const struct strait_trial *p,
                         const json_t *resolved)
{
    char key[STRAIT_KEY_CHARS];
    struct strait_error why = {0};
    double net_cpu_s = 0;
    if (r->dilation > 0 || p->run.n_ranks < 2 || p->run.control || strait_emu_in_virtual_time() ||
        !strait_plan_net_cpu_key(key, &r->plan.setup, resolved, p->run.n_ranks))
        return 0;
    if (json_object_get(r->plan.setup.net_cpus, key)) /* 0: a measurement failed before */
        return strait_plan_net_cpu_s(&r->plan.setup, resolved, p->run.n_ranks);
    const json_t *known = r->fresh ? NULL : strait_store_find(r->store, "net_cpu_estimate", key);
    if (known) {
        net_cpu_s = json_number_value(json_object_get(known, "s_per_gbit"));
    } else if (strait_emu_net_cpu_measure(&net_cpu_s, &p->run, &why) == 0) {
        json_array_append_new(r->measured, json_pack("{s:s, s:s, s:f, s:i}", "record",
                                                     "net_cpu_estimate", "key", key, "s_per_gbit",
                                                     net_cpu_s, "senders", p->run.n_ranks - 1));
    } else {
        if (!pace->said_why && r->notes)
            fprintf(r->notes, "strait: what the network costs was not measured: %s\n", why.text);
        pace->said_why = true;
        net_cpu_s = 0;
    }
    json_object_set_new(r->plan.setup.net_cpus, key, json_real(net_cpu_s));
    return net_cpu_s;
}

static int add_point(struct strait_session *r, struct pace *pace,
                     const struct strait_task_plan *task, struct strait_error *err)
{
    struct strait_trial_options options = strait_plan_point_options(&r->plan.setup, task->backend);
    struct strait_experiment *e = NULL;
    struct strait_trial *p = NULL;
    double round_s = 0;
    int failed = strait_experiment_read(&e, r->sweep->file, task->resolved, err) != 0 ||
                 strait_trial_new(&p, e, r->profile, &options, err) != 0;
    if (!failed) {
        p->run.net_cpu_s_per_gbit = net_cpu_of(r, pace, p, task->resolved);
        /* what it holds was checked before, by built-in figures as to its dilation */
        failed = strait_emu.check(&p->run, err) != 0 ||
                 strait_plan_round_s(&round_s, &r->plan.setup, task->resolved, &strait_fluid,
                                     p->guess, err) != 0;
    }
    if (!failed) {
        const struct strait_emu_dilation d =
            strait_emu_dilation_choose(&p->run, (unsigned)strait_host_processors());
        pace->n_points++;
        widen(&pace->min_k, &pace->max_k, d.k);
        widen(&pace->min_net_cpu_s, &pace->max_net_cpu_s, d.net_cpu_s);
        pace->built_in |= !d.net_cpu_measured;
        pace->wall_s += (r->check ? 3 : 1) * d.k * round_s * p->n_rounds;
    }
    strait_trial_free(p);
    strait_experiment_free(e);
    return failed ? -1 : 0;
}

static void say_range(FILE *out, double least, double most)
{
    fprintf(out, most > least ? "%.3g to %.3g" : "%.3g", least, most);
}

static void say(const struct strait_session *r, const struct pace *pace)
{
    char text[STRAIT_NUMBER_CHARS];
    if (pace->n_points == 0 || !r->notes)
        return;
    fprintf(r->notes, "emulating %zu point%s at dilation ", pace->n_points,
            pace->n_points == 1 ? "" : "s");
    say_range(r->notes, pace->min_k, pace->max_k);
    if (strait_emu_in_virtual_time()) {
        fputs(", in virtual time\n", r->notes);
        return;
    }
    if (!(r->dilation > 0)) {
        fputs("; the network takes ", r->notes);
        say_range(r->notes, pace->min_net_cpu_s, pace->max_net_cpu_s);
        fprintf(r->notes, " s of processor time a gigabit (%s)",
                pace->built_in ? "built in" : "measured");
    }
    fprintf(r->notes, "; expected to take %s\n", strait_seconds_text(text, pace->wall_s));
}

int strait_emu_estimate_find(struct strait_session *r, struct strait_error *err)
{
    struct pace pace = {.min_k = INFINITY, .min_net_cpu_s = INFINITY};
    r->measured = json_array();
    r->plan.setup.net_cpus = json_object();
    if (!r->measured || !r->plan.setup.net_cpus)
        return strait_error_memory(err, "run");
    for (size_t i = 0; i < r->n_missing && !r->afar; i++) {
        const struct strait_task_plan *task = &r->plan.tasks[r->missing[i]];
        if (task->backend == &strait_emu && add_point(r, &pace, task, err) != 0)
            return -1;
    }
    say(r, &pace);
    return 0;
}
