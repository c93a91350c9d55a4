/* The transformer that is trained, against one written from the formulas in double precision, whose
 * gradient is taken by differences. */
#include "learn/layers/gpt.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core/random.h"
#include "tests/kit/suite.h"

enum { SEQUENCES = 2, MAX_PARAMS = 64, MAX_ROWS = 64 };
static const struct learn_gpt tied = {2, 8, 2, 5, 7, true}, untied = {1, 12, 3, 4, 9, false};

/* --- the same in double ---------------------------------------------------------------------- */

struct reference {
    const struct learn_gpt *t;
    struct learn_gpt_param params[MAX_PARAMS];
    double *at[MAX_PARAMS];
    double *w;
};

static const double *named(const struct reference *r, const char *layer, const char *param)
{
    const size_t n = learn_gpt_params(NULL, r->t);
    for (size_t i = 0; i < n; i++)
        if (strcmp(r->params[i].layer, layer) == 0 && strcmp(r->params[i].param, param) == 0)
            return r->at[i];
    CU_FAIL_FATAL("no such parameter");
    return NULL;
}

static const double *of_block(const struct reference *r, size_t b, const char *part,
                              const char *param)
{
    char layer[32];
    snprintf(layer, sizeof(layer), "blocks.%zu.%s", b, part);
    return named(r, layer, param);
}

static void norm(double *y, const double *x, const double *scale, const double *bias, size_t d)
{
    double mean = 0, variance = 0;
    for (size_t j = 0; j < d; j++)
        mean += x[j] / (double)d;
    for (size_t j = 0; j < d; j++)
        variance += (x[j] - mean) * (x[j] - mean) / (double)d;
    for (size_t j = 0; j < d; j++)
        y[j] = (x[j] - mean) / sqrt(variance + 1e-5) * scale[j] + bias[j];
}

/* What one layer gets in one row, and what moving one of its outputs there does to the loss. */
static struct {
    const double *w; /* the layer; NULL: none */
    size_t row, out, seen;
    double move, x[64];
} tap;

static void linear(double *y, const double *x, const double *w, const double *bias, size_t d_in,
                   size_t d_out)
{
    const bool tapped = w == tap.w && tap.seen++ == tap.row;
    if (tapped)
        memcpy(tap.x, x, d_in * sizeof(*x));
    for (size_t o = 0; o < d_out; o++) {
        y[o] = bias ? bias[o] : 0;
        for (size_t i = 0; i < d_in; i++)
            y[o] += w[o * d_in + i] * x[i];
        if (tapped && o == tap.out)
            y[o] += tap.move;
    }
}

/* Token i of one sequence attends to the tokens up to it: qkv rows of 3 d. */
static void mix(double *out, const double *qkv, size_t i, size_t d, size_t heads)
{
    const size_t size = d / heads;
    for (size_t h = 0; h < heads; h++) {
        double weights[MAX_ROWS], sum = 0;
        for (size_t j = 0; j <= i; j++) {
            double score = 0;
            for (size_t c = 0; c < size; c++)
                score += qkv[i * 3 * d + h * size + c] * qkv[j * 3 * d + d + h * size + c];
            weights[j] = exp(score / sqrt((double)size));
            sum += weights[j];
        }
        for (size_t c = 0; c < size; c++) {
            out[h * size + c] = 0;
            for (size_t j = 0; j <= i; j++)
                out[h * size + c] += weights[j] / sum * qkv[j * 3 * d + 2 * d + h * size + c];
        }
    }
}

