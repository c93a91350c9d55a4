/* Every collective between rank processes over TCP, with recorded values: what arrives adds up bit
 * by bit in the stated order, and with a bounded codec within the stated composition of bounds. */
#include "agreed_sums.h"
#include "collective_bounds.h"
#include "collective_forms.h"

/* Shaping is not the subject: ports as fast and near as they come. */
static const struct ranks_on emulated = {&strait_emu,
                                         "{\"client\":{\"rate\":\"10 Gbps\",\"rtt\":\"100 us\"}}"};

enum { MAX_EMULATED = 5 };

static bool can_emulate(void)
{
    struct strait_error err = {0};
    const struct ranks_on there = {&strait_fluid, emulated.network};
    struct strait_outcome o = run_ranks_on(&there, 1, true, check_all, NULL);
    const bool can = strait_emu.check(&o.point->run, &err) == 0;
    if (!can)
        strait_test_skip(err.text);
    strait_outcome_free(&o);
    return can;
}

/* The ranks themselves compare; the bytes of all of them are those of the simulation, where the
 * same program ran. */
static void exact(void)
{
    for (int n = 1; n <= MAX_EMULATED && can_emulate(); n++) {
        struct strait_outcome emu = run_ranks_on(&emulated, n, true, check_all, NULL);
        struct strait_outcome sim = run_ranks(n, true, check_all, NULL);
        CU_ASSERT(n == 1 || emu.payload_bytes > 0);
        CU_ASSERT_EQUAL(emu.payload_bytes, sim.payload_bytes);
        CU_ASSERT_EQUAL(emu.n_messages, sim.n_messages);
        strait_outcome_free(&sim);
        strait_outcome_free(&emu);
    }
}

/* A sum in another order has other bits somewhere: else the order would not have been tested. */
static void order_shows(void)
{
    struct strait_outcome o = run_ranks(3, true, check_all, NULL);
    const size_t n_elems = o.experiment->model->n_elems;
    float *recorded = malloc(n_elems * sizeof(float));
    size_t n_apart = 0;
    CU_ASSERT_EQUAL_FATAL(n_elems, CNN_ELEMS);
    strait_recorded(recorded, o.point, STRAIT_GRADIENTS, 0);
    for (size_t i = 0; i < n_elems; i++) {
        const float ring = in_turn(1, 3, recorded[i]), tree = by_pairs(0, 0, 3, 3, recorded[i]);
        n_apart += memcmp(&ring, &tree, sizeof(ring)) != 0;
    }
    CU_ASSERT(n_apart > n_elems / 100);
    free(recorded);
    strait_outcome_free(&o);
}

static void bounds_add_up(void)
{
    static const int counts[] = {3, 5};
    for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]) && can_emulate(); k++) {
        struct strait_outcome o =
            run_ranks_on(&emulated, counts[k], true, bounded_all, BOUNDED_CODEC);
        CU_ASSERT(o.payload_bytes > 0);
        strait_outcome_free(&o);
    }
}

static void agreed(void)
{
    static const int counts[] = {3, 5};
    for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]) && can_emulate(); k++) {
        struct strait_outcome emu =
            run_ranks_on(&emulated, counts[k], true, check_agreed, AGREED_CODEC);
        struct strait_outcome sim = run_ranks(counts[k], true, check_agreed, AGREED_CODEC);
        CU_ASSERT_EQUAL(emu.payload_bytes, sim.payload_bytes);
        CU_ASSERT_EQUAL(emu.n_messages, sim.n_messages);
        strait_outcome_free(&sim);
        strait_outcome_free(&emu);
    }
}

static const struct strait_test tests[] = {
    {"what ranks add up over TCP is the float sum in the stated order, bit by bit", exact},
    {"recorded values tell one order from another", order_shows},
    {"over TCP errors of bounded codecs add up to the stated number of bounds at most",
     bounds_add_up},
    {"what ranks agree on before a sum is the same over TCP, and its bytes", agreed},
};
STRAIT_SUITE_WITH("workloads/train/collectives/collectives_emu", tests, .slow_s = 5,
                  .release = true);
