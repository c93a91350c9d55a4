/* GRACE's pipeline against closed forms of its bytes and schedule, and its sums bit by bit. */
#include "tests/kit/fixed_sizes.h"

static const char *const text = GRADIENTS_TEXT("{\"name\":\"grace\",\"rounds\":1}");
static const char *const exchanges[] = {"allreduce", "allgather", "broadcast", "all_to_all"};
enum { ALL_REDUCE, ALL_GATHER, BROADCAST, ALL_TO_ALL, N_EXCHANGES };

static json_t *settings_of(int exchange, int codec)
{
    return json_pack("{s:s, s:o}", "/strategy/exchange", exchanges[exchange], "/codec",
                     codec_json(codec));
}

/* Moved: P (P - 1) m for every row. Reduced: each of its P parts to its owner and to everybody,
 * 2 (P - 1) times: 2 (P - 1) / P m from each rank where parts are equal. */
static uint64_t all_bytes(int exchange, int codec, int n)
{
    const bool moved = exchange == ALL_GATHER || exchange == BROADCAST;
    const uint64_t ranks = (uint64_t)n;
    uint64_t bytes = 0;
    for (int i = 0; i < ODD_ROWS; i++)
        if (moved)
            bytes += ranks * (ranks - 1) * piece_bytes(codec, is_vector[i], rows[i]);
        else
            for (int p = 0; p < n; p++)
                bytes += 2 * (ranks - 1) * piece_bytes(codec, is_vector[i], part_of(rows[i], p, n));
    return bytes;
}

static void check_bytes(int exchange, int codec, int n, bool real)
{
    const bool moved = exchange == ALL_GATHER || exchange == BROADCAST;
    json_t *settings = settings_of(exchange, codec);
    json_object_set_new(settings, "/clients", json_integer(n));
    struct strait_outcome o =
        strait_outcome_of(text, settings, "default", &strait_fluid,
                          (struct strait_trial_options){.real_payload = real});
    const uint64_t bytes = all_bytes(exchange, codec, n);
    CU_ASSERT_EQUAL(o.payload_bytes, bytes);
    CU_ASSERT_EQUAL(o.n_messages,
                    (uint64_t)ODD_ROWS * (moved ? 1 : 2) * (uint64_t)n * (uint64_t)(n - 1));
    if (o.payload_bytes != bytes)
        fprintf(stderr, "%s of %d by %s: expected %llu bytes, found %llu\n", codecs[codec], n,
                exchanges[exchange], (unsigned long long)bytes,
                (unsigned long long)o.payload_bytes);
    strait_outcome_free(&o);
}

/* What a profile says of sizes, and what is encoded. */
static void bytes(void)
{
    for (int n = 1; n <= (IS_SANITIZED ? 4 : MAX_RANKS); n++)
        for (int exchange = 0; exchange < N_EXCHANGES; exchange++)
            for (int codec = NONE; codec < N_CODECS; codec++)
                for (int real = 0; real < (n == 3 ? 2 : 1); real++)
                    if (exchange != ALL_REDUCE || codec == NONE || codec == RANDOMK)
                        check_bytes(exchange, codec, n, real); /* others: refused below */
}

/* Left to itself, what adds up is reduced and all else gathered. */
static void automatic(void)
{
    static const int chosen[N_CODECS] = {
        [NONE] = ALL_REDUCE,    [TOPK] = ALL_GATHER,      [RANDOMK] = ALL_REDUCE,
        [QSGD] = ALL_GATHER,    [QSGD_7] = ALL_GATHER,    [TERNGRAD] = ALL_GATHER,
        [SIGNSGD] = ALL_GATHER, [EFSIGNSGD] = ALL_GATHER, [ONEBIT] = ALL_GATHER};
    for (int codec = NONE; codec < N_CODECS; codec++) {
        json_t *settings = settings_of(chosen[codec], codec);
        struct strait_outcome o = sized_run(text, settings, 4);
        settings = settings_of(chosen[codec], codec);
        json_object_set_new(settings, "/strategy/exchange", json_string("auto"));
        struct strait_outcome left = sized_run(text, settings, 4);
        CU_ASSERT_EQUAL(o.payload_bytes, left.payload_bytes);
        CU_ASSERT_EQUAL(o.total_s, left.total_s);
        strait_outcome_free(&o);
        strait_outcome_free(&left);
    }
}

