/* dexp: the magnitudes in descending order as a e^(bx) + c e^(dx), x from 0 at the first to 1 at
 * the last (DeepReduce, Xu et al. 2021, section 6). a, b, c, d are sent: float32 packed, float64
 * published.
 *
 * The exponents come from the published method, an integral equation turned into a linear system
 * (Jacquelin 2009), or from a grid if these fit better: the equation fails on curves that are not
 * such sums, for example with one huge value. a and c then follow by least squares over all values.
 * All sums run from the first value to the last, and the exponential is our own (stable_math.h), so
 * the bytes are the same everywhere.
 *
 * NaN counts as 0, infinities as the largest float. */
#include <float.h>
#include <math.h>
#include "least_squares.h"
#include "codecs/kit/stable_math.h"
#include "value_codec.h"

enum { N_SAMPLES = 128, N_GRID = 13 };
static const double grid[N_GRID] = {0,   -0.5, -1,   -2,   -4,    -8,    -16,
                                    -32, -64,  -128, -512, -2048, -16384};
static const double steepest = -1e5, rising = 50; /* exponents outside are not a fit */

struct dexp {
    double a, b, c, d;
};

static double magnitude(float x)
{
    if (isnan(x))
        return 0;
    return isinf(x) ? (double)FLT_MAX : fabs((double)x);
}

static float to_float(double x)
{
    if (!(x < (double)FLT_MAX))
        return x > 0 ? FLT_MAX : 0;
    return x > -(double)FLT_MAX ? (float)x : -FLT_MAX;
}

/* e^(exponent x) at the places i / (n - 1), one after another. */
struct decay {
    double value, factor;
};

static struct decay decay_of(double exponent, size_t n)
{
    const double step = n > 1 ? 1.0 / (double)(n - 1) : 0;
    return (struct decay){1, strait_stable_exp(exponent * step)};
}

static inline double decay_next(struct decay *d)
{
    const double value = d->value;
    d->value = value < 1e-250 ? 0 : value * d->factor; /* denormals would be slow */
    return value;
}

/* The best two factors for given exponents; 0 if undetermined. */
static void factors(double *a, double *c, double uu, double uv, double vv, double uy, double vy)
{
    const double determinant = uu * vv - uv * uv;
    *c = 0;
    *a = uu > 0 ? uy / uu : 0;
    if (determinant > 1e-10 * uu * vv) {
        *a = (uy * vv - vy * uv) / determinant;
        *c = (vy * uu - uy * uv) / determinant;
    }
}

/* Squared error over the sample, minus a constant that is the same for all exponents. */
static double sample_error(const double *y, size_t n, double p, double q)
{
    struct decay u = decay_of(p, n), v = decay_of(q, n);
    double uu = 0, uv = 0, vv = 0, uy = 0, vy = 0, a, c;
    for (size_t i = 0; i < n; i++) {
        const double eu = decay_next(&u), ev = decay_next(&v);
        uu += eu * eu;
        uv += eu * ev;
        vv += ev * ev;
        uy += eu * y[i];
        vy += ev * y[i];
    }
    factors(&a, &c, uu, uv, vv, uy, vy);
    const double e = a * (a * uu + 2 * c * uv - 2 * uy) + c * (c * vv - 2 * vy);
    return isfinite(e) ? e : INFINITY;
}

static double best_of_grid(double *p, double *q, const double *y, size_t n)
{
    double least = INFINITY;
    for (unsigned i = 0; i < N_GRID; i++)
        for (unsigned k = i + 1; k < N_GRID; k++) {
            const double e = sample_error(y, n, grid[i], grid[k]);
            if (e < least) {
                least = e;
                *p = grid[i];
                *q = grid[k];
            }
        }
    return least;
}

/* Exponents from y = A SS + B S + C x + D, S and SS the integrals of y and of S: the roots of
 * z^2 = A + B z. */
static bool by_integrals(double *p, double *q, const float *v, size_t n, double scale)
{
    double a[STRAIT_MAX_UNKNOWNS][STRAIT_MAX_UNKNOWNS] = {{0}}, right[4] = {0}, answer[4];
    double s = 0, ss = 0, before = 0;
    const double step = n > 1 ? 1.0 / (double)(n - 1) : 0;
    for (size_t i = 0; i < n; i++) {
        const double y = magnitude(v[i]) * scale;
        if (i > 0) {
            const double next = s + 0.5 * (y + before) * step;
            ss += 0.5 * (next + s) * step;
            s = next;
        }
        before = y;
        const double row[4] = {ss, s, (double)i * step, 1};
        for (unsigned k = 0; k < 4; k++) {
            right[k] += row[k] * y;
            for (unsigned l = 0; l < 4; l++)
                a[k][l] += row[k] * row[l];
        }
    }
    if (n < 8 || !strait_solve(answer, a, right, 4))
        return false;
    const double square = answer[1] * answer[1] + 4 * answer[0];
    if (!(square > 0))
        return false;
    *p = 0.5 * (answer[1] + sqrt(square));
    *q = 0.5 * (answer[1] - sqrt(square));
    return *p > steepest && *p<rising && * q> steepest && *q < rising;
}

