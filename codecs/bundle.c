/* A model update is many tensors: each is encoded by its own codec, all into one payload. */
#include "bundle.h"
#include <assert.h>
#include <stdio.h>
#include "core/random.h"
#include "core/bytes.h"

bool strait_slice_lossy(unsigned n_dims, size_t n_elems, size_t cutoff_elems)
{
    return n_dims >= 2 && n_elems > cutoff_elems;
}

static const struct strait_coder *coder_of(const struct strait_bundle *bundle,
                                           const struct strait_slice *s)
{
    return s->lossy ? &bundle->lossy : &bundle->lossless;
}

size_t strait_bundle_max_bytes(const struct strait_bundle *bundle, const struct strait_slice *s,
                               size_t n_slices)
{
    size_t sum = 0;
    for (size_t i = 0; i < n_slices; i++) {
        const struct strait_coder *c = coder_of(bundle, &s[i]);
        sum += STRAIT_BUNDLE_SLICE_BYTES + c->ops->max_bytes(c->state, s[i].n_elems);
    }
    return sum;
}

static struct strait_request request_of(const struct strait_bundle *bundle,
                                        const struct strait_coder *c, const struct strait_slice *s,
                                        size_t index)
{
    const bool bounded = c->ops->flags & STRAIT_CODEC_BOUNDED;
    const struct strait_bound bound = s->bound.kind == STRAIT_BOUND_NONE ? bundle->bound : s->bound;
    return (struct strait_request){
        .bound = bounded ? bound : (struct strait_bound){.kind = STRAIT_BOUND_NONE},
        .key = strait_sequence_at(bundle->key + index).state,
        .own = strait_sequence_at(bundle->own + index).state,
        .common = strait_sequence_at(bundle->common + index).state,
        .rank = bundle->rank,
        .n_ranks = bundle->n_ranks,
        .scale = s->scale,
        .n_rows = s->n_rows,
        .share = bundle->share,
        .reference = s->reference,
        .agreed = s->agreed};
}

static int room_error(size_t max_bytes, size_t cap_bytes, struct strait_error *err)
{
    return strait_refuse(err, "bundle", "expected room for %zu bytes, found %zu", max_bytes,
                         cap_bytes);
}

int strait_bundle_encode(const struct strait_bundle *bundle, unsigned char *out, size_t cap_bytes,
                         size_t *len_bytes, size_t *raw_bytes, const struct strait_slice *s,
                         size_t n_slices, struct strait_error *err)
{
    const size_t max_bytes = strait_bundle_max_bytes(bundle, s, n_slices);
    size_t used = 0, raw = 0;
    if (cap_bytes < max_bytes)
        return room_error(max_bytes, cap_bytes, err);
    for (size_t i = 0; i < n_slices; i++) {
        const struct strait_coder *c = coder_of(bundle, &s[i]);
        unsigned char *head = out + used;
        size_t len = 0;
        used += STRAIT_BUNDLE_SLICE_BYTES;
        const struct strait_request request = request_of(bundle, c, &s[i], i);
        if ((s[i].memory && s[i].lossy
                 ? strait_feedback_encode(s[i].memory, c, out + used, cap_bytes - used, &len,
                                          s[i].x, s[i].n_elems, request, err)
                 : strait_codec_encode(c->ops, c->state, out + used, cap_bytes - used, &len, s[i].x,
                                       s[i].n_elems, request, err)) != 0)
            return -1;
        used += len;
        raw += 4 * s[i].n_elems;
        assert(len >> 56 == 0 && used <= cap_bytes);
        strait_put64(head, (uint64_t)len << 8 | c->ops->id);
    }
    *len_bytes = used;
    if (raw_bytes)
        *raw_bytes = raw;
    return 0;
}

/* The next tensor's bytes; they must be of the codec that the tensor's `lossy` selects. */
static const unsigned char *next_body(struct strait_reader *r, size_t *len_bytes, size_t index,
                                      const struct strait_coder *c, struct strait_error *err)
{
    const unsigned char *head = strait_read_bytes(r, STRAIT_BUNDLE_SLICE_BYTES);
    const uint64_t word = head ? strait_get64(head) : 0;
    const unsigned char *body = strait_read_bytes(r, (size_t)(word >> 8));
    char where[32];
    snprintf(where, sizeof(where), "bundle#/%zu", index);
    *len_bytes = (size_t)(word >> 8);
    if (!body)
        strait_refuse(err, where, "payload ends too early");
    else if ((word & 255) != c->ops->id)
        strait_refuse(err, where, "expected codec %u (%s), found %u", c->ops->id, c->ops->name,
                      (unsigned)(word & 255));
    return body && (word & 255) == c->ops->id ? body : NULL;
}

