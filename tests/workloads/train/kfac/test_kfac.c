/* K-FAC's factors against published sizes, placements and fusion against exhaustive search, and the
 * bytes of each strategy against its closed form. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "analysis/row.h"
#include "core/random.h"
#include "workloads/train/plans/kfac_factors.h"
#include "workloads/train/plans/placement.h"
#include "tests/kit/harness.h"
#include "tests/kit/suite.h"

enum { MAX = 9 };

/* --- sizes --------------------------------------------------------------------------------- */

/* Published for 54 layers: 62.35 million elements of A and 14.62 million of G, as triangles. */
static void sizes(void)
{
    struct strait_error err = {0};
    struct strait_model *m;
    CU_ASSERT_EQUAL_FATAL(strait_model_load(&m, "resnet50", &err), 0);
    const struct strait_factor_costs costs = {.factor_speed = 1, .largest_dim = 8192};
    static struct strait_factor all[256];
    const int n = strait_n_factor_layers(m, 8192);
    double a = 0, g = 0;
    CU_ASSERT_EQUAL(n, 54);
    strait_factors_of(all, m, &costs);
    for (int i = 0; i < 2 * n; i++)
        *(all[i].of_input ? &a : &g) += (double)all[i].n_elems;
    CU_ASSERT_DOUBLE_EQUAL(a / 1e6, 62.35, 0.005);
    CU_ASSERT_DOUBLE_EQUAL(g / 1e6, 14.62, 0.005);
    CU_ASSERT_EQUAL(strait_triangle(64), 2080);
    /* 3.64 ms e^(4.77e-4 x 1024), as published for an RTX 2080 Ti */
    const struct strait_factor_costs ti = {.inverse_base_s = 3.64e-3, .inverse_growth = 4.77e-4};
    CU_ASSERT_DOUBLE_EQUAL(strait_inverse_s(&ti, 1024), 3.64e-3 * exp(4.77e-4 * 1024), 1e-12);
    strait_model_free(m);
}

/* --- placements ---------------------------------------------------------------------------- */

static double draw(uint64_t seed, uint64_t i)
{
    return 0.05 + strait_random_unit(seed, "cost", i, 0);
}

/* The least largest load of any assignment; contiguous: of those in blocks. */
static double best_load(const double *cost, int n, int n_workers, bool contiguous)
{
    double best = INFINITY;
    long n_all = 1;
    for (int i = 0; i < n; i++)
        n_all *= n_workers;
    for (long code = 0; code < n_all; code++) {
        int owner[MAX];
        bool blocks = true;
        long rest = code;
        for (int i = 0; i < n; i++, rest /= n_workers) {
            owner[i] = (int)(rest % n_workers);
            blocks &= i == 0 || owner[i] == owner[i - 1] || owner[i] == owner[i - 1] + 1;
        }
        if (!contiguous || blocks)
            best = fmin(best, strait_largest_load(owner, n, cost, n_workers));
    }
    return best;
}

static void placed(void)
{
    for (uint64_t seed = 0; seed < 40; seed++) {
        const int n = 3 + (int)(seed % 5), n_workers = 2 + (int)(seed % 2);
        double cost[MAX], none[MAX] = {0};
        int owner[MAX];
        for (int i = 0; i < n; i++)
            cost[i] = draw(seed, (uint64_t)i);
        CU_ASSERT_EQUAL(strait_place_contiguous(owner, n, cost, n_workers), 0);
        CU_ASSERT_DOUBLE_EQUAL(strait_largest_load(owner, n, cost, n_workers),
                               best_load(cost, n, n_workers, true), 1e-12);
        for (int i = 1; i < n; i++)
            CU_ASSERT(owner[i] == owner[i - 1] || owner[i] == owner[i - 1] + 1);
        CU_ASSERT_EQUAL(strait_place_balanced(owner, n, cost, none, n_workers), 0);
        const double bound = 4.0 / 3 - 1 / (3.0 * n_workers); /* Graham */
        CU_ASSERT(strait_largest_load(owner, n, cost, n_workers) <=
                  bound * best_load(cost, n, n_workers, false) + 1e-12);
    }
    /* cheaper than its broadcast: everybody's */
    const double cost[] = {3, 1, 2}, send[] = {2, 2, 2};
    int owner[3];
    strait_place_balanced(owner, 3, cost, send, 2);
    CU_ASSERT(owner[0] == 0 && owner[1] == STRAIT_EVERYWHERE && owner[2] == 1);
    strait_place_round_robin(owner, 3, 1, 2);
    CU_ASSERT(owner[0] == 0 && owner[1] == 1 && owner[2] == 0);
}

