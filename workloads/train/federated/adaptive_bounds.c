#include "adaptive_bounds.h"

#include <math.h>
#include <string.h>

const char *const strait_adaptive_sends[] = {"updates", "parameters", NULL};
const char *const strait_adaptive_download_policies[] = {"same",
                                                         "fixed",
                                                         "schedule",
                                                         "rms-adaptive",
                                                         "loss-adaptive",
                                                         "per-client-fairness",
                                                         "accuracy-guard",
                                                         "mean-abs",
                                                         "sensitivity",
                                                         "slope-adaptive",
                                                         NULL};

static const struct strait_codec_choice *choice_of(const struct strait_experiment *e, int direction)
{
    return direction == STRAIT_ADAPTIVE_UP ? &e->up : &e->down;
}

bool strait_adaptive_sends_parameters(const struct strait_experiment *e, int direction)
{
    return direction == STRAIT_ADAPTIVE_DOWN ||
           (int)strait_experiment_param(e, "sends") == STRAIT_SENDS_PARAMETERS;
}

/* What goes down and follows what goes up falls back on its own bound where that needs what is not
 * there: one client's loss, or values of a run that trains. */
static enum strait_policy_kind kind_of(const struct strait_experiment *e, int direction)
{
    const int down = (int)strait_experiment_param(e, "download_policy");
    const enum strait_policy_kind up =
        (enum strait_policy_kind)strait_experiment_param(e, "policy");
    if (direction == STRAIT_ADAPTIVE_UP)
        return up;
    if (down > 0)
        return (enum strait_policy_kind)(down - 1);
    if (up == STRAIT_POLICY_FAIRNESS || up == STRAIT_POLICY_NOISE ||
        (up == STRAIT_POLICY_RMS_ADAPTIVE && !e->trains) ||
        (up == STRAIT_POLICY_SENSITIVITY && !e->down.row_bounds))
        return STRAIT_POLICY_FIXED;
    return up;
}

struct strait_policy strait_adaptive_policy(const struct strait_experiment *e, int direction)
{
    return (struct strait_policy){
        .kind = kind_of(e, direction),
        .base = choice_of(e, direction)->spec.bound.value, /* 0: the codec has none */
        .decay = strait_experiment_param(e, "decay"),
        .rms_factor = strait_experiment_param(e, "rms_factor"),
        .gain = strait_experiment_param(e, "gain"),
        .limit = strait_experiment_param(e, "limit"),
        .tolerance = strait_experiment_param(e, "tolerance"),
        .alpha = strait_experiment_param(e, "alpha")};
}

void strait_adaptive_begin(struct strait_rank *r, struct strait_adaptive_way *way, int direction)
{
    const struct strait_experiment *e = strait_experiment(r);
    *way = (struct strait_adaptive_way){
        .direction = direction,
        .codec = strait_codec(r, direction == STRAIT_ADAPTIVE_UP ? "up" : "down"),
        .policy = strait_adaptive_policy(e, direction),
        .last = NAN,
        .plain_loss = NAN,
        .probe_loss = NAN};
    way->unit = strait_policy_unit(&way->policy, strait_adaptive_sends_parameters(e, direction));
    if (way->unit != STRAIT_UNIT_OF_CODEC)
        way->rows = strait_alloc(r, strait_model(r)->n_rows, sizeof(*way->rows));
    if (way->policy.kind == STRAIT_POLICY_GUARD && strait_trains(r))
        way->probe = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
}

double strait_adaptive_bound(struct strait_adaptive_way *way, struct strait_state state)
{
    state.bound = way->last;
    state.plain_loss = way->plain_loss;
    state.probe_loss = way->probe_loss;
    if (!(way->policy.base > 0))
        return NAN;
    return way->last = strait_policy_bound(&way->policy, &state);
}

/* --- bounds by tensor ---------------------------------------------------------------------- */

struct measuring {
    struct strait_adaptive_way *way;
    const struct strait_model *model;
    double bound;
    const float *x, *from;
    float *change; /* room for the largest tensor */
};

static void measure(void *arg)
{
    struct measuring *m = arg;
    size_t lo = 0;
    for (size_t i = 0; i < m->model->n_rows; lo += m->model->rows[i++].n_elems) {
        const size_t n = m->model->rows[i].n_elems;
        for (size_t k = 0; k < n && m->change; k++)
            m->change[k] = m->x[lo + k] - m->from[lo + k];
        m->way->rows[i] = (struct strait_bound){
            STRAIT_BOUND_ABS,
            strait_policy_absolute(m->way->unit, m->bound, m->x + lo, m->change, n)};
    }
}

/* Bounds of the tensors, in a pass over the values; false: no values, or nothing to compare
 * with. */
static bool measure_rows(struct strait_rank *r, struct strait_adaptive_way *way, double bound,
                         struct strait_tensor *x, struct strait_tensor *from)
{
    struct measuring m = {.way = way,
                          .model = strait_model(r),
                          .bound = bound,
                          .x = strait_values(r, x),
                          .from = from ? strait_values(r, from) : NULL};
    const bool by_update = way->unit == STRAIT_UNIT_UPDATE_RMS;
    if (!m.x || (by_update && !m.from))
        return false;
    if (by_update)
        m.change = strait_values(r, strait_spare(r, x));
    strait_work(r, STRAIT_SPAN_ENCODE, STRAIT_CPU,
                4.0 * (double)strait_n_elems(x) * strait_add_s_per_byte(r), measure, &m);
    return true;
}