static void block(const struct reference *r, double *x, size_t b)
{
    const size_t d = r->t->width, n = r->t->context;
    double one[64], wide[256], qkv[MAX_ROWS * 64];
    for (size_t i = 0; i < n; i++) {
        norm(one, x + i * d, of_block(r, b, "ln1", "weight"), of_block(r, b, "ln1", "bias"), d);
        linear(qkv + i * 3 * d, one, of_block(r, b, "qkv", "weight"), of_block(r, b, "qkv", "bias"),
               d, 3 * d);
    }
    for (size_t i = 0; i < n; i++) {
        mix(wide, qkv, i, d, r->t->heads);
        linear(one, wide, of_block(r, b, "proj", "weight"), of_block(r, b, "proj", "bias"), d, d);
        for (size_t j = 0; j < d; j++)
            x[i * d + j] += one[j];
        norm(one, x + i * d, of_block(r, b, "ln2", "weight"), of_block(r, b, "ln2", "bias"), d);
        linear(wide, one, of_block(r, b, "fc", "weight"), of_block(r, b, "fc", "bias"), d, 4 * d);
        for (size_t j = 0; j < 4 * d; j++)
            wide[j] *= 0.5 * (1 + tanh(sqrt(2 / acos(-1.0)) *
                                       (wide[j] + 0.044715 * wide[j] * wide[j] * wide[j])));
        linear(one, wide, of_block(r, b, "out", "weight"), of_block(r, b, "out", "bias"), 4 * d, d);
        for (size_t j = 0; j < d; j++)
            x[i * d + j] += one[j];
    }
}

/* Mean cross entropy; scores: of all tokens, may be NULL. */
static double loss_of(const struct reference *r, const unsigned char *words, double *scores)
{
    const size_t d = r->t->width, n = r->t->context, v = r->t->words;
    const double *tok = named(r, "tok", "weight"), *pos = named(r, "pos", "weight"),
                 *head = r->t->tied ? tok : named(r, "head", "weight");
    double loss = 0;
    for (size_t s = 0; s < SEQUENCES; s++, words += n + 1) {
        double x[MAX_ROWS * 16], last[16], out[16];
        for (size_t i = 0; i < n * d; i++)
            x[i] = tok[words[i / d] * d + i % d] + pos[i];
        for (size_t b = 0; b < r->t->layers; b++)
            block(r, x, b);
        for (size_t i = 0; i < n; i++) {
            double sum;
            norm(last, x + i * d, named(r, "ln_f", "weight"), named(r, "ln_f", "bias"), d);
            linear(out, last, head, NULL, d, v);
            sum = exp(out[0]);
            for (size_t j = 1; j < v; j++)
                sum += exp(out[j]);
            loss += (log(sum) - out[words[i + 1]]) / (double)(SEQUENCES * n);
            if (scores)
                memcpy(scores + (s * n + i) * v, out, v * sizeof(*out));
        }
    }
    return loss;
}

/* --- fixture --------------------------------------------------------------------------------- */

struct fixture {
    struct reference r;
    size_t n_elems;
    float *w, *gradient, *room;
    unsigned char words[256];
};

/* Weights far from their beginning, so that nothing is nearly zero or nearly linear. */
static void set_up(struct fixture *f, const struct learn_gpt *t)
{
    size_t first = 0;
    f->r.t = t;
    f->n_elems = learn_gpt_n_elems(t);
    f->w = malloc(f->n_elems * sizeof(*f->w));
    f->gradient = malloc(f->n_elems * sizeof(*f->gradient));
    f->r.w = malloc(f->n_elems * sizeof(*f->r.w));
    f->room = aligned_alloc(64, (learn_gpt_room(t, SEQUENCES, true) * 4 + 63) / 64 * 64);
    for (size_t i = 0; i < f->n_elems; i++) {
        f->w[i] = (float)(2 * strait_random_unit(3, "w", i, 0) - 1) * 0.7f;
        f->gradient[i] = NAN;
        f->r.w[i] = (double)f->w[i];
    }
    const size_t n = learn_gpt_params(f->r.params, t);
    for (size_t i = 0; i < n; i++) {
        f->r.at[i] = f->r.w + first;
        first += f->r.params[i].shape[0] * (f->r.params[i].shape[1] ? f->r.params[i].shape[1] : 1);
    }
    CU_ASSERT_EQUAL(first, f->n_elems);
    for (size_t i = 0; i < SEQUENCES * (t->context + 1); i++)
        f->words[i] = (unsigned char)(strait_random_unit(3, "word", i, 0) * (double)t->words);
}

