/* A profile for one experiment: what it covers, and that its ratios are the codec's. */
#include <math.h>
#include <string.h>
#include "analysis/measured/calibration.h"
#include "tests/kit/data.h"
#include "tests/kit/profile_find.h"
#include "tests/kit/suite.h"

/* Speeds are not looked at, but for their sign. */
static const struct strait_calibration_effort effort = {.n_passes = 1, .n_repeats = 4, .min_s = 0};

static struct strait_profile *calibrate(const char *const *settings, size_t n)
{
    struct strait_error err = {0};
    struct strait_sweep *sweep;
    struct strait_profile *p;
    CU_ASSERT_EQUAL_FATAL(strait_sweep_load(&sweep, "wan-check", settings, n, &err), 0);
    if (strait_calibrate_for(&p, sweep, &effort, &err) != 0)
        fprintf(stderr, "%s: %s\n", err.where, err.text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    strait_sweep_free(sweep);
    return p;
}

/* Between a kilobyte and 10 terabytes a second lies whatever a processor does. */
static void expect_speed(double bytes_per_s)
{
    CU_ASSERT_AT_LEAST(bytes_per_s, 1e3);
    CU_ASSERT_AT_MOST(bytes_per_s, 1e13);
}

/* The sweep of wan-check has `none` and sz at 1e-3 on updates; small tensors go through zstd. */
static void covers(void)
{
    const char *settings[] = {"/model=cnn"};
    struct strait_error err = {0};
    struct strait_profile_cost cost;
    struct strait_profile *p = calibrate(settings, 1);
    const struct strait_bound bound = {STRAIT_BOUND_RANGE, 1e-3}, none = {STRAIT_BOUND_NONE, 0};
    CU_ASSERT_EQUAL(p->n_entries, 3);
    CU_ASSERT_FALSE(p->stated);
    CU_ASSERT_EQUAL(find_published(&cost, p, "sz", bound, "update", "cnn", &err), 0);
    /* the held-out updates of cnn hold 4.45 bits a value at 1e-3, order-0 entropy with escapes;
     * a quarter either way leaves room for another step of training, not for another codec */
    CU_ASSERT(cost.ratio > 32 / (4.45 * 1.25) && cost.ratio < 32 / (4.45 * 0.75));
    expect_speed(cost.encode_bytes_per_s);
    expect_speed(cost.decode_bytes_per_s);
    CU_ASSERT(cost.encode.p10 <= cost.encode.p50 && cost.encode.p50 <= cost.encode.p90);
    CU_ASSERT_EQUAL(find_published(&cost, p, "zstd", none, "any", "cnn", &err), 0);
    CU_ASSERT(cost.ratio > 1 && cost.ratio < 2); /* floats, losslessly */
    expect_speed(p->add_bytes_per_s);
    expect_speed(p->copy_bytes_per_s);
    CU_ASSERT_STRING_EQUAL(p->entries[0].codec, "none");
    CU_ASSERT_STRING_EQUAL(p->entries[0].model, "cnn");
    expect_speed(p->entries[0].encode_bytes_per_s);
    expect_speed(p->entries[0].decode_bytes_per_s);
    strait_profile_free(p);
}

static void no_codec(void)
{
    const char *settings[] = {"/model=cnn", "/codec=none"};
    struct strait_profile *p = calibrate(settings, 2);
    CU_ASSERT_EQUAL(p->n_entries, 1); /* memory */
    expect_speed(p->add_bytes_per_s);
    strait_profile_free(p);
}

/* A ring of 4 on fashion-mlp, whose ranks have excerpts of their own: sums of independent values
 * fill their range more evenly, so that they need more bits, at most log2(4) of them and one more
 * for the ranges of pieces. A part is sent once each of 1, 2 and 3 ranks and thrice of 4, so the
 * mean lies between 1 and 4. */
static void sums(void)
{
    const char *settings[] = {"/model=fashion-mlp", "/clients=4", "/strategy={\"name\":\"bsp\"}",
                              "/codec={\"name\":\"sz\",\"bound\":{\"range\":1e-3}}"};
    struct strait_error err = {0};
    struct strait_profile_cost one, sum;
    struct strait_profile *p = calibrate(settings, 4);
    const struct strait_bound bound = {STRAIT_BOUND_RANGE, 1e-3};
    CU_ASSERT_EQUAL(find_published(&one, p, "sz", bound, "grad", "fashion-mlp", &err), 0);
    CU_ASSERT_EQUAL(find_published(&sum, p, "sz", bound, "grad sum 4", "fashion-mlp", &err), 0);
    CU_ASSERT(32 / sum.ratio > 32 / one.ratio && 32 / sum.ratio < 32 / one.ratio + 3);
    expect_speed(sum.encode_bytes_per_s);
    expect_speed(sum.decode_bytes_per_s);
    static const char *const kinds[] = {"grad sum 4/1", "grad sum 4/2", "grad sum 4/4"};
    struct strait_profile_cost of[3];
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(find_published(&of[i], p, "sz", bound, kinds[i], "fashion-mlp", &err), 0);
        expect_speed(of[i].encode_bytes_per_s);
    }
    CU_ASSERT(of[0].ratio > of[1].ratio && of[1].ratio > of[2].ratio);
    CU_ASSERT(sum.ratio < of[0].ratio && sum.ratio > of[2].ratio);
    strait_profile_free(p);
}