/* End of the last bucket when the bits of `cuts` start new ones. */
static double end_of(const double *ready, const double *bytes, int n, unsigned cuts, double alpha,
                     double beta, double free_s)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        sum += bytes[i];
        if (i + 1 == n || cuts & 1u << i) {
            free_s = fmax(free_s, ready[i]) + alpha + beta * sum;
            sum = 0;
        }
    }
    return free_s;
}

static void fused(void)
{
    for (uint64_t seed = 0; seed < 200; seed++) {
        const int n = 1 + (int)(seed % MAX);
        double ready[MAX], bytes[MAX], end_s, best_s = INFINITY;
        int first[MAX + 1];
        for (int i = 0; i < n; i++) {
            ready[i] = (i > 0 ? ready[i - 1] : 0) + draw(seed, (uint64_t)i);
            bytes[i] = 1e6 * draw(seed, 100 + (uint64_t)i);
        }
        const double alpha = draw(seed, 300), beta = 1e-6 * draw(seed, 301);
        const int n_buckets = strait_fuse_ready(first, &end_s, n, ready, bytes, alpha, beta, 0.3);
        for (unsigned cuts = 0; cuts < 1u << (n - 1); cuts++)
            best_s = fmin(best_s, end_of(ready, bytes, n, cuts, alpha, beta, 0.3));
        unsigned mine = 0;
        for (int g = 1; g < n_buckets; g++)
            mine |= 1u << (first[g] - 1);
        CU_ASSERT_DOUBLE_EQUAL(end_s, best_s, 1e-12);
        CU_ASSERT_DOUBLE_EQUAL(end_of(ready, bytes, n, mine, alpha, beta, 0.3), best_s, 1e-12);
    }
}

/* Each all-reduce takes 2 s and 1 s a byte. The first member goes alone at 1 s and ends at 4 s,
 * when the next two wait and fill a buffer of 2 bytes: 8 s. The last one comes at 10 s: 13 s. */
static void fused_as_they_wait(void)
{
    const double ready[] = {1, 2, 3, 10}, bytes[] = {1, 1, 1, 1};
    int first[5];
    double end_s;
    CU_ASSERT_EQUAL(strait_fuse_waiting(first, &end_s, 4, ready, bytes, 2, 1, 0, 2), 3);
    CU_ASSERT(first[0] == 0 && first[1] == 1 && first[2] == 3 && first[3] == 4);
    CU_ASSERT_EQUAL(end_s, 13);
    /* a buffer of 1 byte: each goes alone, 4, 7, 10 and 13 s; a channel free at 20 s takes all */
    CU_ASSERT_EQUAL(strait_fuse_waiting(first, &end_s, 4, ready, bytes, 2, 1, 0, 1), 4);
    CU_ASSERT_EQUAL(end_s, 13);
    CU_ASSERT_EQUAL(strait_fuse_waiting(first, &end_s, 4, ready, bytes, 2, 1, 20, 9), 1);
    CU_ASSERT_EQUAL(end_s, 26);
}

/* --- bytes --------------------------------------------------------------------------------- */

enum { MAX_RANKS = 9, N_FACTORS = 8, N_LAYERS = 4, N_ROUNDS = 2 };

