/* Bytes of floats grouped by significance. */
#include "planes.h"
#include <stdint.h>
#include <string.h>

void strait_planes_split(unsigned char *planes, const float *x, size_t n_elems)
{
    const size_t n = n_elems;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof(bits));
        planes[i] = (unsigned char)bits;
        planes[n + i] = (unsigned char)(bits >> 8);
        planes[2 * n + i] = (unsigned char)(bits >> 16);
        planes[3 * n + i] = (unsigned char)(bits >> 24);
    }
}

void strait_planes_join(float *y, const unsigned char *planes, size_t n_elems)
{
    const size_t n = n_elems;
    for (size_t i = 0; i < n; i++) {
        const uint32_t bits = (uint32_t)planes[i] | (uint32_t)planes[n + i] << 8 |
                              (uint32_t)planes[2 * n + i] << 16 | (uint32_t)planes[3 * n + i] << 24;
        memcpy(&y[i], &bits, sizeof(bits));
    }
}
