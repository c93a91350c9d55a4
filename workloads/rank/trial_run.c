#include "trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/buffer.h"
#include "coding.h"
#include "learning.h"
#include "rank.h"
#include "rank_state.h"
#include "workloads/live/kept.h"
#include "workloads/live/workspaces.h"
#include "workloads/timing/timing.h"

/* If all clients' tensors together exceed this, clients share values. */
static const double MAX_OWN_BYTES = 4e9;
/* Of the run that tells what encoded tensors take: some seconds of coding. */
static const double SIZING_BYTES = 1e9;
enum { SIZING_ROUNDS = 6 };
/* Of the simulation that tells what ranks hold; more messages than these, some 10 s and 1 GB here,
 * no machine emulates in a day. */
enum { PROBE_ROUNDS = 16, PROBE_MESSAGES = 1000000 };
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
    if (src != dst && (src >= p->experiment->n_ranks || dst >= p->experiment->n_ranks))
        return strait_others_use_stream(run->network, src, dst, channel);
    return src != dst && (!s->uses_stream || s->uses_stream(p->experiment, src, dst, channel));
}

static int carrier(const struct strait_run *run, int channel)
{
    const struct strait_trial *p = run->context;
    const struct strait_strategy *s = p->experiment->strategy;
    return s->carrier ? s->carrier(p->experiment, channel) : channel;
}

void strait_trial_choices(const struct strait_codec_choice *choices[STRAIT_N_CODECS],
                          const struct strait_trial *p)
{
    choices[0] = &p->experiment->up;
    choices[1] = &p->experiment->down;
    choices[2] = &p->plain;
    choices[3] = &p->experiment->inside;
}

/* Sizes that follow from the shape alone come from an open codec, not from the profile; and where
 * they do, times may come from its other settings. */
static int open_sized(struct strait_trial *p, struct strait_error *err)
{
    const struct strait_codec_choice *choices[STRAIT_N_CODECS];
    strait_trial_choices(choices, p);
    for (int i = 0; i < STRAIT_N_CODECS && !(p->run.real_payload && p->run.measured_cost); i++) {
        const struct strait_codec_spec *spec = &choices[i]->spec;
        const bool predicts = spec->ops->fixed_size || spec->ops->predict || spec->ops->statistics;
        if (predicts && strait_codec_open(spec->ops, &p->sized_states[i], spec->params, err) != 0)
            return -1;
    }
    return 0;
}

static void close_sized(struct strait_trial *p)
{
    const struct strait_codec_choice *choices[STRAIT_N_CODECS];
    strait_trial_choices(choices, p);
    for (int i = 0; i < STRAIT_N_CODECS; i++)
        if (p->sized_states[i])
            choices[i]->spec.ops->close(p->sized_states[i]);
}

static int open_task(struct strait_trial *p, const struct strait_trial_options *options,
                     struct strait_error *err)
{
    const struct strait_experiment *e = p->experiment;
    p->learn = options->learn ? *options->learn : NULL;
    if (!p->learn && strait_learn_open(&p->learn, &e->training, p->n_workers, e->seed, err) != 0)
        return -1;
    p->learn_is_lent = options->learn != NULL;
    if (p->learn_is_lent)
        *options->learn = p->learn;
    return 0;
}

/* Open the task: before ranks are forked, so that they share it. */
static int open_training(struct strait_trial *p, const struct strait_trial_options *options,
                         struct strait_error *err)
{
    const struct strait_experiment *e = p->experiment;
    if (open_task(p, options, err) != 0 || strait_experiment_fits(e, p->learn, err) != 0 ||
        strait_workspaces_new(&p->workspaces, &e->training, p->learn, err) != 0)
        return -1;
    p->initial = strait_buffer_new(e->model->n_elems * sizeof(*p->initial));
    if (!p->initial)
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "a model does not fit in memory");
    strait_learn_init(p->learn, p->initial);
    if (options->state && strait_kept_open(&p->kept, options->state, e->model->n_elems, err) != 0)
        return -1;
    p->run.score = mmap(NULL, sizeof(*p->run.score), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p->run.score == MAP_FAILED) {
        p->run.score = NULL;
        return strait_error_memory(err, NULL);
    }
    atomic_store(&p->run.score->loss, NAN);
    atomic_store(&p->run.score->accuracy, NAN);
    /* An emulation scores after the run, so it goes on to its end. */
    p->stops_at_target = e->has_until && !p->run.measured_cost;
    p->run.ends_with_rank_0 |= p->stops_at_target;
    return 0;
}

