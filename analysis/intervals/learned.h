/* How far predictions were off in settings that were drawn, predicted and emulated, and what
 * follows from that for others: split-conformal margins by kind of case. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "case.h"
#include "core/error.h"
#include "core/hash.h"

/* The table that ships, below the folder of what ships (make coverage-learn writes it). */
#define STRAIT_LEARNED_FILE "experiments/accuracy/learned.csv"
/* Share of measurements that an interval is to hold. */
#define STRAIT_INTERVAL_LEVEL 0.9

struct strait_learned_setting {
    char point[STRAIT_KEY_CHARS], network[12], congestion[12], family[16], messages[8];
    double features[STRAIT_N_FEATURES];
    /* Logarithms of round minus compute. low, high: how far what is known without this table (other
     * draws of losses, the codec, edges) reaches around its middle; miss: where the measured one
     * lay from that middle, its own draw not counted; off: from the prediction, which has its
     * draw. */
    double low, high, miss, off;
    double error; /* of the round, predicted over measured - 1; for people */
};

struct strait_learned {
    struct strait_learned_setting *settings; /* n; owned */
    size_t n;
    char hash[STRAIT_KEY_CHARS];
};

/** Read a table. 0, or -1 with *err INPUT naming file and line. Release in either case. */
int strait_learned_load(struct strait_learned *out, const char *path, struct strait_error *err);
void strait_learned_release(struct strait_learned *l);
/** Was the table learned on this point? */
bool strait_learned_has(const struct strait_learned *l, const char *point);
/* The first line of the table, and the others, without their newlines. */
extern const char strait_learned_header[];
const char *strait_learned_line(char buf[512], const struct strait_learned_setting *s);

struct strait_margin {
    double off;      /* the model's own error, a logarithm: nine of ten were less off */
    double down, up; /* factors on this and what is known, together */
    size_t n;        /* settings that it was learned on */
    char of[64];     /* "loss, loss-based, server, long": the kind that these share */
    double widened;  /* times; 1 where such settings were tried */
    char why[200];   /* what was not tried: "clients 5000, tried 2 to 36"; "" */
};

/** The margin of a case from all settings of its kind: with `off`, their 0.9 quantile, each of them
 *  reaches hypot(off, low) below and hypot(off, high) above its middle; down and up are the 0.95
 *  quantiles of the misses in units of these. A kind is the narrowest of these that has 39
 *  settings: (network, congestion, family, messages), (network, family, messages), (network,
 *  messages), (network), (imperfect or not, messages), (imperfect or not), all; of the last, 19 do.
 *  Beyond the tried range of a feature `off` grows with the logarithm of the distance.
 *  Returns: false where the table has too few settings for any
 *  Source:  split conformal prediction by group: Vovk, Gammerman and Shafer, Algorithmic Learning
 *           in a Random World, 2005; with intervals in place of points: Romano, Patterson and
 *           Candes, Conformalized Quantile Regression, NeurIPS 2019 */
bool strait_learned_margin(struct strait_margin *out, const struct strait_learned *l,
                           const struct strait_case *c);
/** How far a round without compute may lie below and above its middle, logarithms, where what is
 *  known reaches so far; 0: nothing is. */
double strait_margin_below(const struct strait_margin *m, double low);
double strait_margin_above(const struct strait_margin *m, double high);
