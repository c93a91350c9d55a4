#include <math.h>
#include <stdlib.h>
#include "codecs/bound.h"
#include "codecs/feedback.h"
#include "codecs/profile/profile.h"
#include "codecs/spec.h"
#include "forget.h"
#include "strait.h"

struct strait_tensor_codec {
    struct strait_codec_spec spec;
    struct strait_coder coder;
    struct strait_feedback *memory;
    size_t n_elems, n_rows;
};

const char *strait_version(void)
{
    return STRAIT_VERSION;
}

static int read_spec(struct strait_codec_spec *spec, const char *text, struct strait_error *err)
{
    if (strait_codec_spec_parse(spec, text, err) != 0)
        return -1;
    const char *why = strait_codec_unavailable(spec->ops);
    if (why)
        return strait_error_set(err, STRAIT_ERR_HOST, text, "%s", why);
    return strait_bound_check(spec->bound, spec->ops, err);
}

int strait_tensor_codec_new(struct strait_tensor_codec **out, const char *spec, size_t n_elems,
                            size_t n_rows, struct strait_error *err)
{
    forget(err);
    *out = NULL;
    if (n_rows > 0 && n_elems % n_rows != 0)
        return strait_refuse(err, spec,
                             "expected a number of rows that divides %zu elements, found %zu",
                             n_elems, n_rows);
    struct strait_tensor_codec *c = calloc(1, sizeof(*c));
    if (!c)
        return strait_error_memory(err, spec);
    c->n_elems = n_elems;
    c->n_rows = n_rows;
    if (read_spec(&c->spec, spec, err) != 0 ||
        strait_codec_open(c->spec.ops, &c->coder.state, c->spec.params, err) != 0) {
        free(c);
        return -1;
    }
    c->coder.ops = c->spec.ops;
    c->memory = strait_feedback_new(c->spec.ops, c->spec.params, n_elems, c->spec.memory, err);
    if (!c->memory) {
        strait_tensor_codec_free(c);
        return -1;
    }
    *out = c;
    return 0;
}

void strait_tensor_codec_free(struct strait_tensor_codec *c)
{
    if (!c)
        return;
    strait_feedback_free(c->memory);
    c->coder.ops->close(c->coder.state);
    free(c);
}

size_t strait_tensor_codec_max_bytes(const struct strait_tensor_codec *c)
{
    return c->coder.ops->max_bytes(c->coder.state, c->n_elems);
}

int strait_tensor_codec_encode(struct strait_tensor_codec *c, void *out, size_t cap_bytes,
                               size_t *len_bytes, const float *x, uint64_t key,
                               struct strait_error *err)
{
    forget(err);
    const struct strait_request request = {.bound = c->spec.bound, .key = key, .n_rows = c->n_rows};
    return strait_feedback_encode(c->memory, &c->coder, out, cap_bytes, len_bytes, x, c->n_elems,
                                  request, err);
}

int strait_tensor_codec_decode(const struct strait_tensor_codec *c, float *y, const void *in,
                               size_t len_bytes, struct strait_error *err)
{
    forget(err);
    return c->coder.ops->decode(c->coder.state, y, c->n_elems, in, len_bytes, err);
}

int strait_tensor_codec_reset(struct strait_tensor_codec *c, struct strait_error *err)
{
    forget(err);
    return strait_feedback_reset(c->memory, err);
}

int strait_tensor_cost(struct strait_tensor_cost *out, const char *profile, const char *spec,
                       const char *kind, size_t n_elems, struct strait_error *err)
{
    struct strait_codec_spec s;
    struct strait_profile *p;
    struct strait_profile_cost found;
    forget(err);
    if (strait_codec_spec_parse(&s, spec, err) != 0 ||
        strait_profile_load(&p, profile ? profile : "default", err) != 0)
        return -1;
    /* as predictions do: the shipped profile that measured what the default one lacks */
    struct strait_profile *other = NULL;
    const int status = !profile && !strait_profile_has(p, s.ops->name) &&
                               strait_profile_load_shipped_for(&other, s.ops->name, err) != 0
                           ? -1
                           : strait_profile_find(&found, other ? other : p, &s, kind, "", err);
    strait_profile_free(other);
    strait_profile_free(p);
    if (status != 0)
        return -1;
    const double raw_bytes = sizeof(float) * (double)n_elems;
    *out = (struct strait_tensor_cost){
        .ratio = found.ratio,
        .encode_s = found.encode_fixed_s + raw_bytes / found.encode_bytes_per_s,
        .decode_s = found.decode_fixed_s + raw_bytes / found.decode_bytes_per_s};
    return 0;
}
