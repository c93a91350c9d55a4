/* What is said before simulations packet by packet that take long. */
#include "campaign/packet_estimate.h"

#include <stdlib.h>
#include <string.h>
#include "campaign/backends.h"
#include "tests/kit/suite.h"

/* What is said of one missing point: four clients and 40 MB, and these rounds and losses; to be
 * freed. */
static char *said(const struct strait_backend *backend, const char *loss, int n_rounds)
{
    char *text = NULL;
    size_t len;
    size_t missing[] = {0};
    struct strait_sweep *sweep = NULL;
    struct strait_profile *profile = NULL;
    json_t *experiment = json_pack(
        "{s:s, s:{s:s, s:s}, s:s, s:i, s:{s:s, s:i}, s:{s:{s:s, s:s, s:s}, s:{s:s}}}", "schema",
        "strait-experiment/1", "model", "params", "10 M", "step", "0.1 s", "codec", "none",
        "clients", 4, "strategy", "name", "fedavg", "rounds", n_rounds, "network", "client", "rate",
        "1 Gbps", "rtt", "10 ms", "loss", loss, "server", "rate", "1 Gbps");
    CU_ASSERT_EQUAL_FATAL(strait_profile_load(&profile, "default", NULL), 0);
    CU_ASSERT_EQUAL_FATAL(strait_sweep_new(&sweep, "x.json", experiment, NULL), 0);
    struct strait_session r = {.notes = open_memstream(&text, &len),
                               .plan = {.setup = {.file = "x.json", .profile = profile}},
                               .missing = missing,
                               .n_missing = 1};
    CU_ASSERT_PTR_NOT_NULL_FATAL(r.notes);
    CU_ASSERT_EQUAL_FATAL(strait_plan_add(&r.plan, sweep, backend, 1, false, NULL), 0);
    strait_packet_estimate_say(&r);
    fclose(r.notes);
    strait_plan_release(&r.plan);
    strait_sweep_free(sweep);
    strait_profile_free(profile);
    json_decref(experiment);
    return text;
}

static void expect(const struct strait_backend *backend, const char *loss, int n_rounds,
                   const char *expected)
{
    char *text = said(backend, loss, n_rounds);
    strait_test_context("loss %s, %d rounds", loss, n_rounds);
    CU_ASSERT_CONTAINS(text, expected);
    CU_ASSERT_EQUAL(*text == '\0', *expected == '\0');
    free(text);
}

/* 40 MB are 27,624.3 segments of 1448 B, which five ranks send and receive: 276,243 a round. At 3 x
 * 0.4 us 181 rounds take 60.0001 s, 180 take 59.7 s. */
static void long_ones(void)
{
    expect(&strait_fluid, "0.1 %", 180, "");
    expect(&strait_fluid, "0.1 %", 362, "100 million segments or fewer, up to 120.0 s");
    expect(&strait_sim, "0.1 %", 362, "--set /network/detail=formula");
    expect(&strait_fluid, "0 %", 362, "");
    expect(&strait_emu, "0.1 %", 362, "");
}

static const struct strait_test tests[] = {
    {"more than a minute of packets is announced, with what is quicker", long_ones},
};
STRAIT_SUITE("campaign/packet_estimate", tests);
