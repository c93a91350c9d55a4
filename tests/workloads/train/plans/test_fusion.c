/* Plans by hand, and against exhaustive search. */
#include "workloads/train/plans/fusion_plan.h"

#include <math.h>

#include "core/random.h"
#include "tests/kit/suite.h"

enum { MAX = 10 };

struct example {
    double bytes[MAX], fwd_s[MAX], bwd_s[MAX];
};

static struct strait_layer_costs layers_of(struct example *e, int n)
{
    return (struct strait_layer_costs){n, e->bytes, e->fwd_s, e->bwd_s};
}

static void is_plan(const struct strait_fusion *f, const int *first, int n_buckets)
{
    CU_ASSERT_EQUAL_FATAL(f->n_buckets, n_buckets);
    for (int g = 0; g <= n_buckets; g++)
        CU_ASSERT_EQUAL(f->first[g], first[g]);
}

static void fixed_sizes(void)
{
    struct example e = {.bytes = {5, 4, 3, 30, 2, 1}};
    const struct strait_layer_costs c = layers_of(&e, 6);
    int first[MAX + 1];
    struct strait_fusion f = {.first = first};
    strait_fuse_none(&f, &c);
    is_plan(&f, (const int[]){0, 1, 2, 3, 4, 5, 6}, 6);
    /* from the end, closed once 10 are reached: 1 + 2 + 30 | 3 + 4 + 5 */
    strait_fuse_backward(&f, &c, 10, 10);
    is_plan(&f, (const int[]){0, 3, 6}, 2);
    /* the first one at 3: 1 + 2 | 30 | 3 + 4 + 5 */
    strait_fuse_backward(&f, &c, 3, 10);
    is_plan(&f, (const int[]){0, 3, 4, 6}, 3);
    /* from the start, below 10: 5 + 4 | 3 | 30 alone | 2 + 1; 12 is reached by 5 + 4 + 3 */
    strait_fuse_forward(&f, &c, 10);
    is_plan(&f, (const int[]){0, 2, 3, 4, 6}, 4);
    strait_fuse_forward(&f, &c, 12);
    is_plan(&f, (const int[]){0, 2, 3, 4, 6}, 4);
    strait_fuse_forward(&f, &c, 12.5);
    is_plan(&f, (const int[]){0, 3, 4, 6}, 3);
    strait_fuse_forward(&f, &c, 1e9);
    is_plan(&f, (const int[]){0, 6}, 1);
}

/* alpha 1, 1 a byte; gradients ready at 1, 1.5, 4, 30 from the last layer (of 3 bytes) on. Alone
 * the last would go from 1 to 5. The next is ready at 1.5: merged, 0.5 of waiting saves 1. The
 * third is ready at 4, which is 2.5 after 1.5: not worth it, [1.5, 1.5 + 1 + 5 = 7.5]. The third
 * from 7.5 to 9.5; the first layer is ready at 30, after that: alone. */
static void rule(void)
{
    struct example e = {.bytes = {1, 1, 2, 3}, .bwd_s = {26, 2.5, 0.5, 1}};
    const struct strait_layer_costs c = layers_of(&e, 4);
    const struct strait_linear_cost all_reduce = {1, 1};
    int first[MAX + 1];
    struct strait_fusion f = {.first = first};
    strait_fuse_merge(&f, &c, all_reduce);
    is_plan(&f, (const int[]){0, 1, 2, 4}, 3);
    CU_ASSERT_DOUBLE_EQUAL(strait_fusion_end_s(&f, &c, all_reduce), 32, 1e-12);
}

/* Where the rule is not best. Alpha 1; ready at 0.1, 1, 5 from the last layer on, which take 10,
 * 0.1 and 0.1. The rule merges the last two, since 0.9 of waiting is less than 1: [1, 1 + 1 + 10.1
 * = 12.1], then the first layer, 4 later, alone: 12.1 + 1.1 = 13.2. Better: the last at once until
 * 11.1, the others together, 11.1 + 1 + 0.2 = 12.3. */
