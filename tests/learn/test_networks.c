/* The perceptron and the convolutional network against their definitions: a forward pass in double
 * precision, loop by loop, and its central differences. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core/random.h"
#include "learn/images.h"
#include "tests/kit/fashion.h"
#include "tests/kit/suite.h"
#include "tests/kit/training.h"

enum { BATCH = 4, MAX = 16 * 28 * 28 };

static void dense(double *y, const double *x, const double *w, size_t in, size_t out, int is_last)
{
    for (size_t o = 0; o < out; o++) {
        double sum = w[out * in + o]; /* the bias stands behind the weights */
        for (size_t i = 0; i < in; i++)
            sum += w[o * in + i] * x[i];
        y[o] = is_last || sum > 0 ? sum : 0;
    }
}

/* 3 x 3, padded by 1, ReLU, then the maximum of 2 x 2. */
static void convolve(double *y, const double *x, const double *w, size_t in, size_t out, long side)
{
    memset(y, 0, out * (size_t)(side * side / 4) * sizeof(*y)); /* ReLU: at least 0 */
    for (size_t o = 0; o < out; o++)
        for (long row = 0; row < side; row++)
            for (long column = 0; column < side; column++) {
                double sum = w[out * in * 9 + o];
                for (size_t i = 0; i < in; i++)
                    for (long k = 0; k < 9; k++) {
                        const long r = row + k / 3 - 1, c = column + k % 3 - 1;
                        if (r >= 0 && c >= 0 && r < side && c < side)
                            sum += w[(o * in + i) * 9 + (size_t)k] *
                                   x[((long)i * side + r) * side + c];
                    }
                double *to = y + ((long)o * side / 2 + row / 2) * (side / 2) + column / 2;
                *to = sum > *to ? sum : *to;
            }
}

static double mean_loss(const char *task, const double *w, const float *images,
                        const unsigned char *labels, size_t n)
{
    double *x = malloc(MAX * sizeof(*x)), *y = malloc(MAX * sizeof(*y)), loss = 0;
    for (size_t b = 0; b < n; b++) {
        double logits[10], sum = 0;
        for (size_t i = 0; i < 784; i++)
            x[i] = images[b * 784 + i];
        if (strcmp(task, "fashion-cnn") == 0) {
            convolve(y, x, w, 1, 16, 28);
            convolve(x, y, w + 160, 16, 32, 14);
            dense(y, x, w + 160 + 4640, 1568, 64, 0);
            dense(logits, y, w + 160 + 4640 + 100416, 64, 10, 1);
        } else { /* width 7, two hidden layers */
            dense(y, x, w, 784, 7, 0);
            dense(x, y, w + 5495, 7, 7, 0);
            dense(logits, x, w + 5495 + 56, 7, 10, 1);
        }
        for (size_t j = 0; j < 10; j++)
            sum += exp(logits[j] - logits[labels[b]]);
        loss += log(sum) / (double)n;
    }
    free(x);
    free(y);
    return loss;
}

/* Twenty elements of every tensor. In double the central difference over 1e-7 is good to 2^-52 x
 * 2.3 / 1e-7 = 5e-9; the network rounds to float32 in sums of up to 1568 terms: within 1e-5 of the
 * largest derivative seen of the tensor. Where a maximum or a ReLU changes within the 1e-7 the two
 * would differ; these keys do not meet that. */
