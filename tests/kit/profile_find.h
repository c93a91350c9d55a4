/* Looking up a codec as published, at one bound: what most tests of profiles ask. */
#pragma once
#include "codecs/profile/profile.h"

static inline int find_published(struct strait_profile_cost *out, const struct strait_profile *p,
                                 const char *codec, struct strait_bound bound, const char *kind,
                                 const char *model, struct strait_error *err)
{
    struct strait_codec_spec spec = strait_codec_spec_default(strait_codec_find(codec));
    spec.bound = bound;
    return strait_profile_find(out, p, &spec, kind, model, err);
}
