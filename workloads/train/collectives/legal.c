#include "legal.h"

#include <stdio.h>
#include <string.h>

/* Whether this all-reduce may encode its partial sums with the codec. Refused are
 * - codecs with a state, or momentum: they belong to one rank's gradient, not to partial sums;
 * - signs and chosen elements if every hop encodes, since the last cut is not that of the sum; in
 *   the all-to-all form they are encoded only at the source, and once more as a sum;
 * - a shared key in halving, where ranks draw for different ranges and would add other elements;
 * - in the encoded ring, all codecs that cannot add;
 * - in a library's own, all, since it sums plain values. */
static bool is_legal(const struct strait_codec_spec *spec, enum strait_all_reduce how)
{
    const unsigned flags = spec->ops->flags;
    const bool is_cut = strcmp(spec->ops->family, "sparsifier") == 0 ||
                        flags & STRAIT_CODEC_SPARSE || strcmp(spec->ops->family, "sign") == 0;
    if (how == STRAIT_AR_GLOO || how == STRAIT_AR_OPEN_MPI || how == STRAIT_AR_NCCL)
        return strcmp(spec->ops->name, "none") == 0;
    if (how == STRAIT_AR_RING_ENCODED)
        return strait_codec_adds(spec);
    if (flags & STRAIT_CODEC_STATEFUL || spec->memory.momentum > 0)
        return false;
    if (flags & STRAIT_CODEC_SHARED_KEY && !(flags & STRAIT_CODEC_LINEAR))
        /* all hops use the same elements */
        return how != STRAIT_AR_HALVING;
    return !is_cut || how == STRAIT_AR_ALL_TO_ALL;
}

bool strait_spec_agrees(const struct strait_codec_spec *spec)
{
    return spec->ops->flags & STRAIT_CODEC_AGREED;
}

/* "none, zstd, sz with an abs bound" */
static void put_legal(char *buf, size_t cap, enum strait_all_reduce how)
{
    size_t n, used = 0;
    const struct strait_codec_ops *const *all = strait_codecs(&n);
    for (size_t i = 0; i < n && used < cap; i++) {
        struct strait_codec_spec spec = strait_codec_spec_default(all[i]);
        const bool bounded = all[i]->flags & STRAIT_CODEC_BOUNDED;
        if (bounded)
            spec.bound.kind = STRAIT_BOUND_ABS;
        if (is_legal(&spec, how) && !strait_codec_unavailable(all[i]))
            used += (size_t)snprintf(
                buf + used, cap - used, "%s%s%s", used > 0 ? ", " : "", all[i]->name,
                bounded && how == STRAIT_AR_RING_ENCODED ? " with an abs bound" : "");
    }
}

int strait_all_reduce_check(const struct strait_experiment *e, enum strait_all_reduce how,
                            const char *name, struct strait_error *err)
{
    char legal[384] = "", found[STRAIT_SPEC_CHARS];
    if (is_legal(&e->up.spec, how))
        return 0;
    put_legal(legal, sizeof(legal), how);
    return strait_refuse_at(err, e->file, "/codec",
                            "expected a codec for \"%s\" (%s)%s, found \"%s\"", name, legal,
                            e->up.spec.memory.momentum > 0 ? " without momentum" : "",
                            strait_codec_spec_text(found, &e->up.spec));
}

int strait_ring_check(const struct strait_experiment *e, struct strait_error *err)
{
    return strait_all_reduce_check(e, STRAIT_AR_RING, "ring", err);
}

bool strait_ring_uses_stream(const struct strait_experiment *e, int ring, int src, int dst,
                             int channel)
{
    if (channel == STRAIT_AGREEING)
        return strait_codec_wants_statistics(&e->up.spec);
    return channel == ring && dst == (src + 1) % e->n_ranks;
}