static void tear_down(struct fixture *f)
{
    free(f->w);
    free(f->gradient);
    free(f->r.w);
    free(f->room);
}

/* --- tests ----------------------------------------------------------------------------------- */

/* Floats carry 6e-8; a gradient is a sum of some hundred products of such, along some ten layers:
 * 2e-5 of the largest of its tensor. Differences with a step of 1e-5 are good to 1e-9. */
static void check_gradient(const struct learn_gpt *t)
{
    struct fixture f;
    set_up(&f, t);
    const double loss =
        learn_gpt_gradient(t, f.gradient, f.w, f.words, SEQUENCES, f.room, NULL, NULL);
    CU_ASSERT_DOUBLE_EQUAL(loss, loss_of(&f.r, f.words, NULL), 1e-6 * loss);
    const size_t n = learn_gpt_params(NULL, t);
    for (size_t p = 0, first = 0; p < n; p++) {
        const size_t size =
            f.r.params[p].shape[0] * (f.r.params[p].shape[1] ? f.r.params[p].shape[1] : 1);
        double most = 0, apart = 0;
        strait_test_context("%s %s", f.r.params[p].layer, f.r.params[p].param);
        for (size_t i = first; i < first + size; i++) {
            const double before = f.r.w[i], step = 1e-5;
            f.r.w[i] = before + step;
            const double above = loss_of(&f.r, f.words, NULL);
            f.r.w[i] = before - step;
            const double slope = (above - loss_of(&f.r, f.words, NULL)) / (2 * step);
            f.r.w[i] = before;
            most = fmax(most, fabs(slope));
            apart = fmax(apart, fabs(slope - (double)f.gradient[i]));
            CU_ASSERT(isfinite(f.gradient[i]));
        }
        CU_ASSERT_AT_MOST(apart, 2e-5 * most + 1e-8);
        first += size;
    }
    tear_down(&f);
}

static double tapped_loss(const struct fixture *f, double move)
{
    tap.seen = 0;
    tap.move = move;
    return loss_of(&f->r, f->words, NULL);
}

/* Add a row's outer products to the expected factors of the layer that is tapped. The mean loss is
 * over all rows, so a row's own derivative is rows times what its outputs move it by. */
static void add_row(const struct fixture *f, double *a, double *g, const struct learn_factors *of,
                    size_t rows)
{
    double own[64], x[64];
    for (tap.out = 0; tap.out < of->d_out; tap.out++) {
        const double step = 1e-5, above = tapped_loss(f, step);
        own[tap.out] = (double)rows * (above - tapped_loss(f, -step)) / (2 * step);
    }
    memcpy(x, tap.x, sizeof(x));
    if (of->has_bias)
        x[of->d_in - 1] = 1;
    for (size_t i = 0; i < of->d_in * of->d_in; i++)
        a[i] += x[i / of->d_in] * x[i % of->d_in] / (double)rows;
    for (size_t i = 0; i < of->d_out * of->d_out; i++)
        g[i] += own[i / of->d_out] * own[i % of->d_out] / (double)rows;
}

static void check_factor(const float *found, const double *expected, size_t n)
{
    double most = 0, apart = 0;
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, fabs(expected[i]));
        apart = fmax(apart, fabs(expected[i] - (double)found[i]));
        CU_ASSERT(isfinite(found[i]));
    }
    CU_ASSERT(most > 0);
    CU_ASSERT_AT_MOST(apart, 1e-4 * most);
}

/* Every dense layer's, from their definition: outer products of its inputs, and of the loss's
 * slopes by its outputs, by differences. Slopes are good to 2e-5 as above, their products to
 * 1e-4. */
