/* The adaptive strategy against closed forms: bytes, times with and without overlap, bounds as they
 * arrive at the codec, and what is refused. */
#include "workloads/train/plans/policy.h"
#include "tests/kit/strategy_world.h"

#define ADAPTIVE(more) "{\"name\":\"adaptive\",\"rounds\":3" more "}"

/* --- bytes --------------------------------------------------------------------------------- */

/* n models down and n updates up in each of 3 rounds, whether late or not; nothing says stop. */
static void bytes(void)
{
    static const char *const strategies[] = {
        ADAPTIVE(",\"local_steps\":2"), ADAPTIVE(",\"local_steps\":2,\"overlap\":\"none\""),
        ADAPTIVE(",\"local_steps\":2,\"encode\":\"each\",\"policy\":\"loss-adaptive\"")};
    for (int n = 1; n <= 9; n++)
        for (int i = 0; i < 3; i++) {
            struct strait_outcome o = star_run(strategies[i], n, NULL, &strait_fluid, false);
            CU_ASSERT_EQUAL(o.payload_bytes, 3u * 2 * (unsigned)n * 4 * CNN_ELEMS);
            CU_ASSERT_EQUAL(o.n_messages, 3u * 2 * (unsigned)n);
            strait_outcome_free(&o);
        }
}

/* --- times --------------------------------------------------------------------------------- */

/* No codec, n clients, T a round's training, A the n additions, H a model's way.
 * After training: a round is H + T + H + A.
 * Beside it, training longer than 2 H + A: the first model and the last update are all that shows:
 * H + 3 T + H + A.
 * Beside it, training shorter than B, a model's bytes on the link: models 0 and 1 leave together,
 * so update 0 begins at H + B; server adds it; model 2 comes at 3 H + B + A; updates 1 and 2 follow
 * each other on the link, the last one is here at 4 H + 2 B + A; A. */
static void without_codec(void)
{
    for (int n = 1; n <= 3; n++) {
        struct strait_outcome o = star_run(ADAPTIVE(",\"local_steps\":20,\"overlap\":\"none\""), n,
                                           NULL, &strait_fluid, false);
        struct costs c = costs_of(&o);
        const double add_s = n * c.add_s;
        CU_ASSERT_DOUBLE_EQUAL(o.total_s, 3 * (2 * c.hop_s + 20 * c.step_s + add_s), 1e-9);
        strait_outcome_free(&o);

        o = star_run(ADAPTIVE(",\"local_steps\":20"), n, NULL, &strait_fluid, false);
        CU_ASSERT(20 * c.step_s > 2 * c.hop_s + add_s);
        CU_ASSERT_DOUBLE_EQUAL(o.total_s, 2 * c.hop_s + 3 * 20 * c.step_s + add_s, 1e-9);
        strait_outcome_free(&o);

        o = star_run(ADAPTIVE(",\"local_steps\":1"), n, NULL, &strait_fluid, false);
        const double bytes_s = c.hop_s - 0.01;
        CU_ASSERT(c.step_s < bytes_s);
        CU_ASSERT_DOUBLE_EQUAL(o.total_s, 4 * c.hop_s + 2 * bytes_s + 2 * add_s, 1e-9);
        strait_outcome_free(&o);
    }
}

/* Of one direction, as the profile has it at this bound: seconds and bytes of a whole model whose
 * weights of more than 1024 elements and one dimension are lossy. */
struct coded {
    double encode_s, decode_s, bytes;
};
static struct coded coded_at(const struct strait_outcome *o, double bound)
{
    const struct strait_model *m = o->experiment->model;
    struct strait_codec_spec spec = o->experiment->up.spec;
    struct strait_profile_cost lossy, lossless;
    struct strait_error err = {0};
    struct coded c = {0};
    spec.bound.value = bound;
    CU_ASSERT_EQUAL_FATAL(strait_profile_find(&lossy, o->profile, &spec, "update", m->name, &err),
                          0);
    CU_ASSERT_EQUAL_FATAL(strait_profile_find(&lossless, o->profile, &o->experiment->up.lossless,
                                              "any", m->name, &err),
                          0);
    for (size_t i = 0; i < m->n_rows; i++) {
        const double raw = 4.0 * (double)m->rows[i].n_elems;
        const struct strait_profile_cost *p =
            m->rows[i].n_dims > 1 && m->rows[i].n_elems > 1024 ? &lossy : &lossless;
        c.encode_s += p->encode_fixed_s + raw / p->encode_bytes_per_s;
        c.decode_s += p->decode_fixed_s + raw / p->decode_bytes_per_s;
        c.bytes += raw / p->ratio;
    }
    c.bytes = ceil(c.bytes + (double)m->n_rows * STRAIT_BUNDLE_SLICE_BYTES);
    return c;
}

