/* One point of a sweep with its profile and data, ready to run on a backend. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include "backend.h"
#include "workloads/sizes/sent_sizes.h"
#include "workloads/timing/readings.h"
#include "workloads/ask/experiment.h"
#include "traces/tensor_fill.h"
#include "traces/tensors.h"

struct strait_workspaces;
struct strait_kept;
struct strait_estimates;

/* Ratio and speeds of a codec for the tensors of one direction, looked up once. */
struct strait_codec_cost {
    double ratio; /* raw / encoded */
    double encode_bytes_per_s, decode_bytes_per_s, encode_fixed_s, decode_fixed_s;
};

/* The same of sums of so many ranks' values, which are coded as they are summed. */
struct strait_sum_cost {
    int n_ranks;
    struct strait_codec_cost of;
};
enum { STRAIT_MAX_SUM_COSTS = 20 };

/* Readings of one kind of measured work, shared by all ranks of a run. */
enum { STRAIT_MAX_READINGS = 512 };
struct strait_reading {
    _Atomic(uint64_t) key; /* hash of operation, codec and elements; 0: free */
    struct strait_readings of;
};

enum { STRAIT_N_CODECS = 4 }; /* of a rank: up, down, none, inside */

struct strait_trial {
    const struct strait_experiment *experiment;
    const struct strait_profile *profile; /* the run's; a codec choice may name another */
    struct strait_profile *own_profiles[2];
    struct strait_codec_cost up, down, lossless_up, lossless_down;
    /* Of the codec up, by ascending numbers of ranks; n_sums 0: the profile has their mean alone */
    struct strait_sum_cost sums[STRAIT_MAX_SUM_COSTS];
    int n_sums;
    /* up, down: cost of parameters coded against a reference ("change"). has_changes: the profile
     * has it; else it is the cost without a reference. */
    struct strait_codec_cost changes[2];
    bool has_changes[2];
    bool has_one_ratio[2]; /* at all bounds that the strategy may give: they change no size */
    bool guess;            /* as in struct strait_trial_options */
    /* up, down: the settings whose speeds are used because the profile lacks those of the codec;
     * "": the codec's own */
    char speeds_of[2][STRAIT_SPEC_CHARS];
    struct strait_codec_choice plain; /* `none`, whatever the experiment says */
    double add_bytes_per_s, copy_bytes_per_s;
    void *sized_states[STRAIT_N_CODECS]; /* for predict; NULL if sizes come from the profile */
    struct strait_tensors *tensors;      /* real payload only */
    struct strait_tensor_fill_plan
        *fills[3];                      /* by kind: weights, update, gradients; real payload only */
    struct strait_estimates *estimates; /* by range, made as needed; shared by ranks that are not
                                           processes */
    const struct strait_sent_sizes *sizes; /* as the options say */
    struct strait_sent_sizes *noted;       /* real payload: sizes are noted there; NULL: nowhere */
    double layer_fwd_scale, layer_bwd_scale; /* scale the layers' times to the recorded total */
    int n_rounds;                            /* to be run; fewer if the rest is extrapolated */
    double recorded_ratio;                   /* share of the model's bytes that is recorded exactly;
                                          NAN in a sized run */
    struct strait_reading *readings; /* STRAIT_MAX_READINGS, shared across fork; measured only */
    bool every_round;
    double expected_s; /* real payload: duration predicted by fluid; 0: not known yet */
    /* The clients' tensors are so large that all clients send the same values, from memory that the
     * ranks share until one writes to it; see strait_trial_new. */
    bool shares_values;
    float *shared_values;
    bool plans_memory; /* as the options say */
    size_t *rooms; /* bytes of an encoded model at most, by codec; 0: not known yet. For ranks that
                      are not processes */
    struct strait_opened *opened; /* by codec, for ranks of a simulation (coding_setup.c) */
    int *all_ranks;               /* for those too; NULL: none has asked */
    /* Real training: the experiment asks for it, and payload is real. Else learn is NULL. */
    struct strait_learn *learn;
    bool learn_is_lent; /* as the options say */
    struct strait_workspaces *workspaces;
    float *initial;           /* parameters */
    struct strait_kept *kept; /* what training computed; NULL: it is not kept */
    int n_workers;            /* ranks that train; of any run */
    bool stops_at_target;
    struct strait_network *with_others; /* flows compete with the run's: run.network; else NULL */
    double n_batches;                   /* of all ranks together, and */
    double gradient_s; /* processor time of one on this machine: 0 until it was checked */
    struct strait_run run;
    struct strait_facts facts;
    /* run.n_ranks, filled by strait_trial_run; the experiment's n_ranks say something */
    struct strait_log *logs;
};

