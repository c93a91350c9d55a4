/* Who wins in published tables of compressed data parallelism, on the experiments that ship. */
#include <math.h>
#include "tests/kit/data.h"
#include "tests/kit/harness.h"
#include "tests/kit/suite.h"

/* Mean step of the i-th point of a file, on fluid with the profile that ships. */
static double step_s(const char *file, size_t i, const char *const *settings, size_t n_settings)
{
    struct strait_error err = {0};
    struct strait_sweep *sweep;
    struct strait_experiment *e;
    struct strait_profile *profile;
    struct strait_trial *p;
    const struct strait_trial_options sized = {0};
    char path[512];
    snprintf(path, sizeof(path), "%s/%s.json", DATA("experiments"), file);
    CU_ASSERT_EQUAL_FATAL(strait_sweep_load(&sweep, path, settings, n_settings, &err), 0);
    json_t *json = strait_sweep_point(sweep, i, NULL, &err);
    CU_ASSERT_EQUAL_FATAL(strait_experiment_read(&e, path, json, &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_profile_load(&profile, "default", &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_trial_new(&p, e, profile, &sized, &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_trial_run(p, &strait_fluid, &err), 0);
    double end_s = 0;
    for (size_t k = 0; k < p->logs[0].n_spans; k++)
        if (strait_spans_at(&p->logs[0].spans, k).kind == STRAIT_SPAN_ROUND)
            end_s = strait_spans_at(&p->logs[0].spans, k).end_s;
    const double mean_s = end_s / strait_experiment_param(e, "rounds");
    strait_trial_free(p);
    strait_profile_free(profile);
    strait_experiment_free(e);
    json_decref(json);
    strait_sweep_free(sweep);
    return mean_s;
}

/* DeepReduce (Xu et al. 2021), NCF at 1 Gbps, seconds an iteration. The file's first five points,
 * with the published codec times: dense, Top-r, BF-P2, Fit-Poly, Fit-Poly+BF-P2. */
static void deepreduce_ncf(void)
{
    static const double published_s[5] = {2.720, 2.071, 2.095, 2.420, 2.823};
    double ours_s[5];
    for (size_t i = 0; i < 5; i++) {
        ours_s[i] = step_s("deepreduce-ncf", i, NULL, 0);
        CU_ASSERT_DOUBLE_EQUAL(ours_s[i], published_s[i], 0.05 * published_s[i]);
        for (size_t k = 0; k < i; k++)
            CU_ASSERT_EQUAL(ours_s[k] < ours_s[i], published_s[k] < published_s[i]);
    }
}

/* GRACE (Xu et al. 2021), ResNet-50 on 8 workers at 1 Gbps, seconds a step: dense, topk 0.5, 0.25,
 * 0.1, 0.01, randomk the same; without overlap. */
static void grace_resnet50(void)
{
    static const double published_s[9] = {1.7217, 7.5297, 4.1343, 1.9759, 0.7967,
                                          1.1136, 0.7179, 0.4964, 0.3478};
    double ours_s[9];
    for (size_t i = 0; i < 9; i++) {
        const char *settings[] = {"/strategy/overlap=no", "/network/client/rate=1 Gbps"};
        ours_s[i] = step_s("grace-resnet50", i, settings, 2);
        CU_ASSERT_DOUBLE_EQUAL(ours_s[i], published_s[i], 0.1 * published_s[i]);
        for (size_t k = 0; k < i; k++)
            CU_ASSERT_EQUAL(ours_s[k] < ours_s[i], published_s[k] < published_s[i]);
    }
}

static const struct strait_test tests[] = {
    {"DeepReduce on NCF: all five methods in the published order, each within 5 %", deepreduce_ncf},
    {"GRACE on ResNet-50: all nine in the published order, each within 10 %", grace_resnet50},
};
STRAIT_SUITE("campaign/published/published_orders", tests);
