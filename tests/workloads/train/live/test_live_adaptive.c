/* The adaptive strategy trains: the published average by hand, late or not, of updates or
 * of parameters; the same bits on every backend under every policy; bounds that follow this
 * very run. */
#include "tests/kit/live_world.h"

#define ADAPTIVE(more) "{\"name\":\"adaptive\",\"rounds\":5,\"local_steps\":3" more "}"
#define SZ             "\"name\":\"sz\",\"bound\":{\"rms\":0.1}"
#define REFERRING      "{\"name\":\"same\",\"bound\":{\"rms\":0.03},\"reference\":\"last\"}"

static void check_score(const struct live *o, int round, const struct bowl *b, const double *w)
{
    const struct strait_log *log = &o->trial->logs[0];
    const double score = bowl_score(b, w);
    CU_ASSERT_FATAL(round < (int)log->n_scored);
    CU_ASSERT_DOUBLE_EQUAL(log->scored[round].loss, score, LIVE_RATIO * score);
}

static void mean_change(const struct bowl *b, double *sum, const double *w)
{
    double change[DIM];
    memset(sum, 0, DIM * sizeof(*sum));
    for (int k = 0; k < WORKERS; k++) {
        bowl_change(b, k, change, w, 3);
        for (int i = 0; i < DIM; i++)
            sum[i] += change[i] / WORKERS;
    }
}

static void averages(void)
{
    static const char *const forms[] = {ADAPTIVE(",\"overlap\":\"none\""),
                                        ADAPTIVE(",\"overlap\":\"none\",\"sends\":\"parameters\"")};
    for (int form = 0; form < 2; form++) {
        struct live o;
        struct bowl b;
        double w[DIM] = {0}, change[DIM];
        if (!live_run(&o, forms[form], "", &strait_fluid))
            return;
        bowl_of(&b, o.trial->learn);
        for (int round = 0; round < 5; round++) {
            mean_change(&b, change, w);
            for (int i = 0; i < DIM; i++)
                w[i] += change[i];
            check_score(&o, round, &b, w);
        }
        live_free(&o);
    }
}

/* What round t trained from its model is added in round t + 1; the last round adds its own too. */
static void late(void)
{
    struct live o;
    struct bowl b;
    double w[DIM] = {0}, before[DIM] = {0}, change[DIM];
    if (!live_run(&o, ADAPTIVE(""), "", &strait_fluid))
        return;
    bowl_of(&b, o.trial->learn);
    for (int round = 0; round < 5; round++) {
        double model[DIM];
        memcpy(model, w, sizeof(w)); /* sent in this round */
        for (int i = 0; i < 2; i++) {
            if (i == 0 ? round == 0 : round < 4)
                continue;
            mean_change(&b, change, i == 0 ? before : model);
            for (int k = 0; k < DIM; k++)
                w[k] += change[k];
        }
        memcpy(before, model, sizeof(model));
        check_score(&o, round, &b, w);
    }
    live_free(&o);
}

/* Policies that exchange alike differ in how they reckon bounds, which no backend sees: one of each
 * kind is emulated. */
static const struct {
    const char *more;
    bool emulated;
} policies[] = {
    {"", false},
    {",\"policy\":\"schedule\",\"decay\":0.8", false},
    {",\"policy\":\"rms-adaptive\"", false},
    {",\"policy\":\"loss-adaptive\"", true},
    {",\"policy\":\"per-client-fairness\"", true},
    {",\"policy\":\"accuracy-guard\"", false},
    {",\"policy\":\"mean-abs\"", false},
    {",\"policy\":\"slope-adaptive\"", false},
    {",\"policy\":\"noise-adaptive\"", false},
    {",\"policy\":\"rms-adaptive\",\"overlap\":\"none\",\"sends\":\"parameters\"", false},
    {",\"policy\":\"accuracy-guard\",\"overlap\":\"none\",\"sends\":\"parameters\"", true},
    {",\"policy\":\"mean-abs\",\"encode\":\"each\",\"overlap\":\"none\"", true},
};
enum { N_POLICIES = sizeof(policies) / sizeof(policies[0]) };

/* The recorded network on few pictures: its matrices are large enough to be coded with loss. False:
 * the data set is not installed. */
