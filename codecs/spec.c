/* A codec with all its settings as one line of text. */
#include "spec.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/json.h"
#include "core/names.h"

static const char residual_key[] = "error_feedback", momentum_key[] = "momentum",
                  decay_key[] = "feedback_decay";
enum { N_MEMORY_KEYS = 3, NUMBER_CHARS = 64, WORD_CHARS = 64, EXPECTED_CHARS = 256 };

struct strait_codec_spec strait_codec_spec_default(const struct strait_codec_ops *ops)
{
    struct strait_codec_spec spec = {
        .ops = ops,
        .memory = {.residual = ops->memory.residual,
                   .momentum = ops->memory.momentum,
                   .decay = ops->memory.decay > 0 ? ops->memory.decay : 1}};
    assert(ops->n_params <= STRAIT_MAX_CODEC_PARAMS);
    for (unsigned i = 0; i < ops->n_params; i++)
        spec.params[i] = ops->params[i].fallback;
    return spec;
}

bool strait_feedback_needed(const struct strait_codec_spec *spec)
{
    return (spec->ops->flags & STRAIT_CODEC_STATEFUL) || spec->memory.residual ||
           spec->memory.momentum > 0;
}

bool strait_codec_has_momentum(const struct strait_codec_spec *spec)
{
    return spec->memory.momentum > 0 ||
           (spec->ops->flags & STRAIT_CODEC_MOMENTUM && spec->params[0] > 0);
}

/* --- numbers and choices ------------------------------------------------------------------ */

/* "1e-03" becomes "1e-3": no plus sign and no leading zeros in an exponent. */
static void tidy_exponent(char *text)
{
    char *e = strchr(text, 'e');
    if (!e)
        return;
    char *to = e + 1, *from = e + 1;
    if (*from == '-')
        *to++ = *from++;
    else if (*from == '+')
        from++;
    while (*from == '0' && from[1])
        from++;
    memmove(to, from, strlen(from) + 1);
}

/* The fewest digits that read back, in the shorter of the two notations; numbers between 0.01 and
 * 10^7 stay without exponent: "100" is easier to read than "1e2". */
static void number_text(char text[NUMBER_CHARS], double value)
{
    char plain[400], scientific[NUMBER_CHARS];
    int digits = 1;
    if (!isfinite(value)) { /* the end of a range may be infinite */
        snprintf(text, NUMBER_CHARS, "%g", value);
        return;
    }
    do
        snprintf(scientific, sizeof(scientific), "%.*e", digits - 1, value);
    while (strtod(scientific, NULL) != value && ++digits <= 17);
    const int exponent = atoi(strchr(scientific, 'e') + 1);
    tidy_exponent(scientific);
    snprintf(plain, sizeof(plain), "%.*f", exponent < digits - 1 ? digits - 1 - exponent : 0,
             value);
    const bool readable = value == 0 || (fabs(value) >= 0.01 && fabs(value) < 1e7);
    const bool use_plain =
        strtod(plain, NULL) == value && (readable || strlen(plain) <= strlen(scientific));
    snprintf(text, NUMBER_CHARS, "%.*s", NUMBER_CHARS - 1, use_plain ? plain : scientific);
}

static unsigned n_choices(const struct strait_param *p)
{
    unsigned n = 0;
    while (p->choices[n])
        n++;
    return n;
}

const char *strait_codec_param_text(char text[64], const struct strait_param *p, double value)
{
    if (p->choices && value >= 0 && value < n_choices(p))
        snprintf(text, NUMBER_CHARS, "%s", p->choices[(unsigned)value]);
    else
        number_text(text, value);
    return text;
}

/* A decimal number and nothing else: no blanks, no hexadecimal digits, no "inf". */
static bool read_number(double *value, const char *text)
{
    char *end;
    if (!*text || text[strspn(text, "+-.0123456789eE")])
        return false;
    *value = strtod(text, &end);
    return !*end && isfinite(*value);
}