/* MobileNetV2 on an accelerator: encoding, E, goes on beside it. T longer than all else in a round:
 * of E, the update's way U, n decodings D one after another and A only the last ones show. Without
 * overlap every round pays them. */
static void on_idle_cores(void)
{
    const json_int_t n = 3;
    for (int late = 0; late <= 1; late++) {
        json_t *set =
            json_pack("{s:s, s:{s:s,s:{s:f}}, s:s}", "/model", "mobilenet-v2", "/codec", "name",
                      "sz", "bound", "range", 1e-3, "/strategy/overlap", late ? "train" : "none");
        struct strait_outcome o =
            star_run(ADAPTIVE(",\"local_steps\":200"), (int)n, set, &strait_fluid, false);
        const struct costs c = costs_of(&o);
        const struct coded u = coded_at(&o, 1e-3);
        const double model_bytes = 4.0 * (double)o.experiment->model->n_elems;
        const double down_s = (model_bytes + 96) / c.rate_bytes_per_s + 0.01;
        const double train_s = 200 * strait_model_step_s(o.experiment->model);
        const double add_s = (double)n * model_bytes / o.point->add_bytes_per_s;
        const double after_s = u.encode_s + (u.bytes + 96) / c.rate_bytes_per_s + 0.01 +
                               (double)n * u.decode_s + add_s;
        CU_ASSERT(train_s > after_s + down_s);
        const double expected =
            late ? down_s + 3 * train_s + after_s : 3 * (down_s + train_s + after_s);
        CU_ASSERT_DOUBLE_EQUAL(o.total_s, expected, 1e-9);
        strait_outcome_free(&o);
    }
}

/* The cnn computes on the core that encodes: while it trains in steps of its own, an encoding of E
 * waits for one of them and then delays the rest by E. Rounds 1 and 2 of 3 are E longer. */
static void on_busy_cores(void)
{
    json_t *set = json_pack("{s:{s:s,s:{s:f}}}", "/codec", "name", "sz", "bound", "range", 1e-3);
    struct strait_outcome o =
        star_run(ADAPTIVE(",\"local_steps\":20"), 2, set, &strait_fluid, false);
    const struct costs c = costs_of(&o);
    const struct coded u = coded_at(&o, 1e-3);
    const double after_s =
        u.encode_s + (u.bytes + 96) / c.rate_bytes_per_s + 0.01 + 2 * u.decode_s + 2 * c.add_s;
    const double expected = c.hop_s + 3 * 20 * c.step_s + 2 * u.encode_s + after_s;
    CU_ASSERT_DOUBLE_EQUAL(o.total_s, expected, 1e-9);
    strait_outcome_free(&o);
}

/* --- bounds -------------------------------------------------------------------------------- */

/* Bytes of the nth encoding of a rank. */
static double encoded_bytes(const struct strait_outcome *o, int rank, int nth)
{
    const struct strait_log *log = &o->point->logs[rank];
    for (size_t i = 0; i < log->n_spans; i++)
        if (strait_spans_at(&log->spans, i).kind == STRAIT_SPAN_ENCODE && nth-- == 0)
            return (double)strait_spans_at(&log->spans, i).bytes;
    return NAN;
}

/* 0.02 x 0.7^round: what is sent is what the profile has at 0.02, 0.014 and 0.0098. */
static void scheduled(void)
{
    json_t *set = json_pack("{s:{s:s,s:{s:f}}}", "/codec", "name", "sz", "bound", "range", 0.02);
    struct strait_outcome o =
        star_run(ADAPTIVE(",\"policy\":\"schedule\",\"decay\":0.7"), 2, set, &strait_fluid, false);
    for (int round = 0; round < 3; round++)
        for (int rank = 1; rank <= 2; rank++)
            CU_ASSERT_EQUAL(encoded_bytes(&o, rank, round),
                            coded_at(&o, 0.02 * pow(0.7, round)).bytes);
    CU_ASSERT(encoded_bytes(&o, 1, 2) > encoded_bytes(&o, 1, 0));
    strait_outcome_free(&o);
}

/* Losses of the recorded run of eight clients: rounds are 1.4751, 0.9526 and 0.6883 of it, so the
 * bound is 0.01 times 1, 0.64579 and 0.46661. */