/* Factors over all values, for the exponents as the receiver gets them. */
static void fit_factors(struct dexp *f, const float *v, size_t n, double scale)
{
    struct decay u = decay_of(f->b, n), w = decay_of(f->d, n);
    double uu = 0, uv = 0, vv = 0, uy = 0, vy = 0;
    for (size_t i = 0; i < n; i++) {
        const double eu = decay_next(&u), ev = decay_next(&w), y = magnitude(v[i]) * scale;
        uu += eu * eu;
        uv += eu * ev;
        vv += ev * ev;
        uy += eu * y;
        vy += ev * y;
    }
    factors(&f->a, &f->c, uu, uv, vv, uy, vy);
    f->a /= scale;
    f->c /= scale;
}

static struct dexp fit(const float *v, size_t n, bool published)
{
    struct dexp f = {0};
    double y[N_SAMPLES], p, q, largest = 0;
    const size_t n_samples = n < N_SAMPLES ? n : N_SAMPLES;
    for (size_t i = 0; i < n; i++)
        largest = magnitude(v[i]) > largest ? magnitude(v[i]) : largest;
    if (!(largest > 0))
        return f;
    const double scale = 1 / largest; /* finite in double even for a denormal */
    for (size_t i = 0; i < n_samples; i++)
        y[i] = magnitude(v[n_samples > 1 ? i * (n - 1) / (n_samples - 1) : 0]) * scale;
    const double least = best_of_grid(&f.b, &f.d, y, n_samples);
    if (by_integrals(&p, &q, v, n, scale) && sample_error(y, n_samples, p, q) < least) {
        f.b = p;
        f.d = q;
    }
    if (!published) {
        f.b = (double)(float)f.b;
        f.d = (double)(float)f.d;
    }
    fit_factors(&f, v, n, scale);
    return f;
}

static size_t dexp_max_bytes(const struct strait_value_coder *c, size_t n_values)
{
    (void)n_values;
    return c->params.published ? 32 : 16;
}

static int dexp_encode(const struct strait_value_coder *coder, struct strait_writer *w,
                       const float *v, size_t n_values, uint64_t key, struct strait_error *err)
{
    (void)key;
    (void)err;
    const bool published = coder->params.published;
    const struct dexp f = fit(v, n_values, published);
    const double sent[4] = {f.a, f.b, f.c, f.d};
    if (!strait_write_room(w, published ? 32 : 16))
        return 0;
    for (unsigned i = 0; i < 4; i++, w->p += published ? 8 : 4) {
        if (published)
            strait_put_double(w->p, sent[i]);
        else
            strait_put_float(w->p, to_float(sent[i]));
    }
    return 0;
}

static int dexp_decode(const struct strait_value_coder *coder, float *v, size_t n_values,
                       const unsigned char *in, size_t len_bytes, struct strait_error *err)
{
    const size_t each = coder->params.published ? 8 : 4;
    double c[4];
    bool good = len_bytes == 4 * each;
    for (unsigned i = 0; i < 4 && good; i++) {
        c[i] = each == 8 ? strait_get_double(in + 8 * i) : (double)strait_get_float(in + 4 * i);
        good = isfinite(c[i]);
    }
    if (!good)
        return strait_refuse(err, "dexp", "expected 4 finite numbers in %zu bytes, found %zu bytes",
                             4 * each, len_bytes);
    struct decay u = decay_of(c[1], n_values), w = decay_of(c[3], n_values);
    for (size_t i = 0; i < n_values; i++) {
        const double y = c[0] * decay_next(&u) + c[2] * decay_next(&w);
        v[i] = to_float(y > 0 ? y : 0);
    }
    return 0;
}

const struct strait_value_codec strait_value_dexp = {
    .name = "dexp",
    .source = "DeepReduce, Xu et al. 2021, section 6",
    .permutes = true,
    .magnitudes = true,
    .max_bytes = dexp_max_bytes,
    .encode = dexp_encode,
    .decode = dexp_decode,
};
