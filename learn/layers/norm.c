#include "norm.h"

#include <math.h>

#include "float_lanes.h"

/* PyTorch's, so that both compute the same. */
static const float EPSILON = 1e-5f;

STRAIT_CLONED
void learn_layer_norm(float *y, float *unit, float *over, const float *x, const float *scale,
                      const float *bias, size_t n, size_t d)
{
    for (size_t i = 0; i < n; i++, x += d, y += d, unit += d) {
        const float mean = learn_sum(x, d) / (float)d;
        const float r = 1 / sqrtf(learn_squares(x, mean, d) / (float)d + EPSILON);
        over[i] = r;
        for (size_t j = 0; j < d; j++) {
            unit[j] = (x[j] - mean) * r;
            y[j] = unit[j] * scale[j] + bias[j];
        }
    }
}

/* With u the unit values and g = dy scale: dx = over (g - mean(g) - u mean(g u)). */
STRAIT_CLONED
void learn_layer_norm_back(float *dx, float *dscale, float *dbias, const float *dy,
                           const float *unit, const float *over, const float *scale, size_t n,
                           size_t d, int add)
{
    for (size_t i = 0; i < n; i++, dx += d, dy += d, unit += d) {
        float plain[LEARN_LANES] = {0}, along[LEARN_LANES] = {0};
        for (size_t j = 0; j < d; j++) {
            dscale[j] += dy[j] * unit[j];
            dbias[j] += dy[j];
        }
        for (size_t j = 0; j < d; j += LEARN_LANES)
            for (size_t k = 0; k < LEARN_LANES && j + k < d; k++) {
                const float g = dy[j + k] * scale[j + k];
                plain[k] += g;
                along[k] += g * unit[j + k];
            }
        const float a = learn_join(plain) / (float)d, b = learn_join(along) / (float)d;
        for (size_t j = 0; j < d; j++) {
            const float v = over[i] * (dy[j] * scale[j] - a - unit[j] * b);
            dx[j] = add ? dx[j] + v : v;
        }
    }
}

STRAIT_CLONED
void learn_group_norm(float *y, float *unit, float *over, const float *x, const float *scale,
                      const float *bias, const struct learn_images *at, size_t groups)
{
    const size_t size = at->channels / groups, pixels = at->pixels;
    const float count = (float)(size * pixels);
    for (size_t i = 0; i < at->n * groups; i++) {
        const size_t first = i % groups * size, start = i / groups * at->image;
        float sum = 0, squares = 0;
        for (size_t c = first; c < first + size; c++)
            sum += learn_sum(x + start + c * at->channel, pixels);
        const float mean = sum / count;
        for (size_t c = first; c < first + size; c++)
            squares += learn_squares(x + start + c * at->channel, mean, pixels);
        const float r = 1 / sqrtf(squares / count + EPSILON);
        over[i] = r;
        for (size_t c = first; c < first + size; c++) {
            const size_t p = start + c * at->channel;
            for (size_t j = p; j < p + pixels; j++) {
                unit[j] = (x[j] - mean) * r;
                y[j] = unit[j] * scale[c] + bias[c];
            }
        }
    }
}

STRAIT_CLONED
void learn_group_norm_back(float *dx, float *dscale, float *dbias, const float *dy,
                           const float *unit, const float *over, const float *scale,
                           const struct learn_images *at, size_t groups)
{
    const size_t size = at->channels / groups, pixels = at->pixels;
    const float count = (float)(size * pixels);
    for (size_t i = 0; i < at->n * groups; i++) {
        const size_t first = i % groups * size, start = i / groups * at->image;
        float a = 0, b = 0;
        for (size_t c = first; c < first + size; c++) {
            const size_t p = start + c * at->channel;
            const float plain = learn_sum(dy + p, pixels),
                        along = learn_dot(dy + p, unit + p, pixels);
            dbias[c] += plain;
            dscale[c] += along;
            a += plain * scale[c];
            b += along * scale[c];
        }
        a /= count;
        b /= count;
        for (size_t c = first; c < first + size; c++) {
            const size_t p = start + c * at->channel;
            for (size_t j = p; j < p + pixels; j++)
                dx[j] = over[i] * (dy[j] * scale[c] - a - unit[j] * b);
        }
    }
}
