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
                                           .draws_s = {NAN, NAN},
                                           .n_steps = 1,
                                           .n_rounds = 1,
                                           .n_waited = 1};
}

static const char *basis_of(const json_t *out)
{
    return json_string_value(json_object_get(json_object_get(out, "evidence"), "basis"));
}

/* 40 settings whose measured rounds, without compute, lay a tenth above and a fifth below. */
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
        s->above = log(1.1);
        s->below = log(1.25);
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

/* A codec that may make 10 s of 8 and draws that may make them of 20: factors of 1.25 and 2, whose
 * logarithms add up as squares, up from the 10 s alone. Below, 9 and 9.5 s. */
static void known_parts(void)
{
    struct strait_interval_inputs in = round_of(10, 0);
    double ends_s[2];
    in.codec_s[0] = 9, in.codec_s[1] = 12.5;
    in.draws_s[0] = 9.5, in.draws_s[1] = 20;
    json_t *out = strait_interval_of(ends_s, &in, &clean, NULL);
    CU_ASSERT_DOUBLE_EQUAL(ends_s[1], 10 * exp(hypot(log(1.25), log(2))), 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(ends_s[0], 10 * exp(-hypot(log(10 / 9.0), log(10 / 9.5))), 1e-9);
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

/* What the table learns from a measurement: outside of 4 to 6 s, of which 1 s is compute. 11 s are
 * twice the high end, 2.5 s half of the low one. */
static void scores(void)
{
    const double base_s[2] = {4, 6};
    double below, above;
    strait_interval_scores(&below, &above, base_s, 1, 11);
    CU_ASSERT_DOUBLE_EQUAL(above, log(2), 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(below, log(3.0 / 10), 1e-12);
    strait_interval_scores(&below, &above, base_s, 1, 2.5);
    CU_ASSERT_DOUBLE_EQUAL(below, log(2), 1e-12);
    strait_interval_scores(&below, &above, base_s, 1, 0.5); /* shorter than the compute alone */
    CU_ASSERT_DOUBLE_EQUAL(below, log(100), 1e-9);
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
    {"steps spread by their percentiles, and the slowest client counts", steps},
    {"a measured round says how far it lies outside", scores},
    {"evidence is named by its weakest part", evidence},
};
STRAIT_SUITE("analysis/intervals/interval", tests);