/* Positions are gaps in Rice code, so sizes vary: 3 x 2 messages of sizes, and as many of packets,
 * for each of the 4 matrices; the 4 vectors are 4 bytes a value whatever they hold. */
static void sizes_first(void)
{
    json_t *settings = settings_of(ALL_GATHER, TOPK);
    json_object_set_new(json_object_get(settings, "/codec"), "payload", json_string("packed"));
    json_object_del(json_object_get(settings, "/codec"), "profile");
    struct strait_outcome o = sized_run(text, settings, 3);
    CU_ASSERT_EQUAL(o.n_messages, 6 * (2 * 4 + 4));
    strait_outcome_free(&o);
}

/* The hook's lane and the lane of collectives, by hand. Backward and encoding follow one another
 * from the last row to the first; a row's collective begins when it is encoded and the one before
 * is through: a launch, then P - 1 steps of m + 96 bytes and a path; afterwards P decodings and
 * P - 1 additions of each row in the same order, whenever its collective is through. Without
 * overlap no collective begins before all rows are encoded, and none is decoded before the last is
 * through. */
static double schedule_s(const struct strait_trial *p, int n, double launch_s, bool beside)
{
    const struct strait_model *m = p->experiment->model;
    double ready[ODD_ROWS] = {0}, hook_s = m->fwd_s, link_s = 0, all_s = m->fwd_s + m->bwd_s;
    for (int i = 0; i < ODD_ROWS; i++)
        if (!is_vector[i])
            all_s += p->up.encode_fixed_s + 4.0 * (double)rows[i] / p->up.encode_bytes_per_s;
    for (size_t l = m->n_layers; l-- > 0;) {
        hook_s += m->layers[l].bwd_s_p50;
        for (size_t i = m->layers[l].first_row + m->layers[l].n_rows;
             i-- > m->layers[l].first_row;) {
            if (!is_vector[i])
                hook_s += p->up.encode_fixed_s + 4.0 * (double)rows[i] / p->up.encode_bytes_per_s;
            link_s = fmax(link_s, beside ? hook_s : all_s) + launch_s +
                     (n - 1) * ((double)(piece_bytes(TOPK, is_vector[i], rows[i]) + FRAME_BYTES) /
                                    bytes_per_s +
                                path_s);
            ready[i] = link_s;
        }
    }
    for (size_t i = ODD_ROWS; i-- > 0;) {
        hook_s = fmax(hook_s, beside ? ready[i] : ready[0]);
        if (!is_vector[i])
            hook_s += n * (p->up.decode_fixed_s + 4.0 * (double)rows[i] / p->up.decode_bytes_per_s);
        hook_s += (n - 1) * 4.0 * (double)rows[i] / p->add_bytes_per_s;
    }
    return hook_s + m->opt_s;
}

static void schedule(void)
{
    for (int n = 1; n <= (IS_SANITIZED ? 4 : MAX_RANKS); n++)
        for (int i = 0; i < 4; i++) {
            const bool beside = i % 2 == 0;
            const int launch_ms = i / 2 * 5;
            json_t *settings = settings_of(ALL_GATHER, TOPK);
            json_object_set_new(settings, "/strategy/overlap", json_string(beside ? "yes" : "no"));
            json_object_set_new(settings, "/strategy/launch",
                                json_string(launch_ms > 0 ? "5 ms" : "0 s"));
            struct strait_outcome o = sized_run(text, settings, n);
            const double expected = schedule_s(o.point, n, n > 1 ? launch_ms / 1e3 : 0, beside);
            CU_ASSERT_DOUBLE_EQUAL(o.total_s, expected, 1e-9 * expected);
            strait_outcome_free(&o);
        }
}

