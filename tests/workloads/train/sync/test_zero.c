/* ZeRO: bytes and times in closed form, the owner's parameters exact whatever codec carries them,
 * and what is refused. */
#include "tests/kit/live_world.h"
#include "tests/kit/strategy_world.h"

enum { MAX_RANKS = 9 };

/* n - 1 times the model for every sum or gather: two of them, or three. Inside sites of two, n odd,
 * the second gather is floor(n / 2) times the model. */
static void bytes(void)
{
    static const struct {
        const char *form;
        int n_passes;
        bool by_site;
    } cases[] = {
        {"{\"name\":\"zero\",\"rounds\":2,\"stage\":1}", 2, false},
        {"{\"name\":\"zero\",\"rounds\":2,\"stage\":2,\"unit\":\"100 KB\"}", 2, false},
        {"{\"name\":\"zero\",\"rounds\":2,\"sum\":\"direct\"}", 3, false},
        {"{\"name\":\"zero\",\"rounds\":2,\"unit\":\"100 KB\",\"prefetch\":3}", 3, false},
        {"{\"name\":\"zero\",\"rounds\":2,\"unit\":\"100 KB\",\"again\":\"site\"}", 2, true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int n = 1; n <= MAX_RANKS; n++) {
            json_t *set = json_object();
            if (cases[i].by_site && n > 1)
                set = json_pack("{s:{s:s,s:{s:s,s:s},s:{s:i,s:s,s:s}}}", "/network", "topology",
                                "sites", "client", "rate", "1 Gbps", "rtt", "1 ms", "site", "ranks",
                                2, "rate", "100 Mbps", "rtt", "10 ms");
            struct strait_outcome o = star_run(cases[i].form, n, set, &strait_fluid, false);
            const int n_models = cases[i].n_passes * (n - 1) + (cases[i].by_site ? n / 2 : 0);
            strait_test_context("case %d, %d ranks", (int)i, n);
            CU_ASSERT_EQUAL(o.payload_bytes, 2 * (uint64_t)n_models * 4 * CNN_ELEMS);
            strait_outcome_free(&o);
        }
    strait_test_context("%s", "");
}

/* One unit: nothing overlaps. A pass of n ranks is n - 1 steps of two access links, 20 ms, and a
 * part of the model, which is then added or copied; a rank steps its part. Parts differ by one
 * element, 0.34 us a step. For the
 * second gather of stage 3 a rank copies its own part too. */
static void time_of_a_unit(void)
{
    static const int counts[] = {2, 3, 5};
    for (int stage = 1; stage <= 3; stage++)
        for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
            char form[128];
            const int n = counts[k];
            snprintf(form, sizeof(form),
                     "{\"name\":\"zero\",\"rounds\":2,\"stage\":%d,\"unit\":\"1 GB\"}", stage);
            struct strait_outcome o = star_run(form, n, NULL, &strait_fluid, false);
            const struct strait_model *m = o.experiment->model;
            const struct costs c = costs_of(&o);
            const double part_bytes = 4 * ceil((double)CNN_ELEMS / n),
                         wire_s = (n - 1) * ((part_bytes + 96) / c.rate_bytes_per_s + 0.02),
                         sum_s = wire_s + (n - 1) * c.add_s / n,
                         gather_s = wire_s + (n - 1) * c.copy_s / n,
                         round_s = m->fwd_s + m->bwd_s + m->opt_s / n + sum_s + gather_s +
                                   (stage == 3 ? gather_s + c.copy_s / n : 0);
            strait_test_context("stage %d, %d ranks", stage, n);
            CU_ASSERT_DOUBLE_EQUAL(o.total_s, 2 * round_s, 2 * 3 * n * 0.34e-6);
            strait_outcome_free(&o);
        }
    strait_test_context("%s", "");
}

