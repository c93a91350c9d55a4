/* All-reduces whose ranks agree on statistics first: bytes by a closed form, the same in every
 * backend, with real values and with sizes alone; sums. */
#include "traces/models/model.h"
#include "agreed_sums.h"

enum { SUPER = 256, GROUP = 16, HEAD = 4, OF_SLICE = 8, WORD = 4 };
static const double UNTIL_MAIN =
    4.875; /* bits a value: of 5 those that ranks agree with, 32 / 256 */

static struct strait_outcome run(int n, const char *strategy, const char *codec,
                                 const char *network, const struct strait_backend *backend,
                                 bool real)
{
    char text[1024];
    snprintf(text, sizeof(text),
             "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"seed\":3,\"clients\":%d,"
             "\"codec\":{\"name\":\"dynamiq\",\"lossless\":\"none\"%s},\"strategy\":{%s},"
             "\"network\":%s}",
             n, codec, strategy, network);
    return strait_outcome_of(text, json_object(), "shards", backend,
                             (struct strait_trial_options){.real_payload = real});
}

static const char *const star = "{\"client\":{\"rate\":\"10 Gbps\",\"rtt\":\"100 us\"}}";

/* Of a model's tensors: words, and a packet of part i of n as sizes alone have it, or the most that
 * it may have. */
struct counted {
    uint64_t n_words, parts_bytes, most_bytes, n_coded;
};

static bool is_coded(const struct strait_param_row *row)
{
    return row->n_dims >= 2 && row->n_elems > 1024;
}

static struct counted count(const struct strait_model *m, size_t n_parts)
{
    struct counted c = {0};
    uint64_t coded = 0, others = 0, n_slices = 0, n_cut = 0;
    for (size_t i = 0; i < m->n_rows; i++) {
        c.n_words += is_coded(&m->rows[i]) ? (m->rows[i].n_elems + SUPER - 1) / SUPER : 0;
        c.n_coded += is_coded(&m->rows[i]);
    }
    for (size_t p = 0; p < n_parts; p++) {
        const size_t from = m->n_elems * p / n_parts, to = m->n_elems * (p + 1) / n_parts;
        double bytes = 0;
        for (size_t i = 0, lo = 0, hi; i < m->n_rows; i++, lo = hi) {
            hi = lo + m->rows[i].n_elems;
            const size_t a = lo > from ? lo : from, b = hi < to ? hi : to;
            if (a >= b)
                continue;
            n_slices++;
            bytes += OF_SLICE;
            if (is_coded(&m->rows[i])) {
                bytes += HEAD + floor((double)(b - a) * UNTIL_MAIN / 8);
                coded++;
                n_cut += a > lo && (a - lo) % SUPER != 0;
            } else {
                bytes += 4.0 * (double)(b - a);
                others += 4 * (b - a);
            }
        }
        c.parts_bytes += (uint64_t)ceil(bytes);
    }
    /* codes fill the budget at most; each cut of a super-group adds a unit, a scale and a byte that
     * is not full */
    c.most_bytes = n_slices * OF_SLICE + coded * HEAD + others + n_cut * 4 +
                   (uint64_t)((double)c.n_words * SUPER * UNTIL_MAIN / 8);
    return c;
}

/* Ranks send all words nearly twice: 2 (n - 1) of them in all. Then each of n parts passes 2 (n -
 * 1) times. Sizes alone are exactly the closed form; real ones stay below the budget, by less than
 * a step of 1024 bits, what the last super-groups of tensors do not have, and 4 bytes a cut. */
