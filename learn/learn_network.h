/* What a task brings: its parameters and data, and the gradient on a batch. One file and one line
 * in networks.c for each. */
#pragma once
#include "learn/data/split.h"
#include "learn/layers/laps.h"
#include "learn_param.h"
#include "training.h"

struct strait_learn;
struct strait_learner;

/* Examples to compute on. */
struct strait_batch {
    const uint32_t *examples; /* n indices into the training set, or the held-out set */
    int n;
    bool held_out;
    int worker;    /* whose data; -1: held out */
    uint64_t step; /* of the worker */
};

struct strait_learn_network {
    struct strait_learn_task_info info;
    /* Add parameters, load the data; sets l->data, n_train, n_held_out, labels. */
    int (*open)(struct strait_learn *l, struct strait_error *err);
    /* After the split; may be NULL. For what depends on the workers' shares. */
    int (*share)(struct strait_learn *l, struct strait_error *err);
    void (*close)(struct strait_learn *l); /* l->data; NULL is fine there */
    void (*init)(const struct strait_learn *l, float *w);
    /* Bytes of a learner's workspace x->work for up to so many examples; it comes zeroed and
     * aligned to 64 bytes. */
    size_t (*work_bytes)(const struct strait_learn *l, int max_batch);
    /* Forget what the workspace holds of x->worker, since another's turn comes; NULL: nothing. */
    void (*leave)(struct strait_learner *x);
    /* Mean loss and gradient on a batch. */
    double (*gradient)(struct strait_learner *x, const float *w, const struct strait_batch *b,
                       float *gradient);
    /* Add a batch's loss, right answers and answers to *loss, *right, *n. */
    void (*score)(struct strait_learner *x, const float *w, const struct strait_batch *b,
                  double *loss, long *right, long *n);
    /* NULL: no layer has factors. */
    bool (*factors)(struct strait_learner *x, size_t param, size_t *d_in, size_t *d_out,
                    const float **a, const float **g);
    bool has_accuracy;
    /* A part of it (struct strait_learn_part), where it can be cut between layers; else NULL.
     * Parameters and gradients are the part's own. Values that an example passes on before a
     * layer: */
    size_t (*width)(const struct strait_learn *l, size_t layer);
    void (*forward_part)(struct strait_learner *x, const float *w, const struct strait_batch *b,
                         size_t first, size_t end, const float *in, float *out);
    /* over: examples of the mean that the loss is. */
    double (*backward_part)(struct strait_learner *x, const float *w, const struct strait_batch *b,
                            size_t first, size_t end, int over, const float *in, const float *dy,
                            float *dx, float *gradient);
};

enum { STRAIT_LEARN_MAX_PARAMS = 256, STRAIT_LEARN_NAME_CHARS = 32 };

struct strait_learn {
    const struct strait_learn_network *network;
    struct strait_training training;
    int n_workers;
    uint64_t seed;
    struct strait_learn_param *params;
    char (*names)[STRAIT_LEARN_NAME_CHARS]; /* of layers, where they are made up */
    size_t n_params, n_elems, n_layers;
    void *data; /* the network's own */
    size_t data_bytes;
    uint32_t n_train, n_held_out;
    const unsigned char *labels, *held_out_labels; /* of both sets; NULL: none */
    unsigned n_labels;
    struct strait_split split;
};

struct strait_learner {
    const struct strait_learn *learn;
    int worker;
    int max_batch; /* the largest that the workspace can take */
    uint32_t *examples;
    void *work;                    /* the network's own */
    const struct learn_laps *laps; /* of gradients; NULL: nobody measures */
};

/** A task's network, or NULL. */
const struct strait_learn_network *strait_learn_network_find(const char *name);
/** Add a parameter tensor; a `layer` other than that of the last one begins a new layer. The name
 *  is copied. Returns: false when memory ran out */
bool strait_learn_add(struct strait_learn *l, const char *layer, const char *param,
                      const char *type, const size_t *shape, unsigned n_dims);

extern const struct strait_learn_network strait_quadratic;
extern const struct strait_learn_network strait_fashion_mlp;
extern const struct strait_learn_network strait_fashion_cnn;
extern const struct strait_learn_network strait_char_transformer;
extern const struct strait_learn_network strait_fashion_resnet;