#define STEP 1e-7
static void gradient(const char *task, const char *json)
{
    struct fashion_folder folder;
    fashion_set_up(&folder, 60, 20);
    struct strait_learn *l = strait_test_learn(json, 2, 3);
    struct strait_learner *x;
    CU_ASSERT_EQUAL_FATAL(strait_learner_new(&x, l, 1, NULL), 0);
    const size_t n = strait_learn_n_elems(l);
    float *w = malloc(n * sizeof(*w)), *g = malloc(n * sizeof(*g)), images[BATCH * 784];
    double *exact = malloc(n * sizeof(*exact));
    unsigned char labels[BATCH];
    uint32_t examples[BATCH];
    strait_learn_init(l, w);
    for (size_t i = 0; i < n; i++)
        exact[i] = w[i];
    const double loss = strait_learner_gradient(x, w, 5, g);
    strait_split_batch(&l->split, 3, 1, 5, BATCH, examples);
    const struct strait_batch batch = {.examples = examples, .n = BATCH, .worker = 1, .step = 5};
    strait_image_batch(l, &batch, images, labels);
    CU_ASSERT_DOUBLE_EQUAL(loss, mean_loss(task, exact, images, labels, BATCH), 1e-5);
    size_t n_params;
    const struct strait_learn_param *params = strait_learn_params(l, &n_params);
    for (size_t p = 0; p < n_params; p++) {
        double found[20], expected[20], most = 0;
        strait_test_context("%s %s.%s", task, params[p].layer, params[p].param);
        for (size_t j = 0; j < 20; j++) {
            const size_t i =
                params[p].first + strait_random_bits(1, "test", p, j) % params[p].n_elems;
            const double at = exact[i];
            exact[i] = at + STEP;
            expected[j] = mean_loss(task, exact, images, labels, BATCH);
            exact[i] = at - STEP;
            expected[j] =
                (expected[j] - mean_loss(task, exact, images, labels, BATCH)) / (2 * STEP);
            exact[i] = at;
            found[j] = g[i];
            most = fmax(most, fabs(expected[j]));
        }
        CU_ASSERT(most > 0);
        for (size_t j = 0; j < 20; j++)
            CU_ASSERT_DOUBLE_EQUAL(found[j], expected[j], 1e-5 * most + 1e-8);
    }
    free(w);
    free(g);
    free(exact);
    strait_learner_free(x);
    strait_learn_free(l);
    fashion_tear_down(&folder);
}

static void cnn_gradient(void)
{
    gradient("fashion-cnn", "{\"task\": \"fashion-cnn\", \"batch\": 4}");
}

static void mlp_gradient(void)
{
    gradient("fashion-mlp", "{\"task\": \"fashion-mlp\", \"batch\": 4, \"width\": 7}");
}

/* A batch of 6 in parts of 3 and in parts of the network: what they pass on to each other makes the
 * whole gradient, whose rows are those of the whole batch. Halves are summed in float32. */
static void in_parts(void)
{
    enum { N = 6, WIDTH = 7, HALF = 3 };
    static const size_t cuts[] = {0, 1, 3};
    static float hidden[N * WIDTH], back[N * WIDTH];
    struct fashion_folder folder;
    fashion_set_up(&folder, 60, 20);
    struct strait_learn *l =
        strait_test_learn("{\"task\": \"fashion-mlp\", \"batch\": 6, \"width\": 7}", 2, 3);
    struct strait_learner *x;
    CU_ASSERT_EQUAL_FATAL(strait_learner_new(&x, l, 1, NULL), 0);
    const size_t n = strait_learn_n_elems(l), second = 784 * WIDTH + WIDTH;
    float *w = malloc(n * sizeof(*w)), *whole = malloc(n * sizeof(*w)),
          *parts = calloc(n, sizeof(*w));
    uint32_t places[N], examples[N];
    double loss = 0;
    strait_learn_init(l, w);
    CU_ASSERT_EQUAL(strait_learn_width(l, 1), WIDTH);
    const double whole_loss = strait_learner_gradient(x, w, 5, whole);
    strait_split_batch(&l->split, 3, 1, 5, N, examples);
    for (int from = 0; from < N; from += HALF) {
        const struct strait_learn_part first = {5, from, HALF, cuts[0], cuts[1]},
                                       last = {5, from, HALF, cuts[1], cuts[2]};
        float *y = hidden + from * WIDTH, *dy = back + from * WIDTH;
        strait_learner_places(x, &first, places + from);
        strait_learner_forward(x, w, &first, NULL, y);
        loss += strait_learner_backward(x, w + second, &last, y, NULL, dy, parts + second);
        strait_learner_backward(x, w, &first, NULL, dy, NULL, parts);
    }
    for (int i = 0; i < N; i++)
        CU_ASSERT_EQUAL(l->split.examples[l->split.first[1] + places[i]], examples[i]);
    CU_ASSERT_DOUBLE_EQUAL(loss, whole_loss, 1e-6 * whole_loss);
    double most = 0, error = 0;
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, fabs((double)whole[i]));
        error = fmax(error, fabs((double)whole[i] - (double)parts[i]));
    }
    CU_ASSERT(most > 0 && error <= 1e-6 * most);
    free(w);
    free(whole);
    free(parts);
    strait_learner_free(x);
    strait_learn_free(l);
    l = strait_test_learn("{\"task\": \"fashion-cnn\"}", 1, 1);
    CU_ASSERT_EQUAL(strait_learn_width(l, 1), 0); /* it cannot be cut */
    strait_learn_free(l);
    fashion_tear_down(&folder);
}

