#include "interval.h"

#include <math.h>
#include <string.h>

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

/* Independent parts, each with its ends around round_s: the squares of their logarithms add up. */
static void add_part(double *log_below, double *log_above, double round_s, double low_s,
                     double high_s)
{
    if (!isfinite(low_s) || !isfinite(high_s) || !(round_s > 0) || !(low_s > 0))
        return;
    *log_below = hypot(*log_below, fmax(0, log(round_s / low_s)));
    *log_above = hypot(*log_above, fmax(0, log(high_s / round_s)));
}

/* Round minus compute, never less than a hundredth of what the prediction has of it: in an
 * asynchronous run other computing may lie on the measured path. */
static double rest_s(double round_s, double compute_s, double predicted_rest_s)
{
    return fmax(round_s - compute_s, fmax(predicted_rest_s / 100, 1e-9));
}

void strait_interval_scores(double *below, double *above, const double base_s[2], double compute_s,
                            double measured_s)
{
    const double low_s = fmax(base_s[0] - compute_s, 1e-9),
                 high_s = fmax(base_s[1] - compute_s, 1e-9);
    const double measured_rest_s = rest_s(measured_s, compute_s, low_s);
    *below = log(low_s / measured_rest_s);
    *above = log(measured_rest_s / high_s);
}

static json_t *ends(const double s[2])
{
    return isfinite(s[0]) && isfinite(s[1]) ? json_pack("[f, f]", s[0], s[1]) : json_null();
}

/* Cases that the simulation computes exactly (sim/oracle.h): no network at all, or one flow at a
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

/* The ends of base_s moved by the model's own margin; computing is exact in the settings that it
 * was learned on. */
static void apply_margin(double out_s[2], const double base_s[2], double compute_s, double round_s,
                         const struct strait_margin *m)
{
    const double low_s = fmax(base_s[0] - compute_s, 0), high_s = fmax(base_s[1] - compute_s, 0);
    out_s[0] = fmin(compute_s + low_s * exp(-m->low), round_s);
    out_s[1] = fmax(compute_s + high_s * exp(m->high), round_s);
}

json_t *strait_interval_of(double interval_s[2], const struct strait_interval_inputs *in,
                           const struct strait_case *c, const struct strait_learned *learned)
{
    struct strait_margin margin;
    const bool crosses = strcmp(c->congestion, "none") != 0;
    const bool known = crosses && learned && strait_learned_margin(&margin, learned, c);
    double down = 0, up = 0, slack[2];
    add_part(&down, &up, in->round_s, in->codec_s[0], in->codec_s[1]);
    add_part(&down, &up, in->round_s, in->draws_s[0], in->draws_s[1]);
    const double base_s[2] = {in->round_s * exp(-down), in->round_s * exp(up)};
    double model_s[2] = {base_s[0], base_s[1]};
    if (known)
        apply_margin(model_s, base_s, in->compute_s, in->round_s, &margin);
    strait_interval_compute(&slack[0], &slack[1], in);
    const double compute_s[2] = {in->round_s - in->compute_s * slack[0],
                                 in->round_s + in->compute_s * slack[1]};
    interval_s[0] = in->round_s - hypot(in->round_s - model_s[0], in->round_s - compute_s[0]);
    interval_s[1] = in->round_s + hypot(model_s[1] - in->round_s, compute_s[1] - in->round_s);
    interval_s[0] = fmax(interval_s[0], 0);
    const bool is_point = !(interval_s[1] > interval_s[0] * (1 + 1e-9));
    if (is_point)
        interval_s[0] = interval_s[1] = NAN;
    json_t *out = json_pack("{s:f, s:o, s:o, s:o, s:o, s:o}", "level", STRAIT_INTERVAL_LEVEL,
                            "codec_s", ends(in->codec_s), "draws_s", ends(in->draws_s), "compute_s",
                            slack[1] > 0 ? ends(compute_s) : json_null(), "base_s", ends(base_s),
                            "model", known ? ends(model_s) : json_null());
    json_object_set_new(out, "evidence", evidence_of(in, c, known ? &margin : NULL, is_point));
    return out;
}