/* Units of a layer, each asked for when it is needed: the wire waits for what is computed. */
static void prefetch_hides(void)
{
    double round_s[3];
    for (int ahead = 0; ahead < 3; ahead++) {
        char form[128];
        snprintf(form, sizeof(form),
                 "{\"name\":\"zero\",\"rounds\":2,\"unit\":\"1 B\",\"prefetch\":%d}", ahead);
        struct strait_outcome o = star_run(form, 3, NULL, &strait_fluid, false);
        round_s[ahead] = o.total_s / 2;
        strait_outcome_free(&o);
    }
    CU_ASSERT(round_s[1] < round_s[0]);
    CU_ASSERT(round_s[2] < round_s[0]);
}

static void same_on_simgrid(void)
{
    double total_s[2];
    for (int b = 0; b < 2; b++) {
        json_t *set = json_pack("{s:{s:s,s:{s:f}}, s:s}", "/codec", "name", "sz", "bound", "range",
                                1e-3, "/download_codec", "bf16");
        struct strait_outcome o = star_run("{\"name\":\"zero\",\"rounds\":2,\"unit\":\"100 KB\"}",
                                           5, set, b == 0 ? &strait_fluid : &strait_sim, false);
        total_s[b] = o.total_s;
        strait_outcome_free(&o);
    }
    CU_ASSERT_DOUBLE_EQUAL(total_s[0], total_s[1], 1e-9 * total_s[0]);
}

/* Parameters travel in bf16, whose spacing is 2^-8 of a value: a step below half of that would be
 * lost if it was taken from what travelled. The gradient is taken at w rounded to bf16, nearest
 * even, and the exact w is stepped; a round ends with the rounded model of the round before. */
static double rounded(double w)
{
    float f = (float)w;
    uint32_t bits;
    memcpy(&bits, &f, sizeof(bits));
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
    memcpy(&f, &bits, sizeof(f));
    return (double)f;
}

static void owner_is_exact(void)
{
    enum { ROUNDS = 5 };
    struct live o;
    struct bowl b;
    double w[DIM] = {0}, m[DIM] = {0};
    if (!live_run_coded(&o, "{\"name\":\"zero\",\"rounds\":5,\"unit\":\"90 B\"}",
                        ",\"download_codec\":{\"name\":\"bf16\",\"cutoff\":0}"))
        return;
    bowl_of(&b, o.trial->learn);
    for (int round = 0; round < ROUNDS; round++) {
        double seen[DIM];
        for (int i = 0; i < DIM; i++)
            seen[i] = rounded(w[i]);
        const double before = bowl_score(&b, seen);
        for (int i = 0; i < DIM; i++) {
            double g = 0;
            for (int k = 0; k < WORKERS; k++)
                g += b.h[k][i] * (seen[i] - b.c[k][i]) / WORKERS;
            m[i] = MOMENTUM * m[i] + g;
            w[i] = (double)(float)(w[i] - LR * m[i]);
            seen[i] = rounded(w[i]);
        }
        const double score = round + 1 < ROUNDS ? before : bowl_score(&b, seen);
        CU_ASSERT_DOUBLE_EQUAL(o.trial->logs[0].scored[round].loss, score, LIVE_RATIO * score);
    }
    live_free(&o);
}

static json_t *sites_of(int n_ranks)
{
    return json_pack("{s:{s:s,s:{s:s,s:s},s:{s:i,s:s,s:s}}}", "/network", "topology", "sites",
                     "client", "rate", "1 Gbps", "rtt", "1 ms", "site", "ranks", n_ranks, "rate",
                     "100 Mbps", "rtt", "10 ms");
}

/* Six ranks in sites of two: inside a site each sends half of the model to its neighbour, 4 bytes a
 * value, so 3 models in all; between, each sends its two partial sums of a sixth, 2 models in bf16.
 * Then 5 models are gathered. Biases are lossless, 0.4 % of this model: within 1 %. */
