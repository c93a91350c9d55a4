#include "trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/buffer.h"
#include "rank.h"
#include "steady.h"
#include "rank_state.h"

/* If all clients' tensors together exceed this, clients share values. */
static const double MAX_OWN_BYTES = 4e9;
/* Kinds of recordings, in the order of enum strait_tensor_kind. */
static const char *const kinds[] = {"param", "update", "grad"};

static unsigned n_slots(const struct strait_run *run, int rank, enum strait_resource resource)
{
    const struct strait_trial *p = run->context;
    const struct strait_experiment *e = p->experiment;
    if (resource != STRAIT_CPU || rank != 0 || !e->strategy->has_server ||
        !strait_experiment_has_param(e, "decode_cores"))
        return 1;
    return (unsigned)strait_experiment_param(e, "decode_cores");
}

static bool uses_stream(const struct strait_run *run, int src, int dst, int channel)
{
    const struct strait_trial *p = run->context;
    const struct strait_strategy *s = p->experiment->strategy;
    return src != dst && (!s->uses_stream || s->uses_stream(p->experiment, src, dst, channel));
}

static bool is_none(const struct strait_codec_spec *spec)
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
        if (strait_slice_lossy(row->n_dims, row->n_elems, (size_t)choice->cutoff_elems) &&
            choice->spec.ops->predict(sized, row->n_elems, n_rows) == 0)
            return false;
    }
    return sized;
}

/* What one codec costs on one kind: from the profile that the codec names, else from the run's.
 * near: not NULL where other settings' speeds will do, since the codec tells its sizes itself. */
static int find_cost(struct strait_codec_cost *out, char *near, const struct strait_trial *p,
                     const struct strait_profile *own, const struct strait_codec_spec *spec,
                     const char *kind, struct strait_error *err)
{
    struct strait_profile_cost cost;
    struct strait_error why = {0};
    const char *model = p->experiment->model->name;
    *out = (struct strait_codec_cost){
        .ratio = 1, .encode_bytes_per_s = INFINITY, .decode_bytes_per_s = INFINITY};
    if (is_none(spec))
        return 0;
    const struct strait_profile *from =
        own && strait_profile_has(own, spec->ops->name) ? own : p->profile;
    if (strait_profile_find(&cost, from, spec, kind, model, &why) != 0 &&
        !(near && strait_profile_find_near(&cost, near, from, spec, kind, model)))
        return p->guess && why.code == STRAIT_ERR_INPUT
                   ? 0
                   : strait_error_set(err, why.code, why.where, "%s", why.text);
    *out = (struct strait_codec_cost){.ratio = cost.ratio,
                                      .encode_bytes_per_s = cost.encode_bytes_per_s,
                                      .decode_bytes_per_s = cost.decode_bytes_per_s,
                                      .encode_fixed_s = cost.encode_fixed_s,
                                      .decode_fixed_s = cost.decode_fixed_s};
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

/* Recorded kind that is sent up (0) and down (1). */
static const char *kind_of(const struct strait_experiment *e, int direction)
{
    if (direction == 0)
        return e->strategy->uplink_kind;
    return e->strategy->downlink_kind ? e->strategy->downlink_kind : "param";
}

int strait_trial_cost(struct strait_codec_cost *out, const struct strait_trial *p, int direction,
                      double bound, struct strait_error *err)
{
    const struct strait_experiment *e = p->experiment;
    struct strait_codec_spec spec = direction == 0 ? e->up.spec : e->down.spec;
    spec.bound.value = bound;
    char near[STRAIT_SPEC_CHARS];
    if (find_cost(out, *p->speeds_of[direction] ? near : NULL, p, p->own_profiles[direction], &spec,
                  kind_of(e, direction), err) != 0)
        return -1;
    if (forgets_costs(p))
        forget_cost(out);
    return 0;
}

/* A sized run needs profile entries for every bound that the strategy may use: check now. */
static int check_bounds(const struct strait_trial *p, struct strait_error *err)
{
    const struct strait_experiment *e = p->experiment;
    struct strait_codec_cost unused;
    double least, most;
    if (p->run.real_payload || !e->strategy->bounds_of || !e->strategy->bounds_of(&least, &most, e))
        return 0;
    return strait_trial_cost(&unused, p, 0, least, err) != 0 ||
                   strait_trial_cost(&unused, p, 0, most, err) != 0
               ? -1
               : 0;
}

static int find_costs(struct strait_trial *p, struct strait_error *err)
{
    const struct strait_experiment *e = p->experiment;
    const struct strait_codec_choice *choices[2] = {&e->up, &e->down};
    struct strait_codec_cost *costs[2] = {&p->up, &p->down};
    struct strait_codec_cost *lossless[2] = {&p->lossless_up, &p->lossless_down};
    for (int i = 0; i < 2; i++) {
        if (choices[i]->profile &&
            strait_profile_load(&p->own_profiles[i], choices[i]->profile, err) != 0)
            return -1;
        /* a lossless codec takes every tensor itself */
        const bool all = choices[i]->spec.ops->flags & STRAIT_CODEC_LOSSLESS;
        const bool near = is_size_known(p, choices[i], p->sized_states[i]);
        if (find_cost(costs[i], near ? p->speeds_of[i] : NULL, p, p->own_profiles[i],
                      &choices[i]->spec, kind_of(e, i), err) != 0 ||
            (!all && find_cost(lossless[i], NULL, p, p->own_profiles[i], &choices[i]->lossless,
                               "any", err) != 0))
            return -1;
    }
    p->add_bytes_per_s = e->add_bytes_per_s > 0 ? e->add_bytes_per_s : p->profile->add_bytes_per_s;
    p->copy_bytes_per_s =
        e->copy_bytes_per_s > 0 ? e->copy_bytes_per_s : p->profile->copy_bytes_per_s;
    return check_bounds(p, err);
}

/* Sizes that follow from the shape alone come from an open codec, not from the profile. */
static int open_sized(struct strait_trial *p, struct strait_error *err)
{
    const struct strait_codec_choice *choices[2] = {&p->experiment->up, &p->experiment->down};
    for (int i = 0; i < 2 && !p->run.real_payload; i++) {
        const struct strait_codec_spec *spec = &choices[i]->spec;
        if (spec->ops->predict && spec->ops->open(&p->sized_states[i], spec->params, err) != 0)
            return -1;
    }
    return 0;
}

static void close_sized(struct strait_trial *p)
{
    const struct strait_codec_choice *choices[2] = {&p->experiment->up, &p->experiment->down};
    for (int i = 0; i < 2; i++)
        if (p->sized_states[i])
            choices[i]->spec.ops->close(p->sized_states[i]);
}

/* Choose recordings for the model's tensors, of the kinds that the strategy sends. */
static int fill(struct strait_trial *p, struct strait_error *err)
{
    const struct strait_experiment *e = p->experiment;
    double recorded_bytes = 0, bytes = 0;
    if (strait_tensors_load(&p->tensors, e->tensors, err) != 0)
        return -1;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const bool up = strcmp(e->strategy->uplink_kind, kinds[i]) == 0;
        const bool down =
            e->strategy->downlink_kind && strcmp(e->strategy->downlink_kind, kinds[i]) == 0;
        if (!up && !down)
            continue;
        if (strait_tensor_fill_plan_new(&p->fills[i], e->model, p->tensors, kinds[i],
                                        STRAIT_FILL_SENT, err) != 0)
            return -1;
        recorded_bytes += (double)p->fills[i]->recorded_bytes;
        bytes += (double)(p->fills[i]->recorded_bytes + p->fills[i]->tiled_bytes);
    }
    p->recorded_ratio = bytes > 0 ? recorded_bytes / bytes : NAN;
    return 0;
}

