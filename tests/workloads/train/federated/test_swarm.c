/* SWARM over twelve equal layers: bytes and times in closed form, work by the speed of peers, peers
 * that leave and come back, and what is refused. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "tests/kit/data.h"
#include "tests/kit/strategy_world.h"

enum { LAYERS = 12, ACTIVATION = 4800 };
static const double FORWARD_S = 12 * 0.012, BACKWARD_S = 12 * 0.024; /* of the model, a batch */

static struct strait_outcome run_events(const char *settings, int n_peers, const char *link,
                                        const char *events, json_t *set,
                                        const struct strait_backend *backend)
{
    char text[2048];
    snprintf(text, sizeof(text),
             "{\"schema\":\"strait-experiment/1\",\"model\":\"%s\",\"seed\":3,\"clients\":%d,"
             "\"strategy\":{\"name\":\"swarm\",\"activation\":\"%d B\"%s},"
             "\"network\":{\"overhead\":\"24 B\",\"client\":[{\"count\":1,\"name\":\"first\",%s},"
             "{\"count\":%d,%s}],\"server\":{\"rate\":\"100 Gbps\"},"
             "\"tcp\":{\"initial_window\":\"1 GB\"},\"events\":%s}}",
             DATA("tests/data/equal-layers.csv"), n_peers, ACTIVATION, settings, link, n_peers - 1,
             link, events);
    return strait_outcome_of(text, set ? set : json_object(), "default", backend,
                             (struct strait_trial_options){0});
}

static struct strait_outcome run(const char *settings, int n_peers, const char *link)
{
    return run_events(settings, n_peers, link, "[]", NULL, &strait_fluid);
}

/* A microbatch takes 2 s - 1 steps of a word and an answer each. Stages but the first get inputs on
 * both ways, once where both passes are done at once, and all but the last gradients: 3 s - 4. All
 * answers carry activations or gradients but the first stage's on the way back: 2 s - 2. So 5 s - 6
 * times the activations cross the network in a batch; stages of n_s peers sum by rings; all are
 * asked and told, and answer both. */
static void bytes(void)
{
    static const int stages[] = {2, 3, 4}, peers[] = {4, 5, 12};
    for (int i = 0; i < 3; i++) {
        const uint64_t s = (uint64_t)stages[i], n = (uint64_t)peers[i], micros = 6;
        char form[96];
        snprintf(form, sizeof(form), ",\"rounds\":2,\"microbatches\":6,\"stages\":%d", stages[i]);
        struct strait_outcome o = run(form, peers[i], "\"rate\":\"1 Gbps\",\"rtt\":\"2 ms\"");
        uint64_t ring_bytes = 0, ring_messages = 0;
        for (uint64_t k = 0; k < s; k++) { /* peers are dealt in turn; layers are equal */
            const uint64_t here = n / s + (k < n % s);
            ring_bytes += 2 * (here - 1) * 4 * (uint64_t)o.experiment->model->n_elems / s;
            ring_messages += 2 * (here - 1) * here;
        }
        strait_test_context("%d stages", stages[i]);
        CU_ASSERT_EQUAL(o.payload_bytes, 2 * ((5 * s - 6) * ACTIVATION + ring_bytes));
        CU_ASSERT_EQUAL(o.n_messages,
                        2 * (micros * (2 * (2 * s - 1) + 3 * s - 4) + 4 * n + ring_messages) + n);
        strait_outcome_free(&o);
    }
    strait_test_context("%s", "");
}

/* One microbatch after another through a chain: the passes of all layers and the forward passes
 * again of all stages but the last, two paths a step; four more, and a step, end the batch. All
 * messages together are below 100 kB, 8 us at 100 Gbps. */
static void times(void)
{
    for (int s = 2; s <= 4; s++) {
        char form[96];
        snprintf(form, sizeof(form),
                 ",\"rounds\":1,\"microbatches\":4,\"under_way\":1,\"stages\":%d", s);
        struct strait_outcome o = run(form, s, "\"rate\":\"100 Gbps\",\"rtt\":\"20 ms\"");
        const double passes_s = FORWARD_S + BACKWARD_S + FORWARD_S * (s - 1) / s,
                     paths_s = 4 * (2 * s - 1) * 0.02 + 0.04;
        strait_test_context("%d stages: %.9g s", s, o.total_s);
        CU_ASSERT_DOUBLE_EQUAL(o.total_s, passes_s + paths_s + o.experiment->model->opt_s / s,
                               1e-4);
        strait_outcome_free(&o);
    }
    strait_test_context("%s", "");
}

