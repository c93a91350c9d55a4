/* The arithmetic of PowerSGD and ACP-SGD as jobs of a rank: real if payload is real, charged like
 * the codecs of these names, on a CPU core. One call is one job over many parameters. */
#pragma once
#include "workloads/train/plans/lowrank_plan.h"
#include "workloads/ask/experiment.h"
#include "workloads/rank/rank.h"

/* State of one rank. The gradient is not changed. */
struct strait_lowrank_work {
    struct strait_lowrank_plan plan;
    struct strait_tensor *gradient, *mean; /* mean: the averaged gradient, when complete */
    struct strait_tensor *error;           /* error feedback: what was not sent yet */
    /* By enum strait_side: buffers that are sent and summed in place, and which others may read
     * until all take part in the next sum; and the factors from the sums. */
    struct strait_tensor *buffers[2], *factors[2];
    float *scratch; /* for orthonormalise */
    double encode_s_per_byte, decode_s_per_byte, copy_s_per_byte, encode_s, decode_s;
};

/** In:      codec: "powersgd" or "acpsgd", whose measured speed comes from the profile. If that has
 *           other ranks only, time is taken as linear in the rank; if it has none, as
 *           STRAIT_LOWRANK_PASSES passes of memory at its copy speed. */
struct strait_lowrank_work *strait_lowrank_work_new(struct strait_rank *r, const char *codec,
                                                    size_t rank, bool plain_on_both_sides);

/* Encoding at rank 4 was measured to take as long as copying the values seven times: 2065 MB/s and
 * 14400 MB/s in codecs/profiles/default.json. */
enum { STRAIT_LOWRANK_PASSES = 7 };

/** The backward pass of a layer, into the layer's part of the gradient if the rank trains; a
 *  recorded gradient, which these methods do not change, stays there. */
void strait_lowrank_backward(struct strait_rank *r, int layer, struct strait_tensor *x);

/** These strategies send only factors: 0, or -1 if the experiment asks for a codec. */
int strait_lowrank_check(const struct strait_experiment *e, struct strait_error *err);

/* PowerSGD (Vogels et al. 2019, algorithm 1). Each call is charged a third of the codec's time: it
 * has one product with M and a pass over it. All calls after the first need a summed buffer. */
/** error <- error + gradient = M; P <- M Q; unfactored tensors are copied to P's buffer. */
void strait_lowrank_p(struct strait_rank *r, struct strait_lowrank_work *w);
/** Orthonormalise the columns of P; Q <- M^T P. */
void strait_lowrank_q(struct strait_rank *r, struct strait_lowrank_work *w);
/** Q <- Q / n_ranks; mean <- P Q^T; error <- M - mean. */
void strait_lowrank_finish(struct strait_rank *r, struct strait_lowrank_work *w, int n_ranks);

/* ACP-SGD (Zhang et al. 2023): `side` is the factor computed in this step; all ranks have the other
 * one. */
/** Parts [first, end): orthonormalise the other factor's columns; error <- error + gradient = M;
 *  the factor <- M Q or M^T P; error <- M - P Q^T, before anything is sent. */
void strait_lowrank_compress(struct strait_rank *r, struct strait_lowrank_work *w,
                             enum strait_side side, size_t first, size_t end);
/** All parts: the factor <- the factor / n_ranks; mean <- P Q^T. */
void strait_lowrank_decompress(struct strait_rank *r, struct strait_lowrank_work *w,
                               enum strait_side side, int n_ranks);
