/* What codecs and memory cost in a point, from its profiles; and the hash of what it takes from
 * there, so that entries for other codecs change nothing about it. */
#include "trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "codecs/bundle.h"

/* Entries that the rank code may ask for while it runs: a policy's other bounds, and the kernels of
 * strategies that encode by themselves. */
static bool may_ask(const struct strait_experiment *e, const struct strait_profile_entry *entry)
{
    const struct strait_codec_ops *ops = strait_codec_find(entry->codec);
    return ((e->strategy->bounds_of || e->up.row_bounds) && ops == e->up.spec.ops) ||
           (e->down.row_bounds && ops == e->down.spec.ops) ||
           (strcmp(e->up.spec.ops->name, "none") == 0 && ops &&
            strcmp(ops->family, "low-rank") == 0);
}

const char *strait_trial_profile_hash(char key[STRAIT_KEY_CHARS], const struct strait_trial *p)
{
    const struct strait_codec_cost *costs[] = {&p->up, &p->down, &p->lossless_up,
                                               &p->lossless_down};
    enum { N_COSTS = sizeof(costs) / sizeof(costs[0]) };
    const double speeds[2] = {p->add_bytes_per_s, p->copy_bytes_per_s};
    struct strait_codec_cost taken[N_COSTS];
    char numbers[STRAIT_KEY_CHARS], memory[STRAIT_KEY_CHARS], entry[STRAIT_KEY_CHARS];
    for (size_t i = 0; i < N_COSTS; i++)
        taken[i] = *costs[i];
    json_t *all = json_pack("[s, s]", strait_hash_bytes(numbers, taken, sizeof(taken)),
                            strait_hash_bytes(memory, speeds, sizeof(speeds)));
    bool whole = true;
    const struct strait_codec_choice *choices[2] = {&p->experiment->up, &p->experiment->down};
    for (int i = 0; all && i < p->n_sums; i++)
        json_array_append_new(
            all, json_string(strait_hash_bytes(entry, &p->sums[i].of, sizeof(p->sums[i].of))));
    for (int i = 0; all && i < 2; i++)
        if (choices[i]->reference)
            json_array_append_new(
                all, json_string(strait_hash_bytes(entry, &p->changes[i], sizeof(p->changes[i]))));
    for (int i = 0; all && i < 2; i++)
        if (choices[i]->row_bounds)
            json_array_append_new(
                all, json_string(strait_hash_bytes(entry, choices[i]->row_bounds,
                                                   p->experiment->model->n_rows *
                                                       sizeof(*choices[i]->row_bounds))));
    for (size_t i = 0; all && i < p->profile->n_entries; i++) {
        const struct strait_profile_entry *e = &p->profile->entries[i];
        if (may_ask(p->experiment, e) &&
            json_array_append_new(all, json_string(strait_hash_bytes(entry, e, sizeof(*e)))) != 0)
            whole = false;
    }
    const char *hashed = all && whole ? strait_hash_json(key, all) : NULL;
    json_decref(all);
    return hashed;
}

bool strait_trial_is_none(const struct strait_codec_spec *spec)
{
    return strcmp(spec->ops->name, "none") == 0;
}

/* Does the size of every tensor that the codec takes follow from its shape? sized: open, or NULL.
 */
static bool is_size_known(const struct strait_trial *p, const struct strait_codec_choice *choice,
                          const void *sized)
{
    const struct strait_model *m = p->experiment->model;
    for (size_t i = 0; sized && i < m->n_rows; i++) {
        const struct strait_param_row *row = &m->rows[i];
        const size_t n_rows = row->n_dims >= 2 ? row->shape[0] : 0;
        if (strait_codec_choice_takes(choice, row) &&
            strait_codec_predict(choice->spec.ops, sized, row->n_elems, n_rows) == 0)
            return false;
    }
    return sized;
}