static void bytes_of_rings(void)
{
    static const int counts[] = {2, 3, 5, 8};
    static const char *const strategies[] = {
        "\"name\":\"bsp\",\"rounds\":1",
        "\"name\":\"bsp\",\"rounds\":1,\"collective\":\"pat\"",
        "\"name\":\"bsp\",\"rounds\":1,"
        "\"collective\":\"all_to_all\"",
        "\"name\":\"dear\",\"rounds\":1,\"fusion\":\"1 GB\"",
        "\"name\":\"localsgd\",\"rounds\":1,\"local_steps\":1",
        "\"name\":\"diloco\",\"rounds\":1,\"local_steps\":1",
        "\"name\":\"diloco\",\"rounds\":1,\"local_steps\":1,\"order\":\"network\"",
        "\"name\":\"streaming-diloco\",\"rounds\":1,\"local_steps\":1,\"fragments\":1,"
        "\"overlap_steps\":0",
        "\"name\":\"site-diloco\",\"rounds\":1,\"local_steps\":1,\"site_rounds\":1,"
        "\"site_size\":1",
        "\"name\":\"fusion\",\"rounds\":1,\"bucket\":\"1 GB\""};
    for (size_t k = 0; k < 4; k++)
        for (size_t s = 0; s < sizeof(strategies) / sizeof(*strategies); s++) {
            const uint64_t n = (uint64_t)counts[k];
            struct strait_outcome o = run(counts[k], strategies[s], "", star, &strait_fluid, false);
            const struct counted c = count(o.experiment->model, n);
            strait_test_context("%d ranks, %s", counts[k], strategies[s]);
            CU_ASSERT_EQUAL(o.payload_bytes, 2 * (n - 1) * (WORD * c.n_words + c.parts_bytes));
            strait_outcome_free(&o);
            o = run(counts[k], strategies[s], "", star, &strait_fluid, true);
            const uint64_t most = 2 * (n - 1) * (WORD * c.n_words + c.most_bytes);
            CU_ASSERT_AT_MOST(o.payload_bytes, most);
            const uint64_t less = 128 + c.n_coded * (SUPER + SUPER / GROUP + 2) + 4 * n;
            CU_ASSERT_AT_LEAST(o.payload_bytes, most - 2 * (n - 1) * less);
            strait_outcome_free(&o);
        }
    strait_test_context("%s", "");
}

/* A double tree's halves go up and down n - 1 times each. Of ZeRO's gradients every part passes as
 * often, around a ring or to its owner, and so do the parameters, plain. */
static void bytes_of_trees_and_parts(void)
{
    static const int counts[] = {3, 5, 6, 7};
    static const char *const strategies[] = {
        "\"name\":\"bsp\",\"rounds\":1,\"collective\":\"double_tree\"",
        "\"name\":\"zero\",\"rounds\":1,\"stage\":1,\"unit\":\"1 GB\"",
        "\"name\":\"zero\",\"rounds\":1,\"stage\":2,\"unit\":\"1 GB\",\"sum\":\"direct\""};
    for (size_t k = 0; k < 4; k++)
        for (int s = 0; s < 3; s++) {
            const uint64_t n = (uint64_t)counts[k];
            strait_test_context("%d ranks, %s", counts[k], strategies[s]);
            struct strait_outcome o = run(counts[k], strategies[s], "", star, &strait_fluid, false);
            const struct strait_model *m = o.experiment->model;
            const struct counted c = count(m, s == 0 ? 2 : n);
            const uint64_t sums = s == 0 ? 2 * c.parts_bytes : c.parts_bytes + 4 * m->n_elems;
            CU_ASSERT_EQUAL(o.payload_bytes, (n - 1) * (2 * WORD * c.n_words + sums));
            strait_outcome_free(&o);
        }
    strait_test_context("%s", "");
}

static void mean(void)
{
    for (int n = 2; n <= 7; n++) {
        struct strait_outcome o = run_ranks(n, true, check_agreed_mean, AGREED_CODEC);
        CU_ASSERT(o.payload_bytes > 0);
        strait_outcome_free(&o);
    }
}

/* Schedules that sum layers, buckets or partitions agree before each of their rings: two messages
 * more between any two ranks of three, for each of the 2 (n - 1) n = 12 of a ring. */
