/* sz: find the directions that the rows of a matrix are close to. A sketch of few rows keeps them:
 * rows of the matrix are added, with a sign by chance, to one of these each. Its few largest
 * directions come from the products of its rows, and a sample of rows says how many of them pay. */
#include <math.h>
#include <string.h>
#include "codecs/kit/stable_math.h"
#include "core/host.h"
#include "matrix.h"

/* Four rows of a sketch for a direction and four of the matrix for each of these, but no fewer than
 * for four directions: twice as many save 1 % of bytes and cost 5 % of the time. */
enum { TURNS = 3, SAMPLES = 24, A_DIRECTION = 4, A_BUCKET = 4, FEWEST = 16 };

/* What rounding the directions adds to a value, as a standard deviation in steps: 0.06 beside the
 * 1/12 that a step has by itself costs 0.04 bits. */
static const double rounding = 0.25;

static uint32_t mixed(uint32_t v)
{
    v = (v ^ v >> 16) * 0x7feb352du;
    v = (v ^ v >> 15) * 0x846ca68bu;
    return v ^ v >> 16;
}

static unsigned buckets(const struct sz_matrix *m, unsigned most)
{
    const unsigned wanted = most * A_DIRECTION > FEWEST ? most * A_DIRECTION : FEWEST;
    const unsigned n = wanted < SZ_BUCKETS ? wanted : SZ_BUCKETS;
    return m->n_rows < n ? (unsigned)m->n_rows : n;
}

static void add_rows(struct sz_matrix *m, const float *x, float inverse, unsigned n_buckets)
{
    const size_t most = (size_t)n_buckets * A_BUCKET, n = m->n_rows < most ? m->n_rows : most;
    for (size_t i = 0; i < n; i++)
        m->kernels->add_row(m->sketch + i % n_buckets * m->stride,
                            x + i * m->n_rows / n * m->n_columns,
                            mixed((uint32_t)i) & 1 ? inverse : -inverse, m->n_columns);
}

/* Products of the sketch's rows, divided by their trace. False: nothing there, or out of range. */
static bool multiply_rows(const struct sz_matrix *m, float *g, unsigned n)
{
    float trace = 0;
    for (unsigned a = 0; a < n; a++) {
        float *row = g + a * SZ_BUCKETS;
        m->kernels->project(row, m->sketch + a * m->stride, m->n_columns, m->sketch, m->stride,
                            (a + 4) & ~3u);
        for (unsigned b = 0; b < a; b++)
            g[b * SZ_BUCKETS + a] = row[b];
    }
    for (unsigned a = 0; a < n; a++)
        trace += g[a * SZ_BUCKETS + a];
    if (!(trace > 0 && trace < 1e30f))
        return false;
    for (unsigned i = 0; i < n * SZ_BUCKETS; i++)
        g[i] *= 1 / trace;
    return true;
}

/* The largest directions of the sketch, orthonormal, into m->v. Returns: how many there are. */
static unsigned directions_of(struct sz_matrix *m, unsigned most, unsigned n)
{
    float g[SZ_BUCKETS * SZ_BUCKETS] = {0}, w[SZ_BUCKETS * SZ_WIDE];
    if (!multiply_rows(m, g, n))
        return 0;
    for (uint32_t i = 0; i < n * SZ_WIDE; i++)
        w[i] = mixed(i) & 1 ? 1.0f : -1.0f;
    for (unsigned i = 0; i < TURNS; i++)
        m->kernels->turn(w, g, n, most);
    for (unsigned j = 0; j < most; j++) {
        float *v = m->v + j * m->stride;
        for (unsigned b = 0; b < n; b++)
            m->kernels->add_row(v, m->sketch + b * m->stride, w[b * SZ_WIDE + j], m->n_columns);
        const float before = m->kernels->dot(v, v, m->n_columns);
        for (unsigned i = 0; i < j; i++) {
            const float *earlier = m->v + i * m->stride;
            m->kernels->add_row(v, earlier, -m->kernels->dot(v, earlier, m->n_columns),
                                m->n_columns);
        }
        const float norm = m->kernels->dot(v, v, m->n_columns);
        if (!(norm > 1e-4f * before && norm > 1e-20f)) {
            memset(v, 0, m->stride * sizeof(*v));
            return j;
        }
        const float scale = 1 / sqrtf(norm) - 1;
        m->kernels->add_row(v, v, scale, m->n_columns);
    }
    return most;
}

/* Bits that each number of directions saves in the whole tensor, by a sample of rows. */
struct account {
    double saved[SZ_MAX_DIRECTIONS + 1];
    double square[SZ_MAX_DIRECTIONS]; /* of a direction: its part in the mean square of a value */
};

/* A value of this mean square, rounded to integers, takes about these bits and a constant. */
static double bits_of(double mean_square)
{
    return 0.5 * strait_stable_log2(mean_square + 1.0 / 12);
}