/* The profile that the codec names, else the run's. */
static const struct strait_profile *profile_of(const struct strait_trial *p, int direction,
                                               const struct strait_codec_spec *spec)
{
    const struct strait_profile *own = p->own_profiles[direction];
    return own && strait_profile_has(own, spec->ops->name) ? own : p->profile;
}

/* What one codec costs on one kind: from the profile that the codec names, else from the run's.
 * near: not NULL where other settings' speeds will do, since the codec tells its sizes itself. */
static int find_cost(struct strait_codec_cost *out, char *near, const struct strait_trial *p,
                     int direction, const struct strait_codec_spec *spec, const char *kind,
                     struct strait_error *err)
{
    const struct strait_codec_choice *choice =
        direction == 0 ? &p->experiment->up : &p->experiment->down;
    struct strait_profile_cost cost;
    struct strait_error why = {0};
    const char *model = p->experiment->model->name;
    *out = (struct strait_codec_cost){
        .ratio = 1, .encode_bytes_per_s = INFINITY, .decode_bytes_per_s = INFINITY};
    if (strait_trial_is_none(spec))
        return 0;
    const struct strait_profile *from = profile_of(p, direction, spec);
    if (strait_profile_find(&cost, from, spec, kind, model, &why) != 0 &&
        !(near && strait_profile_find_near(&cost, near, from, spec, kind, model)))
        return p->guess && why.code == STRAIT_ERR_INPUT
                   ? 0
                   : strait_error_set(err, why.code, why.where, "%s", why.text);
    *out = (struct strait_codec_cost){
        .ratio = cost.ratio,
        .encode_bytes_per_s = cost.encode_bytes_per_s * choice->encode_speed,
        .decode_bytes_per_s = cost.decode_bytes_per_s * choice->decode_speed,
        .encode_fixed_s = cost.encode_fixed_s / choice->encode_speed,
        .decode_fixed_s = cost.decode_fixed_s / choice->decode_speed};
    return 0;
}

/* Negative control: the codec shrinks the data but takes no time. */
static void forget_cost(struct strait_codec_cost *cost)
{
    cost->encode_bytes_per_s = cost->decode_bytes_per_s = INFINITY;
    cost->encode_fixed_s = cost->decode_fixed_s = 0;
}

static bool forgets_costs(const struct strait_trial *p)
{
    return p->run.control && strcmp(p->run.control, "no-codec-cost") == 0;
}

/* The kind of parameters against those of the round before. */
static const char change[] = "change";

/* Recorded kind that is sent up (0) and down (1). */
static const char *kind_of(const struct strait_experiment *e, int direction)
{
    if (direction == 0)
        return strait_uplink_kind(e);
    return e->strategy->downlink_kind ? e->strategy->downlink_kind : "param";
}

static bool has_entry(const struct strait_profile *from, const struct strait_codec_spec *spec,
                      const char *kind, const char *model)
{
    for (size_t i = 0; i < from->n_entries; i++)
        if (strcmp(from->entries[i].kind, kind) == 0 &&
            strcmp(from->entries[i].codec, spec->ops->name) == 0 &&
            strcmp(from->entries[i].model, model) == 0)
            return true;
    return false;
}

/* The kind of what is coded: of partial sums where the strategy adds and the profile has them, if
 * not of its all-reduce then of a ring. */
static const char *coded_kind(char buf[STRAIT_KIND_CHARS], const struct strait_trial *p,
                              int direction)
{
    const struct strait_experiment *e = p->experiment;
    const struct strait_codec_spec *spec = direction == 0 ? &e->up.spec : &e->down.spec;
    const struct strait_profile *from = profile_of(p, direction, spec);
    const char *kind = kind_of(e, direction);
    if (direction != 0 || !e->strategy->sums)
        return kind;
    for (int ring = 0; ring < 2; ring++) {
        strait_sums_kind(buf, ring ? "sum" : strait_experiment_sums(e), kind, e->n_clients);
        if (has_entry(from, spec, buf, e->model->name))
            return buf;
    }
    return kind;
}

