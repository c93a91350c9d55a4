/* What ranks count of what they send, whoever sees it. */
#include "tests/kit/strategy_world.h"

static json_t *half(void)
{
    return json_pack("{s:s}", "/codec", "fp16");
}

/* Two clients upload in fp16: the model goes down as float32 and comes up at half of it and a
 * little for the rows that are too small to code. A stop at the end is a message of nothing. */
static void sent_bytes(void)
{
    const uint64_t model = 4 * CNN_ELEMS;
    struct strait_outcome o = star_run("{\"name\":\"fedavg\",\"rounds\":1,\"local_steps\":1}", 2,
                                       half(), &strait_fluid, false);
    const struct strait_log *server = &o.point->logs[0], *client = &o.point->logs[1];
    CU_ASSERT_EQUAL(server->n_messages, 2 + 2);
    CU_ASSERT_EQUAL(server->payload_bytes, 2 * model);
    CU_ASSERT_EQUAL(server->raw_bytes, 2 * model);
    CU_ASSERT_EQUAL(client->n_messages, 1);
    CU_ASSERT_EQUAL(client->raw_bytes, model);
    CU_ASSERT(client->payload_bytes > model / 2 && client->payload_bytes < model * 52 / 100);
    strait_outcome_free(&o);
}

/* A transfer is logged where it arrives: from whom, on which channel, posted and arrived; what it
 * stands for and what it weighs. One client: the model takes a hop from time 0 on. */
static void transfers(void)
{
    struct strait_outcome o = star_run("{\"name\":\"fedavg\",\"rounds\":1,\"local_steps\":1}", 1,
                                       NULL, &strait_fluid, false);
    const struct costs c = costs_of(&o);
    int n = 0;
    for (size_t i = 0; i < o.point->logs[1].n_spans; i++) {
        const struct strait_span span = strait_spans_at(&o.point->logs[1].spans, i), *s = &span;
        if (s->kind != STRAIT_SPAN_TRANSFER || s->tag != 0)
            continue;
        n++;
        CU_ASSERT(s->peer == 0 && s->channel == 0 && s->rank == 1);
        CU_ASSERT(s->bytes == 4 * CNN_ELEMS && s->raw_bytes == 4 * CNN_ELEMS);
        CU_ASSERT_DOUBLE_EQUAL(s->start_s, 0, 1e-12);
        CU_ASSERT_EQUAL(s->queued_s, s->start_s);
        CU_ASSERT_DOUBLE_EQUAL(s->end_s, c.hop_s, 1e-9);
    }
    CU_ASSERT_EQUAL(n, 1);
    strait_outcome_free(&o);
}

/* The client waits for the model from time 0 until it is there, and for the stop; the server for
 * the update, from the moment that it asked. */
static void waits(void)
{
    struct strait_outcome o = star_run("{\"name\":\"fedavg\",\"rounds\":1,\"local_steps\":1}", 1,
                                       NULL, &strait_fluid, false);
    const struct costs c = costs_of(&o);
    const struct strait_log *server = &o.point->logs[0];
    int n = 0;
    for (size_t i = 0; i < server->n_spans; i++)
        if (strait_spans_at(&server->spans, i).kind == STRAIT_SPAN_WAIT &&
            strait_spans_at(&server->spans, i).peer == 1) {
            n++;
            CU_ASSERT_DOUBLE_EQUAL(strait_spans_at(&server->spans, i).start_s, 0, 1e-12);
            CU_ASSERT_DOUBLE_EQUAL(strait_spans_at(&server->spans, i).end_s, 2 * c.hop_s + c.step_s,
                                   1e-9);
            CU_ASSERT_EQUAL(strait_spans_at(&server->spans, i).channel, 1);
        }
    CU_ASSERT_EQUAL(n, 1);
    strait_outcome_free(&o);
}

static const struct strait_test tests[] = {
    {"payload and what it stands for are counted by who sends", sent_bytes},
    {"a transfer is from its posting to its arrival", transfers},
    {"who is blocked in a receive waits", waits},
};
STRAIT_SUITE("workloads/rank/counts", tests);
