/* The interval of a prediction: further runs by fluid with moved inputs, and what was learned. */
#include <math.h>
#include <string.h>
#include "analysis/breakdown.h"
#include "analysis/breakeven.h"
#include "analysis/fields.h"
#include "analysis/intervals/interval.h"
#include "plan.h"
#include "workloads/ask/packet_effects.h"
#include "workloads/ask/software.h"

/* Draws of losses beside the prediction's own: fewer where they would be long, which is where a
 * run's own losses average out. */
enum { MIN_DRAWS = 2, MAX_SEGMENTS = 2000000 };

double strait_plan_mean_round_s(const struct strait_trial *p)
{
    double sum_s = 0;
    size_t n = 0;
    struct strait_span_walk walk;
    strait_spans_begin_kind(&walk, &p->logs[0].spans, STRAIT_SPAN_ROUND);
    for (const struct strait_span *s; (s = strait_spans_next(&walk));)
        if (s->kind == STRAIT_SPAN_ROUND) {
            sum_s += s->end_s - s->start_s;
            n++;
        }
    return n > 0 ? sum_s / (double)n : NAN;
}

/* Move a codec's cost to this end of the profile's quantiles, for all tensors. Returns: whether it
 * moves; a stated profile has no spread. */
static bool move_cost(struct strait_codec_cost *cost, const struct strait_trial *p, int way,
                      bool slow)
{
    const struct strait_experiment *e = p->experiment;
    const struct strait_codec_choice *choice = way == 0 ? &e->up : &e->down;
    const struct strait_profile *own = p->own_profiles[way];
    const char *kind = way == 0                             ? strait_uplink_kind(e)
                       : e->strategy->downlink_kind != NULL ? e->strategy->downlink_kind
                                                            : "param";
    struct strait_profile_cost found;
    struct strait_error ignored = {0};
    const struct strait_profile *from =
        own && strait_profile_has(own, choice->spec.ops->name) ? own : p->profile;
    if (strcmp(choice->spec.ops->name, "none") == 0 ||
        strait_profile_find(&found, from, &choice->spec, kind, e->model->name, &ignored) != 0)
        return false;
    bool moves = false;
    const struct strait_quantiles *q[3] = {&found.ratios, &found.encode, &found.decode};
    double *moved[3] = {&cost->ratio, &cost->encode_bytes_per_s, &cost->decode_bytes_per_s};
    for (int i = 0; i < 3; i++)
        if (q[i]->p50 > 0) {
            *moved[i] *= (slow ? q[i]->p10 : q[i]->p90) / q[i]->p50;
            moves = moves || q[i]->p10 < q[i]->p90;
        }
    return moves;
}

/* What of the inputs moves. end: 0 the codec's quick one, 1 its slow one, -1 neither; rate: of
 * every link, times. */
struct move {
    int end;
    uint64_t draw;
    double rate;
    uint64_t order; /* keys how far each rank's delay is off; 0: it is not */
};

/* Mean round by fluid; NAN: the codec has no such end. */
static int run_moved(double *round_s, const struct strait_plan_setup *setup,
                     const struct strait_experiment *e, struct move m, struct strait_error *err)
{
    const int end = m.end;
    const struct strait_trial_options sized = {.control = strait_plan_control(setup, &strait_fluid),
                                               .sizes = setup->sizes,
                                               .in_process = true};
    struct strait_trial *p;
    *round_s = NAN;
    if (strait_trial_new(&p, e, setup->profile, &sized, err) != 0)
        return -1;
    struct strait_network *other =
        m.rate != 1 ? strait_network_at_rate(p->run.network, m.rate)
        : m.order   ? strait_network_off_delays(p->run.network, STRAIT_INTERVAL_DELAYS, m.order)
                    : NULL;
    p->run.network_draw = m.draw;
    p->run.network = other ? other : p->run.network;
    const bool up = end >= 0 && move_cost(&p->up, p, 0, end == 1),
               down = end >= 0 && move_cost(&p->down, p, 1, end == 1);
    const int failed = up || down || end < 0 ? strait_trial_run(p, &strait_fluid, err) : 0;
    if (!failed && (up || down || end < 0))
        *round_s = strait_plan_mean_round_s(p);
    strait_network_free(other);
    strait_trial_free(p);
    return failed ? -1 : 0;
}

