/* fashion-resnet: a residual network on Fashion-MNIST, 174,970 parameters: three stages of 16, 32
 * and 64 channels, two basic blocks each, GroupNorm of eight groups in the place of batch
 * normalisation, whose statistics would depend on the other examples of a rank's batch. Shortcuts
 * between stages are convolutions of 1 x 1. Source: He et al., arXiv 1512.03385, section 4.2; Wu
 * and He, arXiv 1803.08494. Nothing but the mean over the batch joins its images, so that each
 * passes through the network alone, forward and backward. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "images.h"
#include "learn/data/draws.h"
#include "learn/layers/conv.h"
#include "learn/layers/dense.h"
#include "learn/layers/norm.h"

enum { N_UNITS = 15, N_BLOCKS = 6, GROUPS = 8, CLASSES = STRAIT_FASHION_CLASSES };
enum { FEATURES = 64, LAST_SIDE = 7, LAST_PIXELS = LAST_SIDE * LAST_SIDE };
enum { UNIT_PARAMS = 3, FC = N_UNITS * UNIT_PARAMS, FC_BIAS, LARGEST = 16 * 28 * 28 };

/* A unit is a convolution without bias and its GroupNorm: three parameters, in this order. */
static const struct {
    const char *name;
    struct learn_conv conv;
} units[N_UNITS] = {
    {"stem", {1, 28, 28, 16, 3, 1, 1}},
    {"stages.0.0.conv1", {16, 28, 28, 16, 3, 1, 1}},
    {"stages.0.0.conv2", {16, 28, 28, 16, 3, 1, 1}},
    {"stages.0.1.conv1", {16, 28, 28, 16, 3, 1, 1}},
    {"stages.0.1.conv2", {16, 28, 28, 16, 3, 1, 1}},
    {"stages.1.0.conv1", {16, 28, 28, 32, 3, 2, 1}},
    {"stages.1.0.conv2", {32, 14, 14, 32, 3, 1, 1}},
    {"stages.1.0.shortcut", {16, 28, 28, 32, 1, 2, 0}},
    {"stages.1.1.conv1", {32, 14, 14, 32, 3, 1, 1}},
    {"stages.1.1.conv2", {32, 14, 14, 32, 3, 1, 1}},
    {"stages.2.0.conv1", {32, 14, 14, 64, 3, 2, 1}},
    {"stages.2.0.conv2", {64, 7, 7, 64, 3, 1, 1}},
    {"stages.2.0.shortcut", {32, 14, 14, 64, 1, 2, 0}},
    {"stages.2.1.conv1", {64, 7, 7, 64, 3, 1, 1}},
    {"stages.2.1.conv2", {64, 7, 7, 64, 3, 1, 1}},
};
static const struct {
    size_t first; /* its first unit; the second follows */
    bool shortcut;
} blocks[N_BLOCKS] = {{1, false}, {3, false}, {5, true}, {8, false}, {10, true}, {13, false}};

/* One image in the network. */
struct work {
    const struct learn_laps *laps;        /* layers: 2 a unit, its convolution and its norm */
    float *x;                             /* images of a batch */
    unsigned char *labels;                /* of a batch */
    float *unit[N_UNITS], *over[N_UNITS]; /* as of learn_group_norm */
    float *stem, *middle[N_BLOCKS], *out[N_BLOCKS]; /* after ReLU */
    float *features, *logits;
    float *sum, *dx, *dout, *room;
    size_t n; /* of the batch */
    bool has_factors;
    struct learn_factors factors[N_UNITS + 1]; /* the last: fc */
};

static size_t pixels_of(const struct learn_conv *c)
{
    return learn_conv_height(c) * learn_conv_width(c);
}

static size_t outputs_of(const struct learn_conv *c)
{
    return c->out * pixels_of(c);
}