/* Choose recordings for the model's tensors, of the kinds that the strategy sends. */
static int fill(struct strait_trial *p, struct strait_error *err)
{
    const struct strait_experiment *e = p->experiment;
    double recorded_bytes = 0, bytes = 0;
    if (strait_tensors_load(&p->tensors, e->tensors, err) != 0)
        return -1;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const bool up = strcmp(strait_uplink_kind(e), kinds[i]) == 0;
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
    return (o->real_payload || o->plans_memory) && !e->trains && e->strategy->has_server &&
           4.0 * (double)e->model->n_elems * e->n_clients > MAX_OWN_BYTES;
}

/* Ranks that may have measured work at the same time: clients without a codec have none. */
static int n_measuring(const struct strait_experiment *e)
{
    if (!e->strategy->has_server)
        return e->n_ranks;
    return strait_trial_is_none(&e->up.spec) && strait_trial_is_none(&e->down.spec) ? 1
                                                                                    : e->n_clients;
}

/* Divide time that belongs to no layer among the layers. */
static void scale_layers(struct strait_trial *p, const struct strait_model *m)
{
    double fwd_s = 0, bwd_s = 0;
    for (size_t l = 0; l < m->n_layers; l++) {
        fwd_s += m->layers[l].fwd_s_p50;
        bwd_s += m->layers[l].bwd_s_p50;
    }
    p->layer_fwd_scale = fwd_s > 0 ? m->fwd_s / fwd_s : 1;
    p->layer_bwd_scale = bwd_s > 0 ? m->bwd_s / bwd_s : 1;
}

int strait_trial_new(struct strait_trial **out, const struct strait_experiment *experiment,
                     const struct strait_profile *profile,
                     const struct strait_trial_options *options, struct strait_error *err)
{
    struct strait_trial *p = calloc(1, sizeof(*p));
    *out = NULL;
    if (!p)
        return strait_error_memory(err, NULL);
    p->experiment = experiment;
    p->profile = profile;
    p->plain = (struct strait_codec_choice){
        .spec = strait_codec_spec_default(strait_codec_find("none")),
        .lossless = strait_codec_spec_default(strait_codec_find("none"))};
    p->n_workers = strait_experiment_n_workers(experiment);
    p->n_rounds = (int)strait_experiment_param(experiment, "rounds");
    scale_layers(p, experiment->model);
    p->every_round = options->every_round;
    p->plans_memory = options->plans_memory;
    p->sizes = options->sizes;
    p->guess = options->guess || (options->real_payload && options->measured_cost);
    p->recorded_ratio = NAN;
    /* On real machines nobody makes traffic for others. */
    const bool competes = strait_network_n_flows(experiment->network) > 0 && !options->world;
    p->with_others = competes ? strait_network_with_others(experiment->network) : NULL;
    const struct strait_network *network = competes ? p->with_others : experiment->network;
    const int n_ranks = experiment->n_ranks + (competes ? 1 : 0);
    p->logs = calloc((size_t)n_ranks, sizeof(*p->logs));
    p->run = (struct strait_run){.n_ranks = n_ranks,
                                 .network = network,
                                 .n_slots = n_slots,
                                 .rank_begin = strait_rank_begin,
                                 .rank_main = strait_rank_main,
                                 .rank_end = strait_rank_end,
                                 .ends_with_rank_0 = experiment->strategy->ends_with_rank_0,
                                 .has_one_lane = experiment->strategy->has_one_lane &&
                                                 !options->real_payload && !competes,
                                 .n_threads = options->n_threads,
                                 .in_process = options->in_process && !options->real_payload,
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
                                 .world = options->world,
                                 .watch = options->watch,
                                 .watcher = options->watcher,
                                 .uses_stream = uses_stream,
                                 .carrier = carrier};
    p->shares_values = shares_values(experiment, options);
    p->estimates = options->measured_cost ? NULL : strait_estimates_new();
    p->rooms = calloc(STRAIT_N_CODECS, sizeof(*p->rooms));
    p->opened = calloc(STRAIT_N_CODECS, sizeof(*p->opened));
    if (options->measured_cost) {
        void *shared = mmap(NULL, STRAIT_MAX_READINGS * sizeof(*p->readings),
                            PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        p->readings = shared == MAP_FAILED ? NULL : shared;
    }
    if (!network || !p->logs || !p->rooms || !p->opened ||
        (!p->estimates && !options->measured_cost) || (options->measured_cost && !p->readings)) {
        strait_trial_free(p);
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "%d logs do not fit in memory",
                                experiment->n_ranks);
    }
    if (strait_facts_init(&p->facts, err) != 0 || open_sized(p, err) != 0 ||
        strait_trial_find_costs(p, err) != 0 ||
        (options->real_payload && (experiment->trains        ? open_training(p, options, err)
                                   : options->without_values ? 0
                                                             : fill(p, err)) != 0)) {
        strait_trial_free(p);
        return -1;
    }
    *out = p;
    return 0;
}

