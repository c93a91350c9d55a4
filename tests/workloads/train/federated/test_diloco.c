/* Local SGD, DiLoCo and streaming DiLoCo: bytes, times, communication that hides, and sums. */
#include "workloads/train/plans/fragments.h"
#include "tests/kit/strategy_world.h"

/* Two ranks: each part is half the model, 52,933 elements, so one ring step is
 * (4 x 52933 + 96) / rate + 20 ms; the reduction adds half a model, the division by two and the
 * gather's arrival copy half a one each. */
static double average_s(const struct costs *c)
{
    return 2 * ((c->model_bytes / 2 + 96) / c->rate_bytes_per_s + 0.02) + c->add_s / 2 +
           2 * c->copy_s / 2;
}

static void localsgd_time(void)
{
    struct strait_outcome o = star_run("{\"name\":\"localsgd\",\"rounds\":3,\"local_steps\":7}", 2,
                                       NULL, &strait_fluid, false);
    const struct costs c = costs_of(&o);
    CU_ASSERT_DOUBLE_EQUAL(o.total_s, 3 * (7 * c.step_s + average_s(&c)), 1e-9);
    strait_outcome_free(&o);
}

/* DiLoCo copies the movement before and takes an outer step after: a copy and three additions. */
static void diloco_time(void)
{
    struct strait_outcome o = star_run("{\"name\":\"diloco\",\"rounds\":3,\"local_steps\":7}", 2,
                                       NULL, &strait_fluid, false);
    const struct costs c = costs_of(&o);
    CU_ASSERT_DOUBLE_EQUAL(
        o.total_s, 3 * (7 * c.step_s + c.copy_s + average_s(&c) + c.copy_s + 3 * c.add_s), 1e-9);
    strait_outcome_free(&o);
}

/* All three move 2 (n - 1) x 4 N bytes a round in all; in 2 n (n - 1) messages, and streaming in as
 * many for each fragment or layer. One rank sends nothing. */
static void bytes(void)
{
    static const char *const strategies[] = {
        "{\"name\":\"localsgd\",\"rounds\":2,\"local_steps\":6}",
        "{\"name\":\"diloco\",\"rounds\":2,\"local_steps\":6}",
        "{\"name\":\"streaming-diloco\",\"rounds\":2,\"local_steps\":6,\"fragments\":3,"
        "\"overlap_steps\":2}",
        "{\"name\":\"streaming-diloco\",\"rounds\":2,\"local_steps\":6,\"fragments\":2,"
        "\"overlap_steps\":2,\"sends\":\"layers\"}",
        "{\"name\":\"streaming-diloco\",\"rounds\":2,\"local_steps\":6,\"fragments\":2,"
        "\"outer\":\"eager\",\"sends\":\"layers\"}"};
    static const uint64_t n_pieces[] = {1, 1, 3, 4, 4}; /* the model has four layers */
    for (uint64_t n = 1; n <= 9; n++)
        for (int k = 0; k < 5; k++) {
            struct strait_outcome o = star_run(strategies[k], (int)n, NULL, &strait_fluid, false);
            CU_ASSERT_EQUAL(o.payload_bytes, 2 * 2 * (n - 1) * 4 * CNN_ELEMS);
            CU_ASSERT_EQUAL(o.n_messages, 2 * 2 * n * (n - 1) * n_pieces[k]);
            strait_outcome_free(&o);
        }
}

/* --- hidden communication ------------------------------------------------------------------ */

/* gpt2-small on an accelerator (0.446 s a step, 497.8 MB), two ranks, no ramp. */
static struct strait_outcome gpt2(const char *strategy, const char *rate)
{
    char text[1024];
    snprintf(text, sizeof(text),
             "{\"schema\":\"strait-experiment/1\",\"model\":\"gpt2-small\",\"clients\":2,"
             "\"strategy\":%s,\"network\":{\"client\":{\"rate\":\"%s\",\"rtt\":\"20 ms\"},"
             "\"tcp\":{\"initial_window\":\"1 GB\",\"window\":\"10 GB\"}}}",
             strategy, rate);
    return strait_outcome_of(text, json_object(), "default", &strait_fluid,
                             (struct strait_trial_options){0});
}

struct passes {
    double step_s, add_s, copy_s, average_s; /* of the whole model */
};