int strait_bundle_decode(const struct strait_bundle *bundle, struct strait_slice *s,
                         size_t n_slices, const unsigned char *in, size_t len_bytes,
                         struct strait_error *err)
{
    struct strait_reader r = {.p = in, .end = in + len_bytes};
    for (size_t i = 0; i < n_slices; i++) {
        const struct strait_coder *c = coder_of(bundle, &s[i]);
        size_t body_bytes;
        const unsigned char *body = next_body(&r, &body_bytes, i, c, err);
        if (!body)
            return -1;
        if ((s[i].reference ? c->ops->decode_from(c->state, s[i].x, s[i].reference, s[i].n_elems,
                                                  body, body_bytes, err)
                            : strait_codec_decode(c->ops, c->state, s[i].x, s[i].n_elems, body,
                                                  body_bytes, s[i].agreed, err)) != 0)
            return -1;
    }
    if (r.p != r.end)
        return strait_refuse(err, "bundle", "payload goes on after its end");
    return 0;
}

struct body {
    const unsigned char *p;
    size_t len_bytes;
};

/* Add two streams that their codec cannot add: decode, add and encode. */
static int add_decoded(const struct strait_coder *c, unsigned char *out, size_t cap_bytes,
                       size_t *len_bytes, struct body a, struct body b,
                       const struct strait_slice *s, struct strait_request request, float *scratch,
                       struct strait_error *err)
{
    const size_t n = s->n_elems;
    if (c->ops->decode(c->state, scratch, n, a.p, a.len_bytes, err) != 0 ||
        c->ops->decode(c->state, scratch + n, n, b.p, b.len_bytes, err) != 0)
        return -1;
    for (size_t k = 0; k < n; k++)
        scratch[k] += scratch[n + k];
    return strait_codec_encode(c->ops, c->state, out, cap_bytes, len_bytes, scratch, n, request,
                               err);
}

int strait_bundle_add(const struct strait_bundle *bundle, unsigned char *out, size_t cap_bytes,
                      size_t *len_bytes, const struct strait_slice *s, size_t n_slices,
                      const unsigned char *a, size_t a_bytes, const unsigned char *b,
                      size_t b_bytes, float *scratch, struct strait_error *err)
{
    struct strait_reader ra = {.p = a, .end = a + a_bytes}, rb = {.p = b, .end = b + b_bytes};
    const size_t max_bytes = strait_bundle_max_bytes(bundle, s, n_slices);
    size_t used = 0;
    if (cap_bytes < max_bytes)
        return room_error(max_bytes, cap_bytes, err);
    for (size_t i = 0; i < n_slices; i++) {
        const struct strait_coder *c = coder_of(bundle, &s[i]);
        struct body in_a, in_b;
        size_t len;
        in_a.p = next_body(&ra, &in_a.len_bytes, i, c, err);
        in_b.p = next_body(&rb, &in_b.len_bytes, i, c, err);
        if (!in_a.p || !in_b.p)
            return -1;
        unsigned char *head = out + used;
        used += STRAIT_BUNDLE_SLICE_BYTES;
        const bool adds = c->ops->add && c->ops->summable(c->state, in_a.p, in_a.len_bytes, in_b.p,
                                                          in_b.len_bytes);
        if ((adds ? c->ops->add(c->state, out + used, cap_bytes - used, &len, in_a.p,
                                in_a.len_bytes, in_b.p, in_b.len_bytes, s[i].n_elems, err)
                  : add_decoded(c, out + used, cap_bytes - used, &len, in_a, in_b, &s[i],
                                request_of(bundle, c, &s[i], i), scratch, err)) != 0)
            return -1;
        used += len;
        assert(len >> 56 == 0 && used <= cap_bytes);
        strait_put64(head, (uint64_t)len << 8 | c->ops->id);
    }
    if (ra.p != ra.end || rb.p != rb.end)
        return strait_refuse(err, "bundle", "payload goes on after its end");
    *len_bytes = used;
    return 0;
}