static void by_loss(void)
{
    json_t *set = json_pack("{s:{s:s,s:{s:f}}}", "/codec", "name", "sz", "bound", "range", 0.01);
    struct strait_outcome o =
        star_run(ADAPTIVE(",\"policy\":\"loss-adaptive\""), 1, set, &strait_fluid, false);
    static const double losses[] = {1.4751, 0.9526, 0.6883};
    for (int round = 0; round < 3; round++)
        CU_ASSERT_EQUAL(encoded_bytes(&o, 1, round),
                        coded_at(&o, 0.01 * (losses[round] / losses[0])).bytes);
    strait_outcome_free(&o);
}

/* The first round's mean loss is not known yet, so all send alike; afterwards a client's bound is
 * 0.01 mean / own, whatever the round: the recorded loss cancels. With overlap the reports of round
 * 0 count from round 2 on. Clients' bounds follow from their bytes, and their losses from these:
 * the harmonic form n / sum(1 / own) x ... is 1, that is mean(own / mean) = 1. */
static void by_fairness(void)
{
    json_t *set = json_pack("{s:{s:s,s:{s:f}}}", "/codec", "name", "sz", "bound", "range", 0.01);
    struct strait_outcome o =
        star_run(ADAPTIVE(",\"policy\":\"per-client-fairness\",\"overlap\":\"none\""), 4, set,
                 &strait_fluid, false);
    double own_over_mean = 0, least = INFINITY, most = 0;
    for (int rank = 1; rank <= 4; rank++) {
        CU_ASSERT_EQUAL(encoded_bytes(&o, rank, 0), coded_at(&o, 0.01).bytes);
        CU_ASSERT_DOUBLE_EQUAL(encoded_bytes(&o, rank, 1), encoded_bytes(&o, rank, 2), 1);
        double lo = 0.001, hi = 0.1; /* the bound with this many bytes: more bytes, less bound */
        for (int i = 0; i < 60; i++) {
            const double middle = sqrt(lo * hi);
            if (coded_at(&o, middle).bytes > encoded_bytes(&o, rank, 1))
                lo = middle;
            else
                hi = middle;
        }
        own_over_mean += 0.01 / lo / 4;
        least = fmin(least, lo);
        most = fmax(most, lo);
    }
    CU_ASSERT_DOUBLE_EQUAL(own_over_mean, 1, 1e-3); /* a byte is 1e-4 of the bound */
    CU_ASSERT(most > 1.1 * least);
    strait_outcome_free(&o);
}

/* Equal losses: fairness has nothing to do. */
static void alike(void)
{
    json_t *set = json_pack("{s:{s:s,s:{s:f}}}", "/codec", "name", "sz", "bound", "range", 0.01);
    struct strait_outcome o =
        star_run(ADAPTIVE(",\"policy\":\"per-client-fairness\",\"loss_spread\":0"), 2, set,
                 &strait_fluid, false);
    for (int round = 0; round < 3; round++)
        CU_ASSERT_DOUBLE_EQUAL(encoded_bytes(&o, 1, round), coded_at(&o, 0.01).bytes, 0.5);
    strait_outcome_free(&o);
}

/* --- what is refused ----------------------------------------------------------------------- */

static void refuses(const char *strategy, const char *codec, const char *where, const char *text)
{
    char experiment[1024];
    struct strait_error err = {0};
    struct strait_experiment *e = NULL;
    struct strait_profile *profile = NULL;
    struct strait_trial *p = NULL;
    snprintf(experiment, sizeof(experiment),
             "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"clients\":2,\"strategy\":%s,"
             "\"codec\":%s,\"network\":{\"client\":{\"rate\":\"1 Gbps\"},\"server\":{\"rate\":\"1 "
             "Gbps\"}}}",
             strategy, codec);
    json_t *json = json_loads(experiment, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    CU_ASSERT_EQUAL_FATAL(strait_profile_load(&profile, "default", &err), 0);
    const struct strait_trial_options sized = {0};
    CU_ASSERT(strait_experiment_read(&e, "e.json", json, &err) != 0 ||
              strait_trial_new(&p, e, profile, &sized, &err) != 0);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.where, where));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, text));
    if (!strstr(err.text, text))
        fprintf(stderr, "%s: %s\n", err.where, err.text);
    strait_trial_free(p);
    strait_profile_free(profile);
    strait_experiment_free(e);
    json_decref(json);
}

static void refused(void)
{
    static const char *const sz = "{\"name\":\"sz\",\"bound\":{\"range\":0.1}}";
    refuses(ADAPTIVE(",\"policy\":\"schedule\""), "\"terngrad\"", "e.json#/codec/bound",
            "for policy \"schedule\", found none");
    refuses(ADAPTIVE(",\"policy\":\"rms-adaptive\""), sz, "e.json#/codec/bound", "found \"range\"");
    refuses(ADAPTIVE(",\"curve_clients\":3"), sz, "e.json#/strategy/curve_clients", "found 3");
    refuses(ADAPTIVE(",\"policy\":\"fairness\""), sz, "e.json#/strategy/policy", "per-client");
    /* the bound may grow to 0.1 x 10, where nothing was measured */
    refuses(ADAPTIVE(",\"policy\":\"loss-adaptive\""), sz, "codecs on the recorded tensors",
            "between the profile's 1e-06 and 0.1, found 1");
}

