/* Gradients that every rank encodes whole, gathers from all and adds up in rank order. */
#pragma once
#include "workloads/ask/strategy.h"
#include "workloads/rank/rank.h"
#include "workloads/train/collectives/collectives.h"

/* For strategies with STRAIT_LIBRARY_PARAMS. */
struct strait_gathering {
    struct strait_group world;
    struct strait_codec *codec;        /* "up" */
    struct strait_packet **all;        /* by rank */
    struct strait_tensor *sum;         /* of all decoded gradients */
    struct strait_tensor *gradient[2]; /* by round: others may still read the last one */
};
/** Uses channel 0. */
struct strait_gathering strait_gathering_of(struct strait_rank *r);
/** Encode x, gather, and decode all into g->sum. Codecs whose sizes differ exchange them first. */
void strait_gather_sum(struct strait_rank *r, struct strait_gathering *g, struct strait_tensor *x);
/** The streams of it. */
bool strait_gathering_uses_stream(const struct strait_experiment *e, int src, int dst, int channel);
