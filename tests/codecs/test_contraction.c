/* What error feedback promises over many rounds: nothing is lost, and what is left stays small. */
#include <math.h>
#include <stdlib.h>
#include "sender.h"
#include "tests/kit/suite.h"
#include "tests/kit/tensor_kinds.h"

/* What was sent and what is left are what came in. In floats each round makes two roundings, of
 * v + x and of v - y, each within 2^-24 of its result; in double nothing else is lost that counts
 * (rounds x 2^-53). */
static void check_telescope(struct sender *s, size_t n_rounds, enum tensor_kind kind)
{
    const size_t n = s->n_elems;
    const float *v = strait_feedback_residual(s->memory);
    float *x = malloc(n * sizeof(*x));
    double *in = calloc(n, sizeof(*in)), *out = calloc(n, sizeof(*out));
    double *slack = calloc(n, sizeof(*slack));
    bool left = false;
    for (size_t round = 0; round < n_rounds; round++) {
        make_tensor(x, n, kind, round + 1);
        for (size_t i = 0; i < n; i++)
            slack[i] += 0x1p-24 * fabs((double)x[i] + (double)v[i]);
        s->request.key = round;
        round_of(s, x);
        for (size_t i = 0; i < n; i++) {
            in[i] += (double)x[i];
            out[i] += (double)s->y[i];
            slack[i] += 0x1p-24 * fabs((double)v[i]);
            left |= v[i] < 0 || v[i] > 0;
        }
    }
    double worst = 0;
    for (size_t i = 0; i < n; i++)
        worst = fmax(worst, fabs(out[i] + (double)v[i] - in[i]) - 1.001 * slack[i]);
    CU_ASSERT(worst <= 1e-45);
    CU_ASSERT(left); /* the codec is lossy, so this said something */
    free(x);
    free(in);
    free(out);
    free(slack);
}

static void sent_and_left_is_what_came(void)
{
    static const struct {
        const char *name;
        double param;
        struct strait_bound bound;
        size_t n_rows;
    } cases[] = {
        {"efsignsgd", 0, {STRAIT_BOUND_NONE, 0}, 0}, {"onebit", 1, {STRAIT_BOUND_NONE, 0}, 0},
        {"signsgd", 0, {STRAIT_BOUND_NONE, 0}, 0},   {"powersgd", 2, {STRAIT_BOUND_NONE, 0}, 30},
        {"acpsgd", 2, {STRAIT_BOUND_NONE, 0}, 30},   {"sz", 0, {STRAIT_BOUND_RANGE, 0.1}, 0},
        {"zfp", 0, {STRAIT_BOUND_ABS, 0.01}, 0},
    };
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        const struct strait_codec_ops *ops = strait_codec_find(cases[c].name);
        CU_ASSERT_FATAL(ops != NULL);
        double params[2] = {0};
        for (unsigned i = 0; i < ops->n_params && i < 2; i++)
            params[i] = ops->params[i].fallback;
        if (cases[c].param > 0)
            params[0] = cases[c].param;
        struct sender s;
        sender_init(&s, ops, params[0], params[1], 900, true, 0);
        s.request = (struct strait_request){.bound = cases[c].bound, .n_rows = cases[c].n_rows};
        check_telescope(&s, 30, TENSOR_WEIGHTS);
        CU_ASSERT_EQUAL(strait_feedback_reset(s.memory, NULL), 0);
        check_telescope(&s, 10, TENSOR_ROWS);
        sender_release(&s);
    }
    struct sender s;
    sender_init(&s, &pick, PICK_LARGEST, 9, 300, true, 0);
    check_telescope(&s, 30, TENSOR_ROWS);
    sender_release(&s);
}

static double norm(const float *x, size_t n)
{
    double squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += (double)x[i] * (double)x[i];
    return sqrt(squares);
}