/* --- real tensors -------------------------------------------------------------------------- */

/* Three rounds on two clients, without a codec: w + 3 (u1 + u2) / 2, added in rank order. */
static void weights_main(struct strait_rank *r)
{
    struct strait_trial *p = r->run->context;
    static const float share = 0.5f;
    float *w = strait_alloc(r, CNN_ELEMS, sizeof(*w)), *u[2];
    strait_recorded(w, p, STRAIT_WEIGHTS, 0);
    for (int i = 0; i < 2; i++) {
        u[i] = strait_alloc(r, CNN_ELEMS, sizeof(*u[i]));
        strait_recorded(u[i], p, STRAIT_UPDATE, i + 1);
    }
    p->experiment->strategy->rank_main(r);
    if (strait_me(r) != 0)
        return;
    const float *got = whole_tensor(r, STRAIT_WEIGHTS);
    for (int i = 0; i < CNN_ELEMS; i++) {
        for (int k = 0; k < 6; k++)
            w[i] += share * u[k % 2][i];
        if (!got || memcmp(&w[i], &got[i], sizeof(w[i])) != 0)
            fail_with(r, "the server's weights are not the sum of all updates");
    }
}

static void exact_weights(void)
{
    static const char *const overlap[] = {"none", "train"};
    for (int i = 0; i < 2; i++) {
        struct strait_outcome o =
            star_run(ADAPTIVE(""), 2, json_pack("{s:s}", "/strategy/overlap", overlap[i]),
                     &strait_fluid, true);
        run_with(&o, weights_main);
        strait_outcome_free(&o);
    }
}

/* The real codec at the bound of the recorded runs' rule, 0.5 sqrt(3) of each tensor's rms, on
 * recorded updates of the same network: recorded were 0.88 to 1.06 bits a value of entropy, here
 * the stream itself with its heads and lossless biases. */
static void real_bits(void)
{
    json_t *set = json_pack("{s:{s:s,s:{s:f}}}", "/codec", "name", "sz", "bound", "rms", 0.1);
    struct strait_outcome o =
        star_run(ADAPTIVE(",\"policy\":\"rms-adaptive\""), 2, set, &strait_fluid, true);
    for (int round = 0; round < 3; round++) {
        const double bits = 8 * encoded_bytes(&o, 1, round) / CNN_ELEMS;
        CU_ASSERT(bits > 0.85 && bits < 1.15);
    }
    const double over = o.point->logs[1].error_over_bound;
    CU_ASSERT(over > 0.5 && over <= 1); /* of the bound that the policy set, not of 0.1 */
    strait_outcome_free(&o);
}

static void same_on_simgrid(void)
{
    static const struct strait_backend *const backends[] = {&strait_fluid, &strait_sim};
    double total_s[2];
    for (int i = 0; i < 2; i++) {
        json_t *set = json_pack("{s:{s:s,s:{s:f}}, s:s}", "/codec", "name", "sz", "bound", "range",
                                0.01, "/network/tcp/initial_window", "14480 B");
        struct strait_outcome o =
            star_run(ADAPTIVE(",\"policy\":\"per-client-fairness\""), 3, set, backends[i], false);
        total_s[i] = o.total_s;
        strait_outcome_free(&o);
    }
    CU_ASSERT_DOUBLE_EQUAL(total_s[0], total_s[1], 1e-9 * total_s[0]);
}

static const struct strait_test tests[] = {
    {"every round sends n models and n updates, late or not", bytes},
    {"uploads hide behind training, and the link where it is short", without_codec},
    {"encoding hides on idle cores, and only the last update shows", on_idle_cores},
    {"where the model computes on the codec's core, encoding delays it", on_busy_cores},
    {"a schedule's bounds are priced as the profile has them", scheduled},
    {"recorded losses set the bound of a round", by_loss},
    {"clients with a higher loss get a tighter bound, in proportion", by_fairness},
    {"clients that are alike send alike", alike},
    {"what a policy cannot do is refused before the run", refused},
    {"the server's weights are the float sum in rank order, late or not", exact_weights},
    {"the recorded rule on real tensors costs what was recorded", real_bits},
    {"fluid and SimGrid agree", same_on_simgrid},
};
STRAIT_SUITE("workloads/train/federated/adaptive", tests);