static int parse_choice(double *value, const struct strait_param *p, const char *text,
                        const char *where, struct strait_error *err)
{
    char known[EXPECTED_CHARS] = "";
    for (unsigned i = 0; p->choices[i]; i++) {
        if (strcmp(text, p->choices[i]) == 0) {
            *value = i;
            return 0;
        }
        strait_text_add(known, sizeof(known), "%s%s", i > 0 ? ", " : "", p->choices[i]);
    }
    char expected[EXPECTED_CHARS + 64];
    snprintf(expected, sizeof(expected), "%.48s of %s", p->name, known);
    return strait_refuse_name(err, STRAIT_ERR_INPUT, where, expected, text, p->choices);
}

int strait_codec_param_parse(double *value, const struct strait_param *p, const char *text,
                             const char *where, struct strait_error *err)
{
    char min[NUMBER_CHARS], max[NUMBER_CHARS];
    if (p->choices)
        return parse_choice(value, p, text, where, err);
    if (read_number(value, text) && *value >= p->min && *value <= p->max)
        return 0;
    number_text(min, p->min);
    number_text(max, p->max);
    return strait_refuse(err, where, "expected %s between %s and %s, found \"%s\"", p->name, min,
                         max, text);
}

/* --- reading ------------------------------------------------------------------------------ */

enum { MAX_KEYS = STRAIT_MAX_CODEC_PARAMS + N_STRAIT_BOUNDS + N_MEMORY_KEYS };

/* What a text may set, and what it has set so far. */
struct reading {
    struct strait_codec_spec *spec;
    const char *text;               /* the whole text, for errors */
    const char *keys[MAX_KEYS + 1]; /* parameters, memory, supported bounds */
    bool seen[MAX_KEYS];
    unsigned n_keys;
};

/* Marks a truncated text; no parser accepts it. */
static const char cut[] = "...";

static bool is_cut(const char *text)
{
    const size_t n = strlen(text);
    return n >= sizeof(cut) - 1 && strcmp(text + n - (sizeof(cut) - 1), cut) == 0;
}

static bool is_param(const struct strait_codec_ops *ops, const char *key)
{
    for (unsigned i = 0; i < ops->n_params; i++)
        if (strcmp(ops->params[i].name, key) == 0)
            return true;
    return false;
}

static void list_keys(struct reading *r)
{
    const struct strait_codec_ops *ops = r->spec->ops;
    for (unsigned i = 0; i < ops->n_params; i++)
        r->keys[r->n_keys++] = ops->params[i].name;
    r->keys[r->n_keys++] = residual_key;
    r->keys[r->n_keys++] = momentum_key;
    r->keys[r->n_keys++] = decay_key;
    for (unsigned k = STRAIT_BOUND_ABS; k < N_STRAIT_BOUNDS; k++)
        if (ops->bounds & 1u << k)
            r->keys[r->n_keys++] = strait_bound_kind_name((enum strait_bound_kind)k);
}

static int refuse_key(const struct reading *r, const char *key, struct strait_error *err)
{
    enum strait_bound_kind kind;
    char known[EXPECTED_CHARS] = "";
    if (strait_bound_kind_parse(&kind, key) && kind != STRAIT_BOUND_NONE) {
        for (unsigned k = STRAIT_BOUND_ABS; k < N_STRAIT_BOUNDS; k++)
            if (r->spec->ops->bounds & 1u << k)
                strait_text_add(known, sizeof(known), "%s%s", *known ? ", " : "",
                                strait_bound_kind_name((enum strait_bound_kind)k));
        return strait_refuse(err, r->text, "expected a bound that %s keeps (%s), found \"%s\"",
                             r->spec->ops->name, *known ? known : "none", key);
    }
    const char *nearest = strait_nearest(key, r->keys);
    if (nearest)
        return strait_refuse(err, r->text, "unknown setting \"%s\" of %s, did you mean \"%s\"?",
                             key, r->spec->ops->name, nearest);
    for (unsigned i = 0; i < r->n_keys; i++)
        strait_text_add(known, sizeof(known), "%s%s", i > 0 ? ", " : "", r->keys[i]);
    return strait_refuse(err, r->text, "unknown setting \"%s\" of %s; known: %s", key,
                         r->spec->ops->name, known);
}

