/* PyTorch's DDP over Gloo: bytes and messages of its buckets, round trips of its hook, its sums bit
 * by bit. */
#include "tests/kit/fixed_sizes.h"

static const char *const text = GRADIENTS_TEXT("{\"name\":\"ddp\",\"rounds\":1}");

static json_t *settings_of(int codec, const char *bucket)
{
    return json_pack("{s:o, s:s}", "/codec", codec_json(codec), "/strategy/bucket", bucket);
}

/* From the last row: 7 + 259 + 37 + 2368 values reach 8 KB, then 64 + 2112, then the rest. With 25
 * MB all are one bucket. A bucket is 2 (n - 1) segments of a sum from each rank, or (n - 1) packets
 * and as many sizes, all in halves; each that comes was asked for. */
static void bytes(void)
{
    static const struct {
        const char *bucket;
        uint64_t n;
    } buckets[] = {{"25 MB", 1}, {"8 KB", 3}, {"1 B", ODD_ROWS}};
    for (int n = 1; n <= (IS_SANITIZED ? 4 : MAX_RANKS); n++)
        for (int codec = NONE; codec < N_CODECS; codec++)
            for (size_t b = 0; b < sizeof(buckets) / sizeof(*buckets); b++)
                for (int real = 0; real < (n == 3 ? 2 : 1); real++) {
                    const uint64_t peers = (uint64_t)n * (uint64_t)(n - 1);
                    uint64_t packets = 0;
                    for (int i = 0; i < ODD_ROWS; i++)
                        packets += piece_bytes(codec, is_vector[i], rows[i]);
                    json_t *settings = settings_of(codec, buckets[b].bucket);
                    json_object_set_new(settings, "/clients", json_integer(n));
                    struct strait_outcome o =
                        strait_outcome_of(text, settings, "default", &strait_fluid,
                                          (struct strait_trial_options){.real_payload = real});
                    CU_ASSERT_EQUAL(o.n_messages, 8 * peers * buckets[b].n);
                    CU_ASSERT_EQUAL(o.payload_bytes, codec == NONE
                                                         ? 2 * (uint64_t)(n - 1) * 4 * ODD_ELEMS
                                                         : peers * packets);
                    strait_outcome_free(&o);
                }
}

/* Seconds of a round without compute, codec and addition. */
static double exchange_s(int codec, const char *bucket, int n)
{
    struct strait_outcome o = sized_run(text, settings_of(codec, bucket), n);
    const struct strait_model *m = o.experiment->model;
    double all_s = m->fwd_s + m->bwd_s + m->opt_s;
    for (int i = 0; i < ODD_ROWS && codec != NONE; i++) {
        const double raw_bytes = 4.0 * (double)rows[i];
        if (!is_vector[i])
            all_s += o.point->up.encode_fixed_s + raw_bytes / o.point->up.encode_bytes_per_s +
                     n * (o.point->up.decode_fixed_s + raw_bytes / o.point->up.decode_bytes_per_s);
        all_s += (n - 1) * raw_bytes / o.point->add_bytes_per_s;
    }
    const double left_s = o.total_s - all_s;
    strait_outcome_free(&o);
    return left_s;
}

/* What crosses a port in a bucket's exchange, at the most: its packets and 8 frames a step, words
 * and pieces of two gathers. */
static double slack_s(int n)
{
    return (n - 1) * (20e3 + 8 * FRAME_BYTES) / bytes_per_s;
}

/* Small packets: each step of either gather asks and answers, 2 paths; a bucket more is as many
 * more. */
static void round_trips(void)
{
    for (int n = 2; n <= 5; n++) {
        const double one_s = exchange_s(TOPK, "25 MB", n), expected_s = 2 * (n - 1) * 2 * path_s;
        CU_ASSERT(one_s >= expected_s);
        CU_ASSERT(one_s <= expected_s + slack_s(n));
    }
    const double two_s = exchange_s(TOPK, "8 KB", 3); /* the backward pass hides nothing: */
    CU_ASSERT(two_s >= 3 * 8 * path_s - 0.016);       /* it takes 16 ms */
    CU_ASSERT(two_s <= 3 * 8 * path_s + 3 * slack_s(3));
}

static double total_s(const char *buffers, int n_rounds, int n)
{
    json_t *settings = settings_of(TOPK, "25 MB");
    json_object_set_new(settings, "/strategy/buffers", json_string(buffers));
    json_object_set_new(settings, "/strategy/rounds", json_integer(n_rounds));
    struct strait_outcome o = sized_run(text, settings, n);
    const double all_s = o.total_s;
    strait_outcome_free(&o);
    return all_s;
}

/* A round more: 0 sends to 1 what it has asked for, 2 paths. With four 3 begins one path later, since
 * it gets from 1 what that got from 0; where its neighbours wait for something else that is hidden.
 */