static void two_levels_code_between_sites(void)
{
    json_t *set = sites_of(2);
    json_object_set_new(set, "/codec", json_string("bf16"));
    struct strait_outcome o =
        star_run("{\"name\":\"zero\",\"rounds\":1,\"stage\":2,\"sum\":\"two_level\"}", 6, set,
                 &strait_fluid, false);
    const double want = (3 * 4 + 2 * 2 + 5 * 4) * (double)CNN_ELEMS;
    CU_ASSERT_DOUBLE_EQUAL((double)o.payload_bytes, want, 0.01 * want);
    strait_outcome_free(&o);
}

/* SDP4Bit: the same with 8 bits inside and 4 between, and parameters in 4; a block of 128 values has
 * a unit of 4 bytes. Biases are lossless, 0.4 %, in all ten models. */
static void two_levels_code_inside(void)
{
    json_t *set = sites_of(2);
    json_object_set_new(set, "/codec", json_string("sdp4bit"));
    json_object_set_new(set, "/download_codec", json_string("sdp4bit"));
    struct strait_outcome o =
        star_run("{\"name\":\"zero\",\"rounds\":1,\"stage\":2,\"sum\":\"two_level\","
                 "\"inside_bits\":8}",
                 6, set, &strait_fluid, false);
    const double unit = 4.0 / 128, of_biases = 0.004 * (3 + 2 + 5) * 4,
                 want = (3 * (1 + unit) + (2 + 5) * (0.5 + unit) + of_biases) * (double)CNN_ELEMS;
    CU_ASSERT_DOUBLE_EQUAL((double)o.payload_bytes, want, 0.02 * want);
    strait_outcome_free(&o);
}

#define BY_SITES                                                                                   \
    ",\"clients\":6,\"network\":{\"topology\":\"sites\",\"client\":{\"rate\":\"1 Gbps\",\"rtt\":"  \
    "\"1 ms\"},\"site\":{\"ranks\":2,\"rate\":\"100 Mbps\",\"rtt\":\"10 ms\"}}"

/* The same sums in another order of float32. */
static void two_levels_sum_all(void)
{
    double loss[2];
    for (int k = 0; k < 2; k++) {
        struct live o;
        if (!live_run(&o,
                      k == 0 ? "{\"name\":\"zero\",\"rounds\":5,\"unit\":\"90 B\"}"
                             : "{\"name\":\"zero\",\"rounds\":5,\"unit\":\"90 B\",\"sum\":"
                               "\"two_level\"}",
                      BY_SITES, &strait_fluid))
            return;
        loss[k] = o.trial->logs[0].scored[4].loss;
        live_free(&o);
    }
    CU_ASSERT_DOUBLE_EQUAL(loss[1], loss[0], 1e-5 * loss[0]);
}

/* Gradients in 8 bits between sites. A step inside is 1 / 127 of a block's largest value with 8 bits
 * and 1 with 2 bits: what the loss is off by is of noise with 16,000 times the squares. */
static void bits_inside(void)
{
    static const char *const forms[] = {
        "{\"name\":\"zero\",\"rounds\":30,\"unit\":\"90 B\",\"sum\":\"two_level\"}",
        "{\"name\":\"zero\",\"rounds\":30,\"unit\":\"90 B\",\"sum\":\"two_level\","
        "\"inside_bits\":8}",
        "{\"name\":\"zero\",\"rounds\":30,\"unit\":\"90 B\",\"sum\":\"two_level\","
        "\"inside_bits\":2}",
    };
    double loss[3];
    for (int k = 0; k < 3; k++) {
        struct live o;
        if (!live_run_coded(&o, forms[k],
                            BY_SITES ",\"codec\":{\"name\":\"sdp4bit\",\"bits\":8,\"hadamard\":0,"
                                     "\"cutoff\":0,\"profile\":\"shards\"}"))
            return;
        loss[k] = o.trial->logs[0].scored[29].loss;
        live_free(&o);
    }
    CU_ASSERT(loss[1] != loss[0]);
    CU_ASSERT_AT_MOST(fabs(loss[1] - loss[0]), fabs(loss[2] - loss[0]) / 10);
}

