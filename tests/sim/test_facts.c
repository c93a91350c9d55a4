/* What simulators say of their model, and what they refuse. */
#include "sim/facts.h"

#include <math.h>
#include <string.h>
#include "tests/kit/rig.h"
#include "tests/kit/suite.h"

static void open_rig(struct strait_rig *rig)
{
    strait_rig_init(rig, 3, strait_rig_link(1e9, 0.01), NULL);
    rig->network->overhead_bytes = 24;
}

static const json_t *constant(const struct strait_rig *rig, const char *name)
{
    return json_object_get(json_object_get(rig->facts.constants, name), "value");
}

/* 1448 bytes of every 1448 + 66 + 24 are payload. */
static void constants(void)
{
    struct strait_rig rig;
    open_rig(&rig);
    CU_ASSERT_EQUAL(strait_sim_facts(&rig.run, NULL), 0);
    CU_ASSERT_EQUAL(json_number_value(constant(&rig, "segment_bytes")), 1448);
    CU_ASSERT_EQUAL(json_number_value(constant(&rig, "header_bytes")), 66);
    CU_ASSERT_EQUAL(json_number_value(constant(&rig, "overhead_bytes")), 24);
    CU_ASSERT_DOUBLE_EQUAL(json_number_value(constant(&rig, "goodput_ratio")), 1448 / 1538.0,
                           1e-12);
    CU_ASSERT_EQUAL(json_number_value(constant(&rig, "initial_window_bytes")), 14480);
    CU_ASSERT_EQUAL(json_number_value(constant(&rig, "window_bytes")), 32e6);
    CU_ASSERT_EQUAL(json_number_value(constant(&rig, "rto_min_s")), 0.2);
    CU_ASSERT(json_is_true(constant(&rig, "slow_start_after_idle")));
    CU_ASSERT_STRING_EQUAL(json_string_value(constant(&rig, "sharing")), "max-min");
    CU_ASSERT_EQUAL(json_number_value(constant(&rig, "share_spread_ratio")), 0);
    strait_rig_release(&rig);
}

/* JSON has no infinity; BBR keeps its window; without a ramp there is no first window. */
static void other_constants(void)
{
    struct strait_rig rig;
    double drag[3] = {1, 1, 1};
    open_rig(&rig);
    rig.run.control = "no-ramp";
    rig.network->tcp.window_bytes = INFINITY;
    rig.network->tcp.congestion = STRAIT_BBR;
    rig.network->drag = drag;
    rig.network->share_spread = 0.3;
    CU_ASSERT_EQUAL(strait_sim_facts(&rig.run, NULL), 0);
    CU_ASSERT_STRING_EQUAL(json_string_value(constant(&rig, "initial_window_bytes")), "unlimited");
    CU_ASSERT_STRING_EQUAL(json_string_value(constant(&rig, "window_bytes")), "unlimited");
    CU_ASSERT(json_is_false(constant(&rig, "slow_start_after_idle")));
    CU_ASSERT_STRING_EQUAL(json_string_value(constant(&rig, "sharing")), "weighted max-min");
    CU_ASSERT_EQUAL(json_number_value(constant(&rig, "share_spread_ratio")), 0.3);
    rig.network->drag = NULL;
    strait_rig_release(&rig);
}

/* By packets the window is Linux's where nobody named one and more is written at once. */
static void named_windows(void)
{
    static const struct {
        bool packets, named;
        double window_bytes;
    } cases[] = {{false, false, 1e6}, {true, false, 3145728}, {true, true, 1e6}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct strait_rig rig;
        open_rig(&rig);
        rig.network->tcp.window_bytes = 1e6;
        rig.network->tcp.writes_at_once = true;
        rig.network->names_window = cases[i].named;
        rig.network->detail = cases[i].packets ? STRAIT_DETAIL_PACKETS : STRAIT_DETAIL_FLOWS;
        CU_ASSERT_EQUAL(strait_sim_facts(&rig.run, NULL), 0);
        strait_test_context("case %zu", i);
        CU_ASSERT_EQUAL(json_number_value(constant(&rig, "window_bytes")), cases[i].window_bytes);
        CU_ASSERT_STRING_EQUAL(json_string_value(constant(&rig, "sharing")),
                               cases[i].packets ? "packets" : "max-min");
        strait_rig_release(&rig);
    }
}

/* What a link has, in this order; of any link, either way. */
static void unknown(const char *expected, double loss_ratio, double jitter_s, double queue_bytes)
{
    struct strait_rig rig;
    char found[256] = "";
    size_t i;
    json_t *name;
    open_rig(&rig);
    rig.network->in[2].loss_ratio = loss_ratio;
    rig.network->out[1].jitter_s = jitter_s;
    rig.network->in[0].queue_bytes = queue_bytes;
    CU_ASSERT_EQUAL(strait_sim_facts(&rig.run, NULL), 0);
    static const char *const keys[] = {"not_modelled", "drawn"};
    for (size_t k = 0; k < 2; k++) {
        strcat(found, json_object_get(rig.facts.report, keys[k]) ? keys[k] : "");
        json_array_foreach (json_object_get(rig.facts.report, keys[k]), i, name) {
            strcat(found, " ");
            strcat(found, json_string_value(name));
        }
    }
    CU_ASSERT_STRING_EQUAL(found, expected);
    strait_rig_release(&rig);
}