/* Rows of traces/layers/layers_cnn.csv; 2NN of McMahan et al. has 199,210. */
static void shapes(void)
{
    static const struct {
        const char *layer, *param, *type;
        size_t n_elems, layer_index;
    } rows[] = {{"conv1", "weight", "Conv2d", 144, 0},     {"conv1", "bias", "Conv2d", 16, 0},
                {"conv2", "weight", "Conv2d", 4608, 1},    {"conv2", "bias", "Conv2d", 32, 1},
                {"fc1", "weight", "Linear", 64 * 1568, 2}, {"fc1", "bias", "Linear", 64, 2},
                {"fc2", "weight", "Linear", 640, 3},       {"fc2", "bias", "Linear", 10, 3}};
    struct fashion_folder folder;
    fashion_set_up(&folder, 40, 10);
    struct strait_learn *l = strait_test_learn("{\"task\": \"fashion-cnn\"}", 1, 1);
    size_t n;
    const struct strait_learn_param *p = strait_learn_params(l, &n);
    CU_ASSERT_EQUAL(strait_learn_n_elems(l), 105866);
    CU_ASSERT_EQUAL_FATAL(n, 8);
    for (size_t i = 0; i < n; i++) {
        CU_ASSERT_STRING_EQUAL(p[i].layer, rows[i].layer);
        CU_ASSERT_STRING_EQUAL(p[i].param, rows[i].param);
        CU_ASSERT_STRING_EQUAL(p[i].type, rows[i].type);
        CU_ASSERT_EQUAL(p[i].n_elems, rows[i].n_elems);
        CU_ASSERT_EQUAL(p[i].layer_index, rows[i].layer_index);
    }
    strait_learn_free(l);
    l = strait_test_learn("{\"task\": \"fashion-mlp\"}", 1, 1);
    CU_ASSERT_EQUAL(strait_learn_n_elems(l), 199210);
    CU_ASSERT(strait_learn_has_accuracy(l));
    strait_learn_free(l);
    fashion_tear_down(&folder);
}

/* Uniform in +-1/sqrt(inputs): the deviation is that by sqrt(3); fc1's 100,352 within 1 %. */
static void initial(void)
{
    struct fashion_folder folder;
    fashion_set_up(&folder, 40, 10);
    struct strait_learn *l = strait_test_learn("{\"task\": \"fashion-cnn\"}", 1, 1);
    float *w = malloc(105866 * sizeof(*w));
    strait_learn_init(l, w);
    double squares = 0, most = 0;
    for (size_t i = 160 + 4640; i < 160 + 4640 + 100352; i++) {
        squares += (double)w[i] * w[i] / 100352;
        most = fmax(most, fabs((double)w[i]));
    }
    CU_ASSERT_DOUBLE_EQUAL(sqrt(squares), 1 / sqrt(3 * 1568.0), 0.01 / sqrt(3 * 1568.0));
    CU_ASSERT(most <= 1 / sqrt(1568.0) && most > 0.999 / sqrt(1568.0));
    CU_ASSERT(fabs((double)w[150]) <= 1.0 / 3); /* a bias of conv1: 9 inputs */
    free(w);
    strait_learn_free(l);
    fashion_tear_down(&folder);
}

