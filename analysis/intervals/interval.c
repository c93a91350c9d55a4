#include "interval.h"

#include <math.h>
#include <string.h>
#include "analysis/fields.h"
#include "analysis/training/spread.h"

/* Of the standard normal distribution, by bisection: to 1e-12 within +-40. */
static double normal_quantile(double probability)
{
    double low = -40, high = 40;
    while (high - low > 1e-12) {
        const double mid = (low + high) / 2;
        if (erfc(-mid / sqrt(2)) / 2 < probability)
            low = mid;
        else
            high = mid;
    }
    return (low + high) / 2;
}

void strait_interval_compute(double *below, double *above, const struct strait_interval_inputs *in)
{
    const double deviation = in->step_log_p90 / normal_quantile(0.9) / sqrt(fmax(1, in->n_steps)),
                 n = fmax(1, in->n_waited),
                 largest = n > 1 ? normal_quantile((n - 0.375) / (n + 0.25)) : 0,
                 width =
                     normal_quantile((1 + STRAIT_INTERVAL_LEVEL) / 2) / sqrt(fmax(1, in->n_rounds));
    *below = fmax(0, deviation * (width - largest));
    *above = deviation * (width + largest);
}

/* The logarithm of a round minus compute, never less than a hundredth of what the prediction has of
 * it: in an asynchronous run other computing may lie on the measured path. */
static double log_rest(const struct strait_interval_inputs *in, double round_s)
{
    return log(fmax(round_s - in->compute_s, fmax((in->round_s - in->compute_s) / 100, 1e-9)));
}

/* What is known of a round's spread without the table: logarithms of its middle without compute,
 * and how far it reaches below and above. */
struct reach {
    double middle, low, high;
};

/* A further draw lies t sd sqrt(1 + 1 / n) from the mean of n, 95 of 100 times. own: the run's own
 * draw is one of them. */
static struct reach of_draws(const struct strait_interval_inputs *in, bool own)
{
    const double own_log = log_rest(in, in->round_s);
    struct reach r = {.middle = own_log};
    const double n = (double)in->n_draws + own;
    double sum = own ? own_log : 0, squares = 0;
    if (in->n_draws < 2)
        return r;
    for (size_t i = 0; i < in->n_draws; i++)
        sum += log_rest(in, in->other_draws_s[i]);
    r.middle = sum / n;
    for (size_t i = 0; i < in->n_draws; i++)
        squares += pow(log_rest(in, in->other_draws_s[i]) - r.middle, 2);
    squares += own ? pow(own_log - r.middle, 2) : 0;
    r.low = r.high = strait_student_t((size_t)n - 1) * sqrt(squares / (n - 1)) * sqrt(1 + 1 / n);
    return r;
}

/* Independent parts: the squares of their logarithms add up. */
static struct reach reach_of(const struct strait_interval_inputs *in, bool own)
{
    const double at = log_rest(in, in->round_s);
    struct reach r = of_draws(in, own);
    double low = 0, high = 0;
    if (isfinite(in->codec_s[0]) && isfinite(in->codec_s[1])) {
        r.low = hypot(r.low, fmax(0, at - log_rest(in, in->codec_s[0])));
        r.high = hypot(r.high, fmax(0, log_rest(in, in->codec_s[1]) - at));
    }
    if (in->order_s[0] > 0) {
        r.low = hypot(r.low, fmax(0, at - log_rest(in, in->order_s[0])));
        r.high = hypot(r.high, fmax(0, log_rest(in, in->order_s[1]) - at));
    }
    for (int i = 0; i < 2 && isfinite(in->edges_s[i]); i++) {
        const double moves = log_rest(in, in->edges_s[i]) - at;
        low = fmax(low, -moves - log(STRAIT_INTERVAL_OFF));
        high = fmax(high, moves - log(STRAIT_INTERVAL_OFF));
    }
    r.low = hypot(r.low, low);
    r.high = hypot(r.high, high);
    return r;
}

static void read_ends(double out_s[2], const json_t *of, const char *key)
{
    const json_t *ends = json_object_get(of, key);
    for (size_t i = 0; i < 2; i++)
        out_s[i] = json_is_array(ends) ? json_number_value(json_array_get(ends, i)) : NAN;
}

void strait_interval_scores(struct strait_learned_setting *out, const json_t *predicted,
                            double measured_s)
{
    const json_t *parts = json_object_get(predicted, "uncertainty"),
                 *draws = json_object_get(parts, "other_draws_s");
    struct strait_interval_inputs in = {
        .round_s = strait_row_number(predicted, "round_s"),
        .compute_s = strait_row_number(json_object_get(predicted, "path_s"), "compute"),
        .n_draws = json_array_size(draws)};
    for (size_t i = 0; i < in.n_draws && i < STRAIT_INTERVAL_DRAWS; i++)
        in.other_draws_s[i] = json_number_value(json_array_get(draws, i));
    read_ends(in.codec_s, parts, "codec_s");
    read_ends(in.edges_s, parts, "edges_s");
    read_ends(in.order_s, parts, "order_s");
    const struct reach r = reach_of(&in, false);
    out->low = r.low;
    out->high = r.high;
    out->miss = log_rest(&in, measured_s) - r.middle;
    out->off = log_rest(&in, measured_s) - log_rest(&in, in.round_s);
}

static json_t *ends(const double s[2])
{
    return isfinite(s[0]) && isfinite(s[1]) ? json_pack("[f, f]", s[0], s[1]) : json_null();
}

