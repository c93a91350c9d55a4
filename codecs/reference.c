/* Reference coding: differences from what the receivers decoded last, in a closed loop. */
#include "reference.h"
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "bound.h"
#include "core/bytes.h"

enum { HEAD_BYTES = 12 };

struct strait_reference {
    size_t n_elems, n_slices;
    uint32_t version;
    bool is_forgotten; /* the next packet is a key frame */
    bool always;       /* differences, larger or not */
    float *values;
    float *work;                 /* what is encoded, then what was decoded; made by the first */
    struct strait_slice *slices; /* n_slices, of `work` */
};

struct strait_reference *strait_reference_new(size_t n_elems, size_t n_slices,
                                              struct strait_error *err)
{
    struct strait_reference *ref = calloc(1, sizeof(*ref));
    if (ref) {
        *ref = (struct strait_reference){.n_elems = n_elems, .n_slices = n_slices};
        ref->values = calloc(n_elems + 1, sizeof(float));
        ref->slices = calloc(n_slices + 1, sizeof(*ref->slices));
        if (ref->values && ref->slices)
            return ref;
    }
    strait_reference_free(ref);
    strait_error_set(err, STRAIT_ERR_NOMEM, "reference", "no memory for %zu values", n_elems);
    return NULL;
}

void strait_reference_free(struct strait_reference *ref)
{
    if (!ref)
        return;
    free(ref->values);
    free(ref->work);
    free(ref->slices);
    free(ref);
}

size_t strait_reference_bytes(size_t n_elems, bool encodes)
{
    return (n_elems + 1) * sizeof(float) * (encodes ? 2 : 1);
}

size_t strait_reference_head_bytes(size_t n_slices)
{
    return HEAD_BYTES + (n_slices + 7) / 8;
}

uint32_t strait_reference_version(const struct strait_reference *ref)
{
    return ref->version;
}

const float *strait_reference_values(const struct strait_reference *ref)
{
    return ref->values;
}

void strait_reference_copy(struct strait_reference *to, const struct strait_reference *from)
{
    assert(to->n_elems == from->n_elems && to->n_slices == from->n_slices);
    memcpy(to->values, from->values, from->n_elems * sizeof(float));
    to->version = from->version;
}

void strait_reference_forget(struct strait_reference *ref)
{
    ref->is_forgotten = true;
}

void strait_reference_always(struct strait_reference *ref)
{
    ref->always = true;
}

bool strait_reference_sender(uint32_t *sender, const unsigned char *in, size_t len_bytes)
{
    if (len_bytes < HEAD_BYTES)
        return false;
    *sender = strait_get32(in);
    return true;
}

/* --- encode ------------------------------------------------------------------------------- */

/* A reference that is not finite counts as 0, on both sides. */
static inline float usable(float reference)
{
    return isfinite(reference) ? reference : 0;
}

static double largest(const struct strait_extent *e)
{
    return fmax(fabs(e->min), fabs(e->max));
}

/* What the differences' rounding and that of the sum may add to a codec's error: half a unit in the
 * last place of the difference and of the result, each at most 2^-24 of its magnitude, or 2^-150
 * where that is denormal. */
static double rounding_of(const struct strait_extent *x, const struct strait_extent *difference,
                          double bound)
{
    return 0x1p-24 * (largest(difference) + largest(x) + bound) + 0x1p-149;
}

/* Fill `work` with the differences of one tensor and its bound, or say that it goes whole. */
static bool differs(struct strait_slice *work, const struct strait_slice *s, const float *reference,
                    const struct strait_bundle *bundle, bool always)
{
    const struct strait_bound bound = s->bound.kind == STRAIT_BOUND_NONE ? bundle->bound : s->bound;
    const struct strait_extent whole = strait_extent_of(s->x, s->n_elems);
    if (bound.kind == STRAIT_BOUND_POINTWISE || bound.kind == STRAIT_BOUND_RATIO)
        return false;
    for (size_t i = 0; i < s->n_elems; i++)
        work->x[i] = s->x[i] - usable(reference[i]);
    const struct strait_extent part = strait_extent_of(work->x, s->n_elems);
    if (!whole.all_finite || !part.all_finite ||
        (!always && part.max - part.min >= whole.max - whole.min))
        return false;
    if (bound.kind == STRAIT_BOUND_NONE)
        return true;
    const double absolute = strait_bound_within(bound, &whole, s->x, s->n_elems);
    work->bound.kind = STRAIT_BOUND_ABS;
    work->bound.value = absolute - rounding_of(&whole, &part, absolute);
    return work->bound.value > absolute / 2 && /* else too near to float32's resolution */
           largest(&whole) + 2 * absolute < (double)FLT_MAX;
}

static void put_bit(unsigned char *bits, size_t i)
{
    bits[i / 8] = (unsigned char)(bits[i / 8] | 1u << i % 8);
}

static bool has_bit(const unsigned char *bits, size_t i)
{
    return bits[i / 8] >> i % 8 & 1;
}

/* Whether the codec of coded tensors takes the reference itself. */
static bool refers(const struct strait_bundle *bundle)
{
    return bundle->lossy.ops->decode_from != NULL;
}

