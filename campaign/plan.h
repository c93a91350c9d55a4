/* The tasks of a run: one a point, backend and repeat, each with its key. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "core/error.h"
#include "core/hash.h"
#include "analysis/intervals/learned.h"
#include "codecs/profile/profile.h"
#include "workloads/ask/experiment.h"
#include "workloads/rank/trial.h"

struct strait_task_plan {
    json_t *resolved, *labels; /* owned */
    const struct strait_backend *backend;
    int repeat;
    bool reference;    /* not in the sweep: the same point without compression */
    double n_segments; /* that it simulates packet by packet, or fewer; 0: none */
    char key[STRAIT_KEY_CHARS];
};

/* Emulates points elsewhere than in processes of this one. */
struct strait_afar {
    /** Returns: the row of a point, a new reference, with its "facts_constants"; NULL with *err */
    json_t *(*row)(const struct strait_afar *afar, const struct strait_task_plan *task,
                   const json_t *resolved, const struct strait_experiment *e,
                   struct strait_error *err);
};

/* Common to all tasks. Strings and profile are borrowed. */
struct strait_plan_setup {
    const char *file;
    const struct strait_profile *profile;
    bool calibrated;  /* the profile was measured on this machine */
    bool sends_sizes; /* what the recorded tensors take encoded is found out before a prediction */
    const struct strait_sent_sizes *sizes; /* of the point under way; NULL: the profile's ratios */
    const char *control;
    double dilation;
    json_t *net_cpus; /* emu: CPU cost of networks, by strait_plan_net_cpu_key; NULL: none */
    const char *realisation, *launcher; /* NULL: chosen */
    const char *timing;                 /* emu: "live", "serial" or "replay"; NULL: live */
    bool check;                         /* run emulated points again at twice the dilation */
    bool every_round;                   /* never extrapolate */
    bool no_intervals;                  /* nobody looks at them: rows have none */
    int n_retries;                      /* of an INVALID emulated point */
    const char *spans;                  /* folder for the spans of runs; NULL: they are not kept */
    const char *save_state;         /* folder for what training computed; NULL: it is not kept */
    int n_threads;                  /* of a simulation that trains; 0: one */
    struct strait_mpi_world *world; /* mpi: the processes; NULL: none */
    const struct strait_afar *afar; /* emu: where its points run; NULL: here */
    struct strait_live_view *view;  /* for emulated points; NULL: none */
    FILE *notes;                    /* tells why a point is emulated again; NULL: nothing does */
    const struct strait_learned *learned; /* NULL: intervals lack the model's own error */
    char profile_hash[STRAIT_KEY_CHARS], program[STRAIT_KEY_CHARS], machine[STRAIT_KEY_CHARS];
};

struct strait_plan {
    struct strait_plan_setup setup;
    struct strait_task_plan *tasks;
    json_t *files; /* {strait_row_files_hash of a point: true} */
    size_t n_tasks, cap_tasks;
};

/** Compute the hashes of a setup. 0, or -1 with *err SYSTEM or NOMEM. */
int strait_plan_setup_hashes(struct strait_plan_setup *s, struct strait_error *err);
/** Add every point of a sweep on a backend, n_repeats times. with_references: also each compressed
 *  point without compression, unless the sweep has it.
 *  Returns: 0, or -1 with *err: INPUT when the profile lacks an entry */
int strait_plan_add(struct strait_plan *plan, const struct strait_sweep *sweep,
                    const struct strait_backend *backend, int n_repeats, bool with_references,
                    struct strait_error *err);
void strait_plan_release(struct strait_plan *plan);

/** Whether predictions of the experiment take sizes from the tensors that an emulation sends. */
bool strait_plan_sends_sizes(const struct strait_plan_setup *setup,
                             const struct strait_backend *backend,
                             const struct strait_experiment *e);
