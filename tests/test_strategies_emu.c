/* Every listed strategy on three ranks in namespaces, over TCP, with real tensors: it ends, and
 * what it sends is what the simulation said, message by message and byte by byte. */
#include <stdio.h>
#include <string.h>
#include "../workloads/strategy.h"
#include "harness.h"
#include "suite.h"

static json_t *setting(const struct strait_strategy *s)
{
    json_t *set =
        json_pack("{s:s, s:i}", "/strategy/name", s->name, "/clients", s->has_server ? 2 : 3);
    for (unsigned i = 0; i < s->n_params; i++) /* emulation lives through every one of them */
        if (strcmp(s->params[i].name, "local_steps") == 0)
            json_object_set_new(set, "/strategy/local_steps", json_integer(6));
    return set;
}

static const char *const experiment =
    "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"seed\":3,\"clients\":3,"
    "\"strategy\":{\"name\":\"fedavg\",\"rounds\":1},"
    "\"network\":{\"client\":{\"rate\":\"200 Mbps\",\"rtt\":\"4 ms\"},"
    "\"server\":{\"rate\":\"200 Mbps\"}}}";

static bool can_emulate(void)
{
    struct strait_error err = {0};
    struct strait_outcome o = strait_outcome_of(experiment, json_object(), "default", &strait_fluid,
                                                (struct strait_point_options){0});
    const bool can = strait_emu.check(&o.point->run, &err) == 0;
    if (!can)
        strait_test_skip(err.text);
    strait_outcome_free(&o);
    return can;
}

/* Where the run ends with rank 0, others are cut off wherever they are: what they sent differs. */
static void check(const struct strait_strategy *s)
{
    struct strait_outcome sim = strait_outcome_of(experiment, setting(s), "default", &strait_fluid,
                                                  (struct strait_point_options){0});
    struct strait_outcome emu = strait_outcome_of(
        experiment, setting(s), "default", &strait_emu,
        (struct strait_point_options){.real_payload = true, .measured_cost = true});
    CU_ASSERT(emu.total_s > 0);
    const bool same = emu.payload_bytes == sim.payload_bytes && emu.n_messages == sim.n_messages;
    CU_ASSERT(same || s->ends_with_rank_0);
    if (!same && !s->ends_with_rank_0)
        fprintf(stderr, "%s: sim %llu bytes in %llu messages, emu %llu in %llu\n", s->name,
                (unsigned long long)sim.payload_bytes, (unsigned long long)sim.n_messages,
                (unsigned long long)emu.payload_bytes, (unsigned long long)emu.n_messages);
    strait_outcome_free(&emu);
    strait_outcome_free(&sim);
}

static void all_run(void)
{
    size_t n;
    const struct strait_strategy *const *all = strait_strategies(&n);
    for (size_t i = 0; i < n && can_emulate(); i++)
        check(all[i]);
}

static const struct strait_test tests[] = {
    {"every listed strategy runs on three emulated ranks and sends what was simulated", all_run},
};
STRAIT_SUITE("workloads/strategies emulated", tests);
