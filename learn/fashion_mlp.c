/* fashion-mlp: dense layers with ReLU on Fashion-MNIST. By default two hidden layers of 200: the
 * 2NN of McMahan et al., arXiv 1602.05629, with 199,210 parameters. */
#include <stdio.h>
#include <string.h>
#include "images.h"
#include "learn/layers/dense.h"

enum option { WIDTH, HIDDEN, N_OPTIONS };
enum { MAX_LAYERS = 9 };
static const struct strait_param options[N_OPTIONS] = {
    [WIDTH] = {"width", "units of each hidden layer", STRAIT_PARAM_INTEGER, .min = 1, .max = 4096,
               .fallback = 200},
    [HIDDEN] = {"hidden", "hidden layers", STRAIT_PARAM_INTEGER, .min = 1, .max = MAX_LAYERS - 1,
                .fallback = 2},
};

struct work {
    float *y[MAX_LAYERS + 1]; /* the input and every layer's output, which its gradient replaces */
    float *dy;                /* of the layer before, until that is free */
    unsigned char *labels;
    struct learn_factors factors[MAX_LAYERS];
};

static size_t n_layers(const struct strait_learn *l)
{
    return (size_t)l->training.options[HIDDEN] + 1;
}

/* Outputs of layer i, inputs of layer i + 1; 0: of the image. */
static size_t units(const struct strait_learn *l, size_t i)
{
    if (i == 0)
        return STRAIT_FASHION_PIXELS;
    return i == n_layers(l) ? STRAIT_FASHION_CLASSES : (size_t)l->training.options[WIDTH];
}

static size_t lay_out(struct work *k, const struct strait_learn *l, void *base, size_t n)
{
    struct strait_room r = {.base = base};
    size_t most = 0;
    for (size_t i = 0; i <= n_layers(l); i++) {
        k->y[i] = strait_room_floats(&r, n * units(l, i));
        most = units(l, i) > most && i > 0 ? units(l, i) : most;
    }
    k->dy = strait_room_floats(&r, n * most);
    k->labels = strait_room_bytes(&r, n);
    for (size_t i = 0; i < n_layers(l) && l->training.optimiser == STRAIT_KFAC; i++)
        strait_room_factors(&r, &k->factors[i], units(l, i) + 1, units(l, i + 1), true);
    return r.len_bytes;
}

static size_t work_bytes(const struct strait_learn *l, int max_batch)
{
    struct work k;
    return lay_out(&k, l, NULL, (size_t)max_batch);
}

static int open_mlp(struct strait_learn *l, struct strait_error *err)
{
    bool good = true;
    for (size_t i = 0; i < n_layers(l) && good; i++) {
        char layer[STRAIT_LEARN_NAME_CHARS];
        snprintf(layer, sizeof(layer), "fc%zu", i + 1);
        const size_t shape[] = {units(l, i + 1), units(l, i)};
        good = strait_image_layer(l, layer, "Linear", shape, 2);
    }
    if (!good)
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "no memory for a task");
    return strait_image_task_open(l, err);
}

/* The layers [first, end); w begins with the first one's parameters. */
static void forward(const struct strait_learn *l, const struct work *k, const float *w, size_t n,
                    size_t first, size_t end, const struct learn_laps *laps)
{
    const size_t at = l->params[2 * first].first;
    learn_lap(laps, LEARN_NO_LAYER, false);
    for (size_t i = first; i < end; i++) {
        learn_dense_forward(k->y[i + 1], k->y[i], w + l->params[2 * i].first - at,
                            w + l->params[2 * i + 1].first - at, n, units(l, i), units(l, i + 1));
        learn_lap(laps, i, false);
        if (i + 1 < n_layers(l))
            learn_relu(k->y[i + 1], n * units(l, i + 1));
        learn_lap(laps, LEARN_NO_LAYER, false);
    }
}

/* From the derivative by the outputs of layer end - 1, in y[end], back to the inputs of layer
 * first, whose derivative stays in k->dy. */
