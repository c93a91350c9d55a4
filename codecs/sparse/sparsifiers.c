/* The one table of sparsifiers, and the short ones. */
#include "sparse.h"
#include "select.h"
#include "subset.h"

size_t strait_sparse_share(double ratio, size_t n_elems)
{
    const double k = (double)n_elems * ratio;
    return n_elems == 0 ? 0 : k < 1 ? 1 : k >= (double)n_elems ? n_elems : (size_t)k;
}

static size_t share(const struct strait_sparsifier_params *p, size_t n_elems)
{
    return strait_sparse_share(p->ratio, n_elems);
}

static size_t choose_largest(uint32_t *index, const float *x, size_t n_elems,
                             const struct strait_sparsifier_params *p, uint64_t key,
                             uint32_t *scratch)
{
    const size_t k = share(p, n_elems);
    (void)key;
    strait_select_largest(index, x, n_elems, k, scratch);
    return k;
}

const struct strait_sparsifier strait_sparsifier_topk = {
    .name = "topk",
    .source = "Aji and Heafield 2017; of equal magnitudes the first",
    .max_chosen = share,
    .choose = choose_largest,
};

static size_t choose_random(uint32_t *index, const float *x, size_t n_elems,
                            const struct strait_sparsifier_params *p, uint64_t key,
                            uint32_t *scratch)
{
    const size_t k = share(p, n_elems);
    (void)x;
    strait_random_subset(index, n_elems, k, key, scratch);
    return k;
}

const struct strait_sparsifier strait_sparsifier_randomk = {
    .name = "randomk",
    .source = "Stich, Cordonnier, Jaggi 2018; Floyd's sampling",
    .stochastic = true,
    .max_chosen = share,
    .choose = choose_random,
};

static size_t all(const struct strait_sparsifier_params *p, size_t n_elems)
{
    (void)p;
    return n_elems;
}

static size_t choose_reaching(uint32_t *index, const float *x, size_t n_elems,
                              const struct strait_sparsifier_params *p, uint64_t key,
                              uint32_t *scratch)
{
    (void)key;
    (void)scratch;
    return strait_select_reaching(index, x, n_elems, strait_magnitude_of_least(p->threshold));
}

const struct strait_sparsifier strait_sparsifier_threshold = {
    .name = "threshold",
    .source = "Dutta et al. 2020: every |x| of at least the threshold",
    .max_chosen = all,
    .choose = choose_reaching,
};

static const struct strait_sparsifier *const sparsifiers[] = {
    &strait_sparsifier_topk, /* the largest */
    &strait_sparsifier_randomk, &strait_sparsifier_threshold,
    &strait_sparsifier_dgc,  /* about the largest, a sampled threshold */
    &strait_sparsifier_adaq, /* the same for each sign */
};
enum { N_SPARSIFIERS = sizeof(sparsifiers) / sizeof(sparsifiers[0]) };

const char *const strait_sparsifier_names[] = {"topk", "randomk", "threshold", "dgc", "adaq", NULL};

const struct strait_sparsifier *const *strait_sparsifiers(size_t *n)
{
    *n = N_SPARSIFIERS;
    return sparsifiers;
}