static void schedules(void)
{
    static const char *const strategies[] = {
        "\"name\":\"wfbp\",\"rounds\":1",
        "\"name\":\"mgwfbp\",\"rounds\":1",
        "\"name\":\"fusion\",\"rounds\":1,\"style\":\"horovod\",\"bucket\":\"100 KB\"",
        "\"name\":\"bytescheduler\",\"rounds\":1,\"partition\":\"100 KB\"",
        "\"name\":\"zero\",\"rounds\":1,\"stage\":2,\"unit\":\"100 KB\"",
        "\"name\":\"streaming-diloco\",\"rounds\":1,\"local_steps\":4,\"fragments\":2,"
        "\"overlap_steps\":1"};
    for (size_t s = 0; s < sizeof(strategies) / sizeof(*strategies); s++) {
        uint64_t n[2], bytes[2];
        strait_test_context("%s", strategies[s]);
        for (int b = 0; b < 2; b++) {
            struct strait_outcome o =
                run(3, strategies[s], "", star, b == 0 ? &strait_fluid : &strait_sim, true);
            n[b] = o.n_messages;
            bytes[b] = o.payload_bytes;
            strait_outcome_free(&o);
        }
        struct strait_outcome o =
            run(3, strategies[s], ",\"statistics\":\"own\"", star, &strait_fluid, true);
        CU_ASSERT_EQUAL(n[0], n[1]);
        CU_ASSERT_EQUAL(bytes[0], bytes[1]);
        CU_ASSERT(n[0] > o.n_messages && n[0] <= 2 * o.n_messages);
        strait_outcome_free(&o);
    }
    strait_test_context("%s", "");
}

/* One rank alone sends nothing. */
static void sums(void)
{
    for (int n = 1; n <= MAX_RANKS; n++) {
        struct strait_outcome fluid = run_ranks(n, true, check_agreed, AGREED_CODEC);
        const struct ranks_on on = {&strait_sim, simulated.network};
        struct strait_outcome sim = run_ranks_on(&on, n, true, check_agreed, AGREED_CODEC);
        CU_ASSERT(n == 1 || fluid.payload_bytes > 0);
        CU_ASSERT_EQUAL(sim.payload_bytes, fluid.payload_bytes);
        CU_ASSERT_EQUAL(sim.n_messages, fluid.n_messages);
        strait_outcome_free(&sim);
        strait_outcome_free(&fluid);
    }
}

/* What a hop's codes lose is added to what the same rank sends in the next round. Ranks train, so
 * that speeds of the codec's other settings do. */
static void with_feedback(void)
{
    struct strait_outcome o = strait_outcome_of(
        "{\"schema\":\"strait-experiment/1\",\"model\":\"fashion-mlp\",\"clients\":3,"
        "\"training\":{\"task\":\"fashion-mlp\",\"batch\":4,\"samples\":48,"
        "\"eval\":{\"every\":0,\"samples\":10}},"
        "\"codec\":{\"name\":\"dynamiq\",\"lossless\":\"none\",\"error_feedback\":true},"
        "\"strategy\":{\"name\":\"bsp\",\"rounds\":2,\"collective\":\"all_to_all\"},"
        "\"network\":{\"client\":{\"rate\":\"10 Gbps\",\"rtt\":\"100 us\"}}}",
        json_object(), "shards", &strait_fluid,
        (struct strait_trial_options){.real_payload = true});
    CU_ASSERT_EQUAL(o.n_messages, 2 * 4 * 3 * 2);
    strait_outcome_free(&o);
}

/* With statistics of one's own nobody agrees: a ring's messages alone. */
static void own(void)
{
    static const char *const strategy = "\"name\":\"bsp\",\"rounds\":1";
    struct strait_outcome o =
        run(3, strategy, ",\"statistics\":\"own\"", star, &strait_fluid, true);
    CU_ASSERT_EQUAL(o.n_messages, 2 * 3 * 2);
    strait_outcome_free(&o);
    o = run(3, strategy, "", star, &strait_fluid, true);
    CU_ASSERT_EQUAL(o.n_messages, 2 * 3 * 2 + 2 * 3 * 2);
    strait_outcome_free(&o);
}

static const struct strait_test tests[] = {
    {"bytes are those of words and of parts in the budget, at any number of ranks", bytes_of_rings},
    {"a double tree and ZeRO's parts have the same budget", bytes_of_trees_and_parts},
    {"a mean is coded about the values' mean, not the sum's", mean},
    {"schedules agree before each of their rings", schedules},
    {"sums are close and the same on all ranks, whichever way they are taken", sums},
    {"error feedback decodes by what was agreed", with_feedback},
    {"by statistics of their own, ranks send no others", own},
};
STRAIT_SUITE("workloads/train/collectives/statistics", tests);