/** Whether the experiment compresses in neither direction. */
bool strait_plan_is_plain(const struct strait_experiment *e);
/** The point with its codecs removed. A new reference. */
json_t *strait_plan_without_codec(const json_t *resolved);
/** Run one task. Returns: its row, a new reference, or NULL with *err */
json_t *strait_plan_run_task(const struct strait_plan *plan, size_t i, struct strait_error *err);
/** Loop of every rank but 0 on real machines: run what rank 0 announces until it announces the end.
 *  Uses file, profile, timing and world of setup. Returns 0, or -1 with *err when a run failed;
 *  rank 0 reports that and ends all ranks. */
int strait_plan_follow(const struct strait_plan_setup *setup, struct strait_error *err);
/** Mean round of a run; NAN without any. */
double strait_plan_mean_round_s(const struct strait_trial *p);
/** Put "interval_s", "total_interval_s", "uncertainty" and "evidence" into the row of a run; a
 *  measured one has evidence alone. A row whose interval cannot be computed is none: under its key
 *  it would be believed for ever. 0, or -1 with *err. */
int strait_plan_put_interval(json_t *row, const struct strait_plan_setup *setup,
                             const struct strait_backend *backend,
                             const struct strait_experiment *e, struct strait_error *err);
/* Figures of a point for the break-even search, in seconds a round. */
struct strait_plan_times {
    double round_s, network_s;      /* network_s: of it transfers on the critical path */
    double quick_s, slow_s;         /* the round at the ends of the codec's quantiles */
    double low_factor, high_factor; /* of network_s: the ends of the model's own error */
};
/** Find them by the fluid backend.
 *  In:      without  the same of the point without codecs: an end of the quantiles that cannot
 *                    change whether the codec pays is not simulated and stays at round_s; NULL:
 *                    both ends are
 *  Returns: 0, or -1 with *err */
int strait_plan_times(struct strait_plan_times *out, const struct strait_plan_setup *setup,
                      const json_t *resolved, const struct strait_plan_times *without,
                      struct strait_error *err);
/** Whether a row of the fluid backend says what strait_plan_times would find out of its point. */
bool strait_plan_row_has_times(const struct strait_plan_setup *setup, const json_t *row);
/** The same figures from such a row, without a simulation. 0, or -1 with *err. */
int strait_plan_times_of_row(struct strait_plan_times *out, const struct strait_plan_setup *setup,
                             const json_t *resolved, const json_t *row,
                             const struct strait_plan_times *without, struct strait_error *err);
/** The rounds with and without a codec: as predicted (end 0), or at the end of what intervals hold
 *  that is best (1) or worst (-1) for the codec. Both rounds cross the same network, so that the
 *  model's error stretches the transfers of both by one factor. */
void strait_plan_times_at(double *with_s, double *without_s, const struct strait_plan_times *with,
                          const struct strait_plan_times *without, int end);
/** Mean round time of a resolved point on a backend with sized payload; guess: as in struct
 *  strait_trial_options. 0, or -1 with *err. */
int strait_plan_round_s(double *round_s, const struct strait_plan_setup *setup,
                        const json_t *resolved, const struct strait_backend *backend, bool guess,
                        struct strait_error *err);
/** The control for this backend; NULL: none. With --on both a control applies to one side only. */
const char *strait_plan_control(const struct strait_plan_setup *setup,
                                const struct strait_backend *backend);
/** Key for a network's CPU cost: kind of run, ranks, links, machine and program.
 *  Returns: key, or NULL when memory ran out */
const char *strait_plan_net_cpu_key(char key[STRAIT_KEY_CHARS],
                                    const struct strait_plan_setup *setup, const json_t *resolved,
                                    int n_ranks);
/** The network's cost in CPU seconds a gigabit; 0: not measured. */
double strait_plan_net_cpu_s(const struct strait_plan_setup *setup, const json_t *resolved,
                             int n_ranks);
/** Options for the points of a backend, before they are read: without real training. */
struct strait_trial_options strait_plan_point_options(const struct strait_plan_setup *setup,
                                                      const struct strait_backend *backend);
/** The same for a point. A point that trains has real payload on every backend. */
struct strait_trial_options strait_plan_trial_options(const struct strait_plan_setup *setup,
                                                      const struct strait_backend *backend,
                                                      const struct strait_experiment *e);