static size_t lay_out(struct work *k, const struct strait_learn *l, void *base, size_t n)
{
    struct strait_room r = {.base = base};
    size_t room = 0;
    k->laps = NULL;
    k->x = strait_room_floats(&r, n * STRAIT_FASHION_PIXELS);
    k->labels = strait_room_bytes(&r, n);
    k->stem = strait_room_floats(&r, outputs_of(&units[0].conv));
    for (size_t u = 0; u < N_UNITS; u++) {
        const size_t wanted = learn_conv_room(&units[u].conv);
        k->unit[u] = strait_room_floats(&r, outputs_of(&units[u].conv));
        k->over[u] = strait_room_floats(&r, GROUPS);
        room = wanted > room ? wanted : room;
    }
    for (size_t b = 0; b < N_BLOCKS; b++) {
        k->middle[b] = strait_room_floats(&r, outputs_of(&units[blocks[b].first].conv));
        k->out[b] = strait_room_floats(&r, outputs_of(&units[blocks[b].first + 1].conv));
    }
    k->features = strait_room_floats(&r, FEATURES);
    k->logits = strait_room_floats(&r, CLASSES);
    k->sum = strait_room_floats(&r, LARGEST);
    k->dx = strait_room_floats(&r, LARGEST);
    k->dout = strait_room_floats(&r, LARGEST);
    k->room = strait_room_floats(&r, room);
    k->has_factors = l->training.optimiser == STRAIT_KFAC;
    for (size_t u = 0; u < N_UNITS && k->has_factors; u++) {
        const struct learn_conv *c = &units[u].conv;
        strait_room_factors(&r, &k->factors[u], c->in * c->kernel * c->kernel, c->out, false);
    }
    if (k->has_factors)
        strait_room_factors(&r, &k->factors[N_UNITS], FEATURES + 1, CLASSES, true);
    return r.len_bytes;
}

static size_t work_bytes(const struct strait_learn *l, int max_batch)
{
    struct work k;
    return lay_out(&k, l, NULL, (size_t)max_batch);
}

static bool add_unit(struct strait_learn *l, size_t u)
{
    const struct learn_conv *c = &units[u].conv;
    const size_t shape[] = {c->out, c->in, c->kernel, c->kernel};
    char norm[STRAIT_LEARN_NAME_CHARS];
    snprintf(norm, sizeof(norm), "%s.norm", units[u].name);
    return strait_learn_add(l, units[u].name, "weight", "Conv2d", shape, 4) &&
           strait_learn_add(l, norm, "weight", "GroupNorm", shape, 1) &&
           strait_learn_add(l, norm, "bias", "GroupNorm", shape, 1);
}

static int open_resnet(struct strait_learn *l, struct strait_error *err)
{
    static const size_t fc[] = {CLASSES, FEATURES};
    bool good = true;
    for (size_t u = 0; u < N_UNITS; u++)
        good = good && add_unit(l, u);
    if (!good || !strait_image_layer(l, "fc", "Linear", fc, 2))
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "no memory for a task");
    return strait_image_task_open(l, err);
}

/* Convolutions normal with variance 2 by the products that a value of theirs enters, as He et al.,
 * arXiv 1502.01852, and torchvision's ResNets; norms begin with scale 1 and bias 0; the last layer
 * as in the other tasks on images. */
static void init(const struct strait_learn *l, float *w)
{
    strait_image_init(l, w);
    for (size_t u = 0; u < N_UNITS; u++) {
        const struct strait_learn_param *p = l->params + u * UNIT_PARAMS;
        const struct learn_conv *c = &units[u].conv;
        const double deviation = sqrt(2 / (double)(c->out * c->kernel * c->kernel));
        struct strait_sequence s = strait_draws_at(l->seed, "learn init", u, 1);
        for (size_t i = 0; i < p[0].n_elems; i++)
            w[p[0].first + i] = (float)(deviation * strait_draw_normal(&s));
        for (size_t i = 0; i < c->out; i++) {
            w[p[1].first + i] = 1;
            w[p[2].first + i] = 0;
        }
    }
}

/* --- one image ------------------------------------------------------------------------------- */

static struct learn_images image_of(const struct learn_conv *c)
{
    const size_t pixels = pixels_of(c);
    return (struct learn_images){1, c->out, pixels, 0, pixels};
}