static struct passes passes_of(const struct strait_outcome *o, double rate_bits_per_s)
{
    const double bytes = 4.0 * (double)o->experiment->model->n_elems;
    struct passes p = {.step_s = strait_model_step_s(o->experiment->model),
                       .add_s = bytes / o->point->add_bytes_per_s,
                       .copy_s = bytes / o->point->copy_bytes_per_s};
    p.average_s = 2 * ((bytes / 2 + 96) / (rate_bits_per_s / 8 * 1448 / 1538) + 0.02) +
                  p.add_s / 2 + p.copy_s;
    return p;
}

/* One fragment, H = 2, taken one step after it was begun; two rounds: two steps, the copy b, one
 * step beside the all-reduce A, the outer step and the mixing E (two copies and four additions),
 * one step, the copy: 3 s + 2 b + max(A, s) + E. At 100 Gbps A = 0.38 s, less than the step of
 * 0.446 s, is hidden; at 10 Gbps A is 1.2 s. The second all-reduce comes after the last mark. */
static void hidden_or_not(void)
{
    static const char *const rates[] = {"100 Gbps", "10 Gbps"};
    static const double rates_bits_per_s[] = {100e9, 10e9};
    for (int k = 0; k < 2; k++) {
        struct strait_outcome o = gpt2("{\"name\":\"streaming-diloco\",\"rounds\":2,"
                                       "\"local_steps\":2,\"fragments\":1,\"overlap_steps\":1}",
                                       rates[k]);
        const struct passes p = passes_of(&o, rates_bits_per_s[k]);
        CU_ASSERT(k == 0 ? p.average_s < p.step_s : p.average_s > p.step_s);
        CU_ASSERT_DOUBLE_EQUAL(o.total_s,
                               3 * p.step_s + 2 * p.copy_s + fmax(p.average_s, p.step_s) +
                                   2 * p.copy_s + 4 * p.add_s,
                               1e-8);
        strait_outcome_free(&o);
    }
}

/* Eager, one fragment, 10 Gbps: A, 1.2 s, is beside four steps of 0.446 s. A round has a copy of
 * the change, of the own share and of the step, the outer step and mixing, and from the second on
 * two additions. */
static void eager_hides(void)
{
    struct strait_outcome o = gpt2("{\"name\":\"streaming-diloco\",\"rounds\":3,"
                                   "\"local_steps\":4,\"fragments\":1,\"outer\":\"eager\"}",
                                   "10 Gbps");
    const struct passes p = passes_of(&o, 10e9);
    const double alone_s = 3 * (4 * p.step_s + 5 * p.copy_s + 4 * p.add_s) + 2 * 2 * p.add_s;
    CU_ASSERT(p.average_s < 4 * p.step_s && p.average_s > p.step_s);
    CU_ASSERT(o.total_s >= alone_s - 1e-9);
    /* the ring's own additions and copies may take the processor first */
    CU_ASSERT_AT_MOST(o.total_s, alone_s + 3 * (p.add_s + p.copy_s));
    CU_ASSERT_AT_MOST(3 * (p.add_s + p.copy_s), 0.5 * 2 * p.average_s);
    strait_outcome_free(&o);
}

/* Three fragments at 5 Gbps, H = 30, each beside five steps: 2.2 s, more than the largest one's
 * all-reduce of some 0.8 s: all is hidden. A round is 30 steps and the passes over the whole model,
 * a copy at the beginnings, two copies and four additions at the ends; the last fragment of the
 * last round is taken after the mark, so its end is missing. DiLoCo at the same rate waits for it
 * all. */
static void all_hidden(void)
{
    int first[4];
    size_t sizes[512];
    struct strait_outcome o = gpt2("{\"name\":\"streaming-diloco\",\"rounds\":4,"
                                   "\"local_steps\":30,\"fragments\":3,\"overlap_steps\":5}",
                                   "5 Gbps");
    const struct strait_model *m = o.experiment->model;
    const struct passes p = passes_of(&o, 5e9);
    for (size_t l = 0; l < m->n_layers; l++)
        sizes[l] = m->layers[l].n_elems;
    strait_cut_fragments(first, 3, sizes, (int)m->n_layers);
    double last = 0;
    for (int l = first[2]; l < first[3]; l++)
        last += (double)sizes[l] / (double)m->n_elems;
    const double end_s = 2 * p.copy_s + 4 * p.add_s;
    CU_ASSERT_DOUBLE_EQUAL(o.total_s, 4 * (30 * p.step_s + p.copy_s + end_s) - last * end_s, 1e-6);
    strait_outcome_free(&o);
    o = gpt2("{\"name\":\"diloco\",\"rounds\":4,\"local_steps\":30}", "5 Gbps");
    CU_ASSERT_DOUBLE_EQUAL(
        o.total_s, 4 * (30 * p.step_s + p.copy_s + p.average_s + p.copy_s + 3 * p.add_s), 1e-6);
    strait_outcome_free(&o);
}

