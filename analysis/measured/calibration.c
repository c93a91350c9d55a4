/* Time an experiment's codecs as its ranks call them: the whole model, parameter by parameter,
 * through strait_bundle_encode, on held-out recordings. */
#include "calibration.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "core/buffer.h"
#include "held_out.h"
#include "passes.h"
#include "sums.h"
#include "workloads/timing/turns.h"

const struct strait_calibration_effort strait_calibration_full = {
    .n_passes = 3, .n_repeats = 20, .min_s = 0.5};

struct calibrating {
    struct strait_profile *profile;
    size_t n_missing;
    const struct strait_calibration_effort *effort; /* NULL: count */
};

/* Speeds over the repeats, whose times are ascending. */
static struct strait_quantiles speeds(const double *times_s, size_t n, double bytes)
{
    return (struct strait_quantiles){bytes / times_s[n - 1 - n / 10], bytes / times_s[n / 2],
                                     bytes / times_s[n / 10]};
}

static bool has_class(const struct strait_held_out *s, bool lossy)
{
    for (size_t i = 0; i < s->n_slices; i++)
        if (s->slices[i].lossy == lossy)
            return true;
    return false;
}

/* What is measured together: the codec that an entry is about, and the one that codes beside it. */
struct measuring {
    const struct strait_codec_spec *spec, *beside; /* beside: NULL: nothing */
    const struct strait_profile_entry *known;      /* what that one takes */
    bool lossy;                                    /* the class that spec codes */
    const struct strait_calibration_effort *effort;
};

/* The slices that are coded, of all senders. Where the model has none of the entry's class all are
 * of it, since tensors outside the model may be.
 * Out:     raw_bytes, n  of a sender, of the entry's class; beside_bytes: of the other */
static int choose_slices(struct strait_turns *t, size_t *raw_bytes, size_t *beside_bytes, size_t *n,
                         const struct strait_held_out *s, const struct measuring *m,
                         struct strait_error *err)
{
    assert(s->n_turns > 0); /* there is a client */
    const bool all = !has_class(s, m->lossy);
    size_t n_chosen = 0;
    int failed = 0;
    *raw_bytes = *beside_bytes = *n = 0;
    for (size_t i = 0; i < s->n_turns * s->n_slices && !failed; i++) {
        const bool mine = all || s->slices[i].lossy == m->lossy;
        if (!mine && !m->beside)
            continue;
        t->from[n_chosen] = s->slices[i];
        t->to[n_chosen] = s->back[i];
        t->from[n_chosen].lossy = t->to[n_chosen].lossy = mine;
        if (mine && strait_feedback_needed(m->spec))
            failed = !(t->from[n_chosen].memory =
                           strait_feedback_new(m->spec->ops, m->spec->params,
                                               t->from[n_chosen].n_elems, m->spec->memory, err));
        *(mine ? raw_bytes : beside_bytes) += 4 * t->from[n_chosen].n_elems;
        *n += mine;
        n_chosen++;
    }
    t->n_turns = s->n_turns;
    t->n_slices = n_chosen / s->n_turns;
    *n /= s->n_turns;
    *raw_bytes /= s->n_turns;
    *beside_bytes /= s->n_turns;
    return failed ? -1 : 0;
}

/* Without what the codec beside takes, and never less than half of it all. */
static void subtract(double *times_s, size_t n, double beside_s)
{
    for (size_t i = 0; i < n; i++)
        times_s[i] = fmax(times_s[i] - beside_s, 0.5 * times_s[i]);
}

static void fill_entry(struct strait_profile_entry *entry, struct strait_codec_times *t,
                       const struct measuring *m, size_t raw_bytes, size_t beside_bytes)
{
    const double bytes = (double)raw_bytes;
    if (beside_bytes > 0) {
        subtract(t->encode_s, t->n_repeats, (double)beside_bytes / m->known->encode_bytes_per_s);
        subtract(t->decode_s, t->n_repeats, (double)beside_bytes / m->known->decode_bytes_per_s);
    }
    entry->encode = speeds(t->encode_s, t->n_repeats, bytes);
    entry->decode = speeds(t->decode_s, t->n_repeats, bytes);
    entry->encode_bytes_per_s = bytes / strait_typical_s(t->encode_s, t->n_repeats);
    entry->decode_bytes_per_s = bytes / strait_typical_s(t->decode_s, t->n_repeats);
}