static bool cnn_run(struct live *o, const char *strategy, const char *codecs,
                    const struct strait_backend *backend)
{
    char text[2048];
    struct strait_error err = {0};
    snprintf(text, sizeof(text),
             "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"seed\":5,\"clients\":3,"
             "\"strategy\":%s,\"network\":{\"client\":{\"rate\":\"100 Mbps\",\"rtt\":\"4 ms\"},"
             "\"server\":{\"rate\":\"100 Mbps\"}},\"training\":{\"task\":\"fashion-cnn\","
             "\"samples\":300,\"batch\":8,\"lr\":0.05,\"momentum\":0.9,\"eval\":{\"every\":1,"
             "\"samples\":100}}%s}",
             strategy, codecs);
    json_t *resolved = json_loads(text, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(resolved);
    *o = (struct live){0};
    const struct strait_trial_options options = {
        .real_payload = true, .measured_cost = backend == &strait_emu, .n_threads = 2};
    const bool runs = strait_profile_load(&o->profile, "default", &err) == 0 &&
                      strait_experiment_read(&o->experiment, "test.json", resolved, &err) == 0 &&
                      strait_trial_new(&o->trial, o->experiment, o->profile, &options, &err) == 0 &&
                      strait_trial_run(o->trial, backend, &err) == 0;
    json_decref(resolved);
    if (runs)
        return true;
    if (err.code == STRAIT_ERR_HOST)
        strait_test_skip(err.text);
    else
        fprintf(stderr, "%s on %s: %s: %s\n", strategy, backend->name, err.where, err.text);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_HOST);
    live_free(o);
    return false;
}

static void compare(const char *policy, const struct strait_backend *with)
{
    struct live a, b;
    char strategy[512], codecs[512];
    const char *sent = strstr(policy, "parameters") ? "\"reference\":\"last\"," : "";
    snprintf(strategy, sizeof(strategy), "{\"name\":\"adaptive\",\"rounds\":3,\"local_steps\":2%s}",
             policy);
    snprintf(codecs, sizeof(codecs), ",\"codec\":{%s" SZ "},\"download_codec\":" REFERRING, sent);
    if (!cnn_run(&a, strategy, codecs, &strait_fluid))
        return;
    if (cnn_run(&b, strategy, codecs, with)) {
        const struct strait_log *x = &a.trial->logs[0], *y = &b.trial->logs[0];
        CU_ASSERT_EQUAL_FATAL(x->n_scored, y->n_scored);
        CU_ASSERT_EQUAL(x->n_scored, 3);
        for (size_t i = 0; i < x->n_scored; i++) {
            CU_ASSERT(x->scored[i].loss == y->scored[i].loss);
            CU_ASSERT(x->scored[i].bound == y->scored[i].bound);
        }
        live_free(&b);
    }
    live_free(&a);
}

static void same_bits(void)
{
    for (int i = 0; i < N_POLICIES; i++)
        if (policies[i].emulated || !IS_SANITIZED)
            compare(policies[i].more, &strait_sim);
}

static void emulated(void)
{
    for (int i = 0; i < N_POLICIES; i++)
        if (policies[i].emulated)
            compare(policies[i].more, &strait_emu);
}

/* Of the last round in which all clients' losses are known. */
static double mean_loss(const struct live *o, int round)
{
    double sum = 0;
    for (int rank = 1; rank <= WORKERS; rank++) {
        const struct strait_log *log = &o->trial->logs[rank];
        CU_ASSERT_FATAL(round < (int)log->n_trained);
        sum += log->trained[round].loss;
    }
    return sum / WORKERS;
}

/* Every round's bound is in the log: 0.1 x 0.8^round of a schedule; and by the losses that this
 * run's clients reported: 0.1 until the first are known, then 0.1 x loss / first loss. */
static void bounds(void)
{
    static const char codecs[] = ",\"codec\":{" SZ "},\"download_codec\":" REFERRING;
    struct live o;
    if (!cnn_run(&o,
                 "{\"name\":\"adaptive\",\"rounds\":5,\"local_steps\":4,\"overlap\":\"none\","
                 "\"policy\":\"schedule\",\"decay\":0.8}",
                 codecs, &strait_fluid))
        return;
    for (int round = 0; round < 5; round++)
        CU_ASSERT_DOUBLE_EQUAL(o.trial->logs[0].scored[round].bound, 0.1 * pow(0.8, round), 1e-12);
    live_free(&o);
    if (!cnn_run(&o,
                 "{\"name\":\"adaptive\",\"rounds\":5,\"local_steps\":4,\"overlap\":\"none\","
                 "\"policy\":\"loss-adaptive\"}",
                 codecs, &strait_fluid))
        return;
    const struct strait_log *log = &o.trial->logs[0];
    for (int round = 0; round < 5; round++) {
        const double share = round == 0 ? 1 : mean_loss(&o, round - 1) / mean_loss(&o, 0);
        CU_ASSERT_DOUBLE_EQUAL(log->scored[round].bound, 0.1 * share, 1e-9);
    }
    CU_ASSERT(log->scored[4].bound < 0.099);
    live_free(&o);
}

/* 0.1 until two losses are known; then 0.1 times the root of what a round gains over what the first
 * gained, each gain being the mean of the last and of all before; at least a tenth of 0.1. */
