/* What tasks on Fashion-MNIST share: the data, a batch as floats, PyTorch's initial weights. */
#pragma once
#include "learn/data/fashion.h"
#include "learn/layers/dense.h"
#include "learn_network.h"

struct strait_image_task {
    struct strait_images train, held_out;
};
/** Load both sets into l->data: for `open` of a network. */
int strait_image_task_open(struct strait_learn *l, struct strait_error *err);
void strait_image_task_close(struct strait_learn *l);
/** The batch's images and labels. Out: x n x 784; labels n */
void strait_image_batch(const struct strait_learn *l, const struct strait_batch *b, float *x,
                        unsigned char *labels);
/** All parameters uniform in +-1/sqrt(inputs of their layer), biases too: PyTorch's default for
 *  Linear and Conv2d. Biases follow their weights. */
void strait_image_init(const struct strait_learn *l, float *w);
/** Add weight and bias of a layer. */
bool strait_image_layer(struct strait_learn *l, const char *layer, const char *type,
                        const size_t *shape, unsigned n_dims);

/* Memory of one allocation, cut into parts. With base NULL it only counts. */
struct strait_room {
    char *base;
    size_t len_bytes;
};
/** The next n floats, aligned to 64 bytes; NULL where it only counts. */
float *strait_room_floats(struct strait_room *r, size_t n);
int *strait_room_ints(struct strait_room *r, size_t n);
unsigned char *strait_room_bytes(struct strait_room *r, size_t n);

/** Memory for a layer's factors; d_in with the 1 of a bias. */
void strait_room_factors(struct strait_room *r, struct learn_factors *f, size_t d_in, size_t d_out,
                         bool has_bias);