/* Encode the first sender's slices of the entry's class once more, for their size. */
static int find_ratio(struct strait_profile_entry *entry, struct strait_bundle *bundle,
                      const struct strait_turns *t, size_t raw_bytes, struct strait_error *err)
{
    struct strait_slice *own = calloc(t->n_slices + 1, sizeof(*own));
    size_t n = 0, len_bytes = 0;
    int failed = -1;
    for (size_t i = 0; own && i < t->n_slices; i++)
        if (t->from[i].lossy)
            own[n++] = t->from[i];
    const size_t room_bytes = own ? strait_bundle_max_bytes(bundle, own, n) : 0;
    unsigned char *room = own ? strait_buffer_new_untouched(room_bytes) : NULL;
    if (room)
        failed = strait_bundle_encode(bundle, room, room_bytes, &len_bytes, NULL, own, n, err) != 0;
    if (!failed)
        entry->ratio = (double)raw_bytes / (double)(len_bytes - n * STRAIT_BUNDLE_SLICE_BYTES);
    entry->ratios = (struct strait_quantiles){entry->ratio, entry->ratio, entry->ratio};
    strait_buffer_free(room);
    free(own);
    return failed;
}

/* One codec at one bound on the slices of one class, as a rank codes them: in one bundle with those
 * of the other class. What that takes alone is known and taken off, so that the two entries
 * together are what a model takes. The quantiles say how far the readings lie apart. */
static int measure(struct strait_profile_entry *entry, struct strait_held_out *s,
                   const struct measuring *m, struct strait_error *err)
{
    const struct strait_codec_spec *spec = m->spec, *beside = m->beside ? m->beside : m->spec;
    struct strait_bundle bundle = {
        .lossy.ops = spec->ops, .lossless.ops = beside->ops, .bound = spec->bound};
    const size_t n_all = s->n_turns * s->n_slices;
    struct strait_slice *of = calloc(2 * n_all + 1, sizeof(*of));
    struct strait_turns turns = {.from = of, .to = of ? of + n_all : NULL};
    struct strait_codec_times t;
    size_t raw_bytes, beside_bytes, n;
    const int failed =
        !of || strait_codec_open(spec->ops, &bundle.lossy.state, spec->params, err) != 0 ||
        strait_codec_open(beside->ops, &bundle.lossless.state, beside->params, err) != 0 ||
        choose_slices(&turns, &raw_bytes, &beside_bytes, &n, s, m, err) != 0 ||
        strait_time_turns(&t, &bundle, &turns, m->effort->n_repeats, m->effort->min_s, &s->sweeper,
                          err) != 0 ||
        find_ratio(entry, &bundle, &turns, raw_bytes, err) != 0;
    if (!failed)
        fill_entry(entry, &t, m, raw_bytes, beside_bytes);
    entry->bound = spec->bound;
    snprintf(entry->codec, sizeof(entry->codec), "%s", spec->ops->name);
    strait_codec_settings_text(entry->settings, spec);
    for (size_t i = 0; of && i < n_all; i++)
        strait_feedback_free(of[i].memory);
    if (bundle.lossy.state && spec->ops->close)
        spec->ops->close(bundle.lossy.state);
    if (bundle.lossless.state && beside->ops->close)
        beside->ops->close(bundle.lossless.state);
    free(of);
    return failed ? -1 : 0;
}

static struct strait_profile_entry *find_entry(struct strait_profile *p,
                                               const struct strait_codec_spec *spec,
                                               const char *kind, const char *model)
{
    char settings[STRAIT_SPEC_CHARS];
    strait_codec_settings_text(settings, spec);
    for (size_t i = 0; i < p->n_entries; i++) {
        struct strait_profile_entry *e = &p->entries[i];
        if (strcmp(e->codec, spec->ops->name) == 0 && strcmp(e->settings, settings) == 0 &&
            e->bound.kind == spec->bound.kind && e->bound.value == spec->bound.value &&
            strcmp(e->kind, kind) == 0 && strcmp(e->model, model) == 0)
            return e;
    }
    return NULL;
}

static struct strait_profile_entry *new_entry(struct strait_profile *p, const char *kind,
                                              const char *model)
{
    struct strait_profile_entry *more =
        realloc(p->entries, (p->n_entries + 1) * sizeof(*p->entries));
    if (!more)
        return NULL;
    p->entries = more;
    struct strait_profile_entry *e = &p->entries[p->n_entries];
    *e = (struct strait_profile_entry){0};
    snprintf(e->kind, sizeof(e->kind), "%s", kind);
    snprintf(e->model, sizeof(e->model), "%s", model);
    return e;
}

/* memcpy and y += w x over the whole sample, bytes of one operand a second: the entry for `none`,
 * whose speed depends on what of a model stays in the caches. */
