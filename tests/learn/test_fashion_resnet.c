/* fashion-resnet: its parameters, and its gradient against one written from the definition in
 * double precision. Every element against PyTorch: make torch-check. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core/random.h"
#include "learn/images.h"
#include "learn/learn.h"
#include "tests/kit/fashion.h"
#include "tests/kit/suite.h"
#include "tests/kit/training.h"

static const char *const small = "{\"task\": \"fashion-resnet\", \"batch\": 1}";

/* --- the same in double ---------------------------------------------------------------------- */

enum { MAX = 16 * 28 * 28, GROUPS = 8 };

/* Takes the weights of one unit after another. */
struct reader {
    const double *next;
};

static void convolve(double *y, const double *x, const double *w, size_t in, size_t out,
                     size_t side, size_t kernel, size_t stride)
{
    const size_t to = (side - 1) / stride + 1, pad = kernel / 2;
    memset(y, 0, out * to * to * sizeof(*y));
    for (size_t o = 0; o < out; o++)
        for (size_t i = 0; i < in; i++)
            for (size_t k = 0; k < kernel * kernel; k++, w++)
                for (size_t row = 0; row < to; row++) {
                    const size_t r = row * stride + k / kernel, shift = k % kernel;
                    if (r < pad || r >= side + pad)
                        continue;
                    for (size_t c = 0; c < to; c++)
                        if (c * stride + shift >= pad && c * stride + shift < side + pad)
                            y[(o * to + row) * to + c] +=
                                *w * x[(i * side + r - pad) * side + c * stride + shift - pad];
                }
}

static void norm(double *y, const double *scale, const double *bias, size_t channels, size_t pixels)
{
    const size_t n = channels / GROUPS * pixels;
    for (size_t g = 0; g < GROUPS; g++) {
        double mean = 0, variance = 0;
        for (size_t i = g * n; i < (g + 1) * n; i++)
            mean += y[i] / (double)n;
        for (size_t i = g * n; i < (g + 1) * n; i++)
            variance += (y[i] - mean) * (y[i] - mean) / (double)n;
        for (size_t i = g * n; i < (g + 1) * n; i++)
            y[i] = (y[i] - mean) / sqrt(variance + 1e-5) * scale[i / pixels] + bias[i / pixels];
    }
}

static void unit(struct reader *r, double *y, const double *x, size_t in, size_t out, size_t side,
                 size_t kernel, size_t stride)
{
    const size_t to = (side - 1) / stride + 1;
    const double *w = r->next;
    convolve(y, x, w, in, out, side, kernel, stride);
    w += out * in * kernel * kernel;
    norm(y, w, w + out, out, to * to);
    r->next = w + 2 * out;
}

static void relu(double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] > 0 ? x[i] : 0;
}

static void block(struct reader *r, double *x, size_t in, size_t out, size_t side)
{
    static double middle[MAX], y[MAX], beside[MAX];
    const size_t stride = in == out ? 1 : 2, to = side / stride, n = out * to * to;
    unit(r, middle, x, in, out, side, 3, stride);
    relu(middle, n);
    unit(r, y, middle, out, out, to, 3, 1);
    if (stride > 1) {
        unit(r, beside, x, in, out, side, 1, 2);
        memcpy(x, beside, n * sizeof(*x));
    }
    for (size_t i = 0; i < n; i++)
        x[i] += y[i];
    relu(x, n);
}

static double loss_of(const double *w, const float *image, unsigned char label)
{
    static double first[784], x[MAX];
    double logits[10], sum = 0;
    struct reader r = {w};
    for (size_t i = 0; i < 784; i++)
        first[i] = (double)image[i];
    unit(&r, x, first, 1, 16, 28, 3, 1);
    relu(x, MAX);
    block(&r, x, 16, 16, 28);
    block(&r, x, 16, 16, 28);
    block(&r, x, 16, 32, 28);
    block(&r, x, 32, 32, 14);
    block(&r, x, 32, 64, 14);
    block(&r, x, 64, 64, 7);
    for (size_t o = 0; o < 10; o++) {
        logits[o] = r.next[640 + o];
        for (size_t i = 0; i < 64 * 49; i++)
            logits[o] += r.next[o * 64 + i / 49] * x[i] / 49;
    }
    for (size_t o = 0; o < 10; o++)
        sum += exp(logits[o] - logits[label]);
    return log(sum);
}

/* --- fixture --------------------------------------------------------------------------------- */

struct fixture {
    struct fashion_folder folder;
    struct strait_learn *l;
    struct strait_learner *x;
    size_t n, n_params;
    const struct strait_learn_param *params;
    float *w, *g, *moved;
};

static void set_up(struct fixture *f)
{
    struct strait_error err = {0};
    fashion_set_up(&f->folder, 60, 20);
    f->l = strait_test_learn(small, 1, 3);
    CU_ASSERT_EQUAL_FATAL(strait_learner_new(&f->x, f->l, 0, &err), 0);
    f->n = strait_learn_n_elems(f->l);
    f->params = strait_learn_params(f->l, &f->n_params);
    f->w = malloc(f->n * sizeof(*f->w));
    f->g = malloc((f->n + 1) * sizeof(*f->g));
    f->moved = malloc((f->n + 1) * sizeof(*f->moved));
    strait_learn_init(f->l, f->w);
}

