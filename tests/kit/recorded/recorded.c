/* NumPy's and PyTorch's draws. */
#include "recorded.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- numpy.random */

static uint32_t scramble(uint32_t value, uint32_t *constant, uint32_t by)
{
    value ^= *constant;
    *constant *= by;
    value *= *constant;
    return value ^ value >> 16;
}

/* Four 64-bit words of SeedSequence(seed). */
static void seed_words(uint64_t *words, uint32_t seed)
{
    uint32_t pool[4], constant = 0x43b0d7e5, halves[8];
    for (size_t i = 0; i < 4; i++)
        pool[i] = scramble(i == 0 ? seed : 0, &constant, 0x931e8875);
    for (size_t from = 0; from < 4; from++)
        for (size_t to = 0; to < 4; to++) {
            if (from == to)
                continue;
            const uint32_t other = scramble(pool[from], &constant, 0x931e8875);
            const uint32_t mixed = 0xca01f9dd * pool[to] - 0x4973f715 * other;
            pool[to] = mixed ^ mixed >> 16;
        }
    constant = 0x8b51f9dd;
    for (size_t i = 0; i < 8; i++)
        halves[i] = scramble(pool[i % 4], &constant, 0x58f38ded);
    for (size_t i = 0; i < 4; i++)
        words[i] = halves[2 * i] | (uint64_t)halves[2 * i + 1] << 32;
}

static recorded_wide wide(uint64_t high, uint64_t low)
{
    return (recorded_wide)high << 64 | low;
}

static void step(struct recorded_draws *d)
{
    d->state = d->state * wide(2549297995355413924u, 4865540595714422341u) + d->increment;
}

void recorded_begin(struct recorded_draws *d, uint32_t seed)
{
    uint64_t words[4];
    seed_words(words, seed);
    *d = (struct recorded_draws){.increment = wide(words[2], words[3]) << 1 | 1};
    step(d);
    d->state += wide(words[0], words[1]);
    step(d);
}

static uint64_t bits(struct recorded_draws *d)
{
    step(d);
    const uint64_t mixed = (uint64_t)(d->state >> 64) ^ (uint64_t)d->state;
    const unsigned by = (unsigned)(d->state >> 122);
    return mixed >> by | mixed << (-by & 63);
}

static uint32_t half_bits(struct recorded_draws *d)
{
    if (!d->has_kept) {
        const uint64_t both = bits(d);
        d->kept = (uint32_t)(both >> 32);
        d->has_kept = true;
        return (uint32_t)both;
    }
    d->has_kept = false;
    return d->kept;
}

uint32_t recorded_below(struct recorded_draws *d, uint32_t n)
{
    uint64_t product = (uint64_t)half_bits(d) * n;
    if ((uint32_t)product < n)
        for (const uint32_t least = -n % n; (uint32_t)product < least;)
            product = (uint64_t)half_bits(d) * n;
    return (uint32_t)(product >> 32);
}

static double unit(struct recorded_draws *d)
{
    return (double)(bits(d) >> 11) * 0x1p-53;
}

/* Exponential draws by 256 layers of equal area (Marsaglia and Tsang 2000). */
struct layers {
    double width[256], height[256];
    uint64_t inside[256];
};
static const double end_of_layers = 7.69711747013104972;

static void lay(struct layers *t)
{
    const double area = 3.9496598225815571993e-3, range = 0x1p53;
    double x = end_of_layers, above = x;
    const double whole = area / exp(-x);
    t->inside[0] = (uint64_t)(x / whole * range);
    t->inside[1] = 0;
    t->width[0] = whole / range;
    t->width[255] = x / range;
    t->height[0] = 1;
    t->height[255] = exp(-x);
    for (size_t i = 254; i >= 1; i--) {
        x = -log(area / x + exp(-x));
        t->inside[i + 1] = (uint64_t)(x / above * range);
        above = x;
        t->height[i] = exp(-x);
        t->width[i] = x / range;
    }
}

static double exponential(struct recorded_draws *d, const struct layers *t)
{
    for (;;) {
        const uint64_t drawn = bits(d) >> 3;
        const size_t i = drawn & 255;
        const double x = (double)(drawn >> 8) * t->width[i];
        if (drawn >> 8 < t->inside[i])
            return x;
        if (i == 0)
            return end_of_layers - log1p(-unit(d));
        if ((t->height[i - 1] - t->height[i]) * unit(d) + t->height[i] < exp(-x))
            return x;
    }
}