struct strait_trial_options {
    bool real_payload, measured_cost; /* emu: true, true */
    bool guess; /* a codec that the profile lacks takes no time and saves no byte: enough to plan an
                   emulation, which measures both */
    const char *control;                /* "no-ramp", "no-codec-cost", "unshaped"; NULL: none */
    double dilation;                    /* emu: 0: chosen */
    const char *realisation, *launcher; /* emu: as in struct strait_run */
    bool every_round;                   /* simulate every round, even if they repeat */
    bool one_at_a_time;                 /* emu: as in struct strait_run */
    struct strait_mpi_world *world;     /* mpi: likewise */
    const char *state;   /* of a simulation: the file of what training computed; NULL: none */
    int n_threads;       /* of a simulation, for real training; 0: one */
    bool in_process;     /* as in struct strait_run; not where payload is real */
    bool without_values; /* to be checked alone: recorded tensors are not looked for */
    /* Of trials one after another that differ in their codecs alone: the first leaves its open task
     * there, the others borrow it, and whoever owns the place frees it. NULL: each opens its own. */
    struct strait_learn **learn;
    const struct strait_sent_sizes *sizes; /* of a sized run: what its encoded tensors take; NULL,
                                              or not among them: as the profile says */
    bool plans_memory; /* of a sized run: count what one with real payload would allocate */
    void (*watch)(const struct strait_run *run, const struct strait_live *live); /* likewise */
    void *watcher;
};

/** Look up the cost at another bound than the experiment's, for strategies that change bounds. In:
 *  direction: 0 up, 1 down; changes: of parameters against a reference. Errors: INPUT naming the
 *  measured range. */
int strait_trial_cost(struct strait_codec_cost *out, const struct strait_trial *p, int direction,
                      bool changes, double bound, struct strait_error *err);
/** What coding a sum of so many ranks' values costs within the experiment's bound: between two that
 *  the profile has, linear in the logarithm of their number. n_ranks 0: unknown, their mean. */
struct strait_codec_cost strait_trial_sum_cost(const struct strait_trial *p, int n_ranks);
/** Prepare a point. Borrows experiment and profile until free. With a server and real payload,
 *  clients whose tensors take more than 4 GB together share those of rank 1; the row says so.
 *  Errors:  INPUT when the profile has no entry for a codec at this bound */
int strait_trial_new(struct strait_trial **out, const struct strait_experiment *experiment,
                     const struct strait_profile *profile,
                     const struct strait_trial_options *options, struct strait_error *err);
/** Hash of all that the point takes from the run's profile. Returns: key, or NULL when memory ran
 *  out. */
const char *strait_trial_profile_hash(char key[STRAIT_KEY_CHARS], const struct strait_trial *p);
/** Close the saved state, if there is one, and delete it: the run's result is safe. */
void strait_trial_forget_state(struct strait_trial *p);
/** Check and run on this backend; afterwards logs and facts are filled. Repeating rounds may be
 *  extrapolated (see strait_steady_run). */
int strait_trial_run(struct strait_trial *p, const struct strait_backend *backend,
                     struct strait_error *err);
/** Processor time that real training will take, over all seeds and without scores; 0: none, or not
 *  checked. */
double strait_trial_training_s(const struct strait_trial *p);
/** Find how much memory the ranks would hold and how long they would take, by a sized run on fluid,
 *  and note both in p->run. Works even if this machine could not run them. Runs at most once a
 *  trial.
 *  Returns: 0, or -1 with *err of that run */
int strait_trial_measure_need(struct strait_trial *p, struct strait_error *err);
/** Call backend->check, with the memory that the run would need: a sized run of the same point on
 *  fluid gives what its ranks hold and what their processes allocate for it (footprint.h). */
int strait_trial_check(struct strait_trial *p, const struct strait_backend *backend,
                       struct strait_error *err);
void strait_trial_free(struct strait_trial *p);
/** What the tensors that an emulation of the experiment sends take encoded, by a run on fluid that
 *  encodes and decodes them, of as many rounds as have no more than a gigabyte to encode.
 *  Returns: 0 with sizes to free with strait_sent_sizes_free, or -1 with *err: HOST where a single
 *  round has more, or where memory is short
 *  Cost:    coding of all tensors of these rounds, in this process's children */
int strait_trial_find_sizes(struct strait_sent_sizes **out, const struct strait_experiment *e,
                            const struct strait_profile *profile, struct strait_error *err);

/* --- inside this room ------------------------------------------------------------------------- */

/** The choices of a rank's codecs, by their numbers. */
void strait_trial_choices(const struct strait_codec_choice *choices[STRAIT_N_CODECS],
                          const struct strait_trial *p);
/** Fill the costs of both codecs, of their lossless ones and of memory; check those of all bounds
 *  that the strategy may use.
 *  Returns: 0, or -1 with *err INPUT when a profile has no entry */
int strait_trial_find_costs(struct strait_trial *p, struct strait_error *err);
/** Is it the codec `none`? */
bool strait_trial_is_none(const struct strait_codec_spec *spec);

/** Run a point that strait_trial_check accepts. If the strategy has a period, time is simulated and
 *  payload is sized, it runs only enough rounds for the second half to repeat on every rank, span
 *  by span, with that period or a multiple of it; then as many rounds again plus one period. The
 *  difference of the two runs is what every further period adds. The logs are then those of all
 *  rounds, including spans of the repeated ones as far as they are kept, and facts.report has
 *  "steady": simulated rounds, period in rounds and in seconds. If no period is found, or random
 *  numbers were drawn, all rounds are run, as on links whose rates change.
 *  Returns: 0, or -1 with *err as backend->run
 *  Source:  own; exact up to the rounding of times (a run of all rounds agrees to 1e-12) */
int strait_steady_run(struct strait_trial *p, const struct strait_backend *backend,
                      struct strait_error *err);