/* settings: of the strategy, taken. */
static struct strait_outcome sized(const char *strategy, int n, json_t *settings)
{
    static const char *const experiment =
        "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"seed\":3,\"clients\":3,"
        "\"strategy\":{\"name\":\"dkfac\",\"rounds\":2},"
        "\"network\":{\"client\":{\"rate\":\"1 Gbps\",\"rtt\":\"1 ms\"}}}";
    json_t *set = json_pack("{s:s, s:i}", "/strategy/name", strategy, "/clients", n);
    json_object_update(set, settings);
    json_decref(settings);
    return strait_outcome_of(experiment, set, "default", &strait_fluid,
                             (struct strait_trial_options){0});
}

/* n_elems sent by all, and messages, in a round. */
static void check(const char *strategy, int n, json_t *settings, uint64_t n_elems,
                  uint64_t n_messages)
{
    struct strait_outcome o = sized(strategy, n, settings);
    CU_ASSERT_EQUAL(o.payload_bytes, N_ROUNDS * 4 * n_elems);
    CU_ASSERT_EQUAL(o.n_messages, N_ROUNDS * n_messages);
    if (o.payload_bytes != N_ROUNDS * 4 * n_elems || o.n_messages != N_ROUNDS * n_messages)
        fprintf(stderr, "%s of %d: %llu bytes in %llu messages\n", strategy, n,
                (unsigned long long)o.payload_bytes, (unsigned long long)o.n_messages);
    strait_outcome_free(&o);
}

/* conv1 1 x 3 x 3 to 16, conv2 16 x 3 x 3 to 32, fc1 1568 to 64, fc2 64 to 10, all with biases. */
static uint64_t triangle(uint64_t d)
{
    return d * (d + 1) / 2;
}

static json_t *spd(const char *placement, int local_dims)
{
    return json_pack("{s:s, s:s, s:i}", "/strategy/fusion", "layer_wise", "/strategy/placement",
                     placement, "/strategy/local_dims", local_dims);
}

/* All factors to their owners and back; neighbours with one owner go together, so that there are as
 * many buckets as owners at most. */
static void padkfac_bytes(int n, uint64_t n_elems, uint64_t hops, uint64_t tree)
{
    struct strait_outcome o = sized("padkfac", n, json_object());
    const uint64_t moves = o.n_messages / N_ROUNDS - hops;
    CU_ASSERT_EQUAL(o.payload_bytes, N_ROUNDS * 4 * n_elems);
    CU_ASSERT_EQUAL(o.n_messages % N_ROUNDS, 0);
    if (n > 1) {
        CU_ASSERT_EQUAL(moves % (2 * tree), 0);
        CU_ASSERT(moves >= 2 * tree && moves <= 2 * tree * (uint64_t)n);
    }
    strait_outcome_free(&o);
}