static void check_factors(const struct learn_gpt *t)
{
    static float room[2 * 64 * 64][16];
    static double a[64 * 64], g[64 * 64];
    struct learn_factors factors[16];
    struct fixture f;
    size_t n = 0;
    set_up(&f, t);
    for (size_t p = 0; p < learn_gpt_params(NULL, t); p++) {
        const struct learn_gpt_param *of = &f.r.params[p];
        if (strcmp(of->type, "Linear") != 0 || strcmp(of->param, "weight") != 0)
            continue;
        const bool has_bias = strcmp(of->layer, "head") != 0;
        float *at = &room[0][0] + n * 2 * 64 * 64;
        factors[n++] = (struct learn_factors){.d_in = of->shape[1] + has_bias,
                                              .d_out = of->shape[0],
                                              .has_bias = has_bias,
                                              .a = at,
                                              .g = at + 64 * 64};
    }
    CU_ASSERT_EQUAL_FATAL(n, 4 * t->layers + !t->tied);
    learn_gpt_gradient(t, f.gradient, f.w, f.words, SEQUENCES, f.room, NULL, factors);
    n = 0;
    for (size_t p = 0; p < learn_gpt_params(NULL, t); p++) {
        const struct learn_gpt_param *of = &f.r.params[p];
        if (strcmp(of->type, "Linear") != 0 || strcmp(of->param, "weight") != 0)
            continue;
        const struct learn_factors *found = &factors[n++];
        memset(a, 0, sizeof(a));
        memset(g, 0, sizeof(g));
        tap.w = f.r.at[p];
        for (tap.row = 0; tap.row < SEQUENCES * t->context; tap.row++)
            add_row(&f, a, g, found, SEQUENCES * t->context);
        tap.w = NULL;
        strait_test_context("%s", of->layer);
        check_factor(found->a, a, found->d_in * found->d_in);
        check_factor(found->g, g, found->d_out * found->d_out);
    }
    tear_down(&f);
}

static void factors_of_both(void)
{
    check_factors(&tied);
    check_factors(&untied);
}

static void gradient_of_a_tied_one(void)
{
    check_gradient(&tied);
}

static void gradient_of_an_untied_one(void)
{
    check_gradient(&untied);
}

static void score_counts_the_likeliest(void)
{
    struct fixture f;
    double loss, scores[1024];
    unsigned char best[64];
    size_t right = 0;
    set_up(&f, &untied);
    const double mean = loss_of(&f.r, f.words, scores);
    const size_t rows = SEQUENCES * untied.context, v = untied.words;
    const size_t found =
        learn_gpt_score(&untied, &loss, best, f.w, f.words, SEQUENCES, f.room, NULL, NULL);
    CU_ASSERT_DOUBLE_EQUAL(loss, mean * (double)rows, 1e-5);
    for (size_t i = 0; i < rows; i++) {
        size_t most = 0;
        for (size_t j = 1; j < v; j++)
            most = scores[i * v + j] > scores[i * v + most] ? j : most;
        CU_ASSERT_EQUAL(best[i], most);
        right += most == f.words[i + i / untied.context + 1];
    }
    CU_ASSERT_EQUAL(found, right);
    tear_down(&f);
}

static void sum_of_first_values(void *how, float *out, float *p, const struct learn_head *h,
                                size_t layer, size_t head)
{
    size_t *seen = how;
    (void)p;
    seen[layer * 2 + head]++;
    for (size_t i = 0; i < h->n; i++)
        memcpy(out + i * h->out, h->v, h->d * sizeof(*out));
}

