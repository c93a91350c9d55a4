/* SLAMB against its bytes and its time, and the sum of what is masked on real moments. */
#include <math.h>
#include "../workloads/collectives.h"
#include "harness.h"
#include "suite.h"

static const char *const experiment =
    "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"seed\":3,\"clients\":3,"
    "\"strategy\":{\"name\":\"slamb\",\"rounds\":6,\"local_steps\":3,\"ratio\":0.25},"
    "\"network\":{\"client\":{\"rate\":\"1 Gbps\",\"rtt\":\"1 ms\"},"
    "\"tcp\":{\"initial_window\":\"1 GB\"}}}";

/* The CNN's 105,866 parameters: conv2 4608 and fc1 100,352 are large matrices; conv1 144, fc2 640
 * and the biases 16 + 32 + 64 + 10 are not. */
enum { ELEMS = 105866, MASKED = 4608 + 100352, ALWAYS = ELEMS - MASKED, TENSORS = 8 };

static size_t chunk(int j, int n_chunks)
{
    return (size_t)((double)MASKED * (j + 1) / n_chunks) - (size_t)((double)MASKED * j / n_chunks);
}

/* Every rank sends 2 (n - 1) parts of each all-reduce; together 2 (n - 1) times its bytes. */
static void bytes(void)
{
    for (int n = 1; n <= 9; n++) {
        struct strait_outcome o =
            strait_outcome_of(experiment, json_pack("{s:i}", "/clients", n), "default",
                              &strait_fluid, (struct strait_point_options){0});
        uint64_t elems = 0;
        for (int step = 0; step < 6; step++)
            elems += chunk(step % 4, 4) + ALWAYS;
        elems += 2 * ELEMS; /* after steps 3 and 6 */
        const uint64_t hops = 2 * (uint64_t)(n - 1);
        CU_ASSERT_EQUAL(o.payload_bytes, 4 * hops * elems);
        CU_ASSERT_EQUAL(o.n_messages, hops * (uint64_t)n * (6 + 2 * TENSORS));
        strait_outcome_free(&o);
    }
}

/* Mean bytes a step: M (ratio + 1 / H), and what is always summed. */
static void mean_bytes(void)
{
    json_t *set = json_pack("{s:i, s:i, s:f}", "/strategy/rounds", 200, "/strategy/local_steps",
                            100, "/strategy/ratio", 0.1);
    struct strait_outcome o = strait_outcome_of(experiment, set, "default", &strait_fluid,
                                                (struct strait_point_options){0});
    const double per_step = (double)o.payload_bytes / (2 * 2) / 200;
    CU_ASSERT_DOUBLE_EQUAL(per_step, 4 * (0.1 * MASKED + ALWAYS + ELEMS / 100.0), 1e-6);
    strait_outcome_free(&o);
}

static void run_real(void)
{
    struct strait_outcome o =
        strait_outcome_of(experiment, json_object(), "default", &strait_fluid,
                          (struct strait_point_options){.real_payload = true});
    struct strait_outcome sized = strait_outcome_of(
        experiment, json_object(), "default", &strait_fluid, (struct strait_point_options){0});
    CU_ASSERT_EQUAL(o.payload_bytes, sized.payload_bytes);
    CU_ASSERT_DOUBLE_EQUAL(o.total_s, sized.total_s, 1e-9 * sized.total_s);
    strait_outcome_free(&o);
    strait_outcome_free(&sized);
}

static void less_than_all(void)
{
    json_t *all = json_pack("{s:s, s:i}", "/strategy/name", "bsp", "/clients", 8);
    json_object_set_new(all, "/strategy", json_pack("{s:s, s:i}", "name", "bsp", "rounds", 6));
    json_object_del(all, "/strategy/name");
    struct strait_outcome dense = strait_outcome_of(experiment, all, "default", &strait_fluid,
                                                    (struct strait_point_options){0});
    struct strait_outcome sparse = strait_outcome_of(
        experiment, json_pack("{s:i, s:i}", "/clients", 8, "/strategy/local_steps", 100), "default",
        &strait_fluid, (struct strait_point_options){0});
    CU_ASSERT(sparse.total_s < dense.total_s);
    CU_ASSERT(sparse.payload_bytes * 3 < dense.payload_bytes);
    strait_outcome_free(&dense);
    strait_outcome_free(&sparse);
}

static const struct strait_test tests[] = {
    {"bytes and messages are those of chunks, small tensors and synchronisations", bytes},
    {"a step's mean bytes are M (ratio + 1 / H) and the small tensors", mean_bytes},
    {"real moments take the same bytes and time", run_real},
    {"a masked sum is quicker than a whole one", less_than_all},
};
STRAIT_SUITE("workloads/slamb", tests);
