/* Deep Gradient Compression: the sparsifier, and the kernels of clipping and warm-up. */
#include "dgc.h"
#include <math.h>
#include "core/random.h"
#include "select.h"
#include "subset.h"

enum { MAX_ADJUSTMENTS = 10, N_LANES = 8 };
static const double sampled = 0.01;

static size_t at_least_one(double n)
{
    return n < 1 ? 1 : (size_t)n;
}

/* The smallest magnitude of the top of a sample; non-finite values count as 0 there, since no
 * factor brings a threshold back from infinity. */
static float sampled_threshold(const float *x, size_t n_elems, double ratio, uint64_t key,
                               uint32_t *sample)
{
    const size_t n = at_least_one((double)n_elems * sampled);
    const size_t k = at_least_one((double)n_elems * ratio * sampled);
    struct strait_sequence s =
        strait_sequence_at(strait_random_bits(key, "dgc sample", n_elems, 0));
    for (size_t i = 0; i < n; i++) {
        const uint32_t m =
            strait_magnitude(&x[strait_below(strait_sequence_next(&s), (uint32_t)n_elems)]);
        sample[i] = m > STRAIT_MAGNITUDE_LARGEST ? 0 : m;
    }
    return strait_magnitude_float(strait_kth_largest(sample, n, k < n ? k : n).magnitude);
}

static uint32_t cut_of(float threshold)
{
    const uint32_t m = strait_magnitude(&threshold);
    return m < 1 ? 1 : m > STRAIT_MAGNITUDE_LARGEST ? STRAIT_MAGNITUDE_LARGEST : m;
}

uint32_t strait_dgc_cut(size_t *n_chosen, const float *x, size_t n_elems, double ratio,
                        uint64_t key, uint32_t *scratch)
{
    const double wanted = fmax(1, (double)n_elems * ratio);
    uint32_t cut = cut_of(sampled_threshold(x, n_elems, ratio, key, scratch));
    size_t n = strait_count_reaching(x, n_elems, cut);
    uint32_t last_cut = cut; /* that any value reached, and by how many */
    size_t last_n = n;
    for (int i = 0; i < MAX_ADJUSTMENTS; i++) {
        const uint32_t before = cut;
        if ((double)n > 1.3 * wanted)
            cut = cut_of(1.3f * strait_magnitude_float(cut));
        else if ((double)n < 0.7 * wanted)
            cut = cut_of(0.7f * strait_magnitude_float(cut));
        else
            break;
        if (cut == before) /* at the smallest or the largest float */
            break;
        n = strait_count_reaching(x, n_elems, cut);
        last_cut = n > 0 ? cut : last_cut;
        last_n = n > 0 ? n : last_n;
    }
    if (n_chosen)
        *n_chosen = last_n;
    return last_cut;
}

static size_t max_chosen(const struct strait_sparsifier_params *p, size_t n_elems)
{
    (void)p;
    return n_elems;
}

static size_t choose(uint32_t *index, const float *x, size_t n_elems,
                     const struct strait_sparsifier_params *p, uint64_t key, uint32_t *scratch)
{
    if (n_elems == 0)
        return 0;
    return strait_select_reaching(index, x, n_elems,
                                  strait_dgc_cut(NULL, x, n_elems, p->ratio, key, scratch));
}

const struct strait_sparsifier strait_sparsifier_dgc = {
    .name = "dgc",
    .source = "Lin et al. 2018, threshold of a 1 % sample as in GRACE",
    .stochastic = true,
    .max_chosen = max_chosen,
    .choose = choose,
};

double strait_dgc_square_sum(const float *x, size_t n_elems)
{
    double lane[N_LANES] = {0}, sum = 0;
    for (size_t i = 0; i < n_elems; i++) {
        const double v = strait_magnitude(&x[i]) > STRAIT_MAGNITUDE_LARGEST ? 0 : (double)x[i];
        lane[i % N_LANES] += v * v;
    }
    for (size_t i = 0; i < N_LANES; i++)
        sum += lane[i];
    return sum;
}

void strait_dgc_clip(float *x, size_t n_elems, double square_sum, double limit)
{
    const double norm = sqrt(square_sum);
    if (!(norm > limit))
        return;
    const float scale = (float)(limit / norm);
    for (size_t i = 0; i < n_elems; i++)
        x[i] *= scale;
}

double strait_dgc_warm_up(double ratio, unsigned epoch)
{
    double of_epoch = 0.25;
    for (unsigned i = 0; i < epoch && of_epoch > ratio; i++)
        of_epoch *= 0.25;
    return of_epoch > ratio ? of_epoch : ratio;
}
