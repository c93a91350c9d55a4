/* Intervals from parts made by hand. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/intervals/interval.h"
#include "tests/kit/suite.h"

static const struct strait_case clean = {.network = "clean",
                                         .congestion = "bbr",
                                         .family = "server",
                                         .messages = "long",
                                         .features = {100, 20, 8, 4, 0}};

static struct strait_interval_inputs round_of(double round_s, double compute_s)
{
    return (struct strait_interval_inputs){.round_s = round_s,
                                           .compute_s = compute_s,
                                           .codec_s = {NAN, NAN},
                                           .constants_s = {NAN, NAN},
                                           .edges_s = {NAN, NAN},
                                           .n_steps = 1,
                                           .n_rounds = 1,
                                           .n_waited = 1};
}

static const char *basis_of(const json_t *out)
{
    return json_string_value(json_object_get(json_object_get(out, "evidence"), "basis"));
}

/* 40 settings whose measured rounds, without compute, lay a tenth above and a fifth below, half of
 * them each: nine of ten are at most log 1.25 off, 38 of 40 at most once that below and
 * log 1.1 / log 1.25 of it above. */
static struct strait_learned tenth_and_fifth(void)
{
    struct strait_learned l = {.settings = calloc(40, sizeof(*l.settings)), .n = 40};
    for (size_t i = 0; i < l.n; i++) {
        struct strait_learned_setting *s = &l.settings[i];
        strcpy(s->network, "clean");
        strcpy(s->congestion, "bbr");
        strcpy(s->family, "server");
        strcpy(s->messages, "long");
        memcpy(s->features, clean.features, sizeof(s->features));
        s->off = s->miss = i % 2 ? log(1.1) : -log(1.25);
    }
    return l;
}

/* 10 s, 2 of them compute: the other 8 lie within 8 / 1.25 and 8 x 1.1. */
static void model_alone(void)
{
    const struct strait_interval_inputs in = round_of(10, 2);
    struct strait_learned l = tenth_and_fifth();
    double ends_s[2];
    json_t *out = strait_interval_of(ends_s, &in, &clean, &l);
    CU_ASSERT_DOUBLE_EQUAL(ends_s[0], 2 + 6.4, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ends_s[1], 2 + 8.8, 1e-12);
    CU_ASSERT_STRING_EQUAL(basis_of(out), "emulated");
    CU_ASSERT_TRUE(json_is_null(json_object_get(out, "codec_s")));
    json_decref(out);
    out = strait_interval_of(ends_s, &in, &clean, NULL);
    CU_ASSERT_TRUE(isnan(ends_s[0]) && isnan(ends_s[1])); /* nothing is known of any spread */
    CU_ASSERT_STRING_EQUAL(basis_of(out), "extrapolated");
    json_decref(out);
    strait_learned_release(&l);
}

/* Rounds of 10 s, and of 5 and 20 s with other draws: in units of log 2 a mean of 0 and a standard
 * deviation of 1. Student's t with two degrees of freedom is 4.303, so a fourth draw lies within
 * 4.303 sqrt(1 + 1/3) = 4.9687 of them. The codec may make 9 or 12.5 s of the round: squares of
 * logarithms add up. */
