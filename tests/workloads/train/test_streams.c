/* Streams that strategies declare: emulations open a connection for each, so that one too many
 * costs, and one too few is refused by every backend as soon as it is used. */
#include <stdlib.h>
#include <string.h>
#include "timelines.h"

enum { MAX_RANKS = 9 };
struct streams {
    bool used[MAX_RANKS][MAX_RANKS][STRAIT_MAX_CHANNELS];
};

static const char *const text =
    "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"seed\":3,\"clients\":3,"
    "\"strategy\":{\"name\":\"bsp\",\"rounds\":2},"
    "\"network\":{\"client\":{\"rate\":\"10 Gbps\",\"rtt\":\"200 us\"},"
    "\"server\":{\"rate\":\"10 Gbps\"}}}";

/* Who received from whom on which channel. */
static void look(struct streams *s, const struct strait_outcome *o)
{
    memset(s, 0, sizeof(*s));
    for (int rank = 0; rank < o->experiment->n_ranks; rank++) {
        const struct strait_log *log = &o->point->logs[rank];
        CU_ASSERT_EQUAL(log->n_lost, 0);
        for (size_t i = 0; i < log->n_spans; i++)
            if (strait_spans_at(&log->spans, i).kind == STRAIT_SPAN_TRANSFER &&
                strait_spans_at(&log->spans, i).peer >= 0)
                s->used[strait_spans_at(&log->spans, i).peer][rank]
                       [strait_spans_at(&log->spans, i).channel] = true;
    }
}

static void expect_declared(const struct strait_strategy *strategy, const struct strait_outcome *o)
{
    static struct streams s;
    const int n = o->experiment->n_ranks;
    look(&s, o);
    for (int src = 0; src < n; src++)
        for (int dst = 0; dst < n; dst++)
            for (int channel = 0; src != dst && channel < STRAIT_MAX_CHANNELS; channel++) {
                const bool declared = o->point->run.uses_stream(&o->point->run, src, dst, channel);
                if (declared != s.used[src][dst][channel])
                    printf("    %s: %d > %d on channel %d is %s\n", strategy->name, src, dst,
                           channel, declared ? "declared and not used" : "used and not declared");
                CU_ASSERT_EQUAL(declared, s.used[src][dst][channel]);
            }
}

static void run(const struct strait_strategy *strategy, int n_ranks)
{
    json_t *settings = on_three_ranks(strategy);
    json_object_set_new(settings, "/clients", json_integer(n_ranks - strategy->has_server));
    if (strcmp(strategy->name, "fedasync") == 0) /* a round is one client's */
        json_object_set_new(settings, "/strategy/rounds", json_integer(20));
    struct strait_outcome o = strait_outcome_of(text, settings, "default", &strait_fluid,
                                                (struct strait_trial_options){0});
    expect_declared(strategy, &o);
    strait_outcome_free(&o);
}

/* K-FAC's factors go to and from their owners, of whom there may be fewer than ranks: the plan says
 * who, and the declaration allows for each. A trace has its own number of ranks. */
static void as_declared(void)
{
    static const int n_ranks[] = {3, 4, 7, 8};
    size_t n;
    const struct strait_strategy *const *all = strait_strategies(&n);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < (IS_SANITIZED ? 1 : sizeof(n_ranks) / sizeof(*n_ranks)); k++)
            if (k == 0 || !(strstr(all[i]->name, "kfac") || strcmp(all[i]->name, "replay") == 0))
                run(all[i], n_ranks[k]);
}

static const struct strait_test tests[] = {
    {"every strategy uses the streams that it declares, and no others", as_declared},
};
STRAIT_SUITE("workloads/train/streams", tests);