/* The codec's quick and slow end, as far as they are wanted; NAN: nothing varies. */
static int codec_ends(double ends_s[2], const bool wanted[2], const struct strait_plan_setup *setup,
                      const struct strait_experiment *e, struct strait_error *err)
{
    ends_s[0] = ends_s[1] = NAN;
    for (int end = 0; end < 2 && !strait_plan_is_plain(e); end++)
        if (wanted[end] &&
            run_moved(&ends_s[end], setup, e, (struct move){.end = end, .rate = 1}, err) != 0)
            return -1;
    return 0;
}

static bool is_drawn(const struct strait_experiment *e)
{
    json_t *effects = strait_packet_effects(e->network);
    const bool drawn = json_object_get(effects, "drawn") != NULL;
    json_decref(effects);
    return drawn;
}

/* Rounds with other draws of losses than its own, where losses are drawn. */
static int other_draws(struct strait_interval_inputs *in, const struct strait_plan_setup *setup,
                       const struct strait_experiment *e, double payload_bytes,
                       struct strait_error *err)
{
    const double n_segments = 1 + payload_bytes / e->network->tcp.segment_bytes;
    const size_t n_draws =
        (size_t)fmax(MIN_DRAWS, fmin(STRAIT_INTERVAL_DRAWS, floor(MAX_SEGMENTS / n_segments)));
    for (size_t i = 0; i < n_draws && is_drawn(e); i++) {
        const struct move m = {.end = -1, .draw = i + 1, .rate = 1};
        if (run_moved(&in->other_draws_s[in->n_draws++], setup, e, m, err) != 0)
            return -1;
    }
    return 0;
}

/* Packets move and nothing is drawn. */
static bool is_certain(const struct strait_experiment *e)
{
    return strait_network_by_packets(e->network) && !is_drawn(e) &&
           strait_network_n_scheduled(e->network) == 0;
}

/* The round with rates a little off, where it is certain: a queue that just
 * holds what comes, or a window that just suffices, moves it by much more. Bytes that are as much
 * off do the same. */
static int edges(double ends_s[2], const struct strait_plan_setup *setup,
                 const struct strait_experiment *e, struct strait_error *err)
{
    ends_s[0] = ends_s[1] = NAN;
    for (int i = 0; i < 2 && is_certain(e); i++) {
        const struct move m = {.end = -1,
                               .rate = i == 0 ? STRAIT_INTERVAL_OFF : 1 / STRAIT_INTERVAL_OFF};
        if (run_moved(&ends_s[i], setup, e, m, err) != 0)
            return -1;
    }
    return 0;
}

/* The round with delays a little off one another, where it is certain: which of equal streams gets
 * ahead, and so goes on first, depends on microseconds. */
static int orders(double ends_s[2], const struct strait_plan_setup *setup,
                  const struct strait_experiment *e, double round_s, struct strait_error *err)
{
    const bool counts = is_certain(e) && e->n_clients > 1;
    ends_s[0] = ends_s[1] = counts ? round_s : NAN;
    for (uint64_t i = 1; i <= STRAIT_INTERVAL_ORDERS && counts; i++) {
        const struct move m = {.end = -1, .rate = 1, .order = i};
        double moved_s;
        if (run_moved(&moved_s, setup, e, m, err) != 0)
            return -1;
        ends_s[0] = fmin(ends_s[0], moved_s);
        ends_s[1] = fmax(ends_s[1], moved_s);
    }
    return 0;
}

/* Stated errors of constants are taken as standard errors: 1.645 of them hold 90 %. */
static const double N_ERRORS = 1.645;

/* The round with a constant of its software off by so many seconds; it is none below 0. */
static int run_off(double *moved_s, const struct strait_plan_setup *setup,
                   const struct strait_experiment *e, const char *name, double off,
                   struct strait_error *err)
{
    struct strait_experiment moved = *e;
    const struct move m = {.end = -1, .rate = 1};
    for (unsigned i = 0; i < e->strategy->n_params; i++)
        if (strcmp(e->strategy->params[i].name, name) == 0)
            moved.params[i] = fmax(0, moved.params[i] + off);
    return run_moved(moved_s, setup, &moved, m, err);
}

