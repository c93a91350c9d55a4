/* The draws of the recorded curves (traces/curves): NumPy's default_rng(seed) splits the images and
 * draws the batches, PyTorch's manual_seed(seed) the initial weights. Found from the recording:
 * with these draws round 1 of its runs comes out to the last recorded digit,
 * tests/learn/test_recorded.c. All of it is written anew from the published algorithms. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 recorded_wide;

/* numpy.random.Generator of PCG64. */
struct recorded_draws {
    recorded_wide state, increment;
    uint32_t kept; /* the upper half of the last 64 bits, if has_kept */
    bool has_kept;
};

/** numpy.random.default_rng(seed). Source: O'Neill's seed_seq_fe128, PCG XSL-RR 128/64 */
void recorded_begin(struct recorded_draws *d, uint32_t seed);
/** integers(0, n): Lemire's method on 32 bits. */
uint32_t recorded_below(struct recorded_draws *d, uint32_t n);
/** The split: for each of n_labels labels its images shuffled and cut where the sum of
 *  dirichlet([alpha] * n_workers), alpha below 1, is.
 *  Out:     examples  n, worker by worker; ordered by label in each
 *           first     n_workers + 1: where a worker's begin
 *  Returns: false when memory ran out */
bool recorded_split(uint32_t *examples, uint32_t *first, struct recorded_draws *d,
                    const unsigned char *labels, unsigned n_labels, uint32_t n, int n_workers,
                    double alpha);

/* torch's generator for the processor: MT19937. */
struct recorded_weights {
    uint32_t words[624];
    size_t at;
};
/** torch.manual_seed(seed) */
void recorded_weights_begin(struct recorded_weights *w, uint32_t seed);
/** n floats of uniform_(-bound, bound), as nn.Linear and nn.Conv2d begin with. */
void recorded_uniform(float *x, size_t n, struct recorded_weights *w, double bound);
