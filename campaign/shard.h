/* One of several runs that share the points of an experiment: the i-th takes every n-th point, with
 * all backends, repeats and the point without compression counted as another one. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct strait_shard {
    size_t i, n; /* i from 0; n 0 or 1: all points */
};

static inline bool strait_shard_has(const struct strait_shard *s, size_t i_point)
{
    return s->n <= 1 || i_point % s->n == s->i;
}
