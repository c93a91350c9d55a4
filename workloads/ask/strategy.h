/* The declaration of a strategy, and the one table of all strategies. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "core/error.h"
#include "core/param.h"
#include "core/units.h"

struct strait_rank;
struct strait_experiment;

enum { STRAIT_MAX_PARAMS = 24, STRAIT_MAX_EARLY_SCRATCH = 2 };

#define STRAIT_ROUNDS_PARAM                                                                        \
    {                                                                                              \
        "rounds", "training steps of the run", STRAIT_PARAM_INTEGER, .min = 1, .max = 1e6,         \
                                                                     .fallback = 5                 \
    }

/* What a run does when clients leave, for a while or for good: it would wait for ever, so it is
 * refused; it goes on if its rounds have a deadline; it goes on as long as one client stays. */
enum strait_leaving {
    STRAIT_LEAVING_STOPS,
    STRAIT_LEAVING_BY_DEADLINE,
    STRAIT_LEAVING_IF_ONE_STAYS
};

struct strait_strategy {
    const char *name, *summary;
    const char *source; /* the paper it implements */
    /* What it approximates if a codec is used, as a text for the rows; NULL: nothing. */
    const char *approximates;
    bool has_server; /* rank 0 is a server, ranks 1 to `clients` are the clients */
    bool ends_with_rank_0;
    bool sums; /* what clients send are partial sums, encoded anew on every hop of a ring */
    enum strait_leaving leaving;
    /* The codec that its ranks work as, without sending its packets, with as many columns as their
     * parameter "rank" says: calibration measures it. NULL: none. */
    const char *works_as;
    bool has_one_lane; /* its ranks spawn none, so that a large simulation may keep them in less */
    const char *uplink_kind; /* recorded kind that clients send: "update", "grad" or "param" */
    /** The kind where it depends on parameters; NULL: uplink_kind. */
    const char *(*uplink_kind_of)(const struct strait_experiment *e);
    const char *downlink_kind; /* recorded kind that the server sends, or NULL */
    /** Whether the codec of this direction (0 up, 1 down) codes parameters of which the receiver
     *  has an older version, so that "reference" makes sense. NULL: in no direction. */
    bool (*refers)(const struct strait_experiment *e, int direction);
    /** Whether every receiver of a rank's "codec" packets decodes each of them, so that each may be
     *  coded as the difference from the one before ("reference": "own"). NULL: no. */
    bool (*tracks)(const struct strait_experiment *e);
    const struct strait_param *params;
    unsigned n_params;
    /** Whether this experiment can run. 0, or -1 with *err naming what is legal. NULL: always. */
    int (*check)(const struct strait_experiment *e, struct strait_error *err);
    /** The range of bounds that the strategy may give the codec of this direction (0 up, 1 down)
     *  besides the experiment's, of the same kind. False: none. NULL: none. */
    bool (*bounds_of)(double *least, double *most, const struct strait_experiment *e,
                      int direction);
    /** Whether rank src ever sends to dst, another rank, on this channel. NULL: all pairs on all
     *  channels. */
    bool (*uses_stream)(const struct strait_experiment *e, int src, int dst, int channel);
    /** The channel whose connections carry this one's messages too, for a library with one
     *  connection for each pair: strait_run.carrier. NULL: each channel has its own. */
    int (*carrier)(const struct strait_experiment *e, int channel);
    /** Whether its times depend on effects that simulations of flows leave out: acknowledgements
     *  queue behind data because both directions of a link are full, or shares are unequal because
     *  receivers are drawn. Such a run is simulated by packets if that costs little. NULL: no. */
    bool (*needs_packets)(const struct strait_experiment *e);
    /** Lengths of the scratch tensors (strait_scratch) that a rank asks for first. With real
     *  payload their memory is allocated before time 0, because that takes long. Returns how many.
     *  NULL: none. */
    size_t (*early_scratch)(size_t n_elems[STRAIT_MAX_EARLY_SCRATCH],
                            const struct strait_experiment *e);
    bool takes_edges; /* has the key "edges": a table of pairs of ranks */
    bool trains;      /* real training: with "training" it moves and applies real updates */
    /** Whether without a codec its steps are those of one machine with all batches, and so as
     *  accurate as those of any other such strategy. */
    bool is_exact;
    /** How many ranks train: the first ones, not counting the server of `has_server`. NULL: all. */
    int (*n_workers)(const struct strait_experiment *e);
    /** Rounds after which the schedule repeats, so that a steady state may be extrapolated
     *  (steady.c): 1 if all rounds are alike after warm-up, 0 if anything is drawn, tuned or never
     *  repeats. NULL: 0. */
    int (*period)(const struct strait_experiment *e);
    /** Quality metrics for the row: named numbers, plus "of", what they were measured on. Out: new
     *  object. 0, or -1 with *err. NULL: no metrics. */
    int (*quality)(json_t **out, const struct strait_experiment *e, struct strait_error *err);
    void (*rank_main)(struct strait_rank *r);
};

/** Whether a parameter of this name is a constant of a machine or of a network's software; "device"
 *  and "network" may set these for all strategies that have them. */
bool strait_param_is_of_machine(const char *name);
/** The names of such parameters, NULL-terminated. */
extern const char *const strait_device_params[];

/** A `period` for strategies whose rounds are all alike: 1. */
int strait_strategy_repeats(const struct strait_experiment *e);

/** A `needs_packets` for strategies whose links are always filled both ways. */
bool strait_strategy_fills_both_ways(const struct strait_experiment *e);

/** The one table, NULL-terminated (workloads/train/strategies.c). */
extern const struct strait_strategy *const strait_strategy_table[];
/* How many, and which has this name (named.c). */
const struct strait_strategy *const *strait_strategies(size_t *n);
const struct strait_strategy *strait_strategy_find(const char *name); /* NULL: none */