static void buffers(void)
{
    for (int k = 1, n = 2; n <= 4; k++, n *= 2) {
        const double with_s = total_s("1 B", 5, n) - total_s("1 B", 4, n),
                     without_s = total_s("0 B", 5, n) - total_s("0 B", 4, n);
        CU_ASSERT(with_s - without_s >= 2 * path_s - 1e-9);
        CU_ASSERT(with_s - without_s <= (k + 1.02) * path_s);
    }
}

/* Two threads: of three small buckets of three ranks the first two go side by side, each 2 n
 * segments that wait for words, which take a path and so do they: 2 (n - 1) turns. */
static void two_threads(void)
{
    const double one_s = exchange_s(NONE, "25 MB", 3), three_s = exchange_s(NONE, "8 KB", 3);
    CU_ASSERT(one_s >= 4 * 2 * path_s);
    CU_ASSERT(one_s <= 4 * 2 * path_s + 2 * slack_s(3));
    CU_ASSERT(three_s <= 2 * 4 * 2 * path_s + 4 * slack_s(3)); /* one after another: 24 paths */
}

/* The last of four ranks to begin is waited for: the largest of four draws up to 10 s, in each
 * round anew. */
static void skew(void)
{
    double s[4], late_s[2];
    for (int n_rounds = 1; n_rounds <= 2; n_rounds++)
        for (int late = 0; late < 2; late++) {
            json_t *settings = settings_of(TOPK, "25 MB");
            json_object_set_new(settings, "/strategy/skew", json_string(late ? "10 s" : "0 s"));
            json_object_set_new(settings, "/strategy/rounds", json_integer(n_rounds));
            struct strait_outcome o = sized_run(text, settings, 4);
            s[2 * n_rounds - 2 + late] = o.total_s;
            strait_outcome_free(&o);
        }
    late_s[0] = s[1] - s[0];
    late_s[1] = s[3] - s[2] - late_s[0];
    for (int i = 0; i < 2; i++) {
        CU_ASSERT(late_s[i] > 1);
        CU_ASSERT(late_s[i] < 10);
    }
    CU_ASSERT(fabs(late_s[1] - late_s[0]) > 0.01);
}

/* Gloo: part p begins with rank p - 1 and goes down around, here in two buckets of a thread each and
 * one more. What a lossless codec gathers is added in rank order. */
static void exact_sums(void)
{
    for (int gathered = 0; gathered < 2; gathered++)
        for (int n = 1; n <= 5; n++) {
            bool same = true;
            size_t at = 0;
            json_t *settings = settings_of(NONE, "8 KB");
            if (gathered)
                json_object_set_new(settings, "/codec", json_string("zstd"));
            run_gradients(text, settings, n, STRAIT_GRADIENTS);
            check_alike(n);
            static const size_t buckets[] = {324 + 12, 2112 + 64, 2368 + 37 + 259 + 7};
            for (int b = 0; b < 3; b++)
                for (int p = 0; p < n; p++)
                    for (size_t i = 0; i < part_of(buckets[b], p, n); i++, at++) {
                        const int first = gathered ? 0 : p + n - 1, step = gathered ? 1 : n - 1;
                        float sum = gradients->in[first % n][at];
                        for (int k = 1; k < n; k++)
                            sum += gradients->in[(first + k * step) % n][at];
                        same = same && memcmp(&sum, &gradients->out[0][at], sizeof(sum)) == 0;
                    }
            CU_ASSERT(same);
        }
}

/* Sizes that differ from rank to rank are padded to the largest and cut in halves. */
static void alike_on_all_ranks(void)
{
    static const char *const cases[] = {"{\"name\":\"topk\",\"cutoff\":0,\"payload\":\"packed\"}",
                                        "{\"name\":\"dgc\"}",
                                        "{\"name\":\"deepreduce\"}",
                                        "{\"name\":\"qsgd\"}",
                                        "{\"name\":\"powersgd\"}",
                                        "{\"name\":\"sz\",\"bound\":{\"range\":1e-3}}"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int n = 2; n <= 4; n++) {
            run_gradients(text,
                          json_pack("{s:o, s:i}", "/codec", json_loads(cases[i], 0, NULL),
                                    "/strategy/rounds", 2),
                          n, STRAIT_GRADIENTS);
            check_alike(n);
        }
}

static const struct strait_test tests[] = {
    {"buckets are closed by the tensor that reaches their limit; what they send, to the byte",
     bytes},
    {"each step of the hook's two gathers waits for words", round_trips},
    {"buffers go down a tree before each forward pass", buffers},
    {"sums of two buckets go side by side", two_threads},
    {"a bucket's exchange waits for the rank that is late, as drawn", skew},
    {"sums are exact in the stated order and the same on all ranks", exact_sums},
    {"all ranks end with the same bits whatever the codec", alike_on_all_ranks},
};
STRAIT_SUITE("workloads/train/sync/ddp", tests);