static void bytes(void)
{
    const uint64_t all = 105866;
    const uint64_t a = triangle(10) + triangle(145) + triangle(1569) + triangle(65);
    const uint64_t g = triangle(16) + triangle(32) + triangle(64) + triangle(10);
    for (int n = 1; n <= MAX_RANKS; n++) {
        /* a ring: 2 (n - 1) times everything, in as many messages a rank; a tree: n - 1 times */
        const uint64_t ring = 2 * (uint64_t)(n - 1), tree = (uint64_t)(n - 1);
        const uint64_t hops = ring * (uint64_t)n;
        const uint64_t dense = ring * (all + a + g); /* all-reduces of gradients and factors */
        /* one bucket of gradients, one of factors */
        check("dkfac", n, json_object(), dense, 2 * hops);
        /* every inverse is broadcast from its owner */
        check("mpdkfac", n, json_object(), dense + tree * (a + g), 2 * hops + N_FACTORS * tree);
        /* no factors; the owners' gradients instead, all layers here having factors */
        check("dpkfac", n, json_object(), (ring + tree) * all, hops + N_LAYERS * tree);
        /* each factor's sum by itself; nothing, all or one is inverted by its owner alone */
        check("spdkfac", n, spd("everywhere", 0), dense, (1 + N_FACTORS) * hops);
        check("spdkfac", n, spd("round_robin", 0), dense + tree * (a + g),
              (1 + N_FACTORS) * hops + N_FACTORS * tree);
        check("spdkfac", n, spd("balanced", 1025), dense + tree * triangle(1569),
              (1 + N_FACTORS) * hops + tree);
        /* two layers have an A from 100 on, and both their inverses travel together */
        check("spdkfac", n, spd("layers", 100),
              dense + tree * (triangle(145) + triangle(32) + triangle(1569) + triangle(64)),
              (1 + N_FACTORS) * hops + 2 * tree);
        /* after the backward pass: one buffer of all factors */
        check("spdkfac", n,
              json_pack("{s:s, s:s}", "/strategy/pipeline", "no", "/strategy/placement",
                        "everywhere"),
              dense, 2 * hops);
        /* the largest goes to its owner and back; all others are summed, A and G by themselves */
        check("padkfac", n, json_pack("{s:i}", "/strategy/reduce_above", 200),
              ring * (all + a + g - triangle(1569)) + 2 * tree * triangle(1569),
              3 * hops + 2 * tree);
        padkfac_bytes(n, ring * all + 2 * tree * (a + g), hops, tree);
    }
}

/* --- measured inverses --------------------------------------------------------------------- */

/* Seconds with a table of scale x 10 us a dimension, two points of it; the row says so. */
static double with_table(double scale, char key[STRAIT_KEY_CHARS])
{
    struct strait_error err = {0};
    char path[] = "/tmp/strait-inverse-XXXXXX";
    close(mkstemp(path));
    FILE *f = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fprintf(f, "dim,seconds\n10,%g\n1000,%g\n", 1e-4 * scale, 1e-2 * scale);
    fclose(f);
    struct strait_outcome o = sized("dkfac", 3, json_pack("{s:{s:s}}", "/device", "inverse", path));
    unlink(path);
    json_t *same = json_string("the same point whatever its file holds");
    const struct strait_row_inputs inputs = {
        .resolved = same, .backend = "fluid", .trial = o.point};
    const struct strait_row_context context = {.backend = "fluid", .key = "k"};
    CU_ASSERT_EQUAL(strait_row_key(key, &inputs, &err), 0);
    json_t *row = strait_row_new(o.point, &context, &err);
    char *notes = json_dumps(json_object_get(row, "approximations"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(notes, "inverted in the time of a table of 2 dimensions"));
    const double total_s = o.total_s;
    free(notes);
    json_decref(row);
    json_decref(same);
    strait_outcome_free(&o);
    return total_s;
}

/* Every worker inverts all: dimensions 10 + 145 + 1569 + 65 + 16 + 32 + 64 + 10 = 1911, one of them
 * beyond the table, so 19.11 ms a round. */
static void measured_inverses(void)
{
    char keys[2][STRAIT_KEY_CHARS];
    const double once_s = with_table(1, keys[0]), twice_s = with_table(2, keys[1]);
    CU_ASSERT_DOUBLE_EQUAL(twice_s - once_s, N_ROUNDS * 19.11e-3, 1e-9);
    CU_ASSERT_STRING_NOT_EQUAL(keys[0], keys[1]);
}

static const struct strait_test tests[] = {
    {"ResNet-50's factors have their published sizes", sizes},
    {"contiguous placement is the best in blocks, balanced placement keeps Graham's bound", placed},
    {"fusion ends as early as the best of all groupings", fused},
    {"what waits for the channel goes together, up to a buffer", fused_as_they_wait},
    {"bytes are those of all-reduces, broadcasts and preconditioned gradients", bytes},
    {"inverses take what a measured table says", measured_inverses},
};
STRAIT_SUITE("workloads/train/kfac/kfac", tests);