/* --- values -------------------------------------------------------------------------------- */

/* Without a codec: moved, everybody adds in rank order; reduced, the part p of every row begins
 * with rank p and goes on around. A fresh gradient each round, here the recorded one: it differs
 * between ranks, since rows are tiled from an offset of the rank. */
static void exact_sums(void)
{
    for (int exchange = 0; exchange < N_EXCHANGES; exchange++)
        for (int n = 1; n <= 5; n++) {
            const bool moved = exchange == ALL_GATHER || exchange == BROADCAST;
            bool same = true;
            size_t at = 0;
            run_gradients(text, settings_of(exchange, NONE), n,
                          moved ? STRAIT_SCRATCH : STRAIT_GRADIENTS);
            check_alike(n);
            for (int row = 0; row < ODD_ROWS; row++)
                for (int p = 0; p < n; p++)
                    for (size_t i = 0; i < part_of(rows[row], p, n); i++, at++) {
                        float sum = gradients->in[moved ? 0 : p][at];
                        for (int k = 1; k < n; k++)
                            sum += gradients->in[moved ? k : (p + k) % n][at];
                        same = same && memcmp(&sum, &gradients->out[0][at], sizeof(sum)) == 0;
                    }
            CU_ASSERT(same);
            CU_ASSERT(n == 1 ||
                      memcmp(gradients->in[0], gradients->in[1], sizeof(gradients->in[0])) != 0);
        }
}

/* Two rounds of each codec in its exchanges: error feedback and fresh gradients, the same bits
 * everywhere. Topk at 1 % moved by either collective, of ours or of Open MPI, is the same sum. */
static void alike_on_all_ranks(void)
{
    static const struct {
        const char *codec;
        int exchange;
        bool by_open_mpi;
    } cases[] = {{"{\"name\":\"topk\",\"cutoff\":0}", ALL_GATHER, false},
                 {"{\"name\":\"topk\",\"cutoff\":0}", BROADCAST, false},
                 {"{\"name\":\"topk\",\"cutoff\":0}", ALL_GATHER, true},
                 {"{\"name\":\"topk\",\"cutoff\":0}", BROADCAST, true},
                 {"{\"name\":\"deepreduce\"}", ALL_GATHER, true},
                 {"{\"name\":\"none\"}", ALL_REDUCE, true},
                 {"{\"name\":\"topk\",\"cutoff\":0}", ALL_TO_ALL, false},
                 {"{\"name\":\"deepreduce\"}", ALL_GATHER, false},
                 {"{\"name\":\"dgc\"}", ALL_GATHER, false},
                 {"{\"name\":\"qsgd\"}", ALL_TO_ALL, false},
                 {"{\"name\":\"powersgd\"}", ALL_GATHER, false},
                 {"{\"name\":\"randomk\"}", ALL_REDUCE, false},
                 {"{\"name\":\"fp16\"}", ALL_REDUCE, false},
                 {"{\"name\":\"sz\",\"bound\":{\"abs\":1e-4}}", ALL_REDUCE, false}};
    float *first = malloc(sizeof(gradients->out[0]));
    CU_ASSERT_FATAL(first != NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const bool moved = cases[i].exchange == ALL_GATHER || cases[i].exchange == BROADCAST;
        json_t *settings =
            json_pack("{s:s, s:o, s:i, s:s}", "/strategy/exchange", exchanges[cases[i].exchange],
                      "/codec", json_loads(cases[i].codec, 0, NULL), "/strategy/rounds", 2,
                      "/strategy/library", cases[i].by_open_mpi ? "open_mpi" : "none");
        run_gradients(text, settings, 3, moved ? STRAIT_SCRATCH : STRAIT_GRADIENTS);
        check_alike(3);
        if (i == 0)
            memcpy(first, gradients->out[0], sizeof(gradients->out[0]));
        if (i >= 1 && i <= 3)
            CU_ASSERT(memcmp(first, gradients->out[0], sizeof(gradients->out[0])) == 0);
    }
    free(first);
}

