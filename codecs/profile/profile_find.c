/* What a profile says of a codec: the entry at its bound, or between the two nearest. */
#include "profile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "core/names.h"

bool strait_profile_has(const struct strait_profile *p, const char *codec)
{
    for (size_t i = 0; i < p->n_entries; i++)
        if (strcmp(p->entries[i].codec, codec) == 0)
            return true;
    return false;
}

/* Bits a value and seconds a byte are nearly linear in the logarithm of the bound, so what is
 * interpolated is the reciprocal of ratios and speeds. */
static double between(double a, double b, double t)
{
    return 1 / (1 / a + (1 / b - 1 / a) * t);
}

static struct strait_quantiles between_quantiles(struct strait_quantiles a,
                                                 struct strait_quantiles b, double t)
{
    return (struct strait_quantiles){between(a.p10, b.p10, t), between(a.p50, b.p50, t),
                                     between(a.p90, b.p90, t)};
}

static struct strait_profile_cost interpolate(const struct strait_profile_entry *a,
                                              const struct strait_profile_entry *b, double t)
{
    return (struct strait_profile_cost){
        .ratio = between(a->ratio, b->ratio, t),
        .encode_bytes_per_s = between(a->encode_bytes_per_s, b->encode_bytes_per_s, t),
        .decode_bytes_per_s = between(a->decode_bytes_per_s, b->decode_bytes_per_s, t),
        .encode_fixed_s = a->encode_fixed_s + (b->encode_fixed_s - a->encode_fixed_s) * t,
        .decode_fixed_s = a->decode_fixed_s + (b->decode_fixed_s - a->decode_fixed_s) * t,
        .ratios = between_quantiles(a->ratios, b->ratios, t),
        .encode = between_quantiles(a->encode, b->encode, t),
        .decode = between_quantiles(a->decode, b->decode, t),
    };
}

/* The nearest entries at and below, at and above the bound, of one (kind, model); an entry at bound
 * 0 is for that bound alone. */
static bool bracket(const struct strait_profile_entry **below,
                    const struct strait_profile_entry **above, const struct strait_profile *p,
                    const struct strait_codec_spec *spec, const char *settings, const char *kind,
                    const char *model)
{
    const struct strait_bound bound = spec->bound;
    *below = *above = NULL;
    for (size_t i = 0; i < p->n_entries; i++) {
        const struct strait_profile_entry *e = &p->entries[i];
        if (e->bound.kind != bound.kind ||
            (e->bound.value == 0) != (bound.value == 0) || /* 0 has no logarithm */
            strcmp(e->codec, spec->ops->name) != 0 || strcmp(e->settings, settings) != 0 ||
            strcmp(e->kind, kind) != 0 || strcmp(e->model, model) != 0)
            continue;
        /* a grid point written in decimal is that point: compare with some slack */
        if (e->bound.value <= bound.value * (1 + 1e-9) &&
            (!*below || e->bound.value > (*below)->bound.value))
            *below = e;
        if (e->bound.value >= bound.value * (1 - 1e-9) &&
            (!*above || e->bound.value < (*above)->bound.value))
            *above = e;
    }
    return *below && *above;
}

/* The cost with these settings, from the nearest kind of tensors and model that has it. */
static bool find(struct strait_profile_cost *out, const struct strait_profile *p,
                 const struct strait_codec_spec *spec, const char *settings, const char *kind,
                 const char *model)
{
    const char *tries[][2] = {{kind, model}, {kind, ""}, {"any", model}, {"any", ""}};
    for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
        const struct strait_profile_entry *a, *b;
        if (!bracket(&a, &b, p, spec, settings, tries[i][0], tries[i][1]))
            continue;
        const double la = log10(a->bound.value), lb = log10(b->bound.value);
        *out = interpolate(a, b,
                           a == b || !(lb > la) ? 0 : (log10(spec->bound.value) - la) / (lb - la));
        return true;
    }
    return false;
}

/* How far apart two settings of one codec are: numbers by the logarithm of their quotient, where
 * both are above 0, anything else that differs counts as a factor e. */
static double distance(const struct strait_codec_spec *a, const struct strait_codec_spec *b)
{
    double sum = a->memory.residual != b->memory.residual ? 1 : 0;
    sum += (a->memory.momentum > 0) != (b->memory.momentum > 0) ? 1 : 0;
    for (unsigned i = 0; i < a->ops->n_params; i++) {
        const double x = a->params[i], y = b->params[i];
        if (x != y)
            sum += !a->ops->params[i].choices && x > 0 && y > 0 ? fabs(log(x / y)) : 1;
    }
    return sum;
}