/* Another order of calls, another learner, another process: the same bits. */
static void same_bits(void)
{
    struct fashion_folder folder;
    fashion_set_up(&folder, 200, 40);
    struct strait_learn *l = strait_test_learn("{\"task\": \"fashion-cnn\"}", 2, 1);
    struct strait_learner *x, *y;
    CU_ASSERT_EQUAL_FATAL(strait_learner_new(&x, l, 1, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(strait_learner_new(&y, l, 1, NULL), 0);
    const size_t n_bytes = 105866 * sizeof(float);
    float *w = malloc(n_bytes), *g = malloc(n_bytes), *other = malloc(n_bytes);
    strait_learn_init(l, w);
    const double loss = strait_learner_gradient(x, w, 7, g);
    struct strait_score score, again;
    strait_learner_evaluate(y, w, 0, &score);
    strait_learner_gradient(y, w, 3, other);
    CU_ASSERT(memcmp(g, other, n_bytes) != 0);
    CU_ASSERT_EQUAL(strait_learner_gradient(y, w, 7, other), loss);
    CU_ASSERT_EQUAL(memcmp(g, other, n_bytes), 0);
    strait_learner_evaluate(x, w, 0, &again);
    CU_ASSERT_EQUAL(score.loss, again.loss);
    CU_ASSERT_EQUAL(score.n, 40);
    free(w);
    free(g);
    free(other);
    strait_learner_free(x);
    strait_learner_free(y);
    strait_learn_free(l);
    fashion_tear_down(&folder);
}

/* Ten shapes in noise: a network that learns has them all after 60 steps. */
static void learns(void)
{
    static const char *const tasks[] = {"{\"task\": \"fashion-cnn\"}",
                                        "{\"task\": \"fashion-mlp\"}"};
    struct fashion_folder folder;
    fashion_set_up(&folder, 400, 100);
    for (size_t i = 0; i < 2; i++) {
        struct strait_learn *l = strait_test_learn(tasks[i], 1, 1);
        const struct strait_training t = strait_test_training(tasks[i]);
        struct strait_learner *x;
        struct strait_optimiser *o;
        CU_ASSERT_EQUAL_FATAL(strait_learner_new(&x, l, 0, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(strait_optimiser_new(&o, &t, l, NULL), 0);
        const size_t n = strait_learn_n_elems(l);
        float *w = malloc(n * sizeof(*w)), *g = malloc(n * sizeof(*g));
        strait_learn_init(l, w);
        struct strait_score before, after;
        strait_learner_evaluate(x, w, 0, &before);
        for (uint64_t step = 0; step < 60; step++) {
            strait_learner_gradient(x, w, step, g);
            strait_optimiser_begin(o);
            strait_optimiser_step(o, w, g, 0, n);
        }
        strait_learner_evaluate(x, w, 0, &after);
        CU_ASSERT_DOUBLE_EQUAL(before.loss, log(10), 0.2);
        CU_ASSERT_EQUAL(after.accuracy, 1);
        CU_ASSERT(after.loss < 0.1);
        free(w);
        free(g);
        strait_optimiser_free(o);
        strait_learner_free(x);
        strait_learn_free(l);
    }
    fashion_tear_down(&folder);
}

/* Of fashion-resnet, batch 1: the last layer as below; convolutions have no bias, and their
 * gradients' squares are at most trace(A) trace(G) times the pixels. A of the first is what its
 * patches of the image give; norms have no factors. */
static void resnet_factors(void)
{
    struct fashion_folder folder;
    struct strait_learner *x;
    fashion_set_up(&folder, 40, 10);
    struct strait_learn *l = strait_test_learn(
        "{\"task\": \"fashion-resnet\", \"batch\": 1, \"optimiser\": \"kfac\"}", 1, 1);
    CU_ASSERT_EQUAL_FATAL(strait_learner_new(&x, l, 0, NULL), 0);
    const size_t n = strait_learn_n_elems(l);
    float *w = malloc(n * sizeof(*w)), *grad = malloc(n * sizeof(*grad)), image[784];
    unsigned char label;
    uint32_t example;
    size_t n_params, n_factors = 0;
    strait_learn_init(l, w);
    strait_learner_gradient(x, w, 0, grad);
    strait_learner_gradient(x, w, 1, grad); /* nothing of the first stays */
    strait_split_batch(&l->split, 1, 0, 1, 1, &example);
    strait_image_batch(l, &(struct strait_batch){.examples = &example, .n = 1}, image, &label);
    const struct strait_learn_param *p = strait_learn_params(l, &n_params);
    for (size_t k = 0; k < n_params; k++) {
        size_t d_in, d_out;
        const float *a, *g;
        const bool has = strait_learner_factors(x, k, &d_in, &d_out, &a, &g);
        strait_test_context("%s %s", p[k].layer, p[k].param);
        CU_ASSERT_EQUAL(has, p[k].n_dims > 1);
        if (!has)
            continue;
        const bool last = p[k].n_dims == 2;
        double of_a = 0, of_g = 0, squares = 0;
        n_factors++;
        CU_ASSERT_EQUAL_FATAL(d_out, p[k].shape[0]);
        CU_ASSERT_EQUAL_FATAL(d_in, p[k].n_elems / p[k].shape[0] + last);
        for (size_t j = 0; j < d_in - last; j++)
            of_a += a[j * d_in + j];
        for (size_t j = 0; j < d_out; j++)
            of_g += g[j * d_out + j];
        for (size_t j = 0; j < p[k].n_elems; j++)
            squares += (double)grad[p[k].first + j] * grad[p[k].first + j];
        if (last)
            CU_ASSERT_DOUBLE_EQUAL(squares, of_a * of_g, 1e-4 * squares);
        CU_ASSERT(squares > 0 && squares <= of_a * of_g * 784 * (1 + 1e-5));
        double centre = 0; /* the middle of a patch of the first layer sees each pixel once */
        for (size_t j = 0; j < 784 && k == 0; j++)
            centre += (double)image[j] * (double)image[j];
        if (k == 0)
            CU_ASSERT_DOUBLE_EQUAL(a[4 * 9 + 4], centre, 1e-4 * centre);
    }
    CU_ASSERT_EQUAL(n_factors, 16);
    free(w);
    free(grad);
    strait_learner_free(x);
    strait_learn_free(l);
    fashion_tear_down(&folder);
}

/* The gradient of a dense layer is G's and A's: with a batch of one, A = a a' and G = g g', so the
 * squares of the weight's gradient g a' sum to trace(A without the bias) trace(G); of conv1, whose
 * gradient sums over pixels, they are at most that times the pixels (Cauchy and Schwarz). */
static void factors(void)
{
    struct fashion_folder folder;
    fashion_set_up(&folder, 40, 10);
    static const char *const tasks[] = {
        "{\"task\": \"fashion-cnn\", \"batch\": 1, \"optimiser\": \"kfac\"}",
        "{\"task\": \"fashion-mlp\", \"batch\": 1, \"optimiser\": \"kfac\"}"};
    for (size_t i = 0; i < 2; i++) {
        struct strait_learn *l = strait_test_learn(tasks[i], 1, 1);
        struct strait_learner *x;
        CU_ASSERT_EQUAL_FATAL(strait_learner_new(&x, l, 0, NULL), 0);
        const size_t n = strait_learn_n_elems(l);
        float *w = malloc(n * sizeof(*w)), *grad = malloc(n * sizeof(*grad));
        strait_learn_init(l, w);
        strait_learner_gradient(x, w, 0, grad);
        strait_learner_gradient(x, w, 1, grad); /* nothing of the first stays */
        size_t n_params;
        const struct strait_learn_param *p = strait_learn_params(l, &n_params);
        for (size_t k = 0; k < n_params; k += 2) {
            size_t d_in, d_out;
            const float *a, *g;
            CU_ASSERT_FATAL(strait_learner_factors(x, k, &d_in, &d_out, &a, &g));
            CU_ASSERT_EQUAL_FATAL(d_out, p[k].shape[0]);
            CU_ASSERT_EQUAL_FATAL(d_in, p[k].n_elems / p[k].shape[0] + 1);
            double of_a = 0, of_g = 0, squares = 0;
            for (size_t j = 0; j + 1 < d_in; j++)
                of_a += a[j * d_in + j];
            for (size_t j = 0; j < d_out; j++)
                of_g += g[j * d_out + j];
            for (size_t j = 0; j < p[k].n_elems; j++)
                squares += (double)grad[p[k].first + j] * grad[p[k].first + j];
            strait_test_context("%s", p[k].layer);
            if (p[k].n_dims == 2) {
                CU_ASSERT_DOUBLE_EQUAL(a[d_in * d_in - 1], 1, 1e-6);
                CU_ASSERT_DOUBLE_EQUAL(squares, of_a * of_g, 1e-4 * squares);
            } else {
                const double pixels = k == 0 ? 784 : 196;
                CU_ASSERT_DOUBLE_EQUAL(a[d_in * d_in - 1], pixels, 1e-3);
                CU_ASSERT(squares > 0 && squares <= of_a * of_g * pixels);
            }
        }
        free(w);
        free(grad);
        strait_learner_free(x);
        strait_learn_free(l);
    }
    fashion_tear_down(&folder);
}

/* Which of the first n held-out examples are answered rightly: their number grows by one or not. */
static bool is_right(struct strait_learner *x, const float *w, long at)
{
    struct strait_score before = {0}, after;
    if (at > 0)
        strait_learner_evaluate(x, w, at, &before);
    strait_learner_evaluate(x, w, at + 1, &after);
    return lround(after.accuracy * (double)(at + 1)) > lround(before.accuracy * (double)at);
}

/* Example i has the label i % 10. A worker's mixture is counted from its examples; of seven
 * held-out examples three labels are not among them and do not count. */
static void accuracy_of_workers(void)
{
    enum { N_WORKERS = 3 };
    static const long asked[] = {0, 60, 7, 95};
    struct fashion_folder folder;
    fashion_set_up(&folder, 200, 95);
    struct strait_learn *even =
                            strait_test_learn("{\"task\": \"fashion-mlp\", \"width\": 7}", 3, 3),
                        *l = strait_test_learn("{\"task\": \"fashion-mlp\", \"width\": 7,"
                                               "\"batch\": 4, \"split\": {\"dirichlet\": 0.3}}",
                                               N_WORKERS, 3);
    CU_ASSERT_FALSE(strait_learn_is_uneven(even));
    CU_ASSERT_TRUE_FATAL(strait_learn_is_uneven(l));
    struct strait_learner *x;
    CU_ASSERT_EQUAL_FATAL(strait_learner_new(&x, l, 0, NULL), 0);
    const size_t n = strait_learn_n_elems(l);
    float *w = malloc(n * sizeof(*w)), *g = malloc(n * sizeof(*g));
    strait_learn_init(l, w);
    for (uint64_t step = 0; step < 30; step++) { /* enough that some labels are known */
        strait_learner_gradient(x, w, step, g);
        for (size_t i = 0; i < n; i++)
            w[i] -= 0.1F * g[i];
    }
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        const long n_scored = asked[i] > 0 ? asked[i] : 95;
        double right[10] = {0}, all[10] = {0}, found[N_WORKERS], least = 1, most = 0;
        strait_test_context("%ld examples", asked[i]);
        for (long at = 0; at < n_scored; at++) {
            right[at % 10] += is_right(x, w, at);
            all[at % 10]++;
        }
        CU_ASSERT_TRUE_FATAL(strait_learner_evaluate_workers(x, w, asked[i], found));
        for (int k = 0; k < N_WORKERS; k++) {
            double sum = 0, n_known = 0;
            for (uint32_t e = l->split.first[k]; e < l->split.first[k + 1]; e++) {
                const uint32_t label = l->split.examples[e] % 10;
                if (all[label] > 0) {
                    sum += right[label] / all[label];
                    n_known++;
                }
            }
            CU_ASSERT_DOUBLE_EQUAL(found[k], sum / n_known, 1e-12); /* sums of 200 terms */
            least = fmin(least, found[k]);
            most = fmax(most, found[k]);
        }
        CU_ASSERT(least < most); /* else all of this would say nothing */
    }
    free(w);
    free(g);
    strait_learner_free(x);
    strait_learn_free(l);
    strait_learn_free(even);
    fashion_tear_down(&folder);
}

static const struct strait_test tests[] = {
    {"the convolutional network's gradient is that of its definition", cnn_gradient},
    {"the perceptron's gradient is that of its definition", mlp_gradient},
    {"a perceptron in parts has the gradient of the whole", in_parts},
    {"parameters are those of the recorded network and of 2NN", shapes},
    {"initial weights are uniform as PyTorch's", initial},
    {"a gradient depends on weights, worker and step alone", same_bits},
    {"both learn ten shapes", learns},
    {"a worker's accuracy is that of its mixture of labels", accuracy_of_workers},
    {"factors belong to the gradient", factors},
    {"the residual network's factors belong to its gradient", resnet_factors},
};
STRAIT_SUITE("learn/networks", tests);