/* --- what is refused ------------------------------------------------------------------------ */

static void refused(const char *codec, const char *exchange, const char *expected)
{
    struct strait_error err = {0};
    struct strait_experiment *e = NULL;
    json_t *json = json_loads(text, 0, NULL);
    json_object_set_new(json, "codec", json_loads(codec, JSON_DECODE_ANY, NULL));
    json_object_set_new(json_object_get(json, "strategy"), "exchange", json_string(exchange));
    CU_ASSERT_EQUAL(strait_experiment_read(&e, "x.json", json, &err), expected ? -1 : 0);
    CU_ASSERT(!expected || strstr(err.text, expected));
    strait_experiment_free(e);
    json_decref(json);
}

static void refusals(void)
{
    refused("\"topk\"", "allreduce", "randomk"); /* what is legal is named */
    refused("{\"name\":\"sz\",\"bound\":{\"range\":1e-3}}", "allreduce", "sz with an abs bound");
    refused("\"powersgd\"", "all_to_all", "topk"); /* has a state of one tensor of one rank */
    refused("\"topk\"", "gather", "allgather");
    refused("\"randomk\"", "allreduce", NULL);
    refused("{\"name\":\"sz\",\"bound\":{\"abs\":1e-3}}", "allreduce", NULL);
    refused("\"none\"", "allreduce", NULL);
    refused("\"topk\"", "auto", NULL); /* by all-gather */
    refused("\"qsgd\"", "allreduce", "randomk");
    refused("\"terngrad\"", "allreduce", "randomk");
    refused("\"signsgd\"", "allreduce", "randomk");
}

/* Of a codec in the list of the experiment that compares all. */
static bool is_listed(const json_t *list, const char *name, bool feedback)
{
    size_t i;
    json_t *codec;
    json_array_foreach (list, i, codec) {
        const char *its = json_string_value(json_object_get(codec, "name"));
        if (its && strcmp(its, name) == 0 &&
            json_is_true(json_object_get(codec, "error_feedback")) == feedback)
            return true;
    }
    return false;
}

/* Lossless codecs train the same bits as none; what a machine may lack is left to its owner. */
static void all_are_compared(void)
{
    json_error_t error;
    json_t *experiment = json_load_file("experiments/grace-accuracy.json", 0, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(experiment);
    const json_t *list = json_object_get(json_object_get(experiment, "vary"), "/codec");
    size_t n, n_compared = 0;
    const struct strait_codec_ops *const *all = strait_codecs(&n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(all[i]->family, "lossless") == 0 || all[i]->unavailable)
            continue;
        strait_test_context("%s", all[i]->name);
        CU_ASSERT_TRUE(is_listed(list, all[i]->name, false));
        CU_ASSERT_TRUE(is_listed(list, all[i]->name, true));
        n_compared++;
    }
    CU_ASSERT_AT_LEAST(n_compared, 35);
    json_decref(experiment);
}

static const struct strait_test tests[] = {
    {"the experiment of codecs' accuracy has all with an error, with and without feedback",
     all_are_compared},
    {"bytes are (P - 1) m moved and 2 (P - 1) / P m reduced, to the byte, at 1 to 9 ranks, of "
     "sparse, "
     "quantised, ternary and sign codecs",
     bytes},
    {"the exchange follows from the codec", automatic},
    {"sizes that depend on the values are exchanged first", sizes_first},
    {"collectives run beside the backward pass and decoding waits for them", schedule},
    {"without codec sums are exact in the stated order and the same on all ranks", exact_sums},
    {"all ranks end with the same bits whatever the codec", alike_on_all_ranks},
    {"an all-reduce of what cannot be added is refused with the legal ones named", refusals},
};
STRAIT_SUITE("workloads/train/sync/grace", tests);