/* A sum fills its range more evenly the more ranks it is of, so it has its own size. */
static void find_sums(struct strait_trial *p)
{
    const struct strait_experiment *e = p->experiment;
    const struct strait_profile *from = profile_of(p, 0, &e->up.spec);
    char buf[STRAIT_KIND_CHARS], own[STRAIT_KIND_CHARS];
    const char *mean = coded_kind(buf, p, 0);
    for (int k = strait_next_sum(0, e->n_clients); k > 0 && p->n_sums < STRAIT_MAX_SUM_COSTS;
         k = strait_next_sum(k, e->n_clients)) {
        struct strait_sum_cost *sum = &p->sums[p->n_sums];
        if (!strait_sum_of_kind(own, mean, k) || !has_entry(from, &e->up.spec, own, e->model->name))
            continue;
        if (find_cost(&sum->of, NULL, p, 0, &e->up.spec, own, NULL) == 0) {
            sum->n_ranks = k;
            p->n_sums++;
        }
    }
}

static double between(double a, double b, double share)
{
    return 1 / ((1 - share) / a + share / b);
}

struct strait_codec_cost strait_trial_sum_cost(const struct strait_trial *p, int n_ranks)
{
    int at = 0;
    if (p->n_sums == 0 || n_ranks < 1)
        return p->up;
    while (at < p->n_sums && p->sums[at].n_ranks < n_ranks)
        at++;
    if (at == p->n_sums || at == 0 || p->sums[at].n_ranks == n_ranks)
        return p->sums[at < p->n_sums ? at : at - 1].of;
    const struct strait_sum_cost *a = &p->sums[at - 1], *b = &p->sums[at];
    const double share = log((double)n_ranks / a->n_ranks) / log((double)b->n_ranks / a->n_ranks);
    struct strait_codec_cost cost = a->of;
    cost.ratio = between(a->of.ratio, b->of.ratio, share);
    cost.encode_bytes_per_s = between(a->of.encode_bytes_per_s, b->of.encode_bytes_per_s, share);
    cost.decode_bytes_per_s = between(a->of.decode_bytes_per_s, b->of.decode_bytes_per_s, share);
    return cost;
}

int strait_trial_cost(struct strait_codec_cost *out, const struct strait_trial *p, int direction,
                      bool changes, double bound, struct strait_error *err)
{
    const struct strait_experiment *e = p->experiment;
    struct strait_codec_spec spec = direction == 0 ? e->up.spec : e->down.spec;
    spec.bound.value = bound;
    char near[STRAIT_SPEC_CHARS] = "";
    char buf[STRAIT_KIND_CHARS];
    const char *kind =
        changes && p->has_changes[direction] ? change : coded_kind(buf, p, direction);
    if (find_cost(out, *p->speeds_of[direction] ? near : NULL, p, direction, &spec, kind, err) != 0)
        return -1;
    if (forgets_costs(p))
        forget_cost(out);
    return 0;
}

/* A sized run needs profile entries for every bound that the strategy may use: check now. */
static int check_bounds(struct strait_trial *p, struct strait_error *err)
{
    const struct strait_experiment *e = p->experiment;
    struct strait_codec_cost at_least, at_most;
    double least, most;
    for (int i = 0; i < 2 && !p->run.real_payload && e->strategy->bounds_of; i++) {
        if (!e->strategy->bounds_of(&least, &most, e, i))
            continue;
        if (strait_trial_cost(&at_least, p, i, false, least, err) != 0 ||
            strait_trial_cost(&at_most, p, i, false, most, err) != 0)
            return -1;
        p->has_one_ratio[i] = least < most && at_least.ratio == at_most.ratio;
    }
    return 0;
}

