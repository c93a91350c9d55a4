/* fashion-cnn: the network of the recorded curves (traces/curves, traces/layers/layers_cnn.csv),
 * 105,866 parameters: two convolutions of 3 x 3 with 16 and 32 channels, each followed by the
 * maximum of 2 x 2 squares and ReLU, and dense layers of 64 and 10. ReLU after the maximum is the
 * same as before it and a quarter of the work. */
#include <string.h>
#include "images.h"
#include "learn/layers/conv.h"
#include "learn/layers/dense.h"

enum { CONV1, CONV1_BIAS, CONV2, CONV2_BIAS, FC1, FC1_BIAS, FC2, FC2_BIAS, N_PARAMS };
enum { N_LAYERS = 4, FLAT = 32 * 7 * 7, HIDDEN = 64, CLASSES = STRAIT_FASHION_CLASSES };
static const struct learn_conv convs[2] = {
    {.in = 1, .height = 28, .width = 28, .out = 16, .kernel = 3, .stride = 1, .pad = 1},
    {.in = 16, .height = 14, .width = 14, .out = 32, .kernel = 3, .stride = 1, .pad = 1},
};
enum { OUT1 = 16 * 28 * 28, POOLED1 = OUT1 / 4, OUT2 = 32 * 14 * 14 };

struct work {
    float *x, *pooled1, *pooled2, *hidden, *logits; /* of the batch */
    float *dpooled2, *dhidden;
    int *which1, *which2; /* places of maxima */
    unsigned char *labels;
    float *out1, *out2, *dpooled1, *room; /* of one image */
    struct learn_factors factors[N_LAYERS];
};

static size_t lay_out(struct work *k, const struct strait_learn *l, void *base, size_t n)
{
    struct strait_room r = {.base = base};
    k->x = strait_room_floats(&r, n * STRAIT_FASHION_PIXELS);
    k->pooled1 = strait_room_floats(&r, n * POOLED1);
    k->pooled2 = strait_room_floats(&r, n * FLAT);
    k->hidden = strait_room_floats(&r, n * HIDDEN);
    k->logits = strait_room_floats(&r, n * CLASSES);
    k->dpooled2 = strait_room_floats(&r, n * FLAT);
    k->dhidden = strait_room_floats(&r, n * HIDDEN);
    k->which1 = strait_room_ints(&r, n * POOLED1);
    k->which2 = strait_room_ints(&r, n * FLAT);
    k->labels = strait_room_bytes(&r, n);
    k->out1 = strait_room_floats(&r, OUT1);
    k->out2 = strait_room_floats(&r, OUT2);
    k->dpooled1 = strait_room_floats(&r, POOLED1);
    k->room = strait_room_floats(&r, learn_conv_room(&convs[1]));
    if (l->training.optimiser == STRAIT_KFAC) {
        strait_room_factors(&r, &k->factors[0], 9 + 1, 16, true);
        strait_room_factors(&r, &k->factors[1], 16 * 9 + 1, 32, true);
        strait_room_factors(&r, &k->factors[2], FLAT + 1, HIDDEN, true);
        strait_room_factors(&r, &k->factors[3], HIDDEN + 1, CLASSES, true);
    }
    return r.len_bytes;
}

static size_t work_bytes(const struct strait_learn *l, int max_batch)
{
    struct work k;
    return lay_out(&k, l, NULL, (size_t)max_batch);
}

static int open_cnn(struct strait_learn *l, struct strait_error *err)
{
    static const size_t conv1[] = {16, 1, 3, 3}, conv2[] = {32, 16, 3, 3};
    static const size_t fc1[] = {HIDDEN, FLAT}, fc2[] = {CLASSES, HIDDEN};
    if (!strait_image_layer(l, "conv1", "Conv2d", conv1, 4) ||
        !strait_image_layer(l, "conv2", "Conv2d", conv2, 4) ||
        !strait_image_layer(l, "fc1", "Linear", fc1, 2) ||
        !strait_image_layer(l, "fc2", "Linear", fc2, 2))
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "no memory for a task");
    return strait_image_task_open(l, err);
}

static void forward(const struct strait_learn *l, const struct work *k, const float *w, size_t n)
{
    const struct strait_learn_param *p = l->params;
    for (size_t i = 0; i < n; i++) {
        float *pooled1 = k->pooled1 + i * POOLED1, *pooled2 = k->pooled2 + i * FLAT;
        learn_conv_forward(k->out1, k->x + i * STRAIT_FASHION_PIXELS, w + p[CONV1].first,
                           w + p[CONV1_BIAS].first, &convs[0], k->room);
        learn_pool(pooled1, k->which1 + i * POOLED1, k->out1, 16, 28, 28);
        learn_relu(pooled1, POOLED1);
        learn_conv_forward(k->out2, pooled1, w + p[CONV2].first, w + p[CONV2_BIAS].first, &convs[1],
                           k->room);
        learn_pool(pooled2, k->which2 + i * FLAT, k->out2, 32, 14, 14);
        learn_relu(pooled2, FLAT);
    }
    learn_dense_forward(k->hidden, k->pooled2, w + p[FC1].first, w + p[FC1_BIAS].first, n, FLAT,
                        HIDDEN);
    learn_relu(k->hidden, n * HIDDEN);
    learn_dense_forward(k->logits, k->hidden, w + p[FC2].first, w + p[FC2_BIAS].first, n, HIDDEN,
                        CLASSES);
}