static void backward(struct strait_learner *x, const struct work *k, const float *w, float *g,
                     size_t n, size_t first, size_t end)
{
    const struct strait_learn *l = x->learn;
    const size_t at = l->params[2 * first].first;
    for (size_t i = end; i-- > first;) {
        learn_lap(x->laps, LEARN_NO_LAYER, i + 1 < end);
        learn_dense_back(i > 0 ? k->dy : NULL, g + l->params[2 * i].first - at,
                         g + l->params[2 * i + 1].first - at, k->y[i + 1], k->y[i],
                         w + l->params[2 * i].first - at, n, units(l, i), units(l, i + 1));
        learn_lap(x->laps, i, true);
        if (l->training.optimiser == STRAIT_KFAC)
            learn_dense_factors(&k->factors[i], k->y[i], k->y[i + 1], n);
        if (i > first) {
            learn_relu_back(k->dy, k->y[i], n * units(l, i));
            memcpy(k->y[i], k->dy, n * units(l, i) * sizeof(float));
        }
    }
}

static double gradient(struct strait_learner *x, const float *w, const struct strait_batch *b,
                       float *g)
{
    const struct strait_learn *l = x->learn;
    const size_t n = (size_t)b->n, top = n_layers(l);
    struct work k;
    size_t right = 0;
    lay_out(&k, l, x->work, (size_t)x->max_batch);
    strait_image_batch(l, b, k.y[0], k.labels);
    forward(l, &k, w, n, 0, top, x->laps);
    const double loss =
        learn_softmax_loss(k.y[top], k.labels, n, STRAIT_FASHION_CLASSES, n, &right) / (double)n;
    memset(g, 0, l->n_elems * sizeof(*g));
    backward(x, &k, w, g, n, 0, top);
    return loss;
}

/* Inputs of the part, and the outputs of its layers. */
static struct work run_part(struct strait_learner *x, const float *w, const struct strait_batch *b,
                            size_t first, size_t end, const float *in)
{
    struct work k;
    lay_out(&k, x->learn, x->work, (size_t)x->max_batch);
    strait_image_batch(x->learn, b, k.y[0], k.labels);
    if (first > 0)
        memcpy(k.y[first], in, (size_t)b->n * units(x->learn, first) * sizeof(*in));
    forward(x->learn, &k, w, (size_t)b->n, first, end, NULL);
    return k;
}

static void forward_part(struct strait_learner *x, const float *w, const struct strait_batch *b,
                         size_t first, size_t end, const float *in, float *out)
{
    const struct work k = run_part(x, w, b, first, end, in);
    memcpy(out, k.y[end], (size_t)b->n * units(x->learn, end) * sizeof(*out));
}

static double backward_part(struct strait_learner *x, const float *w, const struct strait_batch *b,
                            size_t first, size_t end, int over, const float *in, const float *dy,
                            float *dx, float *g)
{
    const struct work k = run_part(x, w, b, first, end, in);
    const size_t n = (size_t)b->n, n_out = n * units(x->learn, end);
    double loss = 0;
    size_t right = 0;
    if (dy) { /* y[end] is behind a ReLU */
        memcpy(k.dy, dy, n_out * sizeof(*dy));
        learn_relu_back(k.dy, k.y[end], n_out);
        memcpy(k.y[end], k.dy, n_out * sizeof(*dy));
    } else {
        loss = learn_softmax_loss(k.y[end], k.labels, n, STRAIT_FASHION_CLASSES, (size_t)over,
                                  &right) /
               over;
    }
    backward(x, &k, w, g, n, first, end);
    if (dx)
        memcpy(dx, k.dy, n * units(x->learn, first) * sizeof(*dx));
    return loss;
}

static void score(struct strait_learner *x, const float *w, const struct strait_batch *b,
                  double *loss, long *right, long *n)
{
    struct work k;
    size_t hits = 0;
    lay_out(&k, x->learn, x->work, (size_t)x->max_batch);
    strait_image_batch(x->learn, b, k.y[0], k.labels);
    forward(x->learn, &k, w, (size_t)b->n, 0, n_layers(x->learn), NULL);
    *loss += learn_softmax_loss(k.y[n_layers(x->learn)], k.labels, (size_t)b->n,
                                STRAIT_FASHION_CLASSES, 1, &hits);
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

const struct strait_learn_network strait_fashion_mlp = {
    .info = {.name = "fashion-mlp",
             .summary = "dense layers with ReLU on Fashion-MNIST",
             .package = STRAIT_FASHION_PACKAGE,
             STRAIT_PARAMS(options)},
    .open = open_mlp,
    .close = strait_image_task_close,
    .init = strait_image_init,
    .work_bytes = work_bytes,
    .gradient = gradient,
    .score = score,
    .factors = factors,
    .has_accuracy = true,
    .width = units,
    .forward_part = forward_part,
    .backward_part = backward_part,
};