/* Values of the packet become the reference: sums, or the values themselves. */
static void take_over(struct strait_reference *ref, const struct strait_bundle *bundle, float *y,
                      const struct strait_slice *s, size_t n_slices, const unsigned char *bits,
                      bool keeps)
{
    for (size_t i = 0, at = 0; i < n_slices; at += s[i++].n_elems) {
        if (has_bit(bits, i) && !refers(bundle))
            for (size_t k = at; k < at + s[i].n_elems; k++)
                y[k] += usable(ref->values[k]);
        if (keeps)
            memcpy(ref->values + at, y + at, s[i].n_elems * sizeof(float));
    }
}

/* The tensors, or the differences of those that gain, in ref->slices. Sets their bits. */
static void prepare(struct strait_reference *ref, const struct strait_bundle *bundle,
                    const struct strait_slice *s, size_t n_slices, bool key, unsigned char *bits)
{
    for (size_t i = 0, at = 0; i < n_slices; at += s[i++].n_elems) {
        struct strait_slice work = s[i];
        work.x = ref->work + at;
        ref->slices[i] = s[i];
        if (!key && s[i].lossy && refers(bundle)) {
            ref->slices[i].reference = ref->values + at;
            put_bit(bits, i);
            continue;
        }
        if (key || !s[i].lossy || !differs(&work, &s[i], ref->values + at, bundle, ref->always))
            continue;
        ref->slices[i] = work;
        put_bit(bits, i);
    }
}

int strait_reference_encode(struct strait_reference *ref, uint32_t sender,
                            const struct strait_bundle *bundle, unsigned char *out,
                            size_t cap_bytes, size_t *len_bytes, const struct strait_slice *s,
                            size_t n_slices, bool keeps, struct strait_error *err)
{
    const size_t head_bytes = strait_reference_head_bytes(n_slices);
    const bool key = ref->version == 0 || (keeps && ref->is_forgotten);
    unsigned char *bits = out + HEAD_BYTES;
    if (n_slices > ref->n_slices || cap_bytes < head_bytes)
        return strait_refuse(
            err, "reference",
            "expected at most %zu tensors and room for %zu bytes, found %zu and %zu", ref->n_slices,
            head_bytes, n_slices, cap_bytes);
    if (!ref->work && !(ref->work = malloc((ref->n_elems + 1) * sizeof(float))))
        return strait_error_memory(err, "reference");
    memset(out, 0, head_bytes);
    strait_put32(out, sender);
    strait_put32(out + 4, keeps ? ref->version + 1 : 0);
    strait_put32(out + 8, key ? 0 : ref->version);
    prepare(ref, bundle, s, n_slices, key, bits);
    if (strait_bundle_encode(bundle, out + head_bytes, cap_bytes - head_bytes, len_bytes, NULL,
                             ref->slices, n_slices, err) != 0)
        return -1;
    *len_bytes += head_bytes;
    if (!keeps)
        return 0;
    for (size_t i = 0, at = 0; i < n_slices; at += s[i++].n_elems)
        ref->slices[i].x = ref->work + at;
    if (strait_bundle_decode(bundle, ref->slices, n_slices, out + head_bytes,
                             *len_bytes - head_bytes, err) != 0)
        return -1;
    take_over(ref, bundle, ref->work, s, n_slices, bits, true);
    ref->version++;
    ref->is_forgotten = false;
    return 0;
}

/* --- decode ------------------------------------------------------------------------------- */

int strait_reference_decode(struct strait_reference *ref, const struct strait_bundle *bundle,
                            struct strait_slice *s, size_t n_slices, const unsigned char *in,
                            size_t len_bytes, bool keeps, struct strait_error *err)
{
    const size_t head_bytes = strait_reference_head_bytes(n_slices);
    if (len_bytes < head_bytes || n_slices > ref->n_slices)
        return strait_refuse(err, "reference", "payload ends too early");
    const uint32_t version = strait_get32(in + 4), base = strait_get32(in + 8);
    if (keeps && version != 0 && version == ref->version) {
        for (size_t i = 0, at = 0; i < n_slices; at += s[i++].n_elems)
            memcpy(s[i].x, ref->values + at, s[i].n_elems * sizeof(float));
        return 0;
    }
    if (base != 0 && base != ref->version)
        return strait_refuse(err, "reference",
                             "expected a key frame or differences from version %u, found version "
                             "%u: a packet was lost, and the sender does not know",
                             ref->version, base);
    if (keeps != (version != 0))
        return strait_refuse(err, "reference", "expected a packet that is %s, found version %u",
                             keeps ? "numbered" : "without a number", version);
    for (size_t i = 0; i < n_slices; i++)
        if (has_bit(in + HEAD_BYTES, i) && (base == 0 || !s[i].lossy))
            return strait_refuse(err, "reference", "expected tensor %zu whole, found a difference",
                                 i);
    for (size_t i = 0, at = 0; i < n_slices; at += s[i++].n_elems)
        s[i].reference = has_bit(in + HEAD_BYTES, i) && refers(bundle) ? ref->values + at : NULL;
    if (strait_bundle_decode(bundle, s, n_slices, in + head_bytes, len_bytes - head_bytes, err) !=
        0)
        return -1;
    if (n_slices > 0)
        take_over(ref, bundle, s[0].x, s, n_slices, in + HEAD_BYTES, keeps);
    if (keeps)
        ref->version = version;
    return 0;
}