bool strait_profile_find_near(struct strait_profile_cost *out, char used[STRAIT_SPEC_CHARS],
                              const struct strait_profile *p, const struct strait_codec_spec *spec,
                              const char *kind, const char *model)
{
    double nearest = INFINITY;
    for (size_t i = 0; i < p->n_entries; i++) {
        const struct strait_profile_entry *e = &p->entries[i];
        char text[sizeof(e->codec) + STRAIT_SPEC_CHARS];
        struct strait_codec_spec other;
        struct strait_profile_cost cost;
        if (strcmp(e->codec, spec->ops->name) != 0 || e->bound.kind != spec->bound.kind)
            continue;
        snprintf(text, sizeof(text), "%s%s%s", e->codec, *e->settings ? ":" : "", e->settings);
        if (strait_codec_spec_parse(&other, text, NULL) != 0 ||
            !(distance(spec, &other) < nearest) || !find(&cost, p, spec, e->settings, kind, model))
            continue;
        nearest = distance(spec, &other);
        *out = cost;
        strait_codec_spec_text(used, &other);
    }
    return nearest < INFINITY;
}

/* "; it has topk:ratio=0.01, topk:ratio=0.1": what an entry of the codec and such a bound is
 * for. */
static const char *others_text(char *buf, size_t cap, const struct strait_profile *p,
                               const struct strait_codec_spec *spec)
{
    const char *last = NULL; /* entries of the same settings follow each other */
    *buf = '\0';
    for (size_t i = 0; i < p->n_entries; i++) {
        const struct strait_profile_entry *e = &p->entries[i];
        if (strcmp(e->codec, spec->ops->name) != 0 || e->bound.kind != spec->bound.kind ||
            (last && strcmp(e->settings, last) == 0))
            continue;
        strait_text_add(buf, cap, "%s%s%s%s", last ? ", " : "; it has ", e->codec,
                        *e->settings ? ":" : "", e->settings);
        last = e->settings;
    }
    return buf;
}

int strait_profile_find(struct strait_profile_cost *out, const struct strait_profile *p,
                        const struct strait_codec_spec *spec, const char *kind, const char *model,
                        struct strait_error *err)
{
    const struct strait_bound bound = spec->bound;
    struct strait_codec_spec plain = *spec;
    char settings[STRAIT_SPEC_CHARS], text[STRAIT_SPEC_CHARS], others[128];
    double least = INFINITY, most = 0;
    plain.bound = (struct strait_bound){.kind = STRAIT_BOUND_NONE};
    strait_codec_settings_text(settings, spec);
    const char *codec = strait_codec_spec_text(text, &plain);
    if (find(out, p, spec, settings, kind, model))
        return 0;
    for (size_t i = 0; i < p->n_entries; i++)
        if (strcmp(p->entries[i].codec, spec->ops->name) == 0 &&
            strcmp(p->entries[i].settings, settings) == 0 &&
            p->entries[i].bound.kind == bound.kind) {
            least = fmin(least, p->entries[i].bound.value);
            most = fmax(most, p->entries[i].bound.value);
        }
    if (most > 0)
        return strait_refuse(
            err, p->title,
            "expected a %s bound of codec \"%s\" for kind \"%s\" between the profile's %g and %g, "
            "found %g; measure it with --on both, or strait calibrate codecs",
            strait_bound_kind_name(bound.kind), codec, kind, least, most, bound.value);
    const bool bounded = bound.kind != STRAIT_BOUND_NONE;
    return strait_refuse(err, p->title,
                         "expected an entry for codec \"%s\"%s%s%s and kind \"%s\", found none%s; "
                         "measure it with --on both, or strait calibrate codecs --codec %s",
                         codec, bounded ? " with a " : "",
                         bounded ? strait_bound_kind_name(bound.kind) : "", bounded ? " bound" : "",
                         kind, others_text(others, sizeof(others), p, spec), codec);
}

void strait_profile_memory(double *add_bytes_per_s, double *copy_bytes_per_s,
                           const struct strait_profile *p, const char *model)
{
    *add_bytes_per_s = p->add_bytes_per_s;
    *copy_bytes_per_s = p->copy_bytes_per_s;
    for (size_t i = 0; i < p->n_entries; i++) {
        const struct strait_profile_entry *e = &p->entries[i];
        if (strcmp(e->codec, "none") != 0 || strcmp(e->model, model) != 0)
            continue;
        *add_bytes_per_s = e->decode_bytes_per_s;
        *copy_bytes_per_s = e->encode_bytes_per_s;
    }
}