/* powersgd sends no packets of the codec of its name, but works as it does, at its own rank: on its
 * matrices of a x b values it sends 2 (a + b), far below a tenth of them. */
static void works_as(void)
{
    const char *settings[] = {"/model=cnn", "/clients=2", "/codec=none",
                              "/strategy={\"name\":\"powersgd\",\"rank\":2}"};
    struct strait_error err = {0};
    struct strait_profile_cost cost;
    struct strait_profile *p = calibrate(settings, 4);
    struct strait_codec_spec spec = strait_codec_spec_default(strait_codec_find("powersgd"));
    spec.params[0] = 2;
    CU_ASSERT_EQUAL(strait_profile_find(&cost, p, &spec, "grad", "cnn", &err), 0);
    CU_ASSERT_AT_LEAST(cost.ratio, 10);
    expect_speed(cost.encode_bytes_per_s);
    spec.params[0] = 4;
    CU_ASSERT_NOT_EQUAL(strait_profile_find(&cost, p, &spec, "grad", "cnn", &err), 0);
    strait_profile_free(p);
}

/* A larger model is cut down evenly, never up. */
static void large(void)
{
    const char *settings[] = {"/model=resnet50", "/clients=2",
                              "/codec={\"name\":\"sz\",\"bound\":{\"range\":1e-2}}"};
    struct strait_error err = {0};
    struct strait_profile_cost cost;
    struct strait_profile *p = calibrate(settings, 3);
    const struct strait_bound bound = {STRAIT_BOUND_RANGE, 1e-2};
    CU_ASSERT_EQUAL(find_published(&cost, p, "sz", bound, "update", "resnet50", &err), 0);
    CU_ASSERT(cost.ratio > 4 && cost.ratio < 30);
    strait_profile_free(p);
}

static struct strait_sweep *sweep_of(const char *const *settings, size_t n)
{
    struct strait_error err = {0};
    struct strait_sweep *sweep;
    CU_ASSERT_EQUAL_FATAL(
        strait_sweep_load(&sweep, DATA("experiments/wan-check.json"), settings, n, &err), 0);
    return sweep;
}