static void rule_is_greedy(void)
{
    struct example e = {.bytes = {0.1, 0.1, 10}, .bwd_s = {4, 0.9, 0.1}};
    const struct strait_layer_costs c = layers_of(&e, 3);
    const struct strait_linear_cost all_reduce = {1, 1};
    int first[MAX + 1];
    double end_s[MAX + 1];
    struct strait_fusion f = {.first = first};
    strait_fuse_merge(&f, &c, all_reduce);
    is_plan(&f, (const int[]){0, 1, 3}, 2);
    CU_ASSERT_DOUBLE_EQUAL(strait_fusion_end_s(&f, &c, all_reduce), 13.2, 1e-12);
    strait_fuse_best(&f, end_s, &c, all_reduce);
    is_plan(&f, (const int[]){0, 2, 3}, 2);
    CU_ASSERT_DOUBLE_EQUAL(strait_fusion_end_s(&f, &c, all_reduce), 12.3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(end_s[0], 12.3, 1e-12);
}

/* The earliest end of all 2^(n - 1) plans. */
static double exhaustive_s(const struct strait_layer_costs *c, struct strait_linear_cost all_reduce)
{
    double best_s = INFINITY;
    for (unsigned cuts = 0; cuts < 1u << (c->n - 1); cuts++) {
        int first[MAX + 1];
        struct strait_fusion f = {.n_buckets = 1, .first = first};
        first[0] = 0;
        for (int l = 1; l < c->n; l++)
            if (cuts & 1u << (l - 1))
                first[f.n_buckets++] = l;
        first[f.n_buckets] = c->n;
        best_s = fmin(best_s, strait_fusion_end_s(&f, c, all_reduce));
    }
    return best_s;
}

/* Random models of 1 to 10 layers with sizes and times over three decades and a network from free
 * start-up to nothing but start-up. */
static void all_plans(void)
{
    int n_rule_best = 0;
    enum { N_MODELS = 600 };
    for (unsigned i = 0; i < N_MODELS; i++) {
        struct strait_sequence s = strait_sequence_at(strait_random_bits(1, "plans", i, 0));
        struct example e = {0};
        struct strait_layer_costs c = layers_of(&e, 1 + (int)(i % MAX));
        for (int l = 0; l < c.n; l++) {
            e.bytes[l] = pow(10, 3 * strait_sequence_unit(&s));
            e.bwd_s[l] = pow(10, 3 * strait_sequence_unit(&s));
        }
        const struct strait_linear_cost all_reduce = {1e3 * strait_sequence_unit(&s),
                                                      2 * strait_sequence_unit(&s)};
        int first[MAX + 1];
        double end_s[MAX + 1];
        struct strait_fusion f = {.first = first};
        const double min_s = exhaustive_s(&c, all_reduce);
        strait_fuse_best(&f, end_s, &c, all_reduce);
        const double best_s = strait_fusion_end_s(&f, &c, all_reduce);
        strait_fuse_merge(&f, &c, all_reduce);
        const double rule_s = strait_fusion_end_s(&f, &c, all_reduce);
        strait_fuse_none(&f, &c);
        const double none_s = strait_fusion_end_s(&f, &c, all_reduce);
        CU_ASSERT_DOUBLE_EQUAL(best_s, min_s, 1e-12 * min_s);
        CU_ASSERT(rule_s <= none_s * (1 + 1e-12));
        CU_ASSERT(rule_s >= min_s * (1 - 1e-12));
        n_rule_best += rule_s <= min_s * (1 + 1e-12);
    }
    CU_ASSERT(n_rule_best > N_MODELS / 2);
    CU_ASSERT(n_rule_best < N_MODELS);
}

/* 4 ranks at 1 Gbps, 10 ms of each access link: 6 steps of 10 ms + (m / 4 + 96) / 117685305.6, and
 * 3 parts added at 1 and copied at 0.5 ns a byte. With a codec that sends a fifth, encodes at 2 and
 * decodes at 0.7: 3 parts added, encoded and decoded; then one encoded and four decoded. */
static void ring(void)
{
    const struct strait_link link = {.rate_bits_per_s = 1e9, .delay_s = 0.005};
    struct strait_network *star = strait_network_star(4, link, link, link, link, 24,
                                                      (struct strait_tcp){.segment_bytes = 1448});
    const struct strait_ring_work plain = {1e-9, 0.5e-9, 0, 0, 1},
                                  coded = {1e-9, 0, 2e-9, 0.7e-9, 0.2};
    const struct strait_linear_cost c = strait_ring_cost(star, 4, plain);
    const double rate = 1e9 / 8 * 1448 / 1538;
    CU_ASSERT_DOUBLE_EQUAL(c.alpha_s, 6 * (0.01 + 96 / rate), 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(c.s_per_byte, 1.5 / rate + 0.75 * 1.5e-9, 1e-21);
    const struct strait_linear_cost d = strait_ring_cost(star, 4, coded);
    CU_ASSERT_EQUAL(d.alpha_s, c.alpha_s);
    CU_ASSERT_DOUBLE_EQUAL(d.s_per_byte, 0.3 / rate + 0.75 * 3.7e-9 + 0.5e-9 + 0.7e-9, 1e-21);
    const struct strait_linear_cost alone = strait_ring_cost(star, 1, coded);
    CU_ASSERT_EQUAL(alone.alpha_s, 0);
    CU_ASSERT_EQUAL(alone.s_per_byte, 0);
    strait_network_free(star);
}

static const struct strait_test tests[] = {
    {"fixed sizes are packed as DDP does from the end and as DeAR does from the start",
     fixed_sizes},
    {"MG-WFBP's rule merges where waiting costs less than a start-up", rule},
    {"the rule looks one layer ahead: not always the best plan", rule_is_greedy},
    {"dynamic programming finds the best of all plans; the rule is never worse than no merging",
     all_plans},
    {"a ring all-reduce costs its steps' delays, its parts, and adding and copying them", ring},
};
STRAIT_SUITE("workloads/train/plans/fusion", tests);