/* A compressor is delta-contractive where ||w - C(w)||^2 <= (1 - delta) ||w||^2. With w = v + x, so
 * ||v'|| <= q (||v|| + ||x||), q = sqrt(1 - delta), and with ||x|| <= g from v = 0
 *     ||v|| <= (q + q^2 + ...) g = q g / (1 - q).
 * The k largest of n: the n - k left hold at most their share of the squares, delta = k / n. Scaled
 * signs: delta = ||w||_1^2 / (n ||w||_2^2), an equality; its smallest over the rounds counts.
 * Roundings of v + x and v - y change ||v|| by at most 2^-23 (||v|| + ||w||): 1e-6 is ample. */
static void check_contraction(struct sender *s, double k)
{
    const size_t n = s->n_elems;
    const float *v = strait_feedback_residual(s->memory);
    float *x = malloc(n * sizeof(*x)), *w = malloc(n * sizeof(*w));
    double g = 0, least = 1, max_left = 0;
    for (uint64_t round = 0; round < 60; round++) {
        make_tensor(x, n, round % 2 ? TENSOR_WEIGHTS : TENSOR_SPARSE, round);
        double l1 = 0;
        for (size_t i = 0; i < n; i++) {
            w[i] = v[i] + x[i];
            l1 += fabs((double)w[i]);
        }
        const double squares = norm(w, n) * norm(w, n);
        const double delta = k > 0 ? k / (double)n : l1 * l1 / ((double)n * squares);
        g = fmax(g, norm(x, n));
        least = fmin(least, delta);
        round_of(s, x);
        const double left = norm(v, n);
        CU_ASSERT(left * left <= (1 - delta) * squares * (1 + 1e-6));
        if (k <= 0)
            CU_ASSERT_DOUBLE_EQUAL(left * left, (1 - delta) * squares, 1e-6 * squares);
        max_left = fmax(max_left, left);
    }
    const double q = sqrt(1 - least);
    CU_ASSERT(max_left > 0);
    CU_ASSERT(max_left <= q * g / (1 - q) * (1 + 1e-5));
    free(x);
    free(w);
}

static void contraction(void)
{
    static const double ks[] = {1, 20, 150, 399};
    struct sender s;
    for (size_t i = 0; i < sizeof(ks) / sizeof(ks[0]); i++) {
        sender_init(&s, &pick, PICK_LARGEST, ks[i], 400, true, 0);
        check_contraction(&s, ks[i]);
        sender_release(&s);
    }
    sender_init(&s, strait_codec_find("efsignsgd"), 0, 0, 4096, true, 0);
    check_contraction(&s, 0);
    sender_release(&s);
}

/* Every element is sent with chance p, alone. What is left of it is then the sum of the last G
 * normal inputs, P(G = i) = p (1 - p)^i: mean of its square (1 - p) / p, which is where the bound
 * of the mean for delta = p is reached: E||v'||^2 = (1 - p) (E||v||^2 + n). Its fourth power has
 * mean 3 E[G^2] with E[G^2] = (1 - p) (2 - p) / p^2. For p = 1/4: mean 3, E[G^2] = 21, variance
 * 3 x 21 - 3^2 = 54. Over n elements the mean is normal with deviation sqrt(54 / n); beyond 4.9 of
 * these it lies in one of a million draws. After 80 rounds what remains of the start is
 * 0.75^80 = 1e-10. */
static void residual_of_chance(void)
{
    const size_t n = 50000;
    struct sender s;
    struct strait_sequence chance = strait_sequence_at(2024);
    float *x = malloc(n * sizeof(*x));
    sender_init(&s, &pick, PICK_BY_COIN, 0.25, n, true, 0);
    for (uint64_t round = 0; round < 80; round++) {
        for (size_t i = 0; i < n; i++)
            x[i] = (float)normal(&chance);
        s.request.key = 1000 + round;
        round_of(&s, x);
    }
    const double left = norm(strait_feedback_residual(s.memory), n);
    CU_ASSERT_DOUBLE_EQUAL(left * left / (double)n, 3, 4.9 * sqrt(54 / (double)n));
    sender_release(&s);
    free(x);
}

static const struct strait_test tests[] = {
    {"what was sent and what is left are what came in", sent_and_left_is_what_came},
    {"a contractive compressor keeps the residual within its bound", contraction},
    {"the residual of chosen at random has the mean square expected", residual_of_chance},
};
STRAIT_SUITE("codecs/contraction", tests);