/* More passes measure the same entries again: none twice, and none that was known. */
static void passes(void)
{
    const char *settings[] = {"/model=cnn"};
    const struct strait_calibration_effort twice = {.n_passes = 2, .n_repeats = 1, .min_s = 0};
    struct strait_error err = {0};
    struct strait_profile *p;
    struct strait_sweep *sweep = sweep_of(settings, 1);
    CU_ASSERT_EQUAL_FATAL(strait_calibrate_for(&p, sweep, &twice, &err), 0);
    CU_ASSERT_EQUAL_FATAL(p->n_entries, 3);
    const struct strait_profile_entry sz = p->entries[1], zstd = p->entries[2];
    size_t n;
    p->n_entries = 2; /* forgets zstd */
    CU_ASSERT_EQUAL_FATAL(strait_calibrate_missing(p, &n, sweep, &twice, &err), 0);
    CU_ASSERT_EQUAL(n, 1);
    CU_ASSERT_EQUAL_FATAL(p->n_entries, 3);
    CU_ASSERT_EQUAL(p->entries[1].encode_bytes_per_s, sz.encode_bytes_per_s);
    CU_ASSERT_STRING_EQUAL(p->entries[2].codec, "zstd");
    CU_ASSERT_EQUAL(p->entries[2].ratio, zstd.ratio);
    strait_sweep_free(sweep);
    strait_profile_free(p);
}

/* wan-check at another codec needs that codec alone: zstd and memory are known. */
static void extends(void)
{
    const char *first[] = {"/model=cnn"};
    const char *then[] = {"/model=cnn", "/codec={\"name\":\"qsgd\",\"levels\":31}"};
    struct strait_error err = {0};
    struct strait_profile *p = calibrate(first, 1);
    struct strait_sweep *sweep = sweep_of(first, 1), *more = sweep_of(then, 2);
    const double add = p->add_bytes_per_s;
    const struct strait_profile_entry sz = p->entries[1];
    size_t n;
    CU_ASSERT_EQUAL(strait_calibrate_missing(p, &n, sweep, &effort, &err), 0);
    CU_ASSERT(n == 0 && p->n_entries == 3);
    CU_ASSERT_EQUAL(strait_calibrate_missing(p, &n, more, NULL, &err), 0);
    CU_ASSERT(n == 1 && p->n_entries == 3); /* counted alone */
    CU_ASSERT_EQUAL_FATAL(strait_calibrate_missing(p, &n, more, &effort, &err), 0);
    CU_ASSERT(n == 1 && p->n_entries == 4 && p->add_bytes_per_s == add);
    CU_ASSERT(p->entries[1].ratio == sz.ratio &&
              p->entries[1].encode_bytes_per_s == sz.encode_bytes_per_s);
    CU_ASSERT_STRING_EQUAL(p->entries[3].codec, "qsgd");
    CU_ASSERT_STRING_EQUAL(p->entries[3].settings, "levels=31");
    CU_ASSERT_EQUAL(strait_calibrate_missing(p, &n, more, &effort, &err), 0);
    CU_ASSERT_EQUAL(n, 0);
    strait_sweep_free(sweep);
    strait_sweep_free(more);
    strait_profile_free(p);
}

/* A lossless codec takes every tensor: no other one is missing beside it. */
static void lossless(void)
{
    const char *settings[] = {"/model=cnn", "/codec=zstd"};
    struct strait_error err = {0};
    struct strait_profile_cost cost;
    struct strait_profile *p = calibrate(settings, 2);
    const struct strait_bound none = {STRAIT_BOUND_NONE, 0};
    CU_ASSERT_EQUAL(p->n_entries, 2); /* and memory */
    CU_ASSERT_EQUAL(find_published(&cost, p, "zstd", none, "update", "cnn", &err), 0);
    strait_profile_free(p);
}

static const struct strait_test tests[] = {
    {"partial sums of a ring need more bits than their parts", sums},
    {"a profile gets what it lacks, and nothing else", extends},
    {"two passes measure each entry twice and write it once", passes},
    {"a lossless codec is measured once, on all tensors", lossless},
    {"a calibration covers what the experiment's points use, by kind and model", covers},
    {"without a codec only memory is measured", no_codec},
    {"a codec that a strategy works as is measured at its rank", works_as},
    {"a large model is measured on an even part of it", large},
};
STRAIT_SUITE_WITH("analysis/measured/calibration", tests, .slow_s = 5, .release = true);