/* The round with each of its software's constants off by its error, up and down; constants are
 * independent. */
static int constants(double ends_s[2], const struct strait_plan_setup *setup,
                     const struct strait_experiment *e, double round_s, struct strait_error *err)
{
    json_t *used = strait_software_used(e), *of;
    const char *name;
    double below_s = 0, above_s = 0;
    int failed = 0;
    json_object_foreach (used, name, of) {
        const double off = N_ERRORS * strait_software_error(e, name, of);
        double low_s, high_s;
        if (failed || !(off > 0))
            continue;
        failed = run_off(&low_s, setup, e, name, -off, err) != 0 ||
                 run_off(&high_s, setup, e, name, off, err) != 0;
        if (failed)
            continue;
        below_s = hypot(below_s, fmax(0, round_s - fmin(low_s, high_s)));
        above_s = hypot(above_s, fmax(0, fmax(low_s, high_s) - round_s));
    }
    json_decref(used);
    const bool moves = below_s > 0 || above_s > 0;
    ends_s[0] = moves ? fmax(0, round_s - below_s) : NAN;
    ends_s[1] = moves ? round_s + above_s : NAN;
    return failed ? -1 : 0;
}

/* Where ranks of Open MPI exchange both ways at once, or one way after the other, as long as they
 * are not late, and chance decides: the round if they never are, and if they are by ten times as
 * much. */
static int lateness(double ends_s[2], const struct strait_plan_setup *setup,
                    const struct strait_experiment *e, double round_s, struct strait_error *err)
{
    static const double factors[] = {0, 10};
    const bool counts = (strait_experiment_chooses(e, "collective", "open_mpi") ||
                         strait_experiment_chooses(e, "library", "open_mpi")) &&
                        strait_experiment_param(e, "skew") > 0;
    for (size_t i = 0; i < sizeof(factors) / sizeof(*factors) && counts; i++) {
        const struct move m = {.end = -1, .rate = 1};
        struct strait_experiment moved = *e;
        double moved_s;
        for (unsigned k = 0; k < e->strategy->n_params; k++)
            if (strcmp(e->strategy->params[k].name, "skew") == 0)
                moved.params[k] *= factors[i];
        if (run_moved(&moved_s, setup, &moved, m, err) != 0)
            return -1;
        ends_s[0] = fmin(isnan(ends_s[0]) ? round_s : ends_s[0], moved_s);
        ends_s[1] = fmax(isnan(ends_s[1]) ? round_s : ends_s[1], moved_s);
    }
    return 0;
}

/* The logarithm of a training step's 90th percentile over its median, all layers moving together;
 * 0 where the table has no spread. */
static double step_spread(const struct strait_model *m)
{
    double p50_s = 0, p90_s = 0;
    for (size_t i = 0; i < m->n_layers; i++) {
        p50_s += m->layers[i].fwd_s_p50 + m->layers[i].bwd_s_p50;
        p90_s += m->layers[i].fwd_s_p90 + m->layers[i].bwd_s_p90;
    }
    return p50_s > 0 ? fmax(0, log(p90_s / p50_s)) : 0;
}

/* Where the prediction stands on figures that no machine of ours gave, or on a kind of run that
 * none of those is like from which margins were learned. */
static const char *doubt_of(const struct strait_experiment *e)
{
    if (e->graph)
        return "no replay was held against a measurement";
    if (strait_network_n_scheduled(e->network) > 0)
        return "no network whose rates change was held against measurements";
    if (strait_network_n_flows(e->network) > 0)
        return "margins were learned on networks without flows of others";
    if (e->network->detail == STRAIT_DETAIL_FORMULA && strait_network_is_imperfect(e->network))
        return "losses by a formula, margins were learned packet by packet";
    return e->model->timing == STRAIT_TIMING_STATED_FLOPS
               ? "compute time from stated FLOP/s, whose error is not known"
               : NULL;
}