/* Whether separate values for each client would need more memory than the rest of the run. */
static bool shares_values(const struct strait_experiment *e, const struct strait_trial_options *o)
{
    return (o->real_payload || o->plans_memory) && e->strategy->has_server &&
           4.0 * (double)e->model->n_elems * e->n_clients > MAX_OWN_BYTES;
}

/* Ranks that may have measured work at the same time: clients without a codec have none. */
static int n_measuring(const struct strait_experiment *e)
{
    if (!e->strategy->has_server)
        return e->n_ranks;
    return is_none(&e->up.spec) && is_none(&e->down.spec) ? 1 : e->n_clients;
}

int strait_trial_new(struct strait_trial **out, const struct strait_experiment *experiment,
                     const struct strait_profile *profile,
                     const struct strait_trial_options *options, struct strait_error *err)
{
    struct strait_trial *p = calloc(1, sizeof(*p));
    *out = NULL;
    if (!p)
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out");
    p->experiment = experiment;
    p->profile = profile;
    p->plain = (struct strait_codec_choice){
        .spec = strait_codec_spec_default(strait_codec_find("none")),
        .lossless = strait_codec_spec_default(strait_codec_find("none"))};
    p->n_rounds = (int)strait_experiment_param(experiment, "rounds");
    p->every_round = options->every_round;
    p->plans_memory = options->plans_memory;
    p->guess = options->guess || (options->real_payload && options->measured_cost);
    p->recorded_ratio = NAN;
    p->logs = calloc((size_t)experiment->n_ranks, sizeof(*p->logs));
    p->run = (struct strait_run){.n_ranks = experiment->n_ranks,
                                 .network = experiment->network,
                                 .n_slots = n_slots,
                                 .rank_begin = strait_rank_begin,
                                 .rank_main = strait_rank_main,
                                 .rank_end = strait_rank_end,
                                 .ends_with_rank_0 = experiment->strategy->ends_with_rank_0,
                                 .real_payload = options->real_payload,
                                 .measured_cost = options->measured_cost,
                                 .one_at_a_time = options->one_at_a_time,
                                 .n_measuring = n_measuring(experiment),
                                 .seed = experiment->seed,
                                 .context = p,
                                 .logs = p->logs,
                                 .facts = &p->facts,
                                 .control = options->control,
                                 .dilation = options->dilation,
                                 .realisation = options->realisation,
                                 .launcher = options->launcher,
                                 .watch = options->watch,
                                 .watcher = options->watcher,
                                 .uses_stream = uses_stream};
    p->shares_values = shares_values(experiment, options);
    if (options->measured_cost) {
        void *shared = mmap(NULL, STRAIT_MAX_READINGS * sizeof(*p->readings),
                            PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        p->readings = shared == MAP_FAILED ? NULL : shared;
    }
    if (!p->logs || (options->measured_cost && !p->readings)) {
        strait_trial_free(p);
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "%d logs do not fit in memory",
                                experiment->n_ranks);
    }
    if (strait_facts_init(&p->facts, err) != 0 || open_sized(p, err) != 0 ||
        find_costs(p, err) != 0 || (options->real_payload && fill(p, err) != 0)) {
        strait_trial_free(p);
        return -1;
    }
    struct strait_codec_cost *const costs[] = {&p->up, &p->down, &p->lossless_up,
                                               &p->lossless_down};
    for (size_t i = 0; forgets_costs(p) && i < sizeof(costs) / sizeof(costs[0]); i++)
        forget_cost(costs[i]);
    *out = p;
    return 0;
}