/* One fragment of all layers, H = 1, no overlap, memory that takes no time. At 1 Gbps a layer's sum
 * A_l takes longer than the backward pass of the layer below it, so the lane is busy from the end
 * of the last layer's backward pass on, and layer 0, which the next forward pass begins with, is
 * last: the second round begins at forward + backward of the last layer + all A_l. The mark comes
 * before the second round's sums. Sent as a whole both rounds take step + A. */
static void layers_go_while_others_compute(void)
{
    for (int k = 0; k < 2; k++) {
        char text[512];
        snprintf(text, sizeof(text),
                 "{\"schema\":\"strait-experiment/1\",\"model\":\"gpt2-small\",\"clients\":2,"
                 "\"device\":{\"add\":\"1e9 GB/s\",\"copy\":\"1e9 GB/s\"},"
                 "\"strategy\":{\"name\":\"streaming-diloco\",\"rounds\":2,\"local_steps\":1,"
                 "\"fragments\":1,\"overlap_steps\":0,\"sends\":\"%s\"},"
                 "\"network\":{\"client\":{\"rate\":\"1 Gbps\",\"rtt\":\"20 ms\"},"
                 "\"tcp\":{\"initial_window\":\"1 GB\",\"window\":\"10 GB\"}}}",
                 k == 0 ? "layers" : "fragments");
        struct strait_outcome o = strait_outcome_of(text, json_object(), "default", &strait_fluid,
                                                    (struct strait_trial_options){0});
        const struct strait_model *m = o.experiment->model;
        const double bytes_per_s = 1e9 / 8 * 1448 / 1538, step_s = strait_model_step_s(m);
        double sums_s = 0;
        for (size_t l = 0; k == 0 && l < m->n_layers; l++)
            sums_s += 2 * ((4 * ceil((double)m->layers[l].n_elems / 2) + 96) / bytes_per_s + 0.02);
        const double last_s = m->layers[m->n_layers - 1].bwd_s_p50 * o.point->layer_bwd_scale,
                     whole_s = 2 * ((2 * (double)m->n_elems + 96) / bytes_per_s + 0.02);
        CU_ASSERT_DOUBLE_EQUAL(
            o.total_s, k == 0 ? m->fwd_s + last_s + sums_s + step_s : 2 * (step_s + whole_s), 1e-4);
        strait_outcome_free(&o);
    }
}

/* 5 fragments of the 4 layers' model are too many; 4 in 3 steps are sent in 4 steps when sent by
 * layers: 12 steps send 3 models. */
static void more_fragments_than_steps(void)
{
    struct strait_outcome o =
        star_run("{\"name\":\"streaming-diloco\",\"rounds\":4,\"local_steps\":3,\"fragments\":4,"
                 "\"overlap_steps\":1,\"sends\":\"layers\"}",
                 2, NULL, &strait_fluid, false);
    CU_ASSERT_EQUAL(o.payload_bytes, 3 * 2 * 4 * CNN_ELEMS);
    strait_outcome_free(&o);
}

/* Two fragments of four layers, one after each step: every second layer, the last ones first. Of
 * two ranks each receives a half of a layer's sum and a half of the result. */
