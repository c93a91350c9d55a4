/* Turning a bound into an absolute error for one tensor: its finite range and rms, in double. */
#include "bound.h"
#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* A float's bits as an integer that orders as the floats do, NaN beyond the infinities. */
static inline int32_t order_of(const float *x)
{
    int32_t bits;
    memcpy(&bits, x, sizeof(bits));
    return bits ^ (int32_t)((uint32_t)(bits >> 31) >> 1);
}

static inline float float_of(int32_t order)
{
    const int32_t bits = order ^ (int32_t)((uint32_t)(order >> 31) >> 1);
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

struct extremes {
    int32_t low, high;
};

/* One loop, compiled for more than one set of instructions. */
static inline __attribute__((always_inline)) struct extremes extremes_in(const float *x, size_t n)
{
    struct extremes e = {.low = INT32_MAX, .high = INT32_MIN};
    for (size_t i = 0; i < n; i++) {
        const int32_t order = order_of(&x[i]);
        e.low = order < e.low ? order : e.low;
        e.high = order > e.high ? order : e.high;
    }
    return e;
}

/* From AVX2 on the loop waits for memory: AVX-512 was no faster. */
#if defined(__x86_64__)
__attribute__((target("avx2"))) static struct extremes extremes_avx2(const float *x, size_t n)
{
    return extremes_in(x, n);
}
#endif

static struct extremes extremes_of(enum strait_simd level, const float *x, size_t n)
{
#if defined(__x86_64__)
    if (level != STRAIT_SIMD_PORTABLE)
        return extremes_avx2(x, n);
#endif
    (void)level;
    return extremes_in(x, n);
}

struct strait_extent strait_extent_at(enum strait_simd level, const float *x, size_t n_elems)
{
    struct strait_extent extent = {.n_finite = n_elems, .all_finite = true};
    const struct extremes e = extremes_of(level, x, n_elems);
    const int32_t low = e.low, high = e.high;
    if (n_elems == 0)
        return extent;
    if (isfinite(float_of(low)) && isfinite(float_of(high))) {
        extent.min = (double)float_of(low);
        extent.max = (double)float_of(high);
        return extent;
    }
    extent.all_finite = false;
    extent.n_finite = 0;
    for (size_t i = 0; i < n_elems; i++) {
        if (!isfinite(x[i]))
            continue;
        const double v = (double)x[i];
        extent.min = extent.n_finite == 0 || v < extent.min ? v : extent.min;
        extent.max = extent.n_finite == 0 || v > extent.max ? v : extent.max;
        extent.n_finite++;
    }
    return extent;
}

struct strait_extent strait_extent_of(const float *x, size_t n_elems)
{
    return strait_extent_at(STRAIT_SIMD_PORTABLE, x, n_elems);
}

/* Compilers vectorise eight lanes to the speed of memory. */
enum { N_LANES = 8 };

double strait_rms_of(const float *x, size_t n_elems)
{
    double lane[N_LANES] = {0};
    size_t n_finite = n_elems, i = 0;
    for (; i + N_LANES <= n_elems; i += N_LANES)
        for (size_t k = 0; k < N_LANES; k++)
            lane[k] += (double)x[i + k] * (double)x[i + k];
    for (; i < n_elems; i++)
        lane[i % N_LANES] += (double)x[i] * (double)x[i];
    double sum = 0;
    for (size_t k = 0; k < N_LANES; k++)
        sum += lane[k];
    if (!isfinite(sum)) { /* 2^64 squares of floats fit a double: something was not finite */
        sum = 0;
        n_finite = 0;
        for (i = 0; i < n_elems; i++)
            if (isfinite(x[i])) {
                sum += (double)x[i] * (double)x[i];
                n_finite++;
            }
    }
    return n_finite > 0 ? sqrt(sum / (double)n_finite) : 0;
}

/* A mask: compilers vectorise no branch. */
static inline double finite_or_0(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    bits &= -(uint32_t)((bits & 0x7f800000u) != 0x7f800000u);
    memcpy(&x, &bits, sizeof(x));
    return (double)x;
}

STRAIT_CLONED
static double sum_of_squares(const float *x, size_t n)
{
    double lane[N_LANES] = {0}, sum = 0;
    size_t i = 0;
    for (; i + N_LANES <= n; i += N_LANES)
        for (size_t k = 0; k < N_LANES; k++) {
            const double v = finite_or_0(x[i + k]);
            lane[k] += v * v;
        }
    for (; i < n; i++) {
        const double v = finite_or_0(x[i]);
        lane[i % N_LANES] += v * v;
    }
    for (size_t k = 0; k < N_LANES; k++)
        sum += lane[k];
    return sum;
}

float strait_norm_of(const float *x, size_t n_elems)
{
    const double norm = sqrt(sum_of_squares(x, n_elems));
    return norm < (double)FLT_MAX ? (float)norm : FLT_MAX;
}

double strait_bound_within(struct strait_bound bound, const struct strait_extent *extent,
                           const float *x, size_t n_elems)
{
    assert(bound.kind != STRAIT_BOUND_POINTWISE && bound.kind != STRAIT_BOUND_RATIO);
    if (extent->n_finite == 0 || bound.kind == STRAIT_BOUND_NONE)
        return 0;
    if (bound.kind == STRAIT_BOUND_ABS)
        return bound.value;
    if (bound.kind == STRAIT_BOUND_RANGE)
        return bound.value * (extent->max - extent->min);
    return bound.value * strait_rms_of(x, n_elems);
}

double strait_bound_absolute(struct strait_bound bound, const float *x, size_t n_elems)
{
    const struct strait_extent extent = strait_extent_of(x, n_elems);
    return strait_bound_within(bound, &extent, x, n_elems);
}

static const char *const kind_names[] = {"none", "abs", "range", "rms", "pointwise", "ratio"};

const char *strait_bound_kind_name(enum strait_bound_kind kind)
{
    assert((size_t)kind < sizeof(kind_names) / sizeof(kind_names[0]));
    return kind_names[kind];
}

bool strait_bound_kind_parse(enum strait_bound_kind *kind, const char *name)
{
    for (unsigned k = 0; k < sizeof(kind_names) / sizeof(kind_names[0]); k++)
        if (strcmp(name, kind_names[k]) == 0) {
            *kind = (enum strait_bound_kind)k;
            return true;
        }
    return false;
}

int strait_bound_check(struct strait_bound bound, const struct strait_codec_ops *ops,
                       struct strait_error *err)
{
    if ((unsigned)bound.kind >= sizeof(kind_names) / sizeof(kind_names[0]) ||
        !(ops->bounds & 1u << bound.kind))
        return strait_refuse(err, ops->name, "expected a bound that this codec keeps, found \"%s\"",
                             (unsigned)bound.kind < sizeof(kind_names) / sizeof(kind_names[0])
                                 ? kind_names[bound.kind]
                                 : "?");
    if (bound.kind != STRAIT_BOUND_NONE && (!isfinite(bound.value) || bound.value < 0))
        return strait_refuse(err, ops->name, "expected a finite bound of at least 0, found %g",
                             bound.value);
    return 0;
}