static int read_memory(struct reading *r, const char *key, const char *value,
                       struct strait_error *err)
{
    struct strait_feedback_options *m = &r->spec->memory;
    if (strcmp(key, momentum_key) == 0) {
        if (read_number(&m->momentum, value) && m->momentum >= 0 && m->momentum < 1)
            return 0;
        return strait_refuse(err, r->text,
                             "expected momentum of at least 0 and below 1, found \"%s\"", value);
    }
    if (strcmp(key, decay_key) == 0) {
        if (read_number(&m->decay, value) && m->decay > 0 && m->decay <= 1)
            return 0;
        return strait_refuse(err, r->text,
                             "expected feedback_decay above 0 and up to 1, found \"%s\"", value);
    }
    m->residual = strcmp(value, "yes") == 0;
    if (m->residual || strcmp(value, "no") == 0)
        return 0;
    return strait_refuse(err, r->text, "expected error_feedback of yes or no, found \"%s\"", value);
}

static int read_bound(struct reading *r, const char *key, const char *value,
                      struct strait_error *err)
{
    struct strait_bound *bound = &r->spec->bound;
    if (bound->kind != STRAIT_BOUND_NONE)
        return strait_refuse(err, r->text, "expected one bound, found %s and %s",
                             strait_bound_kind_name(bound->kind), key);
    strait_bound_kind_parse(&bound->kind, key);
    const double least = bound->kind == STRAIT_BOUND_RATIO ? 1 : 0;
    if (read_number(&bound->value, value) && bound->value >= least)
        return 0;
    return strait_refuse(err, r->text, "expected a bound %s of at least %g, found \"%s\"", key,
                         least, value);
}

static int read_setting(struct reading *r, const char *key, const char *value,
                        struct strait_error *err)
{
    const struct strait_codec_ops *ops = r->spec->ops;
    unsigned at = 0;
    while (at < r->n_keys && strcmp(r->keys[at], key) != 0)
        at++;
    if (at == r->n_keys)
        return refuse_key(r, key, err);
    if (r->seen[at])
        return strait_refuse(err, r->text, "expected each setting once, found %s again", key);
    r->seen[at] = true;
    if (at < ops->n_params)
        return strait_codec_param_parse(&r->spec->params[at], &ops->params[at], value, r->text,
                                        err);
    if (at < ops->n_params + N_MEMORY_KEYS)
        return read_memory(r, key, value, err);
    return read_bound(r, key, value, err);
}

/* Cut "key=value" off the text behind the colon and advance it; NULL after the last one. */
static int next_setting(char key[WORD_CHARS], char value[WORD_CHARS], const char **rest,
                        const char *text, struct strait_error *err)
{
    const size_t n = strcspn(*rest, ",");
    const char *equals = memchr(*rest, '=', n);
    const size_t n_key = equals ? (size_t)(equals - *rest) : 0;
    if (n_key == 0 || n_key >= WORD_CHARS || n - n_key - 1 == 0 || n - n_key - 1 >= WORD_CHARS)
        return strait_refuse(err, text, "expected settings such as \"range=1e-3\", found \"%.*s\"",
                             n < WORD_CHARS ? (int)n : WORD_CHARS, *rest);
    snprintf(key, WORD_CHARS, "%.*s", (int)n_key, *rest);
    snprintf(value, WORD_CHARS, "%.*s", (int)(n - n_key - 1), equals + 1);
    *rest = (*rest)[n] ? *rest + n + 1 : NULL;
    return 0;
}

static const struct strait_codec_ops *find_codec(const char *name, struct strait_error *err)
{
    enum { MAX_CODECS = 256 }; /* an id is a byte */
    const char *names[MAX_CODECS + 1] = {NULL};
    size_t n;
    const struct strait_codec_ops *const *codecs = strait_codecs(&n);
    assert(n <= MAX_CODECS);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(codecs[i]->name, name) == 0)
            return codecs[i];
        names[i] = codecs[i]->name;
    }
    strait_refuse_name(err, STRAIT_ERR_INPUT, NULL, "a codec (strait codec list)", name, names);
    return NULL;
}