int strait_plan_put_interval(json_t *row, const struct strait_plan_setup *setup,
                             const struct strait_backend *backend,
                             const struct strait_experiment *e, struct strait_error *err)
{
    const json_t *path = json_object_get(row, "path_s"), *bytes = json_object_get(row, "bytes");
    const struct strait_case c = strait_case_of(
        e, strait_row_number(bytes, "payload") / fmax(1, strait_row_number(bytes, "messages")));
    const struct strait_model *m = e->model;
    const double step_s = (m->fwd_s + m->bwd_s + m->opt_s) / e->compute_speed;
    struct strait_interval_inputs in = {
        .round_s = strait_row_number(row, "round_s"),
        .compute_s = strait_row_number(path, "compute"),
        .step_log_p90 = step_spread(m),
        .n_rounds = (double)json_array_size(json_object_get(row, "rounds_s")),
        .n_waited = e->strategy->ends_with_rank_0 ? 1 : e->n_clients,
        .doubt = doubt_of(e),
        .is_published = m->timing == STRAIT_TIMING_PUBLISHED};
    double interval_s[2];
    if (backend->is_measured)
        return json_object_set_new(row, "evidence",
                                   json_pack("{s:s, s:o}", "basis",
                                             backend == &strait_emu ? "emulated" : "real machines",
                                             "case", strait_case_json(&c)));
    in.n_steps = step_s > 0 ? in.compute_s / step_s : 1;
    if (codec_ends(in.codec_s, (const bool[2]){true, true}, setup, e, err) != 0 ||
        other_draws(&in, setup, e, strait_row_number(bytes, "payload"), err) != 0 ||
        edges(in.edges_s, setup, e, err) != 0 ||
        orders(in.order_s, setup, e, in.round_s, err) != 0 ||
        constants(in.constants_s, setup, e, in.round_s, err) != 0 ||
        lateness(in.constants_s, setup, e, in.round_s, err) != 0)
        return -1;
    json_t *uncertainty = strait_interval_of(interval_s, &in, &c, setup->learned);
    json_object_set(row, "evidence", json_object_get(uncertainty, "evidence"));
    json_object_del(uncertainty, "evidence");
    json_object_set_new(row, "uncertainty", uncertainty);
    if (!isfinite(interval_s[0]))
        return 0;
    const double rounds = strait_row_number(row, "total_s") / in.round_s;
    json_object_set_new(row, "interval_s", json_pack("[f, f]", interval_s[0], interval_s[1]));
    json_object_set_new(row, "total_interval_s",
                        json_pack("[f, f]", rounds * interval_s[0], rounds * interval_s[1]));
    return 0;
}

/* --- for break-even ----------------------------------------------------------------------- */

static double mean_message_bytes(const struct strait_trial *p)
{
    double bytes = 0, n = 0;
    for (int r = 0; r < p->experiment->n_ranks; r++) {
        bytes += (double)p->logs[r].payload_bytes;
        n += (double)p->logs[r].n_messages;
    }
    return bytes / fmax(1, n);
}

void strait_plan_times_at(double *with_s, double *without_s, const struct strait_plan_times *with,
                          const struct strait_plan_times *without, int end)
{
    const bool worst = end < 0;
    const double factors[2] = {with->low_factor, with->high_factor};
    double gap_s[2];
    *with_s = with->round_s;
    *without_s = without->round_s;
    if (end == 0)
        return;
    for (int i = 0; i < 2; i++)
        gap_s[i] = (factors[i] - 1) * (with->network_s - without->network_s);
    const int taken = (gap_s[1] > gap_s[0]) == worst;
    *with_s = (worst ? with->slow_s : with->quick_s) + (factors[taken] - 1) * with->network_s;
    *without_s += (factors[taken] - 1) * without->network_s;
}

/* A quick end is at most the round itself, a slow one at least: where the codec pays at its best
 * with the round as it is, or fails to at its worst, that end changes nothing. */
static void find_wanted(bool wanted[2], const struct strait_plan_times *with,
                        const struct strait_plan_times *without)
{
    for (int i = 0; i < 2; i++) {
        double with_s, without_s;
        const bool best = i == 0;
        wanted[i] = true;
        if (!without)
            continue;
        strait_plan_times_at(&with_s, &without_s, with, without, best ? 1 : -1);
        wanted[i] = strait_breakeven_pays(with_s, without_s) != best;
    }
}

