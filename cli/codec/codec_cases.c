/* Which settings are measured. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "codec_command.h"

bool strait_codec_needs_bound(const struct strait_codec_ops *ops)
{
    return !(ops->bounds & 1u << STRAIT_BOUND_NONE);
}

int strait_codec_require(const struct strait_codec_ops *ops, struct strait_error *err)
{
    const char *reason = strait_codec_unavailable(ops);
    return reason ? strait_error_set(err, STRAIT_ERR_HOST, ops->name, "cannot be used here: %s",
                                     reason)
                  : 0;
}

int strait_codec_cases_add(struct strait_codec_cases *cases, const struct strait_codec_spec *spec,
                           struct strait_error *err)
{
    if (cases->n == cases->cap) {
        const size_t cap = 2 * cases->cap + 16;
        struct strait_codec_spec *more = realloc(cases->items, cap * sizeof(*more));
        if (!more)
            return strait_error_memory(err, NULL);
        cases->items = more;
        cases->cap = cap;
    }
    cases->items[cases->n++] = *spec;
    return 0;
}

void strait_codec_cases_release(struct strait_codec_cases *cases)
{
    free(cases->items);
    *cases = (struct strait_codec_cases){0};
}

static int add_grids(struct strait_codec_cases *cases, struct strait_codec_spec spec,
                     const struct strait_bound_grid *grids, size_t n_grids,
                     struct strait_error *err)
{
    if (spec.bound.kind != STRAIT_BOUND_NONE)
        return strait_codec_cases_add(cases, &spec, err);
    if (!strait_codec_needs_bound(spec.ops) && strait_codec_cases_add(cases, &spec, err) != 0)
        return -1;
    for (size_t g = 0; g < n_grids; g++) {
        if (!(spec.ops->bounds & 1u << grids[g].kind))
            continue;
        for (size_t i = 0; i < grids[g].n; i++) {
            spec.bound = (struct strait_bound){grids[g].kind, grids[g].values[i]};
            if (strait_codec_cases_add(cases, &spec, err) != 0)
                return -1;
        }
    }
    return 0;
}

int strait_codec_cases_fill(struct strait_codec_cases *cases, const struct strait_texts *texts,
                            const struct strait_bound_grid *grids, size_t n_grids,
                            struct strait_error *err)
{
    size_t n;
    const struct strait_codec_ops *const *codecs = strait_codecs(&n);
    struct strait_codec_spec spec;
    for (size_t i = 0; i < texts->n; i++)
        if (strait_codec_spec_parse(&spec, texts->items[i], err) != 0 ||
            strait_codec_require(spec.ops, err) != 0 ||
            add_grids(cases, spec, grids, n_grids, err) != 0)
            return -1;
    for (size_t i = 0; i < n && texts->n == 0; i++) {
        if (strait_codec_unavailable(codecs[i]))
            continue;
        if (add_grids(cases, strait_codec_spec_default(codecs[i]), grids, n_grids, err) != 0)
            return -1;
    }
    return 0;
}

void strait_codec_cases_left_out(const struct strait_texts *texts)
{
    size_t n;
    const struct strait_codec_ops *const *codecs = strait_codecs(&n);
    for (size_t i = 0; i < n && texts->n == 0; i++)
        if (strait_codec_unavailable(codecs[i]))
            fprintf(stderr, "strait: %s was left out: %s\n", codecs[i]->name,
                    strait_codec_unavailable(codecs[i]));
}