static void strided_fragments_take_every_nth_layer(void)
{
    static const int order[] = {2, 0, 3, 1};
    struct strait_outcome o =
        star_run("{\"name\":\"streaming-diloco\",\"rounds\":1,\"local_steps\":2,\"fragments\":2,"
                 "\"overlap_steps\":1,\"sends\":\"layers\",\"pattern\":\"strided\"}",
                 2, NULL, &strait_fluid, false);
    const struct strait_log *log = &o.point->logs[0];
    uint64_t bytes[4] = {0};
    int n = 0;
    for (size_t i = 0; i < log->n_spans; i++) {
        const struct strait_span span = strait_spans_at(&log->spans, i);
        if (span.kind == STRAIT_SPAN_TRANSFER && n < 8)
            bytes[n++ / 2] += span.bytes;
    }
    CU_ASSERT_EQUAL(n, 8);
    for (int i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(bytes[i], 4 * o.experiment->model->layers[order[i]].n_elems);
    strait_outcome_free(&o);
}

/* Two lanes that want one core: the cnn computes on the CPU, where the codec works too. */
static void same_on_simgrid(void)
{
    double total_s[2];
    for (int k = 0; k < 2; k++) {
        struct strait_outcome o = star_run(
            "{\"name\":\"streaming-diloco\",\"rounds\":3,\"local_steps\":6}", 3,
            json_pack("{s:{s:s, s:{s:f}}}", "/codec", "name", "sz", "bound", "range", 1e-3),
            k == 0 ? &strait_fluid : &strait_sim, false);
        total_s[k] = o.total_s;
        strait_outcome_free(&o);
    }
    CU_ASSERT_DOUBLE_EQUAL(total_s[0], total_s[1], 1e-9 * total_s[0]);
}

/* --- real values --------------------------------------------------------------------------- */

enum { N_RANKS = 3 };

/* The mean of what everybody sends: part p summed from rank p on around the ring, then
 * divided. */
static void ring_mean(float *mean, const struct strait_trial *p, enum strait_tensor_kind kind)
{
    float *all[N_RANKS];
    for (int i = 0; i < N_RANKS; i++) {
        all[i] = malloc(CNN_ELEMS * sizeof(float));
        sent(all[i], p, kind, i);
    }
    for (int part = 0; part < N_RANKS; part++)
        for (int i = CNN_ELEMS * part / N_RANKS; i < CNN_ELEMS * (part + 1) / N_RANKS; i++) {
            float sum = all[part][i];
            for (int k = 1; k < N_RANKS; k++)
                sum = all[(part + k) % N_RANKS][i] + 1.0f * sum;
            mean[i] = (float)(1.0 / N_RANKS) * sum;
        }
    for (int i = 0; i < N_RANKS; i++)
        free(all[i]);
}

static void mean_main(struct strait_rank *r)
{
    const struct strait_trial *p = strait_rank_state_of(r)->point;
    float *w = malloc(CNN_ELEMS * sizeof(float));
    scale_prepared(r, STRAIT_WEIGHTS);
    p->experiment->strategy->rank_main(r);
    ring_mean(w, p, STRAIT_WEIGHTS);
    const float *mine = whole_tensor(r, STRAIT_WEIGHTS);
    const bool same = mine && memcmp(mine, w, CNN_ELEMS * sizeof(float)) == 0;
    free(w);
    if (!same)
        fail_with(r, "the parameters are not their mean in ring order");
}

/* Two outer steps with learning rate 0.5 and momentum 0.8 along the same recorded movement. */
static void outer_main(struct strait_rank *r)
{
    const struct strait_trial *p = strait_rank_state_of(r)->point;
    float *g = malloc(CNN_ELEMS * sizeof(float));
    const float *w = NULL;
    scale_prepared(r, STRAIT_UPDATE);
    p->experiment->strategy->rank_main(r);
    ring_mean(g, p, STRAIT_UPDATE);
    w = whole_tensor(r, STRAIT_WEIGHTS);
    bool same = w != NULL;
    for (int i = 0; i < CNN_ELEMS && same; i++) {
        float expected = 0, momentum = 0;
        for (int round = 0; round < 2; round++) {
            momentum = 0.8f * momentum;
            momentum += 1.0f * g[i];
            expected += 0.5f * g[i];
            expected += (float)(0.5 * 0.8) * momentum;
        }
        same = memcmp(&expected, &w[i], sizeof(expected)) == 0;
    }
    free(g);
    if (!same)
        fail_with(r, "the parameters are not those of two Nesterov steps");
}

static void exact_sums(void)
{
    struct strait_outcome o = star_run("{\"name\":\"localsgd\",\"rounds\":1,\"local_steps\":1}",
                                       N_RANKS, NULL, &strait_fluid, true);
    run_with(&o, mean_main);
    strait_outcome_free(&o);
    o = star_run("{\"name\":\"diloco\",\"rounds\":2,\"local_steps\":1,\"outer_lr\":0.5,"
                 "\"outer_momentum\":0.8}",
                 N_RANKS, NULL, &strait_fluid, true);
    run_with(&o, outer_main);
    strait_outcome_free(&o);
}

/* One fragment, no overlap, nothing kept of one's own: DiLoCo with the parameters of both. */
static void streaming_main(struct strait_rank *r)
{
    const struct strait_trial *p = strait_rank_state_of(r)->point;
    scale_prepared(r, STRAIT_UPDATE);
    p->experiment->strategy->rank_main(r);
    float *g = malloc(CNN_ELEMS * sizeof(float));
    ring_mean(g, p, STRAIT_UPDATE);
    const float *local = whole_tensor(r, STRAIT_WEIGHTS);
    bool same = local != NULL;
    for (int i = 0; i < CNN_ELEMS && same; i++) {
        float global = 0.7f * g[i];
        global += (float)(0.7 * 0.9) * g[i]; /* the first momentum is g */
        const float expected = 1.0f * global;
        same = memcmp(&expected, &local[i], sizeof(expected)) == 0;
    }
    free(g);
    if (!same)
        fail_with(r, "the local parameters are not the global ones");
}

static void streaming_sum(void)
{
    struct strait_outcome o =
        star_run("{\"name\":\"streaming-diloco\",\"rounds\":1,\"local_steps\":1,\"fragments\":1,"
                 "\"overlap_steps\":0,\"mixing\":0}",
                 N_RANKS, NULL, &strait_fluid, true);
    run_with(&o, streaming_main);
    strait_outcome_free(&o);
}

/* One rank in each of four regions, in these orders after the first: a published matrix of rates
 * and delays (experiments/regions), in which no two pairs are alike. */
static double regions_s(const int *order, const char *how)
{
    static const char *const names[] = {"London", "Tokyo", "Frankfurt", "Seoul"};
    char text[1024];
    snprintf(text, sizeof(text),
             "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"seed\":3,\"clients\":4,"
             "\"strategy\":{\"name\":\"diloco\",\"rounds\":1,\"local_steps\":1,"
             "\"order\":\"%s\"},\"network\":{\"topology\":\"regions\",\"client\":{\"rate\":"
             "\"10 Gbps\",\"rtt\":\"1 ms\"},\"regions\":[{\"name\":\"%s\",\"ranks\":1},"
             "{\"name\":\"%s\",\"ranks\":1},{\"name\":\"%s\",\"ranks\":1},"
             "{\"name\":\"%s\",\"ranks\":1}]}}",
             how, names[order[0]], names[order[1]], names[order[2]], names[order[3]]);
    struct strait_outcome o = strait_outcome_of(text, json_object(), "default", &strait_fluid,
                                                (struct strait_trial_options){0});
    const double total_s = o.total_s;
    strait_outcome_free(&o);
    return total_s;
}

/* All six rings of four: however ranks are numbered, the search, which counts the longest path and
 * the busiest link alone, comes near the fastest. */
static void ring_order(void)
{
    static const int orders[][4] = {{0, 1, 2, 3}, {0, 1, 3, 2}, {0, 2, 1, 3},
                                    {0, 2, 3, 1}, {0, 3, 1, 2}, {0, 3, 2, 1}};
    double best_s = INFINITY, worst_s = 0;
    for (int i = 0; i < 6; i++) {
        const double s = regions_s(orders[i], "ranks");
        best_s = fmin(best_s, s);
        worst_s = fmax(worst_s, s);
    }
    CU_ASSERT(worst_s > 1.1 * best_s);
    for (int i = 0; i < 6; i++) {
        const double s = regions_s(orders[i], "network");
        strait_test_context("order %d: %.9g s; best %.9g, worst %.9g", i, s, best_s, worst_s);
        CU_ASSERT(s > 0.999 * best_s && s < 1.05 * best_s);
    }
    strait_test_context("%s", "");
}

static const struct strait_test tests[] = {
    {"the ring's order by the network comes within 5 % of the fastest", ring_order},
    {"an eager outer step hides its all-reduce behind a whole round", eager_hides},
    {"a round of local SGD takes its steps and a ring mean", localsgd_time},
    {"a round of DiLoCo takes its steps, a ring mean and an outer step", diloco_time},
    {"all three send 2 (n - 1) models a round, to the byte", bytes},
    {"a fragment's all-reduce hides behind a longer step and delays a shorter one", hidden_or_not},
    {"layers are sent while those before them compute", layers_go_while_others_compute},
    {"more fragments than steps go on into the next round", more_fragments_than_steps},
    {"strided fragments take every n-th layer, the last ones first",
     strided_fragments_take_every_nth_layer},
    {"streaming hides all of what DiLoCo waits for", all_hidden},
    {"SimGrid and fluid agree where two lanes want one core", same_on_simgrid},
    {"means are the float sums in ring order, outer steps follow from them", exact_sums},
    {"one fragment without overlap is DiLoCo", streaming_sum},
};
STRAIT_SUITE("workloads/train/federated/diloco", tests);