/* Whoever sees the first token alone has its value; so has every token of a context of one. */
static void attention_in_another_way(void)
{
    struct learn_gpt one = tied;
    struct fixture f;
    double loss, alone;
    size_t seen[4] = {0};
    set_up(&f, &tied);
    one.context = 1;
    learn_gpt_score(&tied, &loss, NULL, f.w, f.words, SEQUENCES, f.room, sum_of_first_values, seen);
    for (size_t i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(seen[i], SEQUENCES);
    /* With the words of one place and the position of the first, both see the same. */
    float *w = malloc(f.n_elems * sizeof(*w));
    memcpy(w, f.w, f.n_elems * sizeof(*w));
    unsigned char same[16] = {2, 2, 2, 2, 2, 5}, pair[2] = {2, 2};
    for (size_t i = 1; i < tied.context; i++)
        memcpy(w + (tied.words + i) * tied.width, w + tied.words * tied.width,
               tied.width * sizeof(*w));
    same[5] = 2;
    learn_gpt_score(&tied, &loss, NULL, w, same, 1, f.room, sum_of_first_values, seen);
    memmove(w + (tied.words + 1) * tied.width, w + (tied.words + tied.context) * tied.width,
            (f.n_elems - (tied.words + tied.context) * tied.width) * sizeof(*w));
    learn_gpt_score(&one, &alone, NULL, w, pair, 1, f.room, NULL, NULL);
    CU_ASSERT_DOUBLE_EQUAL(loss, 5 * alone, 1e-5);
    free(w);
    tear_down(&f);
}

static void same_bits_wherever_it_lies(void)
{
    struct fixture f;
    set_up(&f, &tied);
    float *w = malloc((f.n_elems + 1) * sizeof(*w)), *g = malloc((f.n_elems + 1) * sizeof(*g));
    memcpy(w + 1, f.w, f.n_elems * sizeof(*w));
    const double a = learn_gpt_gradient(&tied, f.gradient, f.w, f.words, 2, f.room, NULL, NULL),
                 b = learn_gpt_gradient(&tied, g + 1, w + 1, f.words, 2, f.room, NULL, NULL);
    CU_ASSERT_EQUAL(a, b);
    CU_ASSERT_EQUAL(memcmp(g + 1, f.gradient, f.n_elems * sizeof(*g)), 0);
    free(w);
    free(g);
    tear_down(&f);
}

/* 96 words of 128, 128 positions, 4 blocks of 12 d^2 + 13 d, a last LayerNorm. */
static void parameters_and_their_first_values(void)
{
    const struct learn_gpt t = {4, 128, 4, 128, 96, true};
    const size_t n = (96 + 128) * 128 + 4 * (12 * 128 * 128 + 13 * 128) + 2 * 128;
    CU_ASSERT_EQUAL(learn_gpt_n_elems(&t), n);
    CU_ASSERT_EQUAL(learn_gpt_params(NULL, &t), 2 + 4 * 12 + 2);
    float *w = malloc(n * sizeof(*w));
    learn_gpt_init(&t, w, 1);
    double words = 0, out = 0;
    for (size_t i = 0; i < 96 * 128; i++)
        words += (double)w[i] * (double)w[i] / (96 * 128);
    /* The last block's `out` ends before its bias and the last LayerNorm. */
    for (size_t i = n - 3 * 128 - 4 * 128 * 128; i < n - 3 * 128; i++)
        out += (double)w[i] * (double)w[i] / (4 * 128 * 128);
    /* A mean square of n normals has a relative deviation of sqrt(2 / n): below 1.3 %. */
    CU_ASSERT_DOUBLE_EQUAL(sqrt(words), 0.02, 0.02 * 0.03);
    CU_ASSERT_DOUBLE_EQUAL(sqrt(out), 0.02 / sqrt(8), 0.02 / sqrt(8) * 0.03);
    for (size_t i = n - 3 * 128; i < n; i++)
        CU_ASSERT_EQUAL(w[i], i >= n - 2 * 128 && i < n - 128 ? 1 : 0);
    free(w);
}

static const struct strait_test tests[] = {
    {"the gradient is the slope, with a tied head", gradient_of_a_tied_one},
    {"the gradient is the slope, with a head of its own", gradient_of_an_untied_one},
    {"factors are the outer products of inputs and slopes", factors_of_both},
    {"the score counts the likeliest words", score_counts_the_likeliest},
    {"attention is computed in another way where asked", attention_in_another_way},
    {"the same bits wherever weights lie in memory", same_bits_wherever_it_lies},
    {"parameters and their first values", parameters_and_their_first_values},
};
STRAIT_SUITE("learn/layers/gpt", tests);
