/* gTop-k's tree against closed forms of its bytes and time, and its result on recorded gradients.
 */
#include <math.h>
#include "tests/kit/gradients.h"

static const char *const text = GRADIENTS_TEXT("{\"name\":\"gtopk\",\"rounds\":1}");

/* Sizes that follow from the shape: 10 + 8 k behind 8 of the bundle for each matrix, k = 1 % but at
 * least 1; vectors as they are. 324, 2112, 2368, 259: k = 3, 21, 23, 2; vectors 12, 64, 37, 7. */
enum { PACKET = 8 * 8 + 4 * 10 + 8 * (3 + 21 + 23 + 2) + 4 * (12 + 64 + 37 + 7) };

static json_t *settings_of(void)
{
    return json_pack("{s:{s:s, s:f, s:s, s:s, s:i, s:s}}", "/codec", "name", "gtopk", "ratio", 0.01,
                     "payload", "published", "lossless", "none", "cutoff", 0, "profile",
                     "tests/data/gtopk-costs.json");
}

/* P - 1 packets up and P - 1 down, whatever P; without a codec as many whole gradients. */
static void bytes(void)
{
    for (int n = 1; n <= MAX_RANKS; n++)
        for (int dense = 0; dense < 2; dense++) {
            struct strait_outcome o = sized_run(text, dense ? json_object() : settings_of(), n);
            const uint64_t hops = 2 * (uint64_t)(n - 1);
            CU_ASSERT_EQUAL(o.payload_bytes, hops * (uint64_t)(dense ? 4 * ODD_ELEMS : PACKET));
            CU_ASSERT_EQUAL(o.n_messages, hops);
            strait_outcome_free(&o);
        }
}

/* P = 2^h: h hops up, each with a merge (charged as one encoding and two decodings). Rank 0 then
 * has the result, posts it, decodes it and steps: the way down is in the next round's time. */
static void schedule(void)
{
    for (int n = 1, hops = 0; n <= 8; n *= 2, hops++) {
        struct strait_outcome o = sized_run(text, settings_of(), n);
        const struct strait_model *m = o.experiment->model;
        const double raw = 4.0 * (324 + 2112 + 2368 + 259);
        const double encode_s =
            4 * o.point->up.encode_fixed_s + raw / o.point->up.encode_bytes_per_s;
        const double decode_s =
            4 * o.point->up.decode_fixed_s + raw / o.point->up.decode_bytes_per_s;
        const double hop_s = (PACKET + FRAME_BYTES) / bytes_per_s + path_s;
        const double expected = m->fwd_s + m->bwd_s + encode_s +
                                hops * (hop_s + encode_s + 2 * decode_s) + decode_s + m->opt_s;
        CU_ASSERT_DOUBLE_EQUAL(o.total_s, expected, 1e-9 * expected);
        strait_outcome_free(&o);
    }
}

/* Rank 1 begins its second round when the first one's result has come, a hop after rank 0. */
static void second_round(void)
{
    double total_s[2];
    struct strait_trial_options none = {0};
    for (int i = 0; i < 2; i++) {
        json_t *settings = settings_of();
        json_object_set_new(settings, "/clients", json_integer(2));
        json_object_set_new(settings, "/strategy/rounds", json_integer(i + 1));
        struct strait_outcome o = strait_outcome_of(text, settings, "default", &strait_fluid, none);
        total_s[i] = o.total_s;
        if (i == 1) {
            const double hop_s = (PACKET + FRAME_BYTES) / bytes_per_s + path_s;
            CU_ASSERT_DOUBLE_EQUAL(total_s[1], 2 * total_s[0] + hop_s, 1e-9);
        }
        strait_outcome_free(&o);
    }
}

static bool is_vector_at(size_t at)
{
    static const size_t ends[ODD_ROWS] = {324, 336, 2448, 2512, 4880, 4917, 5176, 5183};
    size_t row = 0;
    while (at >= ends[row])
        row++;
    return row % 2 == 1;
}

/* The same bits everywhere; of each matrix at most k values, each of them the sum of what some of
 * the ranks had chosen there: no more ranks than n, and nothing else than their values. Vectors are
 * exact: sums of the tree ((0 + 1) + (2 + 3)) + 4. */
static void values(void)
{
    for (int n = 1; n <= 5; n++) {
        size_t n_kept = 0;
        bool vectors = true, known = true;
        run_gradients(text, settings_of(), n, STRAIT_SCRATCH);
        check_alike(n);
        for (size_t i = 0; i < ODD_ELEMS; i++) {
            float x[5] = {0}, kept = gradients->out[0][i];
            for (int k = 0; k < n; k++)
                x[k] = gradients->in[k][i];
            if (is_vector_at(i)) {
                const float sum = ((x[0] + x[1]) + (x[2] + x[3])) + x[4];
                vectors = vectors && memcmp(&sum, &kept, sizeof(sum)) == 0;
                continue;
            }
            n_kept += kept != 0;
            bool found = kept == 0;
            for (unsigned who = 1; who < 1u << n && !found; who++) {
                float y[5] = {0};
                for (int k = 0; k < n; k++)
                    y[k] = who >> k & 1 ? x[k] : 0;
                found = ((y[0] + y[1]) + (y[2] + y[3])) + y[4] == kept;
            }
            known = known && found;
        }
        CU_ASSERT(n_kept <= 3 + 21 + 23 + 2);
        CU_ASSERT(n_kept >= 40);
        CU_ASSERT(known);
        CU_ASSERT(vectors);
    }
}

static void refusals(void)
{
    struct strait_error err = {0};
    struct strait_experiment *e = NULL;
    json_t *json = json_loads(text, 0, NULL);
    json_object_set_new(json, "codec", json_string("topk"));
    CU_ASSERT_EQUAL(strait_experiment_read(&e, "x.json", json, &err), -1);
    CU_ASSERT(strstr(err.text, "gtopk") != NULL);
    json_decref(json);
}

static const struct strait_test tests[] = {
    {"2 (P - 1) packets of k elements at 1 to 9 ranks", bytes},
    {"log2 P merges follow one another", schedule},
    {"the next round waits for the way down", second_round},
    {"all ranks hold the same k sums of values", values},
    {"another codec is refused", refusals},
};
STRAIT_SUITE("workloads/train/sync/gtopk_tree", tests);