static void not_modelled(void)
{
    unknown("", 0, 0, INFINITY);
    unknown("", 0, 0, 0); /* nobody said how long */
    unknown("drawn loss 1 % on 1 of 3 client downlinks", 0.01, 0, INFINITY);
    unknown("drawn jitter 1 ms on 1 of 3 client uplinks", 0, 0.001, INFINITY);
    unknown("drawn queues of 1 MB on 1 of 3 client downlinks", 0, 0, 1e6);
    unknown("drawn loss 1 % on 1 of 3 client downlinks jitter 1 ms on 1 of 3 client uplinks "
            "queues of 1 MB on 1 of 3 client downlinks",
            0.01, 0.001, 1e6);
}

/* NULL: nothing is refused. */
static void refused(const struct strait_rig *rig, enum strait_error_code code, const char *expected)
{
    struct strait_error err = {0};
    CU_ASSERT_EQUAL(strait_sim_check(&rig->run, "fluid", 3, &err), expected ? -1 : 0);
    CU_ASSERT_EQUAL(err.code, code);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, expected ? expected : ""));
    if (expected && !strstr(err.text, expected))
        printf("    found: %s\n", err.text);
}

static void runs(void)
{
    struct strait_rig rig;
    open_rig(&rig);
    refused(&rig, STRAIT_OK, NULL);
    rig.run.control = "no-ramp";
    refused(&rig, STRAIT_OK, NULL);
    rig.run.control = "no-codec-cost";
    refused(&rig, STRAIT_OK, NULL);
    rig.run.control = "unshaped";
    refused(&rig, STRAIT_ERR_INPUT, "\"no-ramp\" or \"no-codec-cost\", found \"unshaped\"");
    rig.run.control = NULL;
    rig.run.measured_cost = true;
    refused(&rig, STRAIT_ERR_INPUT, "cannot measure what a job costs");
    rig.run.measured_cost = false;
    rig.run.memory_bytes = 1e18; /* of sizes alone: nobody holds them */
    refused(&rig, STRAIT_OK, NULL);
    rig.run.real_payload = true;
    refused(&rig, STRAIT_ERR_HOST, "the ranks would hold 1e+09 GB, this machine has");
    rig.run.memory_bytes = 1e6;
    refused(&rig, STRAIT_OK, NULL);
    rig.run.n_ranks = 4;
    refused(&rig, STRAIT_ERR_INPUT, "expected 1 to 3 ranks, found 4");
    rig.run.n_ranks = 0;
    refused(&rig, STRAIT_ERR_INPUT, "expected 1 to 3 ranks, found 0");
    rig.run.n_ranks = 2;
    refused(&rig, STRAIT_ERR_INPUT, "expected a network of 2 ranks, found one of 3");
    rig.run.network = NULL;
    refused(&rig, STRAIT_ERR_INPUT, "expected a network of 2 ranks, found one of 0");
    rig.run.network = rig.network;
    rig.run.n_ranks = 3;
    strait_rig_release(&rig);
}

/* Links are named by their way, and sites are counted on their own. */
static void links(void)
{
    struct strait_rig rig;
    struct strait_link ports[2] = {strait_rig_link(1e9, 0), strait_rig_link(1e9, 0)};
    int site[3] = {0, 0, -1};
    open_rig(&rig);
    struct strait_network *n = rig.network;
    n->out[2].rate_bits_per_s = 0;
    refused(&rig, STRAIT_ERR_INPUT, "a finite rate above 0 from rank 2, found 0 bits/s");
    n->out[2].rate_bits_per_s = INFINITY;
    refused(&rig, STRAIT_ERR_INPUT, "a finite rate above 0 from rank 2, found inf bits/s");
    n->out[2].rate_bits_per_s = 1e9;
    n->in[1].delay_s = -0.5;
    refused(&rig, STRAIT_ERR_INPUT, "a delay of at least 0 to rank 1, found -0.5 s");
    n->in[1].delay_s = INFINITY;
    refused(&rig, STRAIT_ERR_INPUT, "a delay of at least 0 to rank 1, found inf s");
    n->in[1].delay_s = 0;
    refused(&rig, STRAIT_OK, NULL);
    n->n_sites = 1;
    n->site = site;
    n->site_out = ports;
    n->site_in = ports + 1;
    refused(&rig, STRAIT_OK, NULL);
    ports[1].rate_bits_per_s = -1;
    refused(&rig, STRAIT_ERR_INPUT, "a finite rate above 0 to site 0, found -1 bits/s");
    n->n_sites = 0;
    n->site = NULL;
    n->site_out = n->site_in = NULL;
    strait_rig_release(&rig);
}

static void windows(void)
{
    struct strait_rig rig;
    open_rig(&rig);
    double *const least[] = {&rig.network->tcp.initial_window_bytes, &rig.network->tcp.window_bytes,
                             &rig.network->tcp.segment_bytes};
    for (int i = 0; i < 3; i++) {
        const double was = *least[i];
        *least[i] = 1;
        refused(&rig, STRAIT_OK, NULL);
        *least[i] = 0.5;
        refused(&rig, STRAIT_ERR_INPUT, "expected TCP windows and segments of at least 1 B");
        *least[i] = NAN;
        refused(&rig, STRAIT_ERR_INPUT, "expected TCP windows and segments of at least 1 B");
        *least[i] = was;
    }
    strait_rig_release(&rig);
}

static const struct strait_test tests[] = {
    {"the window is that of what moves bytes", named_windows},
    {"the constants of the model are those of RFCs, headers and the experiment", constants},
    {"unlimited, weighted and BBR are said so", other_constants},
    {"what is not modelled and what is drawn is named, and nothing else", not_modelled},
    {"a run that cannot be simulated is refused by name", runs},
    {"a link that cannot be is refused by its place", links},
    {"windows below a byte are refused", windows},
};
STRAIT_SUITE("sim/facts", tests);