struct strait_packet *strait_adaptive_encode(struct strait_rank *r, struct strait_adaptive_way *way,
                                             double bound, struct strait_tensor *x,
                                             struct strait_tensor *from)
{
    if (way->unit == STRAIT_UNIT_OF_CODEC || !(bound > 0))
        return strait_encode(r, way->codec, bound, x);
    return measure_rows(r, way, bound, x, from) ? strait_encode_within(r, way->codec, way->rows, x)
                                                : strait_encode(r, way->codec, NAN, x);
}

void strait_adaptive_probe(struct strait_rank *r, struct strait_adaptive_way *way,
                           struct strait_tensor *x, struct strait_tensor *model,
                           struct strait_tensor *on)
{
    if (!way->probe || strait_sends_views(way->codec))
        return;
    strait_round_trip(r, way->codec, way->last > 0 ? way->last : NAN, way->probe, x);
    if (on)
        strait_add(r, way->probe, on, 1);
    way->plain_loss = strait_score_of(r, model).loss;
    way->probe_loss = strait_score_of(r, way->probe).loss;
    if (!(way->last > 0))
        way->last = way->policy.base;
}

/* --- noise --------------------------------------------------------------------------------- */

struct noise {
    const float *update, *w, *before;
    size_t n;
    double share, squares, deviations; /* the sums are of all clients so far */
};

static void add_deviations(void *arg)
{
    struct noise *m = arg;
    for (size_t i = 0; i < m->n; i++) {
        const double u = m->update[i], apart = u - ((double)m->w[i] - (double)m->before[i]);
        m->squares += m->share * u * u;
        m->deviations += m->share * apart * apart;
    }
}

double strait_adaptive_noise(struct strait_rank *r, struct strait_tensor *w,
                             struct strait_tensor *before, struct strait_tensor **updates,
                             int n_clients)
{
    struct noise m = {
        .w = strait_values(r, w), .before = strait_values(r, before), .n = strait_n_elems(w)};
    double n_examples = 0;
    for (int i = 0; i < n_clients; i++)
        n_examples += strait_n_examples(r, 1 + i);
    for (int i = 0; i < n_clients; i++) {
        m.share = strait_n_examples(r, 1 + i) / n_examples;
        m.update = strait_values(r, updates[i]);
        strait_work(r, STRAIT_SPAN_AGGREGATE, STRAIT_CPU,
                    4.0 * (double)m.n * strait_add_s_per_byte(r), add_deviations, &m);
    }
    return m.squares > 0 ? sqrt(m.deviations / m.squares) : NAN;
}

/* --- check --------------------------------------------------------------------------------- */

static int check_values(const struct strait_experiment *e, int direction, const char *where,
                        struct strait_error *err)
{
    const struct strait_policy p = strait_adaptive_policy(e, direction);
    const struct strait_codec_choice *c = choice_of(e, direction);
    const enum strait_policy_unit unit =
        strait_policy_unit(&p, strait_adaptive_sends_parameters(e, direction));
    const char *name = strait_policy_names[p.kind];
    if ((unit != STRAIT_UNIT_OF_CODEC || p.kind == STRAIT_POLICY_GUARD ||
         p.kind == STRAIT_POLICY_NOISE) &&
        !e->trains)
        return strait_refuse(err, where,
                             "expected \"training\" in the experiment for policy \"%s\", which "
                             "reads values that a recorded run does not have",
                             name);
    if (unit != STRAIT_UNIT_OF_CODEC && !(c->spec.ops->bounds & 1u << STRAIT_BOUND_ABS))
        return strait_refuse(
            err, where,
            "expected a codec that keeps absolute bounds for policy \"%s\", found \"%s\"", name,
            c->spec.ops->name);
    if (p.kind == STRAIT_POLICY_SENSITIVITY && !c->row_bounds)
        return strait_refuse(
            err, where,
            "expected \"bounds\", a file that strait sensitivity writes, for policy \"%s\"", name);
    return 0;
}

int strait_adaptive_check(const struct strait_experiment *e, int direction,
                          struct strait_error *err)
{
    const struct strait_policy p = strait_adaptive_policy(e, direction);
    const struct strait_codec_choice *c = choice_of(e, direction);
    const char *name = strait_policy_names[p.kind];
    char where[512];
    snprintf(where, sizeof(where), "%s#/%s/bound", e->file,
             direction == STRAIT_ADAPTIVE_UP ? "codec" : "download_codec");
    if (strcmp(c->spec.ops->name, "none") == 0) /* as a reference: no bound to set */
        return 0;
    if (p.kind != STRAIT_POLICY_FIXED && c->spec.bound.kind == STRAIT_BOUND_NONE)
        return strait_refuse(
            err, where,
            "expected a codec with a bound such as {\"range\": 1e-3} for policy \"%s\", found none",
            name);
    const bool of_updates = !strait_adaptive_sends_parameters(e, direction);
    if (p.kind == STRAIT_POLICY_NOISE && !of_updates)
        return strait_refuse(
            err, where,
            "expected \"sends\": \"updates\" for policy \"%s\", whose noise is that of updates",
            name);
    if ((p.kind == STRAIT_POLICY_RMS_ADAPTIVE || p.kind == STRAIT_POLICY_NOISE) && of_updates &&
        c->spec.bound.kind != STRAIT_BOUND_RMS)
        return strait_refuse(err, where,
                             "expected a bound {\"rms\": ...} for policy \"%s\", found \"%s\"",
                             name, strait_bound_kind_name(c->spec.bound.kind));
    return check_values(e, direction, where, err);
}