/* Back through the convolutions of one image. */
static void back_image(const struct strait_learn *l, const struct work *k, const float *w, float *g,
                       size_t i, size_t n)
{
    const struct strait_learn_param *p = l->params;
    const bool kfac = l->training.optimiser == STRAIT_KFAC;
    learn_pool_back(k->out2, k->dpooled2 + i * FLAT, k->which2 + i * FLAT, 32, 14, 14);
    learn_conv_back(k->dpooled1, g + p[CONV2].first, g + p[CONV2_BIAS].first, k->out2,
                    k->pooled1 + i * POOLED1, w + p[CONV2].first, &convs[1], k->room);
    if (kfac)
        learn_conv_add_factors(&k->factors[1], k->out2, k->room, &convs[1], n);
    learn_relu_back(k->dpooled1, k->pooled1 + i * POOLED1, POOLED1);
    learn_pool_back(k->out1, k->dpooled1, k->which1 + i * POOLED1, 16, 28, 28);
    learn_conv_back(NULL, g + p[CONV1].first, g + p[CONV1_BIAS].first, k->out1,
                    k->x + i * STRAIT_FASHION_PIXELS, w + p[CONV1].first, &convs[0], k->room);
    if (kfac)
        learn_conv_add_factors(&k->factors[0], k->out1, k->room, &convs[0], n);
}

static double gradient(struct strait_learner *x, const float *w, const struct strait_batch *b,
                       float *g)
{
    const struct strait_learn *l = x->learn;
    const struct strait_learn_param *p = l->params;
    const size_t n = (size_t)b->n;
    struct work k;
    size_t right = 0;
    lay_out(&k, l, x->work, (size_t)x->max_batch);
    strait_image_batch(l, b, k.x, k.labels);
    forward(l, &k, w, n);
    const double loss = learn_softmax_loss(k.logits, k.labels, n, CLASSES, n, &right);
    memset(g, 0, l->n_elems * sizeof(*g));
    learn_dense_back(k.dhidden, g + p[FC2].first, g + p[FC2_BIAS].first, k.logits, k.hidden,
                     w + p[FC2].first, n, HIDDEN, CLASSES);
    learn_relu_back(k.dhidden, k.hidden, n * HIDDEN);
    learn_dense_back(k.dpooled2, g + p[FC1].first, g + p[FC1_BIAS].first, k.dhidden, k.pooled2,
                     w + p[FC1].first, n, FLAT, HIDDEN);
    learn_relu_back(k.dpooled2, k.pooled2, n * FLAT);
    if (l->training.optimiser == STRAIT_KFAC) {
        learn_dense_factors(&k.factors[3], k.hidden, k.logits, n);
        learn_dense_factors(&k.factors[2], k.pooled2, k.dhidden, n);
        for (size_t i = 0; i < 2; i++)
            learn_clear_factors(&k.factors[i]);
    }
    for (size_t i = 0; i < n; i++)
        back_image(l, &k, w, g, i, n);
    return loss / (double)n;
}

static void score(struct strait_learner *x, const float *w, const struct strait_batch *b,
                  double *loss, long *right, long *n)
{
    struct work k;
    size_t hits = 0;
    lay_out(&k, x->learn, x->work, (size_t)x->max_batch);
    strait_image_batch(x->learn, b, k.x, k.labels);
    forward(x->learn, &k, w, (size_t)b->n);
    *loss += learn_softmax_loss(k.logits, k.labels, (size_t)b->n, CLASSES, 1, &hits);
    *right += (long)hits;
    *n += b->n;
}

static bool factors(struct strait_learner *x, size_t param, size_t *d_in, size_t *d_out,
                    const float **a, const float **g)
{
    if (x->learn->training.optimiser != STRAIT_KFAC)
        return false;
    struct work k;
    lay_out(&k, x->learn, x->work, (size_t)x->max_batch);
    const struct learn_factors *f = &k.factors[param / 2];
    *d_in = f->d_in;
    *d_out = f->d_out;
    *a = f->a;
    *g = f->g;
    return true;
}

const struct strait_learn_network strait_fashion_cnn = {
    .info = {.name = "fashion-cnn",
             .summary = "the convolutional network of the recorded curves on Fashion-MNIST",
             .package = STRAIT_FASHION_PACKAGE,
             .model = "cnn"},
    .open = open_cnn,
    .close = strait_image_task_close,
    .init = strait_image_init,
    .work_bytes = work_bytes,
    .gradient = gradient,
    .score = score,
    .factors = factors,
    .has_accuracy = true,
};
