/* Flows of others beside the run's own: what they leave of a port, and that nothing counts them. */
#include "tests/kit/strategy_world.h"

static struct strait_outcome run(int n_clients, int n_flows, const char *way, const char *detail,
                                 const struct strait_backend *backend)
{
    return star_run("{\"name\":\"fedavg\",\"rounds\":2,\"local_steps\":1}", n_clients,
                    json_pack("{s:{s:i, s:s}, s:s}", "/network/client/background", "flows", n_flows,
                              "way", way, "/network/detail", detail),
                    backend, false);
}

/* A client's upload shares its port with k flows, so it takes k + 1 times as long; the download has
 * its direction alone. So each of two rounds is longer by k (model + 96 B) / 11768530.56 B/s, and
 * as much where the flows have the other direction. */
static void shares(void)
{
    static const struct strait_backend *const backends[] = {&strait_fluid, &strait_sim};
    for (int b = 0; b < 2; b++) {
        struct strait_outcome alone = run(2, 0, "out", "flows", backends[b]);
        const struct costs c = costs_of(&alone);
        for (int k = 1; k <= 3; k += 2)
            for (int way = 0; way < 2; way++) {
                struct strait_outcome o = run(2, k, way ? "in" : "out", "flows", backends[b]);
                CU_ASSERT_DOUBLE_EQUAL(o.total_s, alone.total_s + 2 * k * (c.hop_s - 0.01), 1e-6);
                strait_outcome_free(&o);
            }
        strait_outcome_free(&alone);
    }
}

/* Bytes, messages and spans are those of the run alone; ranks of it see nobody else. */
static void nothing_counts_them(void)
{
    struct strait_outcome alone = run(2, 0, "out", "flows", &strait_fluid),
                          beside = run(2, 2, "in", "auto", &strait_fluid);
    CU_ASSERT_EQUAL(beside.payload_bytes, alone.payload_bytes);
    CU_ASSERT_EQUAL(beside.n_messages, alone.n_messages);
    CU_ASSERT_EQUAL(beside.point->run.n_ranks, 4);
    CU_ASSERT_EQUAL(beside.experiment->n_ranks, 3);
    CU_ASSERT_EQUAL(beside.point->logs[3].n_spans, 0);
    for (int r = 0; r < 3; r++) {
        struct strait_span_walk walk;
        strait_spans_begin(&walk, &beside.point->logs[r].spans);
        for (const struct strait_span *span; (span = strait_spans_next(&walk));)
            CU_ASSERT(span->peer < 3);
    }
    strait_outcome_free(&alone);
    strait_outcome_free(&beside);
}

/* A strategy that ends with rank 0, which has flows in both directions itself. */
static void ends_with_rank_0(void)
{
    json_t *both = json_pack("{s:{s:i}, s:{s:i}, s:s}", "/network/client/background", "flows", 1,
                             "/network/server/background", "flows", 8, "/network/detail", "flows");
    struct strait_outcome o = star_run("{\"name\":\"fedasync\",\"rounds\":3,\"local_steps\":1}", 2,
                                       both, &strait_fluid, false);
    CU_ASSERT_EQUAL(o.point->logs[0].n_of_kind[STRAIT_SPAN_ROUND], 3);
    strait_outcome_free(&o);
}

/* Values that are added are the same: real payload, ranks in a ring. */
static void real_payload(void)
{
    uint64_t n_messages[2];
    for (int k = 0; k < 2; k++) {
        struct strait_outcome o = star_run(
            "{\"name\":\"bsp\",\"rounds\":1}", 3,
            json_pack("{s:{s:i}}", "/network/client/background", "flows", k), &strait_fluid, true);
        n_messages[k] = o.n_messages;
        strait_outcome_free(&o);
    }
    CU_ASSERT_EQUAL(n_messages[0], 2 * 3 * 2);
    CU_ASSERT_EQUAL(n_messages[1], n_messages[0]);
}

/* With real windows over a finite queue: the flow of others keeps its window, the upload begins
 * anew each round, so it gets less than half of the port; never less than a tenth here. */
static void packets(void)
{
    struct strait_outcome alone = run(1, 0, "out", "packets", &strait_fluid),
                          beside = run(1, 1, "out", "auto", &strait_fluid),
                          flows = run(1, 1, "out", "flows", &strait_fluid);
    CU_ASSERT_TRUE(strait_network_by_packets(beside.experiment->network));
    CU_ASSERT_FALSE(strait_network_by_packets(flows.experiment->network));
    CU_ASSERT(beside.total_s > flows.total_s);
    CU_ASSERT(beside.total_s < 10 * alone.total_s);
    strait_outcome_free(&alone);
    strait_outcome_free(&beside);
    strait_outcome_free(&flows);
}

/* As processes and threads, over the loopback device, which nothing shapes: the run ends, with the
 * messages of a simulation. */
static void emulated(void)
{
    struct strait_outcome simulated = run(2, 2, "in", "flows", &strait_fluid);
    struct strait_outcome o = strait_outcome_of(
        "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"seed\":3,\"clients\":2,"
        "\"strategy\":{\"name\":\"fedavg\",\"rounds\":2,\"local_steps\":1},"
        "\"network\":{\"client\":{\"rate\":\"100 Mbps\",\"background\":{\"flows\":2}},"
        "\"server\":{\"rate\":\"100 Mbps\",\"background\":{\"flows\":1,\"way\":\"in\"}}}}",
        json_object(), "default", &strait_emu,
        (struct strait_trial_options){.control = "loopback"});
    CU_ASSERT_EQUAL(o.n_messages, simulated.n_messages);
    CU_ASSERT_EQUAL(o.payload_bytes, simulated.payload_bytes);
    strait_outcome_free(&o);
    strait_outcome_free(&simulated);
}

/* Only between the last rank and those whose ports ask for flows, each on channels of its own. */
static void streams(void)
{
    struct strait_outcome o = run(2, 2, "in", "flows", &strait_fluid);
    const struct strait_run *r = &o.point->run;
    int n_to_client = 0, n_to_server = 0, n_back = 0;
    for (int c = 0; c < STRAIT_MAX_CHANNELS; c++) {
        n_to_client += r->uses_stream(r, 3, 1, c);
        n_to_server += r->uses_stream(r, 3, 0, c);
        n_back += r->uses_stream(r, 1, 3, c);
    }
    CU_ASSERT_EQUAL(n_to_client, 2);
    CU_ASSERT_EQUAL(n_to_server, 0);
    CU_ASSERT_EQUAL(n_back, 1); /* that it has ended */
    strait_outcome_free(&o);
}

static const struct strait_test tests[] = {
    {"k flows leave a part in k + 1 of their direction", shares},
    {"neither bytes nor spans count them", nothing_counts_them},
    {"a run that ends with rank 0 ends beside them", ends_with_rank_0},
    {"real payload goes through beside them", real_payload},
    {"packets are chosen, with windows of TCP", packets},
    {"processes and threads make them too, and end", emulated},
    {"their streams are those of the ports that ask", streams},
};
STRAIT_SUITE("workloads/rank/others", tests);
