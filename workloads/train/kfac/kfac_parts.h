/* Common to the K-FAC strategies: the model's passes with factor computation, and a second lane
 * that runs collectives one after another in the order requested, like Horovod's single
 * communication stream. Factors and inverses are sent as triangles, unencoded unless `encode` says
 * that the experiment's codec is for them too. If the run trains all of it is computed
 * (kfac_values.h), in the time that is stated. Else gradients are recorded ones with real payload;
 * factors, inverses and preconditioned gradients are zeros of the right size: no matrix is
 * multiplied or inverted. */
#pragma once
#include "kfac_state.h"
#include "workloads/ask/experiment.h"

/* What goes through the experiment's codec. */
enum kfac_encode { KFAC_ENCODE_GRADIENTS, KFAC_ENCODE_FACTORS, KFAC_ENCODE_ALL };
extern const char *const kfac_encodes[]; /* in that order, NULL-terminated */

/* Begin and end. */
struct kfac *kfac_begin(struct strait_rank *r);
void kfac_start(struct kfac *k); /* call when the plan is complete */
void kfac_end(struct kfac *k);

/* Plans. */
/** All-reduce every factor after both passes, in buckets as large as max_bytes allows. */
void kfac_plan_full_buffers(struct kfac *k, double max_bytes);
/** Set bucket_of from the starts of contiguous buckets of the factors lo .. end - 1. */
void kfac_plan_buckets(struct kfac *k, const int *first, int n_buckets, int lo);
/** Cost of a ring all-reduce of x bytes on this network: alpha_s + beta x. */
void kfac_ring_cost(const struct kfac *k, double *alpha_s, double *beta_s_per_byte);
double kfac_broadcast_s(const struct kfac *k, double bytes);
double kfac_inverse_s(const struct kfac *k, int i); /* on this device */

/* Steps of a round. */
bool kfac_updates(struct kfac *k); /* whether this round computes new factors */
void kfac_forward(struct kfac *k, bool with_factors);
void kfac_backward(struct kfac *k, bool with_factors); /* gradients are sent as they become ready */
void kfac_compute(struct kfac *k, int i);              /* also sends its bucket if pipelined */
void kfac_broadcast_gradient(struct kfac *k, int i);
/** Wait until all jobs requested on this channel are done. */
void kfac_wait(struct kfac *k, enum kfac_channel tell);
/** All rounds by the plan, begin to end: passes (with the factors computed behind them where the
 *  plan is pipelined, else after them), gradients summed, factors summed, inverted and broadcast.
 */
void kfac_train(struct kfac *k);

int kfac_check(const struct strait_experiment *e, struct strait_error *err);
bool kfac_uses_stream(const struct strait_experiment *e, int src, int dst, int channel);

/* Parameters of all K-FAC strategies, and of those that broadcast. */
#define KFAC_PARAMS                                                                                \
    {"rounds",     "training steps of the run", STRAIT_PARAM_INTEGER, .min = 1, .max = 1e6,        \
     .fallback = 5},                                                                               \
        {"update_freq",        "steps from one update of the factors to the next",                 \
         STRAIT_PARAM_INTEGER, .min = 1,                                                           \
         .max = 1e6,           .fallback = 1},                                                     \
        {"gradient_fusion",  "most bytes of gradients in one all-reduce",                          \
         STRAIT_PARAM_BYTES, .min = 0,                                                             \
         .max = 1e15,        .fallback = 64 << 20},                                                \
        {"factor_speed",      "rate of the factors' products, of the layer's own forward pass",    \
         STRAIT_PARAM_NUMBER, .min = 1e-6,                                                         \
         .max = 1e6,          .fallback = 1},                                                      \
        {"matrix_gflops",                                                                          \
         "GFLOP/s of preconditioning; 0: of forward, or its device's (107, 7850)",                 \
         STRAIT_PARAM_NUMBER, .min = 0, .max = 1e9},                                               \
        {"inverse_base",    "of an inverse: base e^(growth d) + cubic d^3",                        \
         STRAIT_PARAM_TIME, .min = 0,                                                              \
         .max = 1e3,        .fallback = 3.64e-3},                                                  \
        {"inverse_growth",                                                                         \
         "its growth by dimension; fallbacks: RTX 2080 Ti as published",                           \
         STRAIT_PARAM_NUMBER,                                                                      \
         .min = 0,                                                                                 \
         .max = 1,                                                                                 \
         .fallback = 4.77e-4},                                                                     \
        {"inverse_cubic", "its cubic part, seconds", STRAIT_PARAM_NUMBER, .min = 0, .max = 1},     \
        STRAIT_LAUNCH_PARAM, STRAIT_UPDATE_PARAM,                                                  \
        {"pack", "what each factor takes in a collective, beside its bytes", STRAIT_PARAM_TIME,    \
         .min = 0, .max = 10},                                                                     \
        {"contention", "share of its speed that computing loses beside a collective",              \
         STRAIT_PARAM_NUMBER, .min = 0, .max = 0.99},                                              \
        {"encode",                                                                                 \
         "through the codec: gradients; sums of factors too; all, broadcasts too",                 \
         STRAIT_PARAM_CHOICE,                                                                      \
         .min = 0,                                                                                 \
         .max = KFAC_ENCODE_ALL,                                                                   \
         .fallback = KFAC_ENCODE_GRADIENTS,                                                        \
         .choices = kfac_encodes},                                                                 \
    {                                                                                              \
        "largest_dim", "layers with a larger factor keep their plain gradient",                    \
            STRAIT_PARAM_INTEGER, .min = 1, .max = 1e6, .fallback = 8192                           \
    }
#define KFAC_PIECE_PARAM                                                                           \
    {                                                                                              \
        "piece", "broadcasts and reductions: a chain of such pieces; 0: a binomial tree",          \
            STRAIT_PARAM_BYTES, .min = 0, .max = 1e12                                              \
    }
#define KFAC_FUSION_PARAM                                                                          \
    {                                                                                              \
        "factor_fusion", "most bytes of factors in one all-reduce", STRAIT_PARAM_BYTES,            \
            .min = 0, .max = 1e15, .fallback = 64 << 20                                            \
    }