void strait_trial_free(struct strait_trial *p)
{
    if (!p)
        return;
    for (int i = 0; p->logs && i < p->run.n_ranks; i++)
        strait_log_release(&p->logs[i]);
    free(p->logs);
    strait_network_free(p->with_others);
    for (size_t i = 0; i < 3; i++)
        strait_tensor_fill_plan_free(p->fills[i]);
    strait_tensors_free(p->tensors);
    strait_workspaces_free(p->workspaces);
    strait_kept_close(p->kept, false);
    if (!p->learn_is_lent)
        strait_learn_free(p->learn);
    strait_buffer_free(p->initial);
    if (p->run.score)
        munmap(p->run.score, sizeof(*p->run.score));
    strait_buffer_free(p->shared_values);
    if (p->readings)
        munmap(p->readings, STRAIT_MAX_READINGS * sizeof(*p->readings));
    free(p->estimates);
    free(p->rooms);
    free(p->opened);
    free(p->all_ranks);
    strait_facts_release(&p->facts);
    close_sized(p);
    for (int i = 0; i < 2; i++)
        strait_profile_free(p->own_profiles[i]);
    free(p);
}

/* Rounds that tell what the others hold and take: all of a plan's kinds, and none of a million. */
static int probe_rounds(const struct strait_experiment *e, int n_rounds)
{
    const int period = e->strategy->period ? e->strategy->period(e) : 0;
    const int most = 2 * period > PROBE_ROUNDS ? 2 * period : PROBE_ROUNDS;
    return n_rounds < most ? n_rounds : most;
}

void strait_trial_forget_state(struct strait_trial *p)
{
    strait_kept_close(p->kept, true);
    p->kept = NULL;
}

/* Memory of all ranks at their peaks, and duration, from a run with sized payload. */
int strait_trial_measure_need(struct strait_trial *p, struct strait_error *err)
{
    const struct strait_trial_options sized = {
        .plans_memory = true, .guess = p->guess, .in_process = true};
    const double model_bytes = 4.0 * (double)p->experiment->model->n_elems;
    struct strait_trial *probe;
    double *bytes = &p->run.memory_bytes;
    if (strait_trial_new(&probe, p->experiment, p->profile, &sized, err) != 0)
        return -1;
    const int n_rounds = p->n_rounds;
    probe->n_rounds = probe_rounds(p->experiment, n_rounds);
    probe->run.limit_messages = PROBE_MESSAGES;
    const int failed = strait_fluid.run(&probe->run, err);
    const double scale = n_rounds / fmax(1, probe->n_rounds);
    for (int i = 0; i < probe->run.n_ranks && !failed; i++) {
        *bytes += (double)probe->logs[i].peak_bytes;
        p->run.allocated_bytes += probe->logs[i].allocated_bytes;
        p->n_batches += probe->logs[i].n_batches * scale;
    }
    p->expected_s = probe->logs[0].total_s[STRAIT_SPAN_ROUND] * scale;
    p->run.expected_s = p->expected_s;
    strait_trial_free(probe);
    if (p->learn) {
        const double more_bytes = strait_learning_bytes(p);
        *bytes += more_bytes;
        p->run.allocated_bytes += more_bytes;
    }
    if (p->shares_values) {
        *bytes -= model_bytes * (p->experiment->n_clients - 1);
        p->run.allocated_bytes += model_bytes; /* which no rank counts as its own */
    }
    return failed;
}