/* y = norm(conv(x)) of a unit. */
static void unit_forward(const struct strait_learn *l, const struct work *k, float *y,
                         const float *x, const float *w, size_t u)
{
    const struct strait_learn_param *p = l->params + u * UNIT_PARAMS;
    const struct learn_images image = image_of(&units[u].conv);
    learn_lap(k->laps, LEARN_NO_LAYER, false);
    learn_conv_forward(y, x, w + p[0].first, NULL, &units[u].conv, k->room);
    learn_lap(k->laps, 2 * u, false);
    learn_group_norm(y, k->unit[u], k->over[u], y, w + p[1].first, w + p[2].first, &image, GROUPS);
    learn_lap(k->laps, 2 * u + 1, false);
}

/* dy becomes the gradient by the convolution's output; dx NULL: not wanted. */
static void unit_back(const struct strait_learn *l, const struct work *k, float *dx, float *g,
                      float *dy, const float *x, const float *w, size_t u)
{
    const struct strait_learn_param *p = l->params + u * UNIT_PARAMS;
    const struct learn_images image = image_of(&units[u].conv);
    learn_lap(k->laps, LEARN_NO_LAYER, true);
    learn_group_norm_back(dy, g + p[1].first, g + p[2].first, dy, k->unit[u], k->over[u],
                          w + p[1].first, &image, GROUPS);
    learn_lap(k->laps, 2 * u + 1, true);
    learn_conv_back(dx, g + p[0].first, NULL, dy, x, w + p[0].first, &units[u].conv, k->room);
    if (k->has_factors)
        learn_conv_add_factors(&k->factors[u], dy, k->room, &units[u].conv, k->n);
    learn_lap(k->laps, 2 * u, true);
}

static const float *input_of(const struct work *k, size_t b)
{
    return b > 0 ? k->out[b - 1] : k->stem;
}

/* out = relu(second(relu(first(x))) + shortcut(x)) */
static void block_forward(const struct strait_learn *l, const struct work *k, const float *w,
                          size_t b)
{
    const size_t first = blocks[b].first, n = outputs_of(&units[first].conv);
    const float *x = input_of(k, b), *beside = x;
    unit_forward(l, k, k->middle[b], x, w, first);
    learn_relu(k->middle[b], n);
    unit_forward(l, k, k->out[b], k->middle[b], w, first + 1);
    if (blocks[b].shortcut) {
        unit_forward(l, k, k->sum, x, w, first + 2);
        beside = k->sum;
    }
    for (size_t i = 0; i < n; i++)
        k->out[b][i] += beside[i];
    learn_relu(k->out[b], n);
}

/* k->dout: of the block's output, then of its input. */
static void block_back(const struct strait_learn *l, const struct work *k, float *g, const float *w,
                       size_t b)
{
    const size_t first = blocks[b].first, n = outputs_of(&units[first].conv);
    const struct learn_conv *c = &units[first].conv;
    const float *x = input_of(k, b);
    learn_relu_back(k->dout, k->out[b], n);
    memcpy(k->sum, k->dout, n * sizeof(*k->sum));
    unit_back(l, k, k->dx, g, k->dout, k->middle[b], w, first + 1);
    learn_relu_back(k->dx, k->middle[b], n);
    unit_back(l, k, k->dout, g, k->dx, x, w, first);
    if (blocks[b].shortcut)
        unit_back(l, k, k->dx, g, k->sum, x, w, first + 2);
    const float *beside = blocks[b].shortcut ? k->dx : k->sum;
    for (size_t i = 0; i < c->in * c->height * c->width; i++)
        k->dout[i] += beside[i];
}

static void image_forward(const struct strait_learn *l, const struct work *k, const float *w,
                          const float *x)
{
    unit_forward(l, k, k->stem, x, w, 0);
    learn_relu(k->stem, LARGEST);
    for (size_t b = 0; b < N_BLOCKS; b++)
        block_forward(l, k, w, b);
    for (size_t c = 0; c < FEATURES; c++) {
        k->features[c] = 0;
        for (size_t i = 0; i < LAST_PIXELS; i++)
            k->features[c] += k->out[N_BLOCKS - 1][c * LAST_PIXELS + i];
        k->features[c] /= LAST_PIXELS;
    }
    learn_lap(k->laps, LEARN_NO_LAYER, false);
    learn_dense_forward(k->logits, k->features, w + l->params[FC].first,
                        w + l->params[FC_BIAS].first, 1, FEATURES, CLASSES);
    learn_lap(k->laps, 2 * N_UNITS, false);
}