/* A gamma draw of shape below 1 (Ahrens and Dieter 1974, GS). */
static double gamma_draw(struct recorded_draws *d, const struct layers *t, double shape)
{
    for (;;) {
        const double u = unit(d), v = exponential(d, t);
        if (u <= 1 - shape) {
            const double x = pow(u, 1 / shape);
            if (x <= v)
                return x;
        } else {
            const double y = -log((1 - u) / shape), x = pow(1 - shape + shape * y, 1 / shape);
            if (x <= v + y)
                return x;
        }
    }
}

/* dirichlet([alpha] * n), summed up: where parts of 0 to 1 end. */
static void dirichlet_ends(double *ends, int n, struct recorded_draws *d, const struct layers *t,
                           double alpha)
{
    double sum = 0, before = 0;
    for (int k = 0; k < n; k++)
        sum += ends[k] = gamma_draw(d, t, alpha);
    for (int k = 0; k < n; k++)
        before = ends[k] = before + ends[k] * (1 / sum);
}

/* shuffle() takes the smallest mask of ones above each end, and draws until what it leaves fits. */
static void shuffle(uint32_t *x, uint32_t n, struct recorded_draws *d)
{
    for (uint32_t i = n - 1; i >= 1; i--) {
        const uint32_t mask = UINT32_MAX >> __builtin_clz(i);
        uint32_t j;
        do
            j = half_bits(d) & mask;
        while (j > i);
        const uint32_t kept = x[i];
        x[i] = x[j];
        x[j] = kept;
    }
}

bool recorded_split(uint32_t *examples, uint32_t *first, struct recorded_draws *d,
                    const unsigned char *labels, unsigned n_labels, uint32_t n, int n_workers,
                    double alpha)
{
    const size_t workers = (size_t)n_workers;
    struct layers layers;
    uint32_t *order = malloc(n * sizeof(*order));
    uint32_t *owner = malloc(n * sizeof(*owner)); /* of the images in `order` */
    uint32_t *label_first = calloc(n_labels + 1, sizeof(*label_first));
    double *ends = malloc(workers * sizeof(*ends));
    const bool good = order && owner && label_first && ends;
    lay(&layers);
    memset(first, 0, (workers + 1) * sizeof(*first));
    for (unsigned label = 0; good && label < n_labels; label++) {
        uint32_t *own = order + label_first[label], n_own = 0;
        for (uint32_t i = 0; i < n; i++)
            if (labels[i] == label)
                own[n_own++] = i;
        label_first[label + 1] = label_first[label] + n_own;
        shuffle(own, n_own, d);
        dirichlet_ends(ends, n_workers, d, &layers, alpha);
        for (uint32_t i = 0, k = 0; i < n_own; i++) {
            while (k + 1 < workers && i >= (uint32_t)(ends[k] * n_own))
                k++;
            owner[label_first[label] + i] = k;
            first[k + 1]++;
        }
    }
    for (size_t k = 0; good && k < workers; k++) {
        uint32_t at = first[k + 1] += first[k];
        for (uint32_t i = n; i-- > 0;)
            if (owner[i] == k)
                examples[--at] = order[i];
    }
    free(order);
    free(owner);
    free(label_first);
    free(ends);
    return good;
}

/* ---- torch */

void recorded_weights_begin(struct recorded_weights *w, uint32_t seed)
{
    w->words[0] = seed;
    for (uint32_t i = 1; i < 624; i++)
        w->words[i] = 1812433253 * (w->words[i - 1] ^ w->words[i - 1] >> 30) + i;
    w->at = 624;
}

/* The next 32 bits of MT19937 (Matsumoto and Nishimura 1998). */
static uint32_t twisted(struct recorded_weights *w)
{
    if (w->at == 624) {
        for (size_t i = 0; i < 624; i++) {
            const uint32_t y = (w->words[i] & 0x80000000) | (w->words[(i + 1) % 624] & 0x7fffffff);
            w->words[i] = w->words[(i + 397) % 624] ^ y >> 1 ^ (y & 1 ? 0x9908b0df : 0);
        }
        w->at = 0;
    }
    uint32_t y = w->words[w->at++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680;
    y ^= y << 15 & 0xefc60000;
    return y ^ y >> 18;
}

void recorded_uniform(float *x, size_t n, struct recorded_weights *w, double bound)
{
    const float from = (float)-bound, to = (float)bound;
    for (size_t i = 0; i < n; i++)
        x[i] = fmaf((float)(twisted(w) & 0xffffff) * 0x1p-24f, to - from, from);
}
