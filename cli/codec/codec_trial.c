/* What one tensor costs with one codec: sizes, times and errors. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core/clock.h"
#include "core/heap.h"
#include "codec_command.h"

enum { MAX_REPEATS = 101 };

static double median(double *v, unsigned n)
{
    strait_sort(v, n);
    return v[n / 2];
}

/* --- error -------------------------------------------------------------------------------- */

/* Errors over the finite values of x; others must be restored bit by bit if there is a bound. */
static void compare(struct strait_codec_trial *trial, struct strait_bound bound, const float *x,
                    const float *y, size_t n)
{
    const bool pointwise = bound.kind == STRAIT_BOUND_POINTWISE;
    const bool held = bound.kind != STRAIT_BOUND_NONE && bound.kind != STRAIT_BOUND_RATIO;
    const double absolute = held && !pointwise ? strait_bound_absolute(bound, x, n) : 0;
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        const bool finite = isfinite(x[i]);
        const double error = fabs((double)x[i] - (double)y[i]);
        const double most = pointwise ? bound.value * fabs((double)x[i]) : absolute;
        if (finite) {
            trial->squares += (double)x[i] * (double)x[i];
            trial->error_squares += error * error;
        }
        if (held && finite && !(error <= 0))
            worst = most > 0 && error < INFINITY ? fmax(worst, error / most) : INFINITY;
        if (held && !finite && memcmp(&x[i], &y[i], sizeof(x[i])) != 0)
            worst = INFINITY;
    }
    trial->error_over_bound = held ? worst : NAN;
    trial->exact = n == 0 || memcmp(x, y, n * sizeof(*x)) == 0;
}

/* --- trials ------------------------------------------------------------------------------- */

int strait_codec_trial_run(struct strait_codec_trial *trial, const struct strait_codec_spec *spec,
                           void *state, unsigned char *bytes, float *y,
                           const struct strait_set_tensor *t, uint64_t key, unsigned n_repeats,
                           struct strait_error *err)
{
    const struct strait_codec_ops *ops = spec->ops;
    const struct strait_request request = {.bound = spec->bound, .key = key, .n_rows = t->n_rows};
    const size_t cap = ops->max_bytes(state, t->n_elems);
    double encode_s[MAX_REPEATS], decode_s[MAX_REPEATS];
    *trial = (struct strait_codec_trial){.n_tensors = 1, .raw_bytes = 4 * (double)t->n_elems};
    n_repeats = n_repeats < MAX_REPEATS ? n_repeats : MAX_REPEATS;
    for (unsigned k = 0; k < n_repeats; k++) {
        size_t len_bytes;
        const struct strait_instant begin = strait_instant_now();
        if (strait_codec_encode(ops, state, bytes, cap, &len_bytes, t->x, t->n_elems, request,
                                err) != 0)
            return -1;
        encode_s[k] = strait_instant_cost_s(&begin);
        const struct strait_instant encoded = strait_instant_now();
        if (ops->decode(state, y, t->n_elems, bytes, len_bytes, err) != 0)
            return -1;
        decode_s[k] = strait_instant_cost_s(&encoded);
        if (k > 0)
            continue;
        trial->encoded_bytes = (double)len_bytes;
        compare(trial, spec->bound, t->x, y, t->n_elems);
    }
    const unsigned first = n_repeats > 1;
    trial->encode_s = median(encode_s + first, n_repeats - first);
    trial->decode_s = median(decode_s + first, n_repeats - first);
    return 0;
}

void strait_codec_trial_add(struct strait_codec_trial *sum, const struct strait_codec_trial *trial)
{
    const bool first = sum->n_tensors == 0;
    sum->n_tensors += trial->n_tensors;
    sum->raw_bytes += trial->raw_bytes;
    sum->encoded_bytes += trial->encoded_bytes;
    sum->encode_s += trial->encode_s;
    sum->decode_s += trial->decode_s;
    sum->error_squares += trial->error_squares;
    sum->squares += trial->squares;
    sum->exact = (first || sum->exact) && trial->exact;
    sum->error_over_bound =
        first ? trial->error_over_bound : fmax(sum->error_over_bound, trial->error_over_bound);
}

double strait_codec_trial_ratio(const struct strait_codec_trial *trial)
{
    return trial->raw_bytes / trial->encoded_bytes;
}

double strait_codec_trial_l2_error(const struct strait_codec_trial *trial)
{
    return trial->error_squares > 0 ? sqrt(trial->error_squares / trial->squares) : 0;
}

int strait_codec_trial_check(const struct strait_codec_trial *trial,
                             const struct strait_codec_spec *spec, struct strait_error *err)
{
    char text[STRAIT_SPEC_CHARS];
    /* Sums of squares in another order: an rms bound may differ in the last bits. */
    if (trial->error_over_bound > 1 + 1e-9)
        return strait_error_set(err, STRAIT_ERR_BACKEND, strait_codec_spec_text(text, spec),
                                "the largest error is %.6g times the bound",
                                trial->error_over_bound);
    if (spec->ops->flags & STRAIT_CODEC_LOSSLESS && !trial->exact)
        return strait_error_set(err, STRAIT_ERR_BACKEND, strait_codec_spec_text(text, spec),
                                "a lossless codec did not give back every bit");
    return 0;
}