static int measure_memory(const struct calibrating *of, const struct strait_held_out *s,
                          const char *model, struct strait_error *err)
{
    struct strait_profile *p = of->profile;
    const double bytes = 4.0 * (double)s->n_elems;
    struct strait_profile_entry *entry = new_entry(p, "any", model);
    struct strait_memory_times t;
    float *sum = strait_buffer_new(s->n_elems * sizeof(*sum));
    if (!entry || !sum) {
        strait_buffer_free(sum);
        return strait_error_memory(err, "calibration");
    }
    strait_time_memory(&t, sum, s->decoded, s->values, s->n_elems, s->n_turns,
                       of->effort->n_repeats, &s->sweeper);
    strait_buffer_free(sum);
    snprintf(entry->codec, sizeof(entry->codec), "none");
    entry->ratio = 1;
    entry->ratios = (struct strait_quantiles){1, 1, 1};
    entry->encode = speeds(t.copy_s, t.n_repeats, bytes);
    entry->decode = speeds(t.add_s, t.n_repeats, bytes);
    entry->encode_bytes_per_s = bytes / fmax(strait_typical_s(t.copy_s, t.n_repeats), 1e-9);
    entry->decode_bytes_per_s = bytes / fmax(strait_typical_s(t.add_s, t.n_repeats), 1e-9);
    p->n_entries++;
    return 0;
}

/* Entries of one direction of one point: of its codec, and of the lossless one on small tensors, as
 * far as the profile lacks them. */
static int add_entries(const struct calibrating *of, struct strait_held_out *s,
                       const struct strait_experiment *e, const struct strait_codec_choice *c,
                       const char *kind, struct strait_error *err)
{
    struct strait_profile *p = of->profile;
    const bool all = (c->spec.ops->flags & STRAIT_CODEC_LOSSLESS) != 0;
    const char *model = e->model->name;
    struct strait_profile_entry plain = {0};
    const struct strait_profile_entry *known = find_entry(p, &c->lossless, "any", model);
    const bool have_plain = all || known;
    struct measuring m = {.spec = &c->lossless, .effort = of->effort};
    for (size_t i = 0; all && i < s->n_turns * s->n_slices; i++)
        s->slices[i].lossy = true; /* a lossless codec takes every tensor */
    if (!have_plain && measure(&plain, s, &m, err) != 0)
        return -1;
    if (known)
        plain = *known;
    if (!find_entry(p, &c->spec, kind, model)) {
        struct strait_profile_entry *entry = new_entry(p, kind, model);
        m = (struct measuring){&c->spec, all ? NULL : &c->lossless, &plain, true, of->effort};
        if (!entry || measure(entry, s, &m, err) != 0)
            return -1;
        p->n_entries++;
    }
    if (!have_plain) {
        struct strait_profile_entry *entry = new_entry(p, "any", model);
        if (!entry)
            return -1;
        const struct strait_profile_entry named = *entry;
        *entry = plain;
        memcpy(entry->kind, named.kind, sizeof(named.kind));
        memcpy(entry->model, named.model, sizeof(named.model));
        p->n_entries++;
    }
    return 0;
}

/* One direction of one point: measure or count what the profile lacks. */
static int calibrate_choice(struct calibrating *of, const struct strait_experiment *e,
                            const struct strait_codec_choice *c, const char *kind,
                            struct strait_error *err)
{
    struct strait_profile *p = of->profile;
    const bool is_none = strcmp(c->spec.ops->name, "none") == 0;
    const bool all = (c->spec.ops->flags & STRAIT_CODEC_LOSSLESS) != 0;
    struct strait_held_out s;
    const bool have = is_none || find_entry(p, &c->spec, kind, e->model->name);
    const bool have_lossless = is_none || all || find_entry(p, &c->lossless, "any", e->model->name);
    const struct strait_codec_spec none = strait_codec_spec_default(strait_codec_find("none"));
    const bool have_memory = find_entry(p, &none, "any", e->model->name);
    const size_t n_missing = (have ? 0u : 1u) + (have_lossless ? 0u : 1u) + (have_memory ? 0u : 1u);
    of->n_missing += n_missing;
    if (n_missing == 0 || !of->effort)
        return 0;
    int failed = strait_held_out_init(&s, e, kind, err);
    if (!failed && !have_memory)
        failed = measure_memory(of, &s, e->model->name, err);
    if (!failed && !(have && have_lossless))
        failed = add_entries(of, &s, e, c, kind, err);
    strait_held_out_release(&s);
    return failed ? strait_error_memory(err, "calibration") : 0;
}

