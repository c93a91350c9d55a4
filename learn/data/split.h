/* Which worker has which examples, and in which order it meets them. */
#pragma once
#include <stdint.h>
#include "core/error.h"

struct strait_split {
    uint32_t *examples; /* worker k has examples[first[k]] .. examples[first[k + 1] - 1] */
    uint32_t *first;    /* n_workers + 1 */
    int n_workers;
};

/** Split n examples over workers.
 *  In:      labels  of each example, below n_labels; NULL: none
 *           alpha   of each label, the shares of workers are a draw of a Dirichlet distribution
 *                   with all parameters alpha, so that sizes differ too; INFINITY: shuffled, sizes
 *                   differ by one at most
 *           least   examples that every worker has: draws that give less are drawn anew
 *  Returns: 0, or -1 with *err INPUT where so many workers cannot have so many examples
 *  Source:  Hsu, Qi and Brown, arXiv 1909.06335, by label as Li et al., arXiv 2102.02079 */
int strait_split_new(struct strait_split *s, const unsigned char *labels, unsigned n_labels,
                     uint32_t n, int n_workers, double alpha, uint32_t least, uint64_t seed,
                     struct strait_error *err);
void strait_split_release(struct strait_split *s);

/** Element `place` of a random permutation of [0, n) that depends on key alone: O(1), no table.
 *  Source:  a Feistel network of four rounds on the next power of four, walked until the result is
 *           below n (Black and Rogaway 2002, "Ciphers with arbitrary finite domains") */
uint32_t strait_permuted(uint64_t key, uint32_t n, uint32_t place);

/** Of a worker's minibatch number `step`, which of its own examples they are, from 0 on: each epoch
 *  is a new permutation of its data, and batches follow one another through epochs without a gap.
 *  Out:     places  batch numbers */
void strait_split_places(const struct strait_split *s, uint64_t seed, int worker, uint64_t step,
                         int batch, uint32_t *places);
/** The examples of a worker's minibatch number `step`, by strait_split_places.
 *  Out:     examples  batch indices */
void strait_split_batch(const struct strait_split *s, uint64_t seed, int worker, uint64_t step,
                        int batch, uint32_t *examples);