static void tear_down(struct fixture *f)
{
    strait_learner_free(f->x);
    strait_learn_free(f->l);
    free(f->w);
    free(f->g);
    free(f->moved);
    fashion_tear_down(&f->folder);
}

/* Convolutions 9 (16 + 4 x 16^2 + 16 x 32 + 3 x 32^2 + 32 x 64 + 3 x 64^2) = 172,944 - 1,440... in
 * the order of the table: stem 144, stages 9,216, 32,256 + 512 and 129,024 + 2,048; scale and bias
 * of each norm, 2 (16 x 5 + 32 x 5 + 64 x 5) = 1,120; the last layer 650. */
static void parameters(void)
{
    struct fixture f;
    size_t norms = 0;
    set_up(&f);
    CU_ASSERT_EQUAL(f.n, 144 + 9216 + 32256 + 512 + 129024 + 2048 + 1120 + 650);
    CU_ASSERT_EQUAL(f.n, 174970);
    CU_ASSERT_EQUAL(f.n_params, 15 * 3 + 2);
    for (size_t p = 0; p < f.n_params; p++) {
        const struct strait_learn_param *param = &f.params[p];
        if (strcmp(param->type, "GroupNorm") != 0)
            continue;
        norms += param->n_elems;
        for (size_t i = 0; i < param->n_elems; i++)
            CU_ASSERT_EQUAL(f.w[param->first + i], strcmp(param->param, "weight") == 0);
    }
    CU_ASSERT_EQUAL(norms, 1120);
    tear_down(&f);
}

/* Along a direction that follows the gradient's signs, one tensor at a time: the slope is the sum
 * of |g| times the lengths drawn. Elements move by at most 1.5e-8, too little for a ReLU to change
 * its mind often, and double precision keeps 1e-4 of what the loss moves by; floats in sums along
 * fifteen layers keep 1e-4. */
static void slopes(void)
{
    struct fixture f;
    float image[784];
    unsigned char label;
    uint32_t example;
    set_up(&f);
    double *w = malloc(f.n * sizeof(*w)), *moved = malloc(f.n * sizeof(*moved));
    for (size_t i = 0; i < f.n; i++) /* norms and biases away from 1 and 0 */
        w[i] = (double)(f.w[i] += 0.2f * (float)(strait_random_unit(9, "moved", i, 0) - 0.5));
    strait_split_batch(&f.l->split, 3, 0, 5, 1, &example);
    strait_image_batch(f.l, &(struct strait_batch){.examples = &example, .n = 1}, image, &label);
    CU_ASSERT_DOUBLE_EQUAL(strait_learner_gradient(f.x, f.w, 5, f.g), loss_of(w, image, label),
                           1e-4);
    for (size_t p = 0; p < f.n_params; p++) {
        const struct strait_learn_param *param = &f.params[p];
        double slope = 0, loss[2];
        strait_test_context("%s %s", param->layer, param->param);
        for (int side = 0; side < 2; side++) {
            memcpy(moved, w, f.n * sizeof(*w));
            for (size_t i = param->first; i < param->first + param->n_elems; i++) {
                const double length = 0.5 + strait_random_unit(9, "length", i, 0);
                slope += side ? fabs((double)f.g[i]) * length : 0;
                moved[i] += (side == (f.g[i] > 0) ? 1e-8 : -1e-8) * length;
            }
            loss[side] = loss_of(moved, image, label);
        }
        CU_ASSERT_AT_LEAST(slope, 1e-3);
        CU_ASSERT_DOUBLE_EQUAL((loss[1] - loss[0]) / 2e-8, slope, 1e-3 * slope);
    }
    free(w);
    free(moved);
    tear_down(&f);
}

static void same_bits(void)
{
    struct fixture f;
    struct strait_learner *other;
    struct strait_error err = {0};
    set_up(&f);
    float *again = malloc(f.n * sizeof(*again));
    CU_ASSERT_EQUAL_FATAL(strait_learner_new(&other, f.l, 0, &err), 0);
    memcpy(f.moved + 1, f.w, f.n * sizeof(*f.w));
    const double a = strait_learner_gradient(f.x, f.w, 0, f.g);
    strait_learner_gradient(other, f.w, 1, again);
    const double b = strait_learner_gradient(other, f.moved + 1, 0, again);
    CU_ASSERT_EQUAL(a, b);
    CU_ASSERT_EQUAL(memcmp(f.g, again, f.n * sizeof(*again)), 0);
    strait_learner_free(other);
    free(again);
    tear_down(&f);
}

static const struct strait_test tests[] = {
    {"parameters and their first values", parameters},
    {"the gradient is the slope of every tensor", slopes},
    {"the same bits in another learner and place", same_bits},
};
STRAIT_SUITE("learn/fashion_resnet", tests);