/* Entries of kind "any" are means over kinds that are no changes. */
static void find_changes(struct strait_trial *p, int direction)
{
    const struct strait_codec_choice *c =
        direction == 0 ? &p->experiment->up : &p->experiment->down;
    const struct strait_profile *own = p->own_profiles[direction];
    const struct strait_profile *from =
        own && strait_profile_has(own, c->spec.ops->name) ? own : p->profile;
    p->changes[direction] = direction == 0 ? p->up : p->down;
    for (size_t i = 0; c->reference && !c->own && i < from->n_entries && !p->has_changes[direction];
         i++)
        p->has_changes[direction] = strcmp(from->entries[i].kind, change) == 0 &&
                                    strcmp(from->entries[i].codec, c->spec.ops->name) == 0;
    struct strait_codec_cost cost;
    if (!p->has_changes[direction])
        return;
    if (find_cost(&cost, NULL, p, direction, &c->spec, change, NULL) == 0)
        p->changes[direction] = cost;
    else
        p->has_changes[direction] = false;
}

/* Who measures a codec cannot make it faster. */
static int refuse_speed(const struct strait_trial *p, int direction, struct strait_error *err)
{
    const struct strait_experiment *e = p->experiment;
    const double speed = direction == 0 ? e->up.encode_speed : e->down.encode_speed;
    char where[256];
    if (speed == 1 || !p->run.measured_cost)
        return 0;
    snprintf(where, sizeof(where), "%.200s#/%s/speed", e->file,
             direction == 0 ? "codec" : "download_codec");
    return strait_refuse(err, where, "expected 1 where codecs are measured (emu), found %g", speed);
}

/* The profile that the codec names; else, of a codec that the run's profile does not know, the
 * shipped one that measured it, which the row says. */
static int load_own(struct strait_trial *p, int direction, struct strait_error *err)
{
    const struct strait_codec_choice *choice =
        direction == 0 ? &p->experiment->up : &p->experiment->down;
    const char *codec = choice->spec.ops->name;
    if (choice->profile)
        return strait_profile_load(&p->own_profiles[direction], choice->profile, err);
    if (p->guess || p->run.measured_cost || strait_trial_is_none(&choice->spec) ||
        strait_profile_has(p->profile, codec))
        return 0;
    return strait_profile_load_shipped_for(&p->own_profiles[direction], codec, err);
}

int strait_trial_find_costs(struct strait_trial *p, struct strait_error *err)
{
    const struct strait_experiment *e = p->experiment;
    const struct strait_codec_choice *choices[2] = {&e->up, &e->down};
    struct strait_codec_cost *costs[2] = {&p->up, &p->down};
    struct strait_codec_cost *lossless[2] = {&p->lossless_up, &p->lossless_down};
    for (int i = 0; i < 2; i++) {
        if (refuse_speed(p, i, err) != 0 || load_own(p, i, err) != 0)
            return -1;
        /* a lossless codec takes every tensor itself */
        const bool all = choices[i]->spec.ops->flags & STRAIT_CODEC_LOSSLESS;
        /* ranks that train send what the codec wrote: sizes are its own then */
        char kind[STRAIT_KIND_CHARS];
        const bool near = e->trains || is_size_known(p, choices[i], p->sized_states[i]);
        if (find_cost(costs[i], near ? p->speeds_of[i] : NULL, p, i, &choices[i]->spec,
                      coded_kind(kind, p, i), err) != 0 ||
            (!all && find_cost(lossless[i], NULL, p, i, &choices[i]->lossless, "any", err) != 0))
            return -1;
        find_changes(p, i);
    }
    find_sums(p);
    strait_profile_memory(&p->add_bytes_per_s, &p->copy_bytes_per_s, p->profile, e->model->name);
    if (e->add_bytes_per_s > 0)
        p->add_bytes_per_s = e->add_bytes_per_s;
    if (e->copy_bytes_per_s > 0)
        p->copy_bytes_per_s = e->copy_bytes_per_s;
    if (check_bounds(p, err) != 0)
        return -1;
    for (int i = 0; i < 2 && forgets_costs(p); i++) {
        forget_cost(costs[i]);
        forget_cost(&p->changes[i]);
        forget_cost(lossless[i]);
    }
    for (int i = 0; i < p->n_sums && forgets_costs(p); i++)
        forget_cost(&p->sums[i].of);
    return 0;
}
