/* Cut a model into fragments of whole layers. Pure. */
#pragma once
#include <stddef.h>

/** Cut n_layers layers into n fragments of consecutive layers so that the largest fragment, which
 *  sets the peak of the traffic, is as small as possible.
 *  Out:     first   n + 1 layers: fragment p is [first[p], first[p + 1]); none is empty
 *  In:      sizes   elements of each layer, n_layers of them, at least n
 *  Cost:    O(n_layers log(sum of sizes)) */
void strait_cut_fragments(int *first, int n, const size_t *sizes, int n_layers);