/* What one gradient takes here: the second, whose memory is there. */
static int time_gradient(struct strait_trial *p, struct strait_error *err)
{
    struct strait_workspace *x = strait_workspace_take(p->workspaces, 0, err);
    if (!x)
        return -1;
    for (int i = 0; i < 2; i++) {
        const double start_s = strait_cpu_s();
        strait_learner_gradient(x->learner, p->initial, (uint64_t)i, x->gradient);
        p->gradient_s = strait_cpu_s() - start_s;
    }
    strait_workspace_give(p->workspaces, x);
    p->run.training_load = p->n_workers * p->gradient_s / strait_model_step_s(p->experiment->model);
    return 0;
}

double strait_trial_training_s(const struct strait_trial *p)
{
    return p->n_batches * p->gradient_s * p->experiment->n_seeds;
}

/* Fill before the ranks are forked, so that they share it. */
static int fill_shared(struct strait_trial *p, struct strait_error *err)
{
    if (!p->shares_values || p->shared_values)
        return 0;
    p->shared_values = strait_tensor_sent_values(p, 1, strait_uplink_kind(p->experiment));
    return p->shared_values
               ? 0
               : strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "a tensor does not fit in memory");
}

int strait_trial_check(struct strait_trial *p, const struct strait_backend *backend,
                       struct strait_error *err)
{
    /* What needs no memory to be refused is refused first. */
    if (backend->check(&p->run, err) != 0)
        return -1;
    const bool wanted = p->run.real_payload || backend->is_measured; /* for its deadlines */
    if (!wanted || p->run.expected_s > 0)
        return 0;
    if (strait_trial_measure_need(p, err) != 0)
        return -1;
    if (!p->run.real_payload) /* noise is held by nobody */
        p->run.memory_bytes = p->run.allocated_bytes = 0;
    if (p->learn && p->gradient_s == 0 && time_gradient(p, err) != 0)
        return -1;
    return backend->check(&p->run, err);
}

/* Rounds that tell the sizes: since all send the same recorded values, only codecs with memory or
 * chance, and strategies whose rounds differ, need more than one. Rounds of asynchronous servers
 * are single updates. */
static int sizing_rounds(const struct strait_experiment *e, int n_rounds)
{
    const double model_bytes = 4.0 * (double)e->model->n_elems;
    const bool is_async = e->strategy->ends_with_rank_0;
    const double round_bytes = model_bytes * (is_async ? 2 : e->n_ranks);
    const double most =
        fmin(SIZING_BYTES / round_bytes, is_async ? SIZING_ROUNDS * e->n_clients : SIZING_ROUNDS);
    return (int)fmin(n_rounds, most);
}

int strait_trial_find_sizes(struct strait_sent_sizes **out, const struct strait_experiment *e,
                            const struct strait_profile *profile, struct strait_error *err)
{
    const struct strait_trial_options real = {.real_payload = true, .every_round = true};
    struct strait_trial *p = NULL;
    struct strait_sent_sizes *sizes = NULL;
    *out = NULL;
    if (strait_trial_new(&p, e, profile, &real, err) != 0)
        return -1;
    p->n_rounds = sizing_rounds(e, p->n_rounds);
    p->noted = sizes = strait_sent_sizes_new(p->run.n_ranks, err);
    int failed = !sizes;
    if (!failed && p->n_rounds < 1)
        failed = strait_error_set(err, STRAIT_ERR_HOST, e->file,
                                  "a round has more than %g GB to encode", SIZING_BYTES / 1e9);
    if (!failed)
        failed = strait_trial_run(p, &strait_fluid, err) != 0 ||
                 strait_sent_sizes_close(sizes, err) != 0;
    strait_trial_free(p);
    if (failed) {
        strait_sent_sizes_free(sizes);
        return -1;
    }
    *out = sizes;
    return 0;
}

int strait_trial_run(struct strait_trial *p, const struct strait_backend *backend,
                     struct strait_error *err)
{
    if (strait_trial_check(p, backend, err) != 0 || fill_shared(p, err) != 0)
        return -1;
    return strait_steady_run(p, backend, err);
}