static void known_parts(void)
{
    const double reach = 4.9687 * log(2);
    struct strait_interval_inputs in = round_of(10, 0);
    double ends_s[2];
    in.codec_s[0] = 9, in.codec_s[1] = 12.5;
    in.other_draws_s[0] = 20, in.other_draws_s[1] = 5, in.n_draws = 2;
    json_t *out = strait_interval_of(ends_s, &in, &clean, NULL);
    CU_ASSERT_DOUBLE_EQUAL(log(ends_s[1] / 10), hypot(reach, log(1.25)), 1e-4);
    CU_ASSERT_DOUBLE_EQUAL(log(10 / ends_s[0]), hypot(reach, log(10 / 9.0)), 1e-4);
    const json_t *draws = json_object_get(out, "draws_s");
    CU_ASSERT_EQUAL(json_number_value(json_array_get(draws, 0)), 5);
    CU_ASSERT_EQUAL(json_number_value(json_array_get(draws, 1)), 20);
    CU_ASSERT_PTR_NULL(json_object_get(out, "constants_s"));
    json_decref(out);
    in.n_draws = 0; /* constants that may make 8 or 12.5 s of it beside the codec: seconds add up */
    in.constants_s[0] = 8, in.constants_s[1] = 12.5;
    out = strait_interval_of(ends_s, &in, &clean, NULL);
    CU_ASSERT_DOUBLE_EQUAL(ends_s[1], 10 + hypot(2.5, 2.5), 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(ends_s[0], 10 - hypot(1, 2), 1e-9);
    json_decref(out);
}

/* Rounds of 10 s, 2 of them compute. Rates that are 3 % off make 10.24 s of them, as they should,
 * and the other way 8 s: 8 / 6 s without compute are 1.3333 / 1.03 more than they should. Draws lie
 * above the run's own: 11, 12 and 13 s are 9, 10 and 11 s without compute, and the interval has
 * the round inside. */
static void edges_and_other_draws(void)
{
    struct strait_interval_inputs in = round_of(10, 2);
    double ends_s[2];
    in.edges_s[0] = 8, in.edges_s[1] = 10.24;
    json_t *out = strait_interval_of(ends_s, &in, &clean, NULL);
    CU_ASSERT_DOUBLE_EQUAL(ends_s[0], 2 + 8 * 1.03 / (8 / 6.0), 1e-9);
    CU_ASSERT_EQUAL(ends_s[1], 10);
    json_decref(out);
    in.edges_s[0] = NAN;
    in.other_draws_s[0] = 40, in.other_draws_s[1] = 40.001, in.other_draws_s[2] = 40.002;
    in.n_draws = 3;
    out = strait_interval_of(ends_s, &in, &clean, NULL);
    CU_ASSERT(ends_s[0] <= 10 && ends_s[1] > 40);
    json_decref(out);
}

/* 8 s without compute, 9 at most and 6 at least: squares of logarithms add up with the codec's
 * ends, 7 and 10 s. What a row says is read again. */
static void orders(void)
{
    struct strait_interval_inputs in = round_of(10, 2);
    struct strait_learned_setting read = {0};
    double ends_s[2];
    in.order_s[0] = 8, in.order_s[1] = 11;
    in.codec_s[0] = 9, in.codec_s[1] = 12;
    json_t *out = strait_interval_of(ends_s, &in, &clean, NULL);
    CU_ASSERT_DOUBLE_EQUAL(ends_s[0], 2 + 8 * exp(-hypot(log(8 / 6.0), log(8 / 7.0))), 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(ends_s[1], 2 + 8 * exp(hypot(log(9 / 8.0), log(10 / 8.0))), 1e-9);
    json_t *row = json_pack("{s:f, s:{s:f}, s:O}", "round_s", 10.0, "path_s", "compute", 2.0,
                            "uncertainty", out);
    strait_interval_scores(&read, row, 10);
    CU_ASSERT_DOUBLE_EQUAL(read.low, hypot(log(8 / 6.0), log(8 / 7.0)), 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(read.high, hypot(log(9 / 8.0), log(10 / 8.0)), 1e-9);
    json_decref(row);
    json_decref(out);
}

/* A step whose 90th percentile is 1.2816 deviations above: ln p90/p50 = 0.012816 is a deviation of
 * 1 %. 4 steps halve it; 95 % of normal draws lie below 1.6449. The mean of the largest of two
 * normal draws is 0.5642 by theory and 0.5895 by Blom's formula: (2 - 0.375) / 2.25 = 0.7222. */
static void steps(void)
{
    struct strait_interval_inputs in = round_of(1, 1);
    double below, above;
    in.step_log_p90 = 0.012815516;
    strait_interval_compute(&below, &above, &in);
    CU_ASSERT_DOUBLE_EQUAL(below, 0.016449, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(above, 0.016449, 1e-6);
    in.n_steps = 4;
    strait_interval_compute(&below, &above, &in);
    CU_ASSERT_DOUBLE_EQUAL(above, 0.0082243, 1e-7);
    in.n_waited = 2;
    in.n_rounds = 4;
    strait_interval_compute(&below, &above, &in);
    CU_ASSERT_DOUBLE_EQUAL(above, 0.005 * (0.5895 + 1.64485 / 2), 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(below, 0.005 * (1.64485 / 2 - 0.5895), 1e-6);
    in.n_waited = 1000; /* somebody is slow for sure: the median is not reached from below */
    strait_interval_compute(&below, &above, &in);
    CU_ASSERT_EQUAL(below, 0);
}

/* What the table learns from a measurement, without 1 s of compute: 5 s predicted, 2 and 32 with
 * other draws, whose middle is 8 and whose logarithms lie log 4 around it: a standard deviation of
 * sqrt(2) log 4, of which a third draw is within 12.706 sqrt(1.5). Measured 10 s: twice the
 * prediction. */
static void scores(void)
{
    json_t *row =
        json_pack("{s:f, s:{s:f}, s:{s:[f, f], s:n, s:n}}", "round_s", 6.0, "path_s", "compute",
                  1.0, "uncertainty", "other_draws_s", 3.0, 33.0, "codec_s", "edges_s");
    struct strait_learned_setting s;
    strait_interval_scores(&s, row, 11);
    CU_ASSERT_DOUBLE_EQUAL(s.off, log(2), 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(s.miss, log(10 / 8.0), 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(s.low, 12.706 * sqrt(3) * log(4), 1e-9);
    CU_ASSERT_EQUAL(s.high, s.low);
    strait_interval_scores(&s, row, 0.5); /* shorter than the compute alone */
    CU_ASSERT_DOUBLE_EQUAL(s.off, log(1 / 100.0), 1e-9);
    json_decref(row);
}

/* The weakest part names the evidence. */
static void evidence(void)
{
    struct strait_interval_inputs in = round_of(10, 2);
    struct strait_learned l = tenth_and_fifth();
    struct strait_case other = clean;
    double ends_s[2];
    json_t *out;
    in.is_published = true;
    CU_ASSERT_STRING_EQUAL(basis_of(out = strait_interval_of(ends_s, &in, &clean, &l)),
                           "published");
    json_decref(out);
    in.doubt = "nobody measured it";
    CU_ASSERT_STRING_EQUAL(basis_of(out = strait_interval_of(ends_s, &in, &clean, &l)),
                           "extrapolated");
    json_decref(out);
    in = round_of(10, 2);
    other.features[STRAIT_FEATURE_CLIENTS] = 16; /* 8 were tried: one doubling */
    out = strait_interval_of(ends_s, &in, &other, &l);
    CU_ASSERT_STRING_EQUAL(basis_of(out), "extrapolated");
    CU_ASSERT_DOUBLE_EQUAL(ends_s[1], 2 + 8 * pow(1.1, 1.25), 1e-12);
    json_decref(out);
    other = clean;
    other.is_alone = true; /* BBR's estimate of the bandwidth has no closed form */
    CU_ASSERT_STRING_EQUAL(basis_of(out = strait_interval_of(ends_s, &in, &other, &l)), "emulated");
    json_decref(out);
    other.congestion = "loss-based";
    CU_ASSERT_STRING_EQUAL(basis_of(out = strait_interval_of(ends_s, &in, &other, &l)),
                           "closed form");
    json_decref(out);
    other.congestion = "none";
    out = strait_interval_of(ends_s, &in, &other, &l);
    CU_ASSERT_STRING_EQUAL(basis_of(out), "closed form");
    CU_ASSERT_TRUE(isnan(ends_s[0])); /* no network, and steps without a spread */
    CU_ASSERT_STRING_EQUAL(
        json_string_value(json_object_get(json_object_get(out, "evidence"), "why")),
        "no part of it has an error that is known");
    json_decref(out);
    strait_learned_release(&l);
}

static const struct strait_test tests[] = {
    {"the model's own error moves the ends of all but compute", model_alone},
    {"parts that are known are independent", known_parts},
    {"which stream gets ahead counts beside the codec", orders},
    {"an edge counts beyond proportion, and the round lies inside", edges_and_other_draws},
    {"steps spread by their percentiles, and the slowest client counts", steps},
    {"a measured round says how far it lies from its middle", scores},
    {"evidence is named by its weakest part", evidence},
};
STRAIT_SUITE("analysis/intervals/interval", tests);