/* All but the codec's ends. */
static struct strait_plan_times without_ends(const struct strait_plan_setup *setup,
                                             const struct strait_experiment *e, double round_s,
                                             double network_s, double message_bytes)
{
    struct strait_plan_times t = {.round_s = round_s,
                                  .network_s = network_s,
                                  .quick_s = round_s,
                                  .slow_s = round_s,
                                  .low_factor = 1,
                                  .high_factor = 1};
    struct strait_margin margin;
    const struct strait_case c = strait_case_of(e, message_bytes);
    if (setup->learned && strait_learned_margin(&margin, setup->learned, &c)) {
        t.low_factor = fmin(1, exp(-strait_margin_below(&margin, 0)));
        t.high_factor = fmax(1, exp(strait_margin_above(&margin, 0)));
    }
    return t;
}

static void put_ends(struct strait_plan_times *t, const double ends_s[2])
{
    if (isfinite(ends_s[0]))
        t->quick_s = fmin(t->round_s, ends_s[0]);
    if (isfinite(ends_s[1]))
        t->slow_s = fmax(t->round_s, ends_s[1]);
}

static int times_of(struct strait_plan_times *out, const struct strait_plan_setup *setup,
                    const struct strait_experiment *e, const struct strait_trial *p,
                    const struct strait_plan_times *without, struct strait_error *err)
{
    struct strait_breakdown b;
    double ends_s[2];
    bool wanted[2];
    if (strait_breakdown_of(&b, p->logs, p->experiment->n_ranks, e->strategy->has_server, err) != 0)
        return -1;
    *out = without_ends(setup, e, b.round_s,
                        b.phase_s[STRAIT_PHASE_TRANSFER] + b.phase_s[STRAIT_PHASE_OTHER],
                        mean_message_bytes(p));
    strait_breakdown_release(&b);
    find_wanted(wanted, out, without);
    if (codec_ends(ends_s, wanted, setup, e, err) != 0)
        return -1;
    put_ends(out, ends_s);
    return 0;
}

bool strait_plan_row_has_times(const struct strait_plan_setup *setup, const json_t *row)
{
    return !setup->every_round && !setup->sends_sizes && !json_object_get(row, "training") &&
           json_is_number(json_object_get(row, "round_s")) && json_object_get(row, "uncertainty");
}

int strait_plan_times_of_row(struct strait_plan_times *out, const struct strait_plan_setup *setup,
                             const json_t *resolved, const json_t *row,
                             const struct strait_plan_times *without, struct strait_error *err)
{
    const json_t *path = json_object_get(row, "path_s"), *bytes = json_object_get(row, "bytes"),
                 *ends = json_object_get(json_object_get(row, "uncertainty"), "codec_s");
    struct strait_experiment *e = NULL;
    double ends_s[2];
    bool wanted[2];
    if (strait_experiment_read(&e, setup->file, resolved, err) != 0)
        return -1;
    *out = without_ends(setup, e, strait_row_number(row, "round_s"),
                        strait_row_number(path, "transfer") + strait_row_number(path, "other"),
                        strait_row_number(bytes, "payload") /
                            fmax(1, strait_row_number(bytes, "messages")));
    strait_experiment_free(e);
    find_wanted(wanted, out, without);
    for (size_t i = 0; i < 2; i++)
        ends_s[i] =
            wanted[i] && json_is_array(ends) ? json_number_value(json_array_get(ends, i)) : NAN;
    put_ends(out, ends_s);
    return 0;
}

int strait_plan_times(struct strait_plan_times *out, const struct strait_plan_setup *setup,
                      const json_t *resolved, const struct strait_plan_times *without,
                      struct strait_error *err)
{
    const struct strait_trial_options sized = {.control = strait_plan_control(setup, &strait_fluid),
                                               .in_process = true};
    struct strait_experiment *e = NULL;
    struct strait_trial *p = NULL;
    const int failed = strait_experiment_read(&e, setup->file, resolved, err) != 0 ||
                       strait_trial_new(&p, e, setup->profile, &sized, err) != 0 ||
                       strait_trial_run(p, &strait_fluid, err) != 0 ||
                       times_of(out, setup, e, p, without, err) != 0;
    strait_trial_free(p);
    strait_experiment_free(e);
    return failed ? -1 : 0;
}
