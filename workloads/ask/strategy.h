/* What a strategy declares, and the one table of all strategies. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "core/error.h"
#include "core/param.h"
#include "core/units.h"

struct strait_rank;
struct strait_experiment;

enum { STRAIT_MAX_PARAMS = 24 };

struct strait_strategy {
    const char *name, *summary;
    const char *source; /* the paper that it follows */
    bool has_server;    /* rank 0 is a server beside the clients */
    bool ends_with_rank_0;
    const char *uplink_kind;   /* recorded kind of what clients send: "update", "gradients" */
    const char *downlink_kind; /* of what the server sends, or NULL */
    const struct strait_param *params;
    unsigned n_params;
    /** May this experiment run so? 0, or -1 with *err naming what is legal. NULL: always. */
    int (*check)(const struct strait_experiment *e, struct strait_error *err);
    /** Bounds that clients' codec may be given beside the experiment's, of the same kind: all lie
     *  between the two. False: none. NULL: none. */
    bool (*bounds_of)(double *least, double *most, const struct strait_experiment *e);
    /** Can rank src ever send to dst, another rank, on this channel? NULL: everybody on every
     *  channel. */
    bool (*uses_stream)(const struct strait_experiment *e, int src, int dst, int channel);
    /** Rounds after which its schedule begins again, so that a steady state may be extrapolated
     *  (steady.h): 1 where all rounds are alike but for warming up, 0 where anything is drawn,
     *  tuned or scheduled without end. NULL: 0. */
    int (*period)(const struct strait_experiment *e);
    /** What it does to results beside time, for the row: a new object of numbers by name, and under
     *  "of" a text that says of what. 0, or -1 with *err. NULL: nothing is known. */
    int (*quality)(json_t **out, const struct strait_experiment *e, struct strait_error *err);
    void (*rank_main)(struct strait_rank *r);
};

/** Is a parameter of that name a constant of a machine or of a network's software, which "device"
 *  and "network" may give for all strategies that take it? */
bool strait_param_is_of_machine(const char *name);
/** Their names, NULL-terminated. */
extern const char *const strait_machine_params[];

/** For `period` of strategies whose rounds are all alike: 1. */
int strait_strategy_repeats(const struct strait_experiment *e);

const struct strait_strategy *const *strait_strategies(size_t *n);
const struct strait_strategy *strait_strategy_find(const char *name); /* NULL: none */
