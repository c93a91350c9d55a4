/* One point of an experiment file, with all values resolved and all names looked up. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "codecs/codec.h"
#include "codecs/profile/profile.h"
#include "codecs/spec.h"
#include "learn/task.h"
#include "traces/curves.h"
#include "traces/program.h"
#include "traces/models/model.h"
#include "codec_choice.h"
#include "host_link.h"
#include "network.h"
#include "strategy.h"

/* When real training has gone far enough: either may be the target. */
struct strait_until {
    double accuracy; /* at least; INFINITY: not the target */
    double loss;     /* at most; -INFINITY: not the target */
};

struct strait_experiment {
    json_t *json;     /* resolved, without "vary"; owns every string below */
    const char *file; /* for errors; owned */
    const char *title;
    bool is_tradeoff; /* show results as a trade-off of codecs instead of by clients */
    struct strait_model *model;
    struct strait_program *graph; /* what `replay` runs; NULL: another strategy */
    const char *tensors;          /* folder of recorded tensors; NULL: the shipped one */
    const struct strait_strategy *strategy;
    double params[STRAIT_MAX_PARAMS]; /* in the order of strategy->params */
    struct strait_codec_choice up, down;
    struct strait_codec_choice inside; /* up with the strategy's "inside_bits"; borrows from it */
    int n_clients, n_ranks;
    uint64_t seed;
    bool trains; /* for real: the next four say what; or none of it, beside `curves` */
    struct strait_training training;
    struct strait_until until;
    bool has_until;
    int n_seeds;                    /* the run is repeated with the seeds from `seed` on */
    struct strait_curves *curves;   /* recorded: how such runs do; NULL: none */
    struct strait_network *network; /* of n_ranks */
    double compute_speed;           /* of the clients' device, relative to the model's table */
    double add_bytes_per_s, copy_bytes_per_s; /* of the clients' device; 0: the profile's */
    const char *device_profile; /* what codecs take there that name no profile; NULL: none */
    double *slowness; /* compute time factor of client i: [i % n_slowness]; n_slowness 0: all 1 */
    size_t n_slowness;
    int (*edges)[2]; /* of "graph": "file", between ranks, both ways; n_edges 0: none */
    size_t n_edges;
    struct strait_measured inverse_s; /* of a factor of K-FAC by its dimension; n 0: a model */
    struct strait_host_link link;     /* between every rank and its accelerator */
    double memory_bytes_per_s;        /* speed at which the accelerator reads its own memory */
    const json_t *estimated; /* where constants of software come from (named.h); NULL: none */
};

/** Read one resolved point. file names it in errors.
 *  Returns: 0, or -1 with *err INPUT: "wan.json#/network/client/rate: expected ..." */
int strait_experiment_read(struct strait_experiment **out, const char *file, const json_t *resolved,
                           struct strait_error *err);
void strait_experiment_free(struct strait_experiment *e);
bool strait_experiment_has_param(const struct strait_experiment *e, const char *name);
/** Value of a strategy parameter by name, which must be declared; for a choice its index. */
double strait_experiment_param(const struct strait_experiment *e, const char *name);
/** Whether the strategy has this parameter, a choice, and it is so. */
bool strait_experiment_chooses(const struct strait_experiment *e, const char *name,
                               const char *choice);
/** Data segments of all rounds, if every rank's model, or where the server waits for some updates
 *  those clients', crosses the network up and down. */
double strait_experiment_n_segments(const struct strait_experiment *e);

/** What clients send: "param", "update" or "grad". */
const char *strait_uplink_kind(const struct strait_experiment *e);
/** How its all-reduce adds, for what its partial sums cost: "halving", "tree" or "all_to_all" where
 *  the strategy's collective is that, else "sum": as in a ring. */
const char *strait_experiment_sums(const struct strait_experiment *e);
/** The kind of a profile's entry for such partial sums: "grad sum 4", "grad halving 4".
 *  In:      how, kind, n_ranks  "halving", "grad", 4
 *  Returns: buf */
const char *strait_sums_kind(char buf[STRAIT_KIND_CHARS], const char *how, const char *kind,
                             int n_ranks);
/** Of how many ranks the sums are that have an entry of their own, "grad sum 4/2": 1, 2, 4, ... and
 *  n_ranks.
 *  In:      k  0 at first
 *  Returns: the next one after k; 0: there is none */
int strait_next_sum(int k, int n_ranks);
/** In:      of  what strait_sums_kind gave
 *  Returns: whether buf has room for it */
bool strait_sum_of_kind(char buf[STRAIT_KIND_CHARS], const char *of, int k);

/** Ranks with data of their own, where it trains. */
int strait_experiment_n_workers(const struct strait_experiment *e);
/** Does the model's table have the task's parameters, in shape and order? 0, or -1 with *err INPUT
 *  naming the first that differs. */
int strait_experiment_fits(const struct strait_experiment *e, const struct strait_learn *l,
                           struct strait_error *err);

/** Factor on this rank's compute time; 1 for a server. */
double strait_experiment_slowness(const struct strait_experiment *e, int rank);

/* An experiment file as written: a base and the axes of "vary". */
struct strait_axis {
    const char *pointer;  /* JSON Pointer into the base, "/codec/bound/range" */
    const json_t *values; /* array */
    size_t depth;         /* keys in the pointer */
};
struct strait_sweep {
    char *file;
    json_t *base; /* without "vary"; --set applied */
    json_t *set;  /* {pointer: value} of what --set put in, in its order; empty for nothing */
    json_t *vary;
    struct strait_axis *axes;
    size_t n_axes, n_points; /* the product of the axes' sizes; 1 without any */
};
/** Load a file, or a shipped experiment by its bare name ("wan-scaling"), and apply settings
 *  "/pointer=value" (value JSON, or a bare word taken as a string), those with fewer keys first:
 *  "/network=hkbu-10gbe", then "/network/node/rate=7 Gbps", in whatever order they are given. A set
 *  pointer that "vary" also names replaces that axis; one inside of an axis' pointer is set in each
 *  of its values.
 *  Returns: 0, or -1 with *err. Every point is read once, so that a bad one is found at once. */
int strait_sweep_load(struct strait_sweep **out, const char *path, const char *const *settings,
                      size_t n_settings, struct strait_error *err);
/** A sweep over these axes (NULL: none) of an experiment that is there already, such as that of a
 *  header of results; its points are not read. Both are copied; file names it in errors. 0, or -1
 *  with *err. */
int strait_sweep_of(struct strait_sweep **out, const char *file, const json_t *base,
                    const json_t *vary, struct strait_error *err);
/** The same of an experiment in memory, with its "vary".
 *  In:      file        its name in errors
 *           experiment  borrowed; anything but an object is refused */
int strait_sweep_new(struct strait_sweep **out, const char *file, const json_t *experiment,
                     struct strait_error *err);
void strait_sweep_free(struct strait_sweep *s);
/** Put {pointer: value} into a base and look up what it names: the resolved point of these labels.
 *  Returns: new reference, or NULL with *err when a pointer does not exist */
json_t *strait_sweep_resolve(const char *file, const json_t *base, const json_t *labels,
                             struct strait_error *err);
/** Resolve point i, the last axis varying fastest.
 *  Out:     labels   may be NULL; new object {pointer: value} of the axes' values
 *  Returns: new reference, or NULL with *err when a pointer does not exist */
json_t *strait_sweep_point(const struct strait_sweep *s, size_t i, json_t **labels,
                           struct strait_error *err);
