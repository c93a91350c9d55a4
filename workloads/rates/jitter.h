/* How much a packet's delay differs from its link's: distributions as netem of Linux has them. */
#pragma once
#include <stddef.h>
#include "core/error.h"

/* A table: each value is as likely as any other, in units of the link's jitter. */
struct strait_jitter {
    struct strait_jitter *next; /* in the list of its network */
    size_t n;
    double *x;
    double reach; /* the largest magnitude */
};

/** "normal", "pareto", "paretonormal", or the path of a table of netem (tc-netem(8): whole numbers,
 *  8192 is the jitter; lines of # are comments). The three are those of iproute2 (netem/normal.c
 *  and its kin): quantiles of the normal distribution, 4/3 (u^(-1/3) - 1.5) up to 4, and a quarter
 *  of the one with three quarters of the other.
 *  Out:     j      NULL for "uniform"; free with strait_jitter_free
 *  In:      where  of the key, for errors
 *  Returns: 0, or -1 with *err INPUT or NOMEM */
int strait_jitter_load(struct strait_jitter **j, const char *name, const char *where,
                       struct strait_error *err);
void strait_jitter_free(struct strait_jitter *j);
/** The share of the jitter that goes with u, drawn from [0, 1); NULL: uniform, -1 to 1. */
double strait_jitter_at(const struct strait_jitter *j, double u);
