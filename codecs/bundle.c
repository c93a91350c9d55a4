/* A model update is many tensors: each encoded by its own codec, one payload for all. */
#include "bundle.h"
#include <assert.h>
#include <stdio.h>
#include "../core/random.h"
#include "bytes.h"

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

int strait_bundle_encode(const struct strait_bundle *bundle, unsigned char *out, size_t cap_bytes,
                         size_t *len_bytes, size_t *raw_bytes, const struct strait_slice *s,
                         size_t n_slices, struct strait_error *err)
{
    const size_t max_bytes = strait_bundle_max_bytes(bundle, s, n_slices);
    size_t used = 0, raw = 0;
    if (cap_bytes < max_bytes)
        return strait_error_set(err, STRAIT_ERR_INPUT, "bundle",
                                "expected room for %zu bytes, found %zu", max_bytes, cap_bytes);
    for (size_t i = 0; i < n_slices; i++) {
        const struct strait_coder *c = coder_of(bundle, &s[i]);
        const bool bounded = c->ops->flags & STRAIT_CODEC_BOUNDED;
        unsigned char *head = out + used;
        size_t len = 0;
        used += STRAIT_BUNDLE_SLICE_BYTES;
        const struct strait_request request = {
            .bound = bounded ? bundle->bound : (struct strait_bound){.kind = STRAIT_BOUND_NONE},
            .key = strait_sequence_at(bundle->key + i).state,
            .n_rows = s[i].n_rows};
        if ((s[i].memory && s[i].lossy
                 ? strait_memory_encode(s[i].memory, c, out + used, cap_bytes - used, &len, s[i].x,
                                        s[i].n_elems, request, err)
                 : c->ops->encode(c->state, out + used, cap_bytes - used, &len, s[i].x,
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

int strait_bundle_decode(const struct strait_bundle *bundle, struct strait_slice *s,
                         size_t n_slices, const unsigned char *in, size_t len_bytes,
                         struct strait_error *err)
{
    struct strait_reader r = {.p = in, .end = in + len_bytes};
    for (size_t i = 0; i < n_slices; i++) {
        const struct strait_coder *c = coder_of(bundle, &s[i]);
        const unsigned char *head = strait_read_bytes(&r, STRAIT_BUNDLE_SLICE_BYTES);
        const uint64_t word = head ? strait_get64(head) : 0;
        const unsigned char *body = strait_read_bytes(&r, (size_t)(word >> 8));
        char where[32];
        snprintf(where, sizeof(where), "bundle#/%zu", i);
        if (!body)
            return strait_error_set(err, STRAIT_ERR_INPUT, where, "payload ends too early");
        if ((word & 255) != c->ops->id)
            return strait_error_set(err, STRAIT_ERR_INPUT, where,
                                    "expected codec %u (%s), found %u", c->ops->id, c->ops->name,
                                    (unsigned)(word & 255));
        if (c->ops->decode(c->state, s[i].x, s[i].n_elems, body, (size_t)(word >> 8), err) != 0)
            return -1;
    }
    if (r.p != r.end)
        return strait_error_set(err, STRAIT_ERR_INPUT, "bundle", "payload goes on after its end");
    return 0;
}