/* Two peers of the only stage, the second three times as slow: with a quarter of 80 microbatches it
 * takes 60 passes of the first, in turn with it 120. How long each takes is learnt on the way. */
static void by_speed(void)
{
    char path[] = "/tmp/strait-swarm-XXXXXX";
    CU_ASSERT_FATAL(close(mkstemp(path)) == 0);
    write_slowness(path, "1\n3\n");
    struct strait_outcome o =
        run_events(",\"rounds\":1,\"microbatches\":80,\"stages\":1", 2,
                   "\"rate\":\"100 Gbps\",\"rtt\":\"0.002 us\"", "[]",
                   json_pack("{s:{s:s}}", "/device", "slowness", path), &strait_fluid);
    const double pass_s = (FORWARD_S + BACKWARD_S) / 80;
    strait_test_context("%.9g passes", o.total_s / pass_s);
    CU_ASSERT(o.total_s > 60 * pass_s && o.total_s < 66 * pass_s);
    strait_outcome_free(&o);
    unlink(path);
    strait_test_context("%s", "");
}

/* The first of two peers of stage 0 leaves in the second of six batches: for good, or until the
 * fourth. Microbatches that it had are given to the other after the time-out. Who comes back gets
 * the parameters of its stage once. */
static void leaving(void)
{
    static const char link[] = "\"rate\":\"1 Gbps\",\"rtt\":\"2 ms\"",
                      form[] = ",\"rounds\":6,\"microbatches\":8,\"stages\":2,\"timeout\":\"1 s\"";
    struct strait_outcome o = run(form, 4, link);
    const double batch_s = o.total_s / 6;
    const uint64_t stage_bytes = 4 * (uint64_t)o.experiment->model->n_elems / 2,
                   whole = o.payload_bytes;
    strait_outcome_free(&o);
    for (int i = 0; i < 2; i++) {
        char events[256];
        snprintf(events, sizeof(events),
                 "[{\"at\":\"%g s\",\"on\":\"first\",\"present\":false},"
                 "{\"at\":\"%g s\",\"on\":\"first\",\"present\":true}]",
                 1.3 * batch_s, i == 0 ? 1e6 : 1.3 * batch_s + 1 + 1.5 * batch_s);
        o = run_events(form, 4, link, events, NULL, &strait_fluid);
        /* alone in its stage, its peer sums with nobody: five of six rings are left out */
        const uint64_t rings = 2 * stage_bytes, least = whole - 5 * rings;
        strait_test_context("case %d: %llu of %llu bytes, %g of %g s", i,
                            (unsigned long long)o.payload_bytes, (unsigned long long)whole,
                            o.total_s, 6 * batch_s);
        CU_ASSERT(o.total_s > 6 * batch_s + 1 && o.total_s < 12 * batch_s + 1.1);
        if (i == 0) {
            CU_ASSERT(o.payload_bytes >= least && o.payload_bytes < least + ACTIVATION);
        } else {
            CU_ASSERT(o.payload_bytes > least + stage_bytes &&
                      (o.payload_bytes - least - stage_bytes) % rings < ACTIVATION);
        }
        strait_outcome_free(&o);
    }
    strait_test_context("%s", "");
}

static void same_on_simgrid(void)
{
    double total_s[2];
    for (int b = 0; b < 2; b++) {
        struct strait_outcome o = run_events(
            ",\"rounds\":2,\"stages\":3", 7, "\"rate\":\"20 Mbps\",\"rtt\":\"30 ms\"", "[]",
            json_pack("{s:s}", "/codec", "fp16"), b == 0 ? &strait_fluid : &strait_sim);
        total_s[b] = o.total_s;
        strait_outcome_free(&o);
    }
    CU_ASSERT_DOUBLE_EQUAL(total_s[0], total_s[1], 1e-9 * total_s[0]);
}

static const struct strait_test tests[] = {
    {"a batch sends 5 s - 6 times its activations, and sums by rings", bytes},
    {"one microbatch after another takes its passes and paths", times},
    {"peers get work by their speed", by_speed},
    {"a peer leaves and is passed by, and comes back with the parameters", leaving},
    {"a codec takes the same time on SimGrid and fluid", same_on_simgrid},
};
STRAIT_SUITE("workloads/train/federated/swarm", tests);