void strait_trial_free(struct strait_trial *p)
{
    if (!p)
        return;
    for (int i = 0; p->logs && i < p->experiment->n_ranks; i++)
        strait_log_release(&p->logs[i]);
    free(p->logs);
    for (size_t i = 0; i < 3; i++)
        strait_tensor_fill_plan_free(p->fills[i]);
    strait_tensors_free(p->tensors);
    strait_buffer_free(p->shared_values);
    if (p->readings)
        munmap(p->readings, STRAIT_MAX_READINGS * sizeof(*p->readings));
    strait_facts_release(&p->facts);
    close_sized(p);
    for (int i = 0; i < 2; i++)
        strait_profile_free(p->own_profiles[i]);
    free(p);
}

/* Memory of all ranks at their peaks, and duration, from a run with sized payload. */
static int need_memory(struct strait_trial *p, struct strait_error *err)
{
    const struct strait_trial_options sized = {.plans_memory = true, .guess = p->guess};
    const double model_bytes = 4.0 * (double)p->experiment->model->n_elems;
    struct strait_trial *probe;
    double *bytes = &p->run.memory_bytes;
    if (strait_trial_new(&probe, p->experiment, p->profile, &sized, err) != 0)
        return -1;
    const int failed = strait_fluid.run(&probe->run, err);
    for (int i = 0; i < probe->run.n_ranks && !failed; i++) {
        *bytes += (double)probe->logs[i].peak_bytes;
        p->run.allocated_bytes += probe->logs[i].allocated_bytes;
    }
    p->expected_s = probe->logs[0].total_s[STRAIT_SPAN_ROUND];
    strait_trial_free(probe);
    if (p->shares_values) {
        *bytes -= model_bytes * (p->experiment->n_clients - 1);
        p->run.allocated_bytes += model_bytes; /* which no rank counts as its own */
    }
    return failed;
}

/* Fill before the ranks are forked, so that they share it. */
static int fill_shared(struct strait_trial *p, struct strait_error *err)
{
    if (!p->shares_values || p->shared_values)
        return 0;
    p->shared_values = strait_tensor_client_values(p);
    return p->shared_values
               ? 0
               : strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "a tensor does not fit in memory");
}

int strait_trial_check(struct strait_trial *p, const struct strait_backend *backend,
                       struct strait_error *err)
{
    if (p->run.real_payload && p->run.memory_bytes == 0 && need_memory(p, err) != 0)
        return -1;
    return backend->check(&p->run, err);
}

int strait_trial_run(struct strait_trial *p, const struct strait_backend *backend,
                     struct strait_error *err)
{
    if (strait_trial_check(p, backend, err) != 0 || fill_shared(p, err) != 0)
        return -1;
    return strait_steady_run(p, backend, err);
}
