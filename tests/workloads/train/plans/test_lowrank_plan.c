/* What PowerSGD and ACP-SGD send of a model, by hand. */
#include "workloads/train/plans/lowrank_plan.h"
#include "tests/kit/suite.h"

#define ODD_LAYERS "tests/data/odd-layers.csv"
enum { N_ROWS = 8, N_LAYERS = 4 };

/* Rank 4, from the last row: head's bias of 7, and 7x37 = 259 gains (4 x 44 = 176); fc2 37x64 (4 x
 * 101 = 404 of 2368) and its bias of 37; fc1 64x33 (4 x 97 = 388 of 2112) and its bias of 64; conv
 * 12x27 (4 x 39 = 156 of 324) and its bias of 12. */
static const size_t p_elems[N_ROWS] = {7, 4 * 7, 37, 4 * 37, 64, 4 * 64, 12, 4 * 12};
static const size_t q_elems[N_ROWS] = {7, 4 * 37, 37, 4 * 64, 64, 4 * 33, 12, 4 * 27};
static const size_t n_elems[N_ROWS] = {7, 259, 37, 2368, 64, 2112, 12, 324};

static struct strait_model *load(void)
{
    struct strait_model *m;
    CU_ASSERT_EQUAL_FATAL(strait_model_load(&m, ODD_LAYERS, NULL), 0);
    return m;
}

static void layout(void)
{
    struct strait_model *m = load();
    struct strait_lowrank_part parts[N_ROWS];
    for (int both = 0; both < 2; both++) {
        const struct strait_lowrank_plan plan = strait_lowrank_plan(parts, m, 4, both);
        size_t p_at = 0, q_at = 0, hi = 5183; /* 7 + 259 + 37 + 2368 + 64 + 2112 + 12 + 324 */
        CU_ASSERT_EQUAL_FATAL(plan.n, N_ROWS);
        for (int i = 0; i < N_ROWS; i++) {
            const bool plain = parts[i].shape.rank == 0;
            hi -= n_elems[i];
            CU_ASSERT_EQUAL(plain, i % 2 == 0);
            CU_ASSERT_EQUAL(parts[i].lo, hi);
            CU_ASSERT_EQUAL(parts[i].n_elems, n_elems[i]);
            CU_ASSERT_EQUAL(parts[i].at[STRAIT_SIDE_P], p_at);
            CU_ASSERT_EQUAL(parts[i].at[STRAIT_SIDE_Q], q_at);
            CU_ASSERT_EQUAL(parts[i].n_at[STRAIT_SIDE_P], p_elems[i]);
            CU_ASSERT_EQUAL(parts[i].n_at[STRAIT_SIDE_Q], plain && !both ? 0 : q_elems[i]);
            p_at += p_elems[i];
            q_at += plain && !both ? 0 : q_elems[i];
        }
        CU_ASSERT_EQUAL(plan.n_elems[STRAIT_SIDE_P], 600); /* 480 and 120 of vectors */
        CU_ASSERT_EQUAL(plan.n_elems[STRAIT_SIDE_Q], both ? 764 : 644);
    }
    strait_model_free(m);
}

/* A rank at which nothing gains: all goes as it is, once.  */
static void high_rank(void)
{
    struct strait_model *m = load();
    struct strait_lowrank_part parts[N_ROWS];
    const struct strait_lowrank_plan plan = strait_lowrank_plan(parts, m, 64, false);
    CU_ASSERT_EQUAL(plan.n_elems[STRAIT_SIDE_P], 5183);
    CU_ASSERT_EQUAL(plan.n_elems[STRAIT_SIDE_Q], 0);
    strait_model_free(m);
}

static void check_buckets(const struct strait_model *m, const struct strait_lowrank_plan *plan,
                          double bytes, size_t n, const size_t *ends)
{
    struct strait_lowrank_bucket buckets[N_LAYERS];
    CU_ASSERT_EQUAL_FATAL(strait_lowrank_fuse(buckets, plan, m, STRAIT_SIDE_P, bytes), n);
    for (size_t i = 0; i < n; i++) {
        CU_ASSERT_EQUAL(buckets[i].first, i == 0 ? 0 : ends[i - 1]);
        CU_ASSERT_EQUAL(buckets[i].end, ends[i]);
    }
}

/* Layers in P's buffer, from the last: 35, 185, 320, 60 elements; 140, 740, 1280, 240 bytes. */
static void buckets(void)
{
    struct strait_model *m = load();
    struct strait_lowrank_part parts[N_ROWS];
    const struct strait_lowrank_plan plan = strait_lowrank_plan(parts, m, 4, true);
    check_buckets(m, &plan, 1, 4, (size_t[]){2, 4, 6, 8});
    check_buckets(m, &plan, 140, 4, (size_t[]){2, 4, 6, 8});
    check_buckets(m, &plan, 141, 3, (size_t[]){4, 6, 8});
    check_buckets(m, &plan, 880, 3, (size_t[]){4, 6, 8}); /* 140 + 740 */
    check_buckets(m, &plan, 881, 2, (size_t[]){6, 8});
    check_buckets(m, &plan, 2161, 1, (size_t[]){8}); /* 140 + 740 + 1280 = 2160 */
    check_buckets(m, &plan, 1e12, 1, (size_t[]){8});
    strait_model_free(m);
}

static const struct strait_test tests[] = {
    {"matrices become factors, the rest goes as it is, the last row first", layout},
    {"at a rank that does not gain everything goes as it is", high_rank},
    {"buckets end with the layer that fills them", buckets},
};
STRAIT_SUITE("workloads/train/plans/lowrank_plan", tests);