static int describe(struct strait_profile *p, struct strait_error *err)
{
    char text[512], date[32];
    struct utsname u;
    const time_t now = time(NULL);
    struct tm tm;
    uname(&u);
    gmtime_r(&now, &tm);
    strftime(date, sizeof(date), "%Y-%m-%d", &tm);
    snprintf(text, sizeof(text), "%s, Linux %s", u.machine, u.release);
    p->title = strdup("measured for this run");
    p->machine = strdup(text);
    p->date = strdup(date);
    p->version = strdup(STRAIT_VERSION);
    p->source = strdup("this machine, one core, recordings held out from what is sent");
    return p->title && p->machine && p->date && p->version && p->source
               ? 0
               : strait_error_memory(err, NULL);
}

static int add_entry(struct strait_profile *p, const struct strait_profile_entry *entry,
                     struct strait_error *err)
{
    struct strait_profile_entry *e = new_entry(p, entry->kind, entry->model);
    if (!e)
        return strait_error_memory(err, "calibration");
    *e = *entry;
    p->n_entries++;
    return 0;
}

/* Partial sums, where the strategy sends them, of the codec as the experiment sets it. */
static int calibrate_sums(struct calibrating *of, const struct strait_experiment *e,
                          struct strait_error *err)
{
    const struct strait_codec_spec *spec = &e->up.spec;
    struct strait_profile_entry measured[STRAIT_MAX_SUM_ENTRIES];
    char kind[STRAIT_KIND_CHARS];
    int n = 0;
    if (!e->strategy->sums || e->n_clients < 2 || strcmp(spec->ops->name, "none") == 0 ||
        strait_feedback_needed(spec))
        return 0;
    strait_sums_kind(kind, strait_experiment_sums(e), strait_uplink_kind(e), e->n_clients);
    if (find_entry(of->profile, spec, kind, e->model->name))
        return 0;
    of->n_missing++;
    if (!of->effort)
        return 0;
    if (strait_sums_measure(measured, &n, e, strait_uplink_kind(e), err) != 0)
        return -1;
    for (int i = 0; i < n; i++)
        if (add_entry(of->profile, &measured[i], err) != 0)
            return -1;
    return 0;
}

/* The codec that the strategy works as. */
static int calibrate_work(struct calibrating *of, const struct strait_experiment *e,
                          struct strait_error *err)
{
    struct strait_codec_choice choice = e->up;
    if (!e->strategy->works_as)
        return 0;
    choice.spec = strait_codec_spec_default(strait_codec_find(e->strategy->works_as));
    choice.spec.params[0] = strait_experiment_param(e, "rank");
    return calibrate_choice(of, e, &choice, strait_uplink_kind(e), err);
}

/* Bounds that tensors have of their own, of which the strategy takes the same multiples as of the
 * experiment's. */
static void widen(double *least, double *most, const struct strait_codec_choice *c, size_t n_rows)
{
    const double own = c->spec.bound.value, down = *least / own, up = *most / own;
    for (size_t i = 0; c->row_bounds && i < n_rows; i++)
        if (isfinite(c->row_bounds[i])) {
            *least = fmin(*least, down * c->row_bounds[i]);
            *most = fmax(*most, up * c->row_bounds[i]);
        }
}

/* Bounds that the strategy or a file of bounds may ask for beside the experiment's: both ends, and
 * between them so many that neighbours are at most half a decade apart. */
static int calibrate_bounds(struct calibrating *of, const struct strait_experiment *e,
                            int direction, struct strait_error *err)
{
    struct strait_codec_choice choice = direction == 0 ? e->up : e->down;
    const char *kind = direction == 0 ? strait_uplink_kind(e) : e->strategy->downlink_kind;
    double least = choice.spec.bound.value, most = least;
    int failed = 0;
    const bool varies =
        e->strategy->bounds_of && e->strategy->bounds_of(&least, &most, e, direction);
    if (!kind || (!varies && !choice.row_bounds))
        return 0;
    if (!varies)
        least = most = choice.spec.bound.value;
    widen(&least, &most, &choice, e->model->n_rows);
    const int n = (int)ceil(2 * log10(most / least) - 1e-9);
    for (int i = 0; i <= n && !failed; i++) {
        choice.spec.bound.value = i == n ? most : least * pow(most / least, (double)i / n);
        failed = calibrate_choice(of, e, &choice, kind, err);
    }
    return failed;
}