static void image_back(const struct strait_learn *l, const struct work *k, float *g, const float *w,
                       const float *x)
{
    float dfeatures[FEATURES];
    learn_dense_back(dfeatures, g + l->params[FC].first, g + l->params[FC_BIAS].first, k->logits,
                     k->features, w + l->params[FC].first, 1, FEATURES, CLASSES);
    if (k->has_factors) {
        learn_add_moments(k->factors[N_UNITS].a, k->features, 1, FEATURES, 1, 1 / (float)k->n);
        learn_add_moments(k->factors[N_UNITS].g, k->logits, 1, CLASSES, 0, (float)k->n);
    }
    learn_lap(k->laps, 2 * N_UNITS, true);
    for (size_t i = 0; i < FEATURES * LAST_PIXELS; i++)
        k->dout[i] = dfeatures[i / LAST_PIXELS] / LAST_PIXELS;
    for (size_t b = N_BLOCKS; b > 0; b--)
        block_back(l, k, g, w, b - 1);
    learn_relu_back(k->dout, k->stem, LARGEST);
    unit_back(l, k, NULL, g, k->dout, x, w, 0);
}

/* --- a batch --------------------------------------------------------------------------------- */

static double gradient(struct strait_learner *x, const float *w, const struct strait_batch *b,
                       float *g)
{
    const size_t n = (size_t)b->n;
    struct work k;
    size_t right = 0;
    double loss = 0;
    lay_out(&k, x->learn, x->work, (size_t)x->max_batch);
    k.laps = x->laps;
    k.n = n;
    for (size_t u = 0; u <= N_UNITS && k.has_factors; u++)
        learn_clear_factors(&k.factors[u]);
    strait_image_batch(x->learn, b, k.x, k.labels);
    memset(g, 0, x->learn->n_elems * sizeof(*g));
    for (size_t i = 0; i < n; i++) {
        const float *image = k.x + i * STRAIT_FASHION_PIXELS;
        image_forward(x->learn, &k, w, image);
        loss += learn_softmax_loss(k.logits, k.labels + i, 1, CLASSES, n, &right);
        learn_lap(k.laps, LEARN_NO_LAYER, false);
        image_back(x->learn, &k, g, w, image);
    }
    return loss / (double)n;
}

static void score(struct strait_learner *x, const float *w, const struct strait_batch *b,
                  double *loss, long *right, long *n)
{
    struct work k;
    size_t hits = 0;
    lay_out(&k, x->learn, x->work, (size_t)x->max_batch);
    strait_image_batch(x->learn, b, k.x, k.labels);
    for (size_t i = 0; i < (size_t)b->n; i++) {
        image_forward(x->learn, &k, w, k.x + i * STRAIT_FASHION_PIXELS);
        *loss += learn_softmax_loss(k.logits, k.labels + i, 1, CLASSES, 1, &hits);
    }
    *right += (long)hits;
    *n += b->n;
}

static bool factors(struct strait_learner *x, size_t param, size_t *d_in, size_t *d_out,
                    const float **a, const float **g)
{
    struct work k;
    lay_out(&k, x->learn, x->work, (size_t)x->max_batch);
    if (!k.has_factors || (param != FC && (param > FC || param % UNIT_PARAMS != 0)))
        return false;
    const struct learn_factors *f = &k.factors[param == FC ? N_UNITS : param / UNIT_PARAMS];
    *d_in = f->d_in;
    *d_out = f->d_out;
    *a = f->a;
    *g = f->g;
    return true;
}

const struct strait_learn_network strait_fashion_resnet = {
    .info = {.name = "fashion-resnet",
             .summary = "a small residual network with GroupNorm on Fashion-MNIST",
             .package = STRAIT_FASHION_PACKAGE},
    .open = open_resnet,
    .close = strait_image_task_close,
    .init = init,
    .work_bytes = work_bytes,
    .gradient = gradient,
    .score = score,
    .factors = factors,
    .has_accuracy = true,
};