int strait_codec_spec_parse(struct strait_codec_spec *spec, const char *text,
                            struct strait_error *err)
{
    char key[WORD_CHARS], value[WORD_CHARS];
    const size_t n_name = strcspn(text, ":");
    snprintf(key, sizeof(key), "%.*s", n_name < WORD_CHARS ? (int)n_name : WORD_CHARS, text);
    const struct strait_codec_ops *ops = find_codec(key, err);
    if (!ops)
        return -1;
    *spec = strait_codec_spec_default(ops);
    struct reading r = {.spec = spec, .text = text};
    list_keys(&r);
    for (const char *rest = text[n_name] ? text + n_name + 1 : NULL; rest;)
        if (next_setting(key, value, &rest, text, err) != 0 ||
            read_setting(&r, key, value, err) != 0)
            return -1;
    char again[STRAIT_SPEC_CHARS];
    if (is_cut(strait_codec_spec_text(again, spec)))
        return strait_refuse(err, text, "expected settings of fewer than %d letters",
                             STRAIT_SPEC_CHARS);
    return 0;
}

/* --- writing ------------------------------------------------------------------------------ */

/* Whole settings only. */
static void add_setting(char text[STRAIT_SPEC_CHARS], const char *key, const char *value)
{
    const size_t room = STRAIT_SPEC_CHARS - sizeof(cut);
    if (is_cut(text))
        return;
    if (strlen(text) + 2 + strlen(key) + strlen(value) > room)
        strait_text_add(text, STRAIT_SPEC_CHARS, "%s", cut);
    else
        strait_text_add(text, STRAIT_SPEC_CHARS, "%s%s=%s", *text ? "," : "", key, value);
}

const char *strait_codec_settings_text(char text[STRAIT_SPEC_CHARS],
                                       const struct strait_codec_spec *spec)
{
    const struct strait_codec_ops *ops = spec->ops;
    char value[NUMBER_CHARS];
    *text = '\0';
    for (unsigned i = 0; i < ops->n_params; i++)
        if (spec->params[i] != ops->params[i].fallback)
            add_setting(text, ops->params[i].name,
                        strait_codec_param_text(value, &ops->params[i], spec->params[i]));
    if (spec->memory.residual != ops->memory.residual && !is_param(ops, residual_key))
        add_setting(text, residual_key, spec->memory.residual ? "yes" : "no");
    if (spec->memory.momentum != ops->memory.momentum && !is_param(ops, momentum_key)) {
        number_text(value, spec->memory.momentum);
        add_setting(text, momentum_key, value);
    }
    if (spec->memory.decay != (ops->memory.decay > 0 ? ops->memory.decay : 1)) {
        number_text(value, spec->memory.decay);
        add_setting(text, decay_key, value);
    }
    return text;
}

const char *strait_codec_spec_text(char text[STRAIT_SPEC_CHARS],
                                   const struct strait_codec_spec *spec)
{
    char settings[STRAIT_SPEC_CHARS], value[NUMBER_CHARS];
    strait_codec_settings_text(settings, spec);
    if (spec->bound.kind != STRAIT_BOUND_NONE) {
        number_text(value, spec->bound.value);
        add_setting(settings, strait_bound_kind_name(spec->bound.kind), value);
    }
    const int n = snprintf(text, STRAIT_SPEC_CHARS, "%s%s%s", spec->ops->name, *settings ? ":" : "",
                           settings);
    if (n >= STRAIT_SPEC_CHARS)
        memcpy(text + STRAIT_SPEC_CHARS - sizeof(cut), cut, sizeof(cut));
    return text;
}

bool strait_codec_wants_statistics(const struct strait_codec_spec *spec)
{
    const struct strait_codec_statistics *s = spec->ops->statistics;
    return s && !(spec->params[s->param] > 0);
}

bool strait_codec_adds(const struct strait_codec_spec *spec)
{
    const unsigned flags = spec->ops->flags;
    if (strcmp(spec->ops->name, "none") == 0)
        return true;
    return spec->ops->add && !(flags & STRAIT_CODEC_STATEFUL) && spec->memory.momentum <= 0 &&
           (!(flags & STRAIT_CODEC_SPARSE) || flags & STRAIT_CODEC_SHARED_KEY) &&
           (!(flags & STRAIT_CODEC_BOUNDED) || spec->bound.kind == STRAIT_BOUND_ABS);
}
