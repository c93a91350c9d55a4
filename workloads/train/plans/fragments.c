#include "fragments.h"

#include <assert.h>

/* Fill fragments from the front up to `most` each, always leaving enough layers for the remaining
 * fragments. Returns how many fragments it takes. */
static int fill(int *first, int n, const size_t *sizes, int n_layers, size_t most)
{
    int p = 0;
    size_t here = 0;
    first[0] = 0;
    for (int l = 0; l < n_layers; l++) {
        const int n_left = n_layers - l;
        if (l > first[p] && (here + sizes[l] > most || n_left <= n - 1 - p)) {
            here = 0;
            if (++p >= n)
                return n + 1;
            first[p] = l;
        }
        here += sizes[l];
    }
    first[p + 1] = n_layers;
    return p + 1;
}

void strait_cut_fragments(int *first, int n, const size_t *sizes, int n_layers)
{
    size_t low = 0, high = 0; /* the answer is in [low, high] */
    assert(n >= 1 && n <= n_layers);
    for (int l = 0; l < n_layers; l++) {
        low = sizes[l] > low ? sizes[l] : low;
        high += sizes[l];
    }
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (fill(first, n, sizes, n_layers, middle) <= n)
            high = middle;
        else
            low = middle + 1;
    }
    fill(first, n, sizes, n_layers, high);
}
