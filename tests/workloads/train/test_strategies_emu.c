/* Every listed strategy on three ranks in namespaces, over TCP, with real tensors: it ends, what it
 * sends is what the simulation said, message by message and byte by byte, what every rank ends with
 * is bit by bit what it computes in one address space, and no two of them are alike in bytes and
 * predicted time. */
#include "core/hash.h"
#include "workloads/rank/rank_state.h"
#include "timelines.h"

/* Layers of odd sizes, whose values are tiled from recordings, other ones on every rank: orders of
 * sums show. Gradients come 4, 4, 6 and 2 ms after one another and a ring's start-ups take 3.2 ms:
 * MG-WFBP merges the last two layers alone. */
static const char *const experiment =
    "{\"schema\":\"strait-experiment/1\",\"model\":\"tests/data/"
    "odd-layers.csv\",\"seed\":3,\"clients\":3,"
    "\"strategy\":{\"name\":\"fedavg\",\"rounds\":2},"
    "\"network\":{\"client\":{\"rate\":\"20 Mbps\",\"rtt\":\"800 us\"},"
    "\"server\":{\"rate\":\"20 Mbps\"}}}";

/* Buffers that the model of 20 kB fills; DiLoCo goes further between two means than local SGD, and
 * further than its elastic form. */
static json_t *setting(const struct strait_strategy *s)
{
    json_t *set = on_three_ranks(s);
    for (unsigned i = 0; i < s->n_params; i++)
        if (strcmp(s->params[i].name, "local_steps") == 0) /* emulation lives through every one */
            json_object_set_new(set, "/strategy/local_steps",
                                json_integer(strcmp(s->name, "diloco") == 0           ? 12
                                             : strcmp(s->name, "elastic-diloco") == 0 ? 9
                                                                                      : 6));
        else if (strcmp(s->params[i].name, "timeout") == 0) /* a busy host sends nothing again */
            json_object_set_new(set, "/strategy/timeout", json_string("1000 s"));
    if (strcmp(s->name, "experts") == 0) { /* 61 tokens of 260 bytes */
        json_object_set_new(set, "/strategy/tokens", json_integer(61));
        json_object_set_new(set, "/strategy/width", json_integer(65));
        json_object_set_new(set, "/strategy/blocks", json_integer(3));
    }
    if (strcmp(s->name, "zero-one-adam") == 0) { /* a step that sends nothing */
        json_object_set_new(set, "/strategy/rounds", json_integer(3));
        json_object_set_new(set, "/strategy/double_after", json_integer(1));
    }
    if (strcmp(s->name, "slamb") == 0) /* a matrix of more than 9000 values, which is masked */
        json_object_set_new(set, "/model", json_string("cnn"));
    if (strcmp(s->name, "fusion") == 0)
        json_object_set_new(set, "/strategy/bucket", json_string("10 KB"));
    if (strcmp(s->name, "dear") == 0)
        json_object_set_new(set, "/strategy/fusion", json_string("12 KB"));
    return set;
}

static bool can_emulate(void)
{
    struct strait_error err = {0};
    struct strait_outcome o = strait_outcome_of(experiment, json_object(), "default", &strait_fluid,
                                                (struct strait_trial_options){0});
    const bool can = strait_emu.check(&o.point->run, &err) == 0;
    if (!can)
        strait_test_skip(err.text);
    strait_outcome_free(&o);
    return can;
}

enum { SUM_TAG = 12345 }; /* of a span that is no wait: it carries a rank's sum to the test */

/* The strategy, then a sum of what the rank's tensors hold. Lanes make them in any order. */
static void summing_main(struct strait_rank *r)
{
    uint64_t sum = 0;
    strait_rank_main(r);
    for (struct strait_tensor *t = strait_rank_state_of(r)->tensors; t; t = t->next)
        if (t->values)
            sum += strait_checksum(t->values, (t->hi - t->lo) * sizeof(float)) * (2 * t->lo + 1);
    const struct strait_span span = {
        .bytes = sum, .rank = strait_me(r), .peer = -1, .tag = SUM_TAG, .kind = STRAIT_SPAN_WAIT};
    strait_log_add(&r->run->logs[strait_me(r)], &span);
}

static uint64_t sum_of(const struct strait_log *log)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < log->n_spans; i++)
        sum += strait_spans_at(&log->spans, i).tag == SUM_TAG
                   ? strait_spans_at(&log->spans, i).bytes
                   : 0;
    return sum;
}

