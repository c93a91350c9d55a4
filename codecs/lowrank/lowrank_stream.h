/* The codec around a low-rank iteration on one worker: common to PowerSGD and ACP-SGD.
 *
 *   u8   the codec's id
 *   u8   rank, or 0: float32 values follow (vectors, and matrices too small to gain)
 *   i8   exponent: the product is M scaled by 2^-exponent, so that factors and sums stay finite
 *   u32  n_rows; then P, n_rows x rank, and Q, n_cols x rank, as floats */
#pragma once
#include "codecs/codec.h"
#include "lowrank.h"
#include "codecs/kit/scratch_pool.h"

enum { STRAIT_LOWRANK_RAW_BYTES = 1 + 1, STRAIT_LOWRANK_HEAD_BYTES = 1 + 1 + 1 + 4 };

struct strait_lowrank_coder;
struct strait_lowrank_kernel {
    void (*step)(struct strait_lowrank_coder *c, const float *m); /* one step, on p and q */
};

struct strait_lowrank_coder {
    const struct strait_codec_ops *ops; /* its kernel is a struct strait_lowrank_kernel */
    const struct strait_lowrank_kernel *kernel;
    size_t rank;
    uint64_t n_steps;
    struct strait_lowrank shape; /* of the first matrix; all others must have it; 0 before */
    float *p, *q, *work;         /* one allocation, made at the first matrix */
    float *tamed;                /* copy of the matrix, allocated when first needed */
    struct strait_pool pool;     /* factor buffers for decode */
};

/* The one parameter, `rank`. */
extern const struct strait_param strait_lowrank_params[1];

/* Members of struct strait_codec_ops. */
void strait_lowrank_init(void *state, const struct strait_codec_ops *ops, const double *params);
void strait_lowrank_close(void *state);
size_t strait_lowrank_max_bytes(const void *state, size_t n_elems);
size_t strait_lowrank_predict(const void *state, size_t n_elems, size_t n_rows);
int strait_lowrank_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                          size_t n_elems, struct strait_request request, struct strait_error *err);
int strait_lowrank_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                          size_t len_bytes, struct strait_error *err);

/* These members of a low-rank codec. of: its kernel. */
#define STRAIT_LOWRANK_CODEC(of)                                                                   \
    .family = "low-rank",                                                                          \
    .flags = STRAIT_CODEC_STATEFUL | STRAIT_CODEC_STOCHASTIC | STRAIT_CODEC_MACHINE,               \
    .bounds = 1u << STRAIT_BOUND_NONE, STRAIT_PARAMS(strait_lowrank_params),                       \
    .memory = {.residual = true}, .kernel = (of),                                                  \
    .state_bytes = sizeof(struct strait_lowrank_coder), .init = strait_lowrank_init,               \
    .close = strait_lowrank_close, .max_bytes = strait_lowrank_max_bytes,                          \
    .predict = strait_lowrank_predict, .encode = strait_lowrank_encode,                            \
    .decode = strait_lowrank_decode