/* Cases that the simulation computes exactly (tests/kit/forms/oracle.h): no network at all, or one flow at a
 * time on a clean one. */
static bool is_closed_form(const struct strait_case *c)
{
    return strcmp(c->congestion, "none") == 0 ||
           (c->is_alone && strcmp(c->network, "clean") == 0 && strcmp(c->congestion, "bbr") != 0);
}

/* What the prediction rests on, the weakest part first; is_point: no interval follows from it. */
static json_t *evidence_of(const struct strait_interval_inputs *in, const struct strait_case *c,
                           const struct strait_margin *m, bool is_point)
{
    const bool crosses = strcmp(c->congestion, "none") != 0;
    const char *why = crosses && !m  ? "nothing was learned of settings like it"
                      : m && *m->why ? m->why
                                     : in->doubt;
    json_t *out =
        json_pack("{s:s, s:s?, s:o}", "basis",
                  why                 ? "extrapolated"
                  : in->is_published  ? "published"
                  : is_closed_form(c) ? "closed form"
                                      : "emulated",
                  "why", !why && is_point ? "no part of it has an error that is known" : why,
                  "case", strait_case_json(c));
    if (m)
        json_object_update_new(out, json_pack("{s:s, s:I, s:f}", "of", m->of, "settings",
                                              (json_int_t)m->n, "widened", m->widened));
    return out;
}

/* Around the middle, the round itself inside; computing is exact in the settings that margins were
 * learned on. */
static void ends_of(double out_s[2], const struct strait_interval_inputs *in, double middle,
                    double below, double above)
{
    const bool rests = in->round_s > in->compute_s;
    out_s[0] = out_s[1] = in->round_s;
    if (rests && below > 0)
        out_s[0] = fmin(in->compute_s + exp(middle - below), in->round_s);
    if (rests && above > 0)
        out_s[1] = fmax(in->compute_s + exp(middle + above), in->round_s);
}

/* Wider by what else, independent of it, may move the round to these ends. */
static void widen(double ends_s[2], const struct strait_interval_inputs *in, const double by_s[2])
{
    ends_s[0] = fmax(0, in->round_s - hypot(in->round_s - ends_s[0], in->round_s - by_s[0]));
    ends_s[1] = in->round_s + hypot(ends_s[1] - in->round_s, by_s[1] - in->round_s);
}

/* Least and most of all draws, its own too. */
static json_t *draws_json(const struct strait_interval_inputs *in)
{
    double ends_s[2] = {in->round_s, in->round_s};
    for (size_t i = 0; i < in->n_draws; i++) {
        ends_s[0] = fmin(ends_s[0], in->other_draws_s[i]);
        ends_s[1] = fmax(ends_s[1], in->other_draws_s[i]);
    }
    return in->n_draws > 0 ? ends(ends_s) : json_null();
}

static json_t *parts_json(const struct strait_interval_inputs *in)
{
    json_t *draws = in->n_draws > 0 ? json_array() : json_null();
    for (size_t i = 0; i < in->n_draws; i++)
        json_array_append_new(draws, json_real(in->other_draws_s[i]));
    return json_pack("{s:f, s:o, s:o, s:o, s:o}", "level", STRAIT_INTERVAL_LEVEL, "codec_s",
                     ends(in->codec_s), "draws_s", draws_json(in), "other_draws_s", draws,
                     "edges_s", ends(in->edges_s));
}

json_t *strait_interval_of(double interval_s[2], const struct strait_interval_inputs *in,
                           const struct strait_case *c, const struct strait_learned *learned)
{
    struct strait_margin margin;
    const bool crosses = strcmp(c->congestion, "none") != 0;
    const bool known = crosses && learned && strait_learned_margin(&margin, learned, c);
    const struct reach r = reach_of(in, true);
    double slack[2], base_s[2], model_s[2];
    ends_of(base_s, in, r.middle, r.low, r.high);
    ends_of(model_s, in, r.middle, known ? strait_margin_below(&margin, r.low) : r.low,
            known ? strait_margin_above(&margin, r.high) : r.high);
    strait_interval_compute(&slack[0], &slack[1], in);
    const double compute_s[2] = {in->round_s - in->compute_s * slack[0],
                                 in->round_s + in->compute_s * slack[1]};
    if (isfinite(in->constants_s[0])) { /* margins were learned without any */
        widen(base_s, in, in->constants_s);
        widen(model_s, in, in->constants_s);
    }
    memcpy(interval_s, model_s, sizeof(model_s));
    widen(interval_s, in, compute_s);
    const bool is_point = !(interval_s[1] > interval_s[0] * (1 + 1e-9));
    if (is_point)
        interval_s[0] = interval_s[1] = NAN;
    json_t *out = parts_json(in);
    if (isfinite(in->constants_s[0]))
        json_object_set_new(out, "constants_s", ends(in->constants_s));
    if (in->order_s[0] > 0)
        json_object_set_new(out, "order_s", ends(in->order_s));
    json_object_set_new(out, "compute_s", slack[1] > 0 ? ends(compute_s) : json_null());
    json_object_set_new(out, "base_s", ends(base_s));
    json_object_set_new(out, "model", known ? ends(model_s) : json_null());
    json_object_set_new(out, "evidence", evidence_of(in, c, known ? &margin : NULL, is_point));
    return out;
}