/* The same experiment again, with real payload, under the program above. */
static void run_real(struct strait_outcome *o, const struct strait_backend *backend)
{
    struct strait_error err = {0};
    const struct strait_trial_options options = {.real_payload = true,
                                                 .measured_cost = backend == &strait_emu};
    strait_trial_free(o->point);
    CU_ASSERT_EQUAL_FATAL(strait_trial_new(&o->point, o->experiment, o->profile, &options, &err),
                          0);
    o->point->run.rank_main = summing_main;
    CU_ASSERT_EQUAL(strait_trial_run(o->point, backend, &err), 0);
    if (err.code)
        fprintf(stderr, "%s: %s: %s\n", o->experiment->strategy->name, err.where, err.text);
}

static bool same_bytes(const struct strait_outcome *sim, const struct strait_outcome *emu)
{
    uint64_t payload_bytes = 0, n_messages = 0;
    for (int i = 0; i < emu->experiment->n_ranks; i++) {
        payload_bytes += emu->point->logs[i].payload_bytes;
        n_messages += emu->point->logs[i].n_messages;
    }
    if (payload_bytes != sim->payload_bytes || n_messages != sim->n_messages)
        fprintf(stderr, "%s: sim %llu bytes in %llu messages, emu %llu in %llu\n",
                emu->experiment->strategy->name, (unsigned long long)sim->payload_bytes,
                (unsigned long long)sim->n_messages, (unsigned long long)payload_bytes,
                (unsigned long long)n_messages);
    return payload_bytes == sim->payload_bytes && n_messages == sim->n_messages;
}

static bool same_sums(const struct strait_outcome *fluid, const struct strait_outcome *emu)
{
    bool same = true;
    for (int i = 0; i < emu->experiment->n_ranks; i++) {
        const uint64_t a = sum_of(&fluid->point->logs[i]), b = sum_of(&emu->point->logs[i]);
        if (a != b)
            fprintf(stderr, "%s: rank %d ends with %016llx, in one address space with %016llx\n",
                    emu->experiment->strategy->name, i, (unsigned long long)b,
                    (unsigned long long)a);
        /* a cache's bytes cross no network; a trainer passes packets on and has no tensor */
        same &= a == b && (a != 0 || emu->n_messages == 0 ||
                           (i == 0 && strcmp(emu->experiment->strategy->name, "swarm") == 0));
    }
    return same;
}

/* Where the run ends with rank 0, others are cut off wherever they are: what they sent differs.
 * Returns what was predicted. */
static struct timeline check(const struct strait_strategy *s, const char *exchange)
{
    json_t *set = setting(s);
    if (exchange)
        json_object_set_new(set, "/strategy/exchange", json_string(exchange));
    struct strait_outcome fluid = strait_outcome_of(
        experiment, json_incref(set), "default", &strait_fluid, (struct strait_trial_options){0});
    struct strait_outcome emu = strait_outcome_of(experiment, set, "default", &strait_fluid,
                                                  (struct strait_trial_options){0});
    const struct timeline predicted = timeline_of(&fluid);
    run_real(&emu, &strait_emu);
    CU_ASSERT(s->ends_with_rank_0 || same_bytes(&fluid, &emu));
    run_real(&fluid, &strait_fluid);
    CU_ASSERT(s->ends_with_rank_0 || same_sums(&fluid, &emu));
    strait_outcome_free(&emu);
    strait_outcome_free(&fluid);
    return predicted;
}

static void all_run(void)
{
    enum { MAX = 64 };
    size_t n;
    const struct strait_strategy *const *all = strait_strategies(&n);
    struct timeline timelines[MAX];
    CU_ASSERT_FATAL(n <= MAX);
    for (size_t i = 0; i < n && can_emulate(); i++) {
        timelines[i] = check(all[i], NULL);
        expect_unlike_others(timelines, i + 1);
    }
    if (can_emulate()) /* lanes that push, pull and serve, with acknowledged sends */
        check(strait_strategy_find("bytescheduler"), "servers");
}

static const struct strait_test tests[] = {
    {"every listed strategy on three emulated ranks sends what was simulated and ends with its "
     "bits, and none is like another",
     all_run},
};
STRAIT_SUITE_WITH("workloads/train/strategies_emu", tests, .slow_s = 134, .release = true);
