/* LayerNorm and GroupNorm, forward and backward (Ba, Kiros, Hinton, arXiv 1607.06450; Wu and He,
 * arXiv 1803.08494), with a scale and a bias. Gradients of scale and bias are added to what is
 * there. */
#pragma once
#include <stddef.h>

/** Rows x of d elements. Out: y; unit: x without mean and variance; over[n]: 1 / its deviation.
 *  y and unit are kept for the backward pass. d at least 1. */
void learn_layer_norm(float *y, float *unit, float *over, const float *x, const float *scale,
                      const float *bias, size_t n, size_t d);
/** dx (+= if `add`), dscale += and dbias += from dy. */
void learn_layer_norm_back(float *dx, float *dscale, float *dbias, const float *dy,
                           const float *unit, const float *over, const float *scale, size_t n,
                           size_t d, int add);

/* Images in memory: channel c of image b begins at b * image + c * channel, `pixels` in a row. */
struct learn_images {
    size_t n, channels, pixels;
    size_t image, channel;
};
/** Every group of channels of every image has its own mean and variance. `groups` divides the
 *  channels; over has n x groups. y, unit and x lie alike. */
void learn_group_norm(float *y, float *unit, float *over, const float *x, const float *scale,
                      const float *bias, const struct learn_images *at, size_t groups);
/** dx may be dy. */
void learn_group_norm_back(float *dx, float *dscale, float *dbias, const float *dy,
                           const float *unit, const float *over, const float *scale,
                           const struct learn_images *at, size_t groups);
