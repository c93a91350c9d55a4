/* Sums, maxima and exponentials of floats that vectorise and give the same bits at every vector
 * width: sixteen partial results, joined in a fixed order. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "core/host.h"

enum { LEARN_LANES = 16 };

STRAIT_INLINE float learn_join(const float *lanes)
{
    float x[LEARN_LANES];
    memcpy(x, lanes, sizeof(x));
    for (int half = LEARN_LANES / 2; half > 0; half /= 2)
        for (int j = 0; j < half; j++)
            x[j] += x[j + half];
    return x[0];
}

STRAIT_INLINE float learn_sum(const float *x, size_t n)
{
    float lanes[LEARN_LANES] = {0};
    size_t i = 0;
    for (; i + LEARN_LANES <= n; i += LEARN_LANES)
        for (int j = 0; j < LEARN_LANES; j++)
            lanes[j] += x[i + (size_t)j];
    for (int j = 0; i < n; i++, j++)
        lanes[j] += x[i];
    return learn_join(lanes);
}

STRAIT_INLINE float learn_dot(const float *x, const float *y, size_t n)
{
    float lanes[LEARN_LANES] = {0};
    size_t i = 0;
    for (; i + LEARN_LANES <= n; i += LEARN_LANES)
        for (int j = 0; j < LEARN_LANES; j++)
            lanes[j] += x[i + (size_t)j] * y[i + (size_t)j];
    for (int j = 0; i < n; i++, j++)
        lanes[j] += x[i] * y[i];
    return learn_join(lanes);
}

/* Sum of (x - mean)^2. */
STRAIT_INLINE float learn_squares(const float *x, float mean, size_t n)
{
    float lanes[LEARN_LANES] = {0};
    size_t i = 0;
    for (; i + LEARN_LANES <= n; i += LEARN_LANES)
        for (int j = 0; j < LEARN_LANES; j++)
            lanes[j] += (x[i + (size_t)j] - mean) * (x[i + (size_t)j] - mean);
    for (int j = 0; i < n; i++, j++)
        lanes[j] += (x[i] - mean) * (x[i] - mean);
    return learn_join(lanes);
}

/* The largest of n >= 1. Without a NaN among them; with one, any of them. */
STRAIT_INLINE float learn_largest(const float *x, size_t n)
{
    float lanes[LEARN_LANES], most;
    size_t i = 0;
    for (int j = 0; j < LEARN_LANES; j++)
        lanes[j] = x[0];
    for (; i + LEARN_LANES <= n; i += LEARN_LANES)
        for (int j = 0; j < LEARN_LANES; j++)
            lanes[j] = lanes[j] > x[i + (size_t)j] ? lanes[j] : x[i + (size_t)j];
    for (int j = 0; i < n; i++, j++)
        lanes[j] = lanes[j] > x[i] ? lanes[j] : x[i];
    most = lanes[0];
    for (int j = 1; j < LEARN_LANES; j++)
        most = most > lanes[j] ? most : lanes[j];
    return most;
}

/* e^x to 2 units in the last place between -64 and 64, and e^-64 or e^64 beyond: far from what
 * processors compute slowly, denormal numbers. NaN for NaN.
 * Source: the polynomial and the split of ln 2 of Cephes' expf (Moshier). */
STRAIT_INLINE float learn_exp(float x)
{
    const float most = 64, least = -64, round = 12582912; /* 1.5 x 2^23: no fraction is left */
    int32_t bits;
    uint32_t power;
    float scale;
    x = most < x ? most : x;
    x = least > x ? least : x;
    const float shifted = x * 1.44269504088896341f + round, n = shifted - round;
    const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1;
    memcpy(&bits, &shifted, sizeof(bits));
    power = (uint32_t)(bits - 0x4b400000 + 127) << 23;
    memcpy(&scale, &power, sizeof(scale));
    return p * scale;
}