static void slopes(void)
{
    static const char codecs[] = ",\"codec\":{" SZ "},\"download_codec\":" REFERRING;
    struct live o;
    if (!cnn_run(&o,
                 "{\"name\":\"adaptive\",\"rounds\":6,\"local_steps\":4,\"overlap\":\"none\","
                 "\"policy\":\"slope-adaptive\"}",
                 codecs, &strait_fluid))
        return;
    double slope = 0, first = 0;
    for (int round = 0; round < 6; round++) {
        const double gained = round < 2 ? 0 : mean_loss(&o, round - 2) - mean_loss(&o, round - 1);
        slope = round < 3 ? gained : (slope + gained) / 2;
        if (round == 2)
            first = slope;
        const double bound = round < 2   ? 0.1
                             : slope > 0 ? fmax(0.01, 0.1 * sqrt(slope / first))
                                         : 0.01;
        CU_ASSERT_DOUBLE_EQUAL(o.trial->logs[0].scored[round].bound, bound, 1e-6);
    }
    CU_ASSERT(slope != first);
    live_free(&o);
}

/* 0.5 sqrt(3) of the root of the updates' variance over their mean square, those of the round
 * before; 0.1 in the first. Workers of equal shares, by hand. */
static void noises(void)
{
    struct live o;
    struct bowl b;
    double w[DIM] = {0}, expected = 0.1;
    if (!live_run(&o, ADAPTIVE(",\"overlap\":\"none\",\"policy\":\"noise-adaptive\""),
                  ",\"codec\":{" SZ "}", &strait_fluid))
        return;
    bowl_of(&b, o.trial->learn);
    for (int round = 0; round < 5; round++) {
        double mean[DIM], change[DIM], squares = 0, deviations = 0;
        CU_ASSERT_DOUBLE_EQUAL(o.trial->logs[0].scored[round].bound, expected, 1e-4 * expected);
        mean_change(&b, mean, w);
        for (int k = 0; k < WORKERS; k++) {
            bowl_change(&b, k, change, w, 3);
            for (int i = 0; i < DIM; i++) {
                squares += change[i] * change[i];
                deviations += (change[i] - mean[i]) * (change[i] - mean[i]);
            }
        }
        for (int i = 0; i < DIM; i++)
            w[i] += mean[i];
        expected = 0.5 * sqrt(3) * sqrt(deviations / squares);
    }
    live_free(&o);
}

/* A guard that may add as much as the loss itself, and of that finds less than a quarter, doubles a
 * bound of a hundredth round by round: its probe goes through the bound of the round before. */
static void guarded(void)
{
    struct live o;
    if (!live_run(&o,
                  ADAPTIVE(",\"overlap\":\"none\",\"policy\":\"accuracy-guard\",\"tolerance\":1"),
                  ",\"codec\":{\"name\":\"sz\",\"bound\":{\"rms\":1e-2}}", &strait_fluid))
        return;
    for (int round = 0; round < 4; round++)
        CU_ASSERT_DOUBLE_EQUAL(o.trial->logs[0].scored[round].bound, 1e-2 * (1 << round), 1e-12);
    live_free(&o);
}

/* Under one bound of 0.01 of the rms, parameters that come down are less than half of themselves,
 * and against a reference less still; the loss on held-out data, which falls from ln 10 in these 20
 * steps, stays within a twentieth. */
static void smaller(void)
{
    if (IS_SANITIZED) {
        strait_test_skip("what 60 steps lose takes too long under a sanitizer");
        return;
    }
    static const char *const downs[] = {
        "", ",\"download_codec\":{\"name\":\"sz\",\"bound\":{\"rms\":0.01}}",
        ",\"download_codec\":{\"name\":\"sz\",\"bound\":{\"rms\":0.01},\"reference\":\"last\"}"};
    double bytes[3], loss[3];
    for (int i = 0; i < 3; i++) {
        struct live o;
        if (!cnn_run(&o,
                     "{\"name\":\"adaptive\",\"rounds\":5,\"local_steps\":4,\"overlap\":\"none\"}",
                     downs[i], &strait_fluid))
            return;
        bytes[i] = (double)o.trial->logs[0].payload_bytes;
        loss[i] = o.trial->logs[0].scored[4].loss;
        live_free(&o);
    }
    CU_ASSERT(bytes[1] < 0.5 * bytes[0]);
    CU_ASSERT(bytes[2] < 0.9 * bytes[1]);
    for (int i = 1; i < 3; i++)
        CU_ASSERT_DOUBLE_EQUAL(loss[i], loss[0], 0.01 * loss[0]);
}

static const struct strait_test tests[] = {
    {"updates and parameters average as published", averages},
    {"with overlap an update counts one round late", late},
    {"every policy trains to the same bits on sim and fluid", same_bits},
    {"and on an emulation", emulated},
    {"each round's bound follows the run and is logged", bounds},
    {"a slope's bound follows what rounds gain", slopes},
    {"a bound by noise follows what clients' updates differ by", noises},
    {"a guard's bound doubles where it costs nothing", guarded},
    {"parameters that come down are compressed", smaller},
};
STRAIT_SUITE_WITH("workloads/train/live/live_adaptive", tests, .slow_s = 17);