/* Differences that lose no bit change nothing; SDP4Bit's of 4 bits move the parameters that ranks
 * see by up to a unit of a block's largest step, a seventh, and the owner makes up for it in the
 * next round: after 30 rounds the loss is near that of exact parameters. Parameters themselves in 4
 * bits stay a seventh of the largest away. */
static void differences(void)
{
    static const char *const codecs[] = {
        "",
        ",\"download_codec\":{\"name\":\"dfloat32\",\"reference\":\"last\",\"cutoff\":0,"
        "\"profile\":\"shards\"}",
        ",\"download_codec\":{\"name\":\"sdp4bit\",\"block\":2048,\"hadamard\":0,"
        "\"reference\":\"last\",\"cutoff\":0,\"profile\":\"shards\"}",
        ",\"download_codec\":{\"name\":\"sdp4bit\",\"block\":2048,\"hadamard\":0,\"cutoff\":0,"
        "\"profile\":\"shards\"}",
    };
    for (int stage = 1; stage <= 3; stage += 2) {
        double loss[4];
        for (int k = 0; k < 4; k++) {
            char form[128];
            struct live o;
            snprintf(form, sizeof(form),
                     "{\"name\":\"zero\",\"rounds\":30,\"unit\":\"90 B\",\"stage\":%d}", stage);
            if (!live_run_coded(&o, form, codecs[k]))
                return;
            loss[k] = o.trial->logs[0].scored[29].loss;
            live_free(&o);
        }
        CU_ASSERT_EQUAL(loss[1], loss[0]);
        CU_ASSERT_AT_MOST(fabs(loss[2] - loss[0]), fabs(loss[3] - loss[0]) / 10);
    }
}

static void refuses(void)
{
    static const struct {
        const char *form, *more, *part;
    } cases[] = {
        {"{\"name\":\"zero\"}", ",\"codec\":\"topk\"", "expected a codec for \"ring\""},
        {"{\"name\":\"zero\"}", ",\"download_codec\":\"topk\"", "whose sender remembers nothing"},
        {"{\"name\":\"zero\",\"inside_bits\":8}", ",\"codec\":\"sdp4bit\"",
         "only \"two_level\" sums inside sites"},
        {"{\"name\":\"zero\",\"sum\":\"two_level\",\"inside_bits\":8}", ",\"codec\":\"bf16\"",
         "\"bf16\" has no number of bits"},
        {"{\"name\":\"zero\",\"sum\":\"two_level\",\"inside_bits\":9}", ",\"codec\":\"sdp4bit\"",
         "from 2 to 8 bits of \"sdp4bit\""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct strait_error err = {0};
        struct live o;
        CU_ASSERT_EQUAL(live_try(&o, LIVE_QUADRATIC, cases[i].form, cases[i].more, false, 1, &err),
                        -1);
        CU_ASSERT_CONTAINS(err.text, cases[i].part);
        live_free(&o);
    }
}

static const struct strait_test tests[] = {
    {"a step sends the model twice to each rank but one, stage 3 three times", bytes},
    {"a unit that does not overlap takes what its passes take", time_of_a_unit},
    {"what is gathered ahead is not waited for", prefetch_hides},
    {"units, codecs and gathers take the same time on SimGrid and fluid", same_on_simgrid},
    {"a rank steps its exact part, whatever was rounded on the wire", owner_is_exact},
    {"sums of two levels are coded between sites alone", two_levels_code_between_sites},
    {"inside a site values have their own number of bits", two_levels_code_inside},
    {"sums of two levels are those of all ranks", two_levels_sum_all},
    {"8 bits inside a site are nearer to none than 2", bits_inside},
    {"parameters as differences: exact without loss, near in 4 bits", differences},
    {"codecs that cannot be summed or remember what they sent are refused", refuses},
};
STRAIT_SUITE("workloads/train/sync/zero", tests);
