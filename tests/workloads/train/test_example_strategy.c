/* The strategy of docs/adding-a-strategy.md: the page shows what is compiled and runs here. */
#include <stdlib.h>
#include <string.h>
#include "tests/kit/data.h"
#include "tests/kit/example_strategy.h"
#include "tests/kit/folder.h"
#include "tests/kit/strategy_world.h"

enum { N_RANKS = 4, ROUNDS = 3 };

static void shown(void)
{
    size_t len_bytes;
    char *page = folder_bytes("", DATA("docs/adding-a-strategy.md"), &len_bytes),
         *code = folder_bytes("", DATA("tests/kit/example_strategy.c"), &len_bytes);
    CU_ASSERT_FATAL(page && code);
    CU_ASSERT_PTR_NOT_NULL(strstr(page, code));
    free(page);
    free(code);
}

/* It is in no table: an experiment of bsp, whose first parameter is its rounds too, is given it. */
static double total_s(const struct strait_backend *backend, uint64_t *payload_bytes)
{
    struct strait_outcome bsp =
        star_run("{\"name\":\"bsp\",\"rounds\":3}", N_RANKS, NULL, &strait_fluid, false);
    const struct strait_trial_options sized = {0};
    struct strait_error err = {0};
    struct strait_trial *p;
    double end_s = 0;
    bsp.experiment->strategy = &strait_strategy_echo;
    CU_ASSERT_EQUAL_FATAL(strait_trial_new(&p, bsp.experiment, bsp.profile, &sized, &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_trial_run(p, backend, &err), 0);
    *payload_bytes = 0;
    for (int i = 0; i < N_RANKS; i++)
        *payload_bytes += p->logs[i].payload_bytes;
    for (size_t i = 0; i < p->logs[0].n_spans; i++)
        if (strait_spans_at(&p->logs[0].spans, i).kind == STRAIT_SPAN_ROUND)
            end_s = strait_spans_at(&p->logs[0].spans, i).end_s;
    strait_trial_free(p);
    strait_outcome_free(&bsp);
    return end_s;
}

/* Each hop carries the model of 4 x 105866 bytes and its frame of 96 at 100e6 / 8 x 1448 / 1538
 * bytes/s, and takes 20 ms: half a round trip of 20 ms at each end. */
static void runs(void)
{
    static const struct strait_backend *const backends[] = {&strait_fluid, &strait_sim};
    const double model_bytes = 4.0 * CNN_ELEMS,
                 hop_s = (model_bytes + 96) / (100e6 / 8 * 1448 / 1538) + 0.02;
    for (size_t i = 0; i < 2; i++) {
        uint64_t payload_bytes;
        const double s = total_s(backends[i], &payload_bytes);
        CU_ASSERT_DOUBLE_EQUAL(s, ROUNDS * N_RANKS * hop_s, 1e-9);
        CU_ASSERT_EQUAL(payload_bytes, (uint64_t)(ROUNDS * N_RANKS * model_bytes));
    }
}

static const struct strait_test tests[] = {
    {"the page shows the code that is compiled here", shown},
    {"it takes as long as its hops, on every simulating backend", runs},
};
STRAIT_SUITE("workloads/train/example_strategy", tests);