static int calibrate_point(struct calibrating *of, const struct strait_sweep *sweep, size_t i,
                           struct strait_error *err)
{
    struct strait_experiment *e = NULL;
    json_t *point = strait_sweep_point(sweep, i, NULL, err);
    int failed = !point || strait_experiment_read(&e, sweep->file, point, err) != 0;
    json_decref(point);
    if (failed)
        return -1;
    const struct strait_strategy *s = e->strategy;
    failed = calibrate_choice(of, e, &e->up, strait_uplink_kind(e), err) != 0 ||
             calibrate_sums(of, e, err) != 0 || calibrate_work(of, e, err) != 0 ||
             calibrate_bounds(of, e, 0, err) != 0 || calibrate_bounds(of, e, 1, err) != 0 ||
             (s->downlink_kind && calibrate_choice(of, e, &e->down, s->downlink_kind, err) != 0);
    strait_experiment_free(e);
    return failed ? -1 : 0;
}

static int calibrate_points(struct calibrating *of, const struct strait_sweep *sweep,
                            struct strait_error *err)
{
    int failed = 0;
    for (size_t i = 0; i < sweep->n_points && !failed; i++)
        failed = calibrate_point(of, sweep, i, err);
    return failed;
}

/* Measure what the profile lacked once more.
 * Out:     of  the new entries, in the profile's order, of which it has n_new after n_known */
static int calibrate_again(struct strait_profile_entry *of, const struct strait_profile *p,
                           size_t n_known, const struct strait_sweep *sweep,
                           const struct strait_calibration_effort *effort, struct strait_error *err)
{
    struct strait_profile again = {.n_entries = n_known};
    struct calibrating pass = {.profile = &again, .effort = effort};
    again.entries = calloc(p->n_entries + 1, sizeof(*again.entries));
    if (!again.entries)
        return strait_error_memory(err, "calibration");
    memcpy(again.entries, p->entries, n_known * sizeof(*again.entries));
    const int failed = calibrate_points(&pass, sweep, err);
    assert(failed || again.n_entries == p->n_entries); /* the same, in the same order */
    if (!failed)
        memcpy(of, again.entries + n_known, (p->n_entries - n_known) * sizeof(*of));
    free(again.entries);
    return failed;
}

/* All passes after the first, and what they say together. */
static int calibrate_passes(struct strait_profile *p, size_t n_known,
                            const struct strait_sweep *sweep,
                            const struct strait_calibration_effort *effort,
                            struct strait_error *err)
{
    const size_t n_new = p->n_entries - n_known, n_passes = effort->n_passes;
    struct strait_profile_entry *all = calloc(n_passes * n_new + 1, sizeof(*all)),
                                *of = calloc(n_passes, sizeof(*of));
    int failed = all && of ? 0 : strait_error_memory(err, "calibration");
    if (!failed)
        memcpy(all, p->entries + n_known, n_new * sizeof(*all));
    for (size_t pass = 1; pass < n_passes && !failed; pass++)
        failed = calibrate_again(all + pass * n_new, p, n_known, sweep, effort, err);
    for (size_t i = 0; i < n_new && !failed; i++) {
        for (size_t pass = 0; pass < n_passes; pass++)
            of[pass] = all[pass * n_new + i];
        strait_passes_settle(&p->entries[n_known + i], of, n_passes);
    }
    free(all);
    free(of);
    return failed;
}

int strait_calibrate_missing(struct strait_profile *p, size_t *n_missing,
                             const struct strait_sweep *sweep,
                             const struct strait_calibration_effort *effort,
                             struct strait_error *err)
{
    struct calibrating of = {.profile = p, .effort = effort};
    const size_t n_known = p->n_entries;
    int failed = calibrate_points(&of, sweep, err);
    *n_missing = of.n_missing;
    if (effort && !failed && effort->n_passes > 1 && p->n_entries > n_known)
        failed = calibrate_passes(p, n_known, sweep, effort, err);
    for (size_t i = p->n_entries; i-- > 0 && effort && !failed;)
        if (strcmp(p->entries[i].codec, "none") == 0) { /* what a profile says of any model */
            p->copy_bytes_per_s = p->entries[i].encode_bytes_per_s;
            p->add_bytes_per_s = p->entries[i].decode_bytes_per_s;
        }
    return failed || (effort && strait_profile_round(p, err) != 0) ? -1 : 0;
}

int strait_calibrate_for(struct strait_profile **out, const struct strait_sweep *sweep,
                         const struct strait_calibration_effort *effort, struct strait_error *err)
{
    struct strait_profile *p = calloc(1, sizeof(*p));
    size_t n_missing;
    *out = NULL;
    if (!p)
        return strait_error_memory(err, NULL);
    if (describe(p, err) != 0 || strait_calibrate_missing(p, &n_missing, sweep, effort, err) != 0) {
        strait_profile_free(p);
        return -1;
    }
    *out = p;
    return 0;
}