static bool take_samples(struct account *a, const struct sz_matrix *m, const float *x,
                         float inverse, unsigned n_found)
{
    const size_t n_samples = m->n_rows < SAMPLES ? m->n_rows : SAMPLES;
    const double columns = (double)m->n_columns, unit = (double)inverse * (double)inverse / columns;
    const double weight = (double)m->n_rows / (double)n_samples * columns;
    memset(a, 0, sizeof(*a));
    for (size_t i = 0; i < n_samples; i++) {
        const float *row = x + i * m->n_rows / n_samples * m->n_columns;
        float u[SZ_MAX_DIRECTIONS];
        m->kernels->project(u, row, m->n_columns, m->v, m->stride, (n_found + 3) & ~3u);
        double left = (double)m->kernels->dot(row, row, m->n_columns) * unit;
        if (!(left < 1e30))
            return false;
        const double whole = bits_of(left);
        for (unsigned j = 0; j < n_found; j++) {
            const double square = (double)u[j] * (double)u[j] * unit;
            left = left > square ? left - square : 0;
            a->square[j] += square / (double)n_samples;
            a->saved[j + 1] += weight * (whole - bits_of(left + rounding * rounding));
        }
    }
    return true;
}

/* The step of a direction's integers, with k of them: each of both factors adds its share of the
 * rounding to a value. */
static double step_of(unsigned k)
{
    return rounding * sqrt(12) / sqrt(2 * (double)k);
}

/* How many directions save most, those that they cost themselves subtracted. */
static unsigned choose(const struct account *a, const struct sz_matrix *m, unsigned n_found,
                       double least)
{
    const double n_codes = (double)(m->n_rows + m->n_columns);
    double most = least;
    unsigned best = 0;
    for (unsigned k = 1; k <= n_found; k++) {
        double saved = a->saved[k];
        for (unsigned j = 0; j < k;
             j++) { /* a normal variable of this spread takes 2.05 bits more */
            const double spread = sqrt(a->square[j]) / step_of(k);
            saved -= n_codes * (spread > 0.25 ? strait_stable_log2(spread) + 2.05 : 0.5);
        }
        if (saved > most) {
            most = saved;
            best = k;
        }
    }
    return best;
}

/* Adding 1.5 * 2^23 rounds a float below 2^22 in magnitude to an integer; others stay large. */
static float rounded(double x)
{
    const float magic = 12582912.0f, narrow = (float)x;
    return narrow + magic - magic;
}

/* The power of 2 below x, with which products are exact more often. */
static float power_near(double x)
{
    int exponent;
    frexp(x, &exponent);
    return x < 1 ? ldexpf(0.5f, exponent) : 1;
}

STRAIT_CLONED
static void round_all(float *restrict code, const float *restrict v, size_t n, double step)
{
    for (size_t i = 0; i < n; i++)
        code[i] = rounded((double)v[i] / step);
}

static void set_codes(struct sz_matrix *m, const float *x, float inverse)
{
    const unsigned wanted = (m->rank + 3) & ~3u;
    const size_t rows = m->n_rows, columns = m->n_columns;
    const double of_column = step_of(m->rank) * sqrt((double)columns);
    double squares[SZ_MAX_DIRECTIONS] = {0};
    for (size_t r = 0; r < rows; r++) {
        float u[SZ_MAX_DIRECTIONS];
        m->kernels->project(u, x + r * columns, columns, m->v, m->stride, wanted);
        for (unsigned j = 0; j < m->rank; j++) {
            const double part = (double)u[j] * (double)inverse;
            squares[j] += part * part;
            m->code[j * (rows + columns) + r] = rounded(part / of_column);
        }
    }
    for (unsigned j = 0; j < m->rank; j++) {
        m->scale[j] = power_near(step_of(m->rank) * of_column / sqrt(squares[j] / (double)rows));
        round_all(m->code + j * (rows + columns) + rows, m->v + j * m->stride, columns,
                  (double)m->scale[j] / of_column);
    }
}

bool sz_matrix_find(struct sz_matrix *m, const float *x, float inverse, unsigned most, double rival)
{
    const size_t n = m->n_rows * m->n_columns;
    const size_t narrow = m->n_rows < m->n_columns ? m->n_rows : m->n_columns;
    struct account account;
    if (most > narrow / 4)
        most = (unsigned)(narrow / 4);
    const unsigned n_buckets = buckets(m, most);
    /* what is read four at a time */
    memset(m->v, 0, ((most + 3) & ~3u) * m->stride * sizeof(float));
    memset(m->sketch, 0, ((n_buckets + 3) & ~3u) * m->stride * sizeof(float));
    add_rows(m, x, inverse, n_buckets);
    const unsigned n_found = directions_of(m, most, n_buckets);
    if (!take_samples(&account, m, x, inverse, n_found))
        return false;
    m->rank = choose(&account, m, n_found, (double)n * (rival + 1.0 / 64));
    if (m->rank > 0)
        set_codes(m, x, inverse);
    return m->rank > 0;
}
