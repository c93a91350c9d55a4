/* How much error each tensor of a model stands: noise is put into one at a time, the loss measured,
 * and bounds found for a stated loss. */
#pragma once
#include <jansson.h>
#include <stdint.h>
#include "workloads/ask/experiment.h"

enum { STRAIT_N_NOISE_LEVELS = 6 };
extern const double STRAIT_NOISE_LEVELS[STRAIT_N_NOISE_LEVELS]; /* bound over a tensor's rms */

/* The loss of a model. Returns: 0, or -1 with *err */
typedef int (*strait_loss_of)(void *arg, double *loss, const float *w, struct strait_error *err);

struct strait_sensitivity_asked {
    const struct strait_model *model;
    const float *w;                          /* the model's parameters */
    const struct strait_codec_choice *codec; /* bounded, of a kind with an absolute value */
    strait_loss_of loss_of;
    void *arg;
    double budget; /* what all bounds together may add to the loss, as a share of it */
    int n_trials;  /* of noise */
    uint64_t seed;
};

/* Results for one tensor. The additions to the loss are NAN if the tensor stays lossless. */
struct strait_tensor_sensitivity {
    bool is_lossy;
    double rms;
    double uniform[STRAIT_N_NOISE_LEVELS]; /* added by uniform noise within the bound, mean */
    double coded[STRAIT_N_NOISE_LEVELS];   /* added by the codec's own error */
    double bound;                          /* absolute; NAN: none */
};
struct strait_sensitivity_found {
    double loss, added; /* of w itself; what all bounds together add, by the codec */
    double scale;       /* by which the tensors' bounds were multiplied together */
    size_t n_losses;    /* measured */
    double ratio;       /* of the lossy tensors' bytes at these bounds */
    struct strait_tensor_sensitivity *tensors; /* model->n_rows; freed by release */
};

/** Measure and find bounds. Cost: (12 n_trials + 6) losses a tensor and at most 12 more.
 *  Returns: 0, or -1 with *err: the loss's, or INPUT if the loss of w is not finite */
int strait_sensitivity_find(struct strait_sensitivity_found *out,
                            const struct strait_sensitivity_asked *asked, struct strait_error *err);
void strait_sensitivity_release(struct strait_sensitivity_found *found);
/** The bounds in the codec's kind, one a row of the model, NAN for lossless ones. */
void strait_sensitivity_bounds(double *bounds, const struct strait_sensitivity_asked *asked,
                               const struct strait_sensitivity_found *found);

/* A model that the experiment trained here, with all data on one worker, and its held-out loss. */
struct strait_trained_model;
/** Train for n_steps. 0, or -1 with *err. */
int strait_trained_model_new(struct strait_trained_model **out, const struct strait_experiment *e,
                             long n_steps, struct strait_error *err);
void strait_trained_model_free(struct strait_trained_model *m);
float *strait_trained_model_values(struct strait_trained_model *m);
/** A strait_loss_of with a model as arg. */
int strait_trained_model_loss(void *arg, double *loss, const float *w, struct strait_error *err);

/* A checkpoint of the user's: raw float32, in the order of the model's table. */
struct strait_checkpoint {
    const char *program; /* is given the path of a checkpoint, ends its output with the loss */
    char path[64];       /* of the changed copy */
    int fd;              /* that keeps it, where it has no name of its own */
    size_t n_elems;
    double limit_s; /* of one evaluation */
};
/** Read float32[n_elems] from a file. Returns: the values, to be freed, or NULL with *err INPUT. */
float *strait_checkpoint_read(const char *path, size_t n_elems, struct strait_error *err);
/** A strait_loss_of with a checkpoint as arg. */
int strait_checkpoint_loss(void *arg, double *loss, const float *w, struct strait_error *err);
