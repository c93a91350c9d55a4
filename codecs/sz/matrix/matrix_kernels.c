/* sz: the loops over rows of a matrix, compiled for each level. */
#include "matrix_kernels.h"
#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { AT_ONCE = 4 };

/* Sixteen numbers that need no alignment. */
typedef float wide __attribute__((vector_size(4 * SZ_WIDE), aligned(4), may_alias));
typedef int32_t integers __attribute__((vector_size(4 * SZ_WIDE), aligned(4), may_alias));

struct figures { /* of magnitudes, and minus the number of zeros */
    integers sum, max, zeros;
};

/* Adding 1.5 * 2^23 rounds a float below 2^22 in magnitude to an integer. */
static const float magic = 12582912.0f;

#define SZ_ALWAYS static inline __attribute__((always_inline))

typedef float quad __attribute__((vector_size(16), aligned(4), may_alias));

/* The upper half to the lower one, and again, until four are left. */
SZ_ALWAYS quad quarters(const wide *sum)
{
    const quad *q = (const quad *)sum;
    return (q[0] + q[2]) + (q[1] + q[3]);
}

/* And until one is. */
SZ_ALWAYS float halves(const wide *sum)
{
    const quad q = quarters(sum);
    return (q[0] + q[2]) + (q[1] + q[3]);
}

/* The same of four, side by side. */
SZ_ALWAYS void four_halves(float *out, const wide *sum)
{
    const quad a = quarters(sum), b = quarters(sum + 1), c = quarters(sum + 2),
               d = quarters(sum + 3);
    const quad ab = __builtin_shufflevector(a, b, 0, 4, 1, 5),
               cd = __builtin_shufflevector(c, d, 0, 4, 1, 5),
               ab2 = __builtin_shufflevector(a, b, 2, 6, 3, 7),
               cd2 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    const quad first = ab + ab2, other = cd + cd2; /* a0 b0 a1 b1, c0 d0 c1 d1 */
    *(quad *)out = __builtin_shufflevector(first, other, 0, 1, 4, 5) +
                   __builtin_shufflevector(first, other, 2, 3, 6, 7);
}

#define MULTIPLY_ADD(s, v, w) (*(s) += *(const wide *)(v) * (w))

#define SZ_TARGET
#define SZ_NAME(name)            portable_##name
#define SZ_SHARE(name)           portable_share_##name
#define SZ_MULTIPLY_ADD(s, v, w) MULTIPLY_ADD(s, v, w)
#include "matrix_share_body.h"
#define portable_share portable_share_kernels
#define portable_exact portable_share_kernels
#include "matrix_kernels_body.h"
#undef SZ_MULTIPLY_ADD
#undef SZ_SHARE
#undef SZ_NAME
#undef SZ_TARGET

#if defined(__x86_64__)
#define SZ_TARGET                __attribute__((target("avx2,fma")))
#define SZ_NAME(name)            avx2_##name
#define SZ_SHARE(name)           avx2_share_##name
#define SZ_MULTIPLY_ADD(s, v, w) MULTIPLY_ADD(s, v, w)
#include "matrix_share_body.h"
#undef SZ_MULTIPLY_ADD
#undef SZ_SHARE

SZ_TARGET SZ_ALWAYS void avx2_fused(float *s, const float *v, float w)
{
    const __m256 both = _mm256_set1_ps(w);
    for (unsigned i = 0; i < SZ_WIDE; i += 8)
        _mm256_storeu_ps(s + i,
                         _mm256_fmadd_ps(_mm256_loadu_ps(v + i), both, _mm256_loadu_ps(s + i)));
}

#define SZ_SHARE(name)           avx2_exact_##name
#define SZ_MULTIPLY_ADD(s, v, w) avx2_fused((float *)(s), v, w)
#include "matrix_share_body.h"
#define avx2_share avx2_share_kernels
#define avx2_exact avx2_exact_kernels
#include "matrix_kernels_body.h"
#undef SZ_MULTIPLY_ADD
#undef SZ_SHARE
#undef SZ_NAME
#undef SZ_TARGET

#define SZ_TARGET                __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")))
#define SZ_NAME(name)            avx512_##name
#define SZ_SHARE(name)           avx512_share_##name
#define SZ_MULTIPLY_ADD(s, v, w) MULTIPLY_ADD(s, v, w)
#include "matrix_share_body.h"
#undef SZ_MULTIPLY_ADD
#undef SZ_SHARE

SZ_TARGET SZ_ALWAYS void avx512_fused(float *s, const float *v, float w)
{
    _mm512_storeu_ps(s, _mm512_fmadd_ps(_mm512_loadu_ps(v), _mm512_set1_ps(w), _mm512_loadu_ps(s)));
}

#define SZ_SHARE(name)           avx512_exact_##name
#define SZ_MULTIPLY_ADD(s, v, w) avx512_fused((float *)(s), v, w)
#include "matrix_share_body.h"
#define avx512_share avx512_share_kernels
#define avx512_exact avx512_exact_kernels
#include "matrix_kernels_body.h"
#undef SZ_MULTIPLY_ADD
#undef SZ_SHARE
#undef SZ_NAME
#undef SZ_TARGET
#endif

const struct sz_matrix_kernels *sz_matrix_kernels_at(enum strait_simd level)
{
#if defined(__x86_64__)
    if (level != STRAIT_SIMD_PORTABLE)
        return level == STRAIT_SIMD_AVX512 ? &avx512_kernels : &avx2_kernels;
#endif
    (void)level;
    return &portable_kernels;
}
