/* From how many clients on does compression pay? The closed form by hand, against the strategy.
 *
 * Only the upload differs between the runs, so compression pays iff what it saves on the slowest
 * link exceeds what it costs. S model bytes, CR ratio, n clients, k decoding cores:
 *
 *     S (1 - 1/CR) / min(B_client, B_server / n)  >  S / R_encode + ceil(n / k) S / R_decode
 *
 * with payload rates B = rate / 8 x 1448 / 1514 at overhead 0: 119.551 MB/s at 1 Gbps, 1195.51 at
 * 10 Gbps. All three models below move alike: S cancels. */
#include "tests/kit/harness.h"
#include "core/error.h"
#include "tests/kit/suite.h"

static const char *const text =
    "{\"schema\":\"strait-experiment/1\",\"model\":\"gpt2-small\",\"clients\":1,"
    "\"strategy\":{\"name\":\"fedavg\",\"rounds\":1,\"local_steps\":1,\"decode_cores\":1},"
    "\"codec\":\"none\",\"network\":{\"overhead\":\"0 B\","
    "\"client\":{\"rate\":\"1 Gbps\",\"rtt\":\"50 ms\"},\"server\":{\"rate\":\"1 Gbps\"}}}";

static double round_s(int n_clients, const char *server, int n_cores, double bound,
                      const char *profile)
{
    json_t *codec = bound > 0 ? json_pack("{s:s, s:{s:f}, s:s*}", "name", "sz", "bound", "range",
                                          bound, "profile", profile)
                              : json_string("none");
    json_t *settings =
        json_pack("{s:i, s:s, s:i, s:o}", "/clients", n_clients, "/network/server/rate", server,
                  "/strategy/decode_cores", n_cores, "/codec", codec);
    struct strait_outcome o = strait_outcome_of(text, settings, "default", &strait_fluid,
                                                (struct strait_trial_options){0});
    const double total_s = o.total_s;
    strait_outcome_free(&o);
    return total_s;
}

/* S = 497.76 MB; 50 and 100 MB/s, ratio 7.39, 1 Gbps, one client: encode S / 50 = 9.955 s, send
 * S / 7.39 / 119.551 = 0.563 s, decode S / 100 = 4.978 s, one after the other. In k = 16 equal
 * pieces encoding goes on all the time and only the last piece's sending and decoding come after
 * it: 15/16 (0.563 + 4.978) = 5.195 s less. The 0.1 % of small tensors that stay lossless, and the
 * last piece being no average one, leave 1 %. */
static void overlap(void)
{
    double total_s[2];
    for (int i = 0; i < 2; i++) {
        json_t *settings = json_pack("{s:s, s:s, s:s, s:i, s:o}", "/network/server/rate", "1 Gbps",
                                     "/network/client/rate", "1 Gbps", "/network/client/rtt",
                                     "1 ms", "/strategy/pieces", i == 0 ? 1 : 16, "/codec",
                                     json_pack("{s:s, s:{s:f}, s:s}", "name", "sz", "bound",
                                               "range", 1e-2, "profile", "fl-runner-class"));
        struct strait_outcome o =
            strait_outcome_of(text, settings, "default", &strait_fluid,
                              (struct strait_trial_options){.control = "no-ramp"});
        total_s[i] = o.total_s;
        strait_outcome_free(&o);
    }
    CU_ASSERT_DOUBLE_EQUAL(total_s[0] - total_s[1], 5.195, 0.052);
}

static bool pays(int n_clients, const char *server, int n_cores, double bound, const char *profile)
{
    return round_s(n_clients, server, n_cores, bound, profile) <
           round_s(n_clients, server, n_cores, 0, NULL);
}

/* 50 and 100 MB/s, ratio 7.39, every update on its own core, 10 Gbps port: n (1 - 1/7.39) / 1195.51
 * > 1/50 + 1/100 gives n > 41.48 (the 0.1 % of small tensors that stay lossless: 41.51). */
static void runner_class(void)
{
    CU_ASSERT_FALSE(pays(40, "10 Gbps", 40, 1e-2, "fl-runner-class"));
    CU_ASSERT_FALSE(pays(41, "10 Gbps", 41, 1e-2, "fl-runner-class"));
    CU_ASSERT_TRUE(pays(42, "10 Gbps", 42, 1e-2, "fl-runner-class"));
    CU_ASSERT_TRUE(pays(43, "10 Gbps", 43, 1e-2, "fl-runner-class"));
    CU_ASSERT_TRUE(pays(64, "10 Gbps", 64, 1e-2, "fl-runner-class"));
}

/* The same with decoding free: n (1 - 1/7.39) / 1195.51 > 1/50 gives n > 27.65. */
static void free_decoding(void)
{
    const char *profile = "tests/data/free-decode.json";
    CU_ASSERT_FALSE(pays(27, "10 Gbps", 1, 1e-2, profile));
    CU_ASSERT_TRUE(pays(28, "10 Gbps", 1, 1e-2, profile));
}

/* A dedicated 1 Gbps link: (1 - 1/CR) / 119.551 = 0.0070 s/MB at a ratio of 5.9 pays for a codec
 * of 1/800 + 1/1400 = 0.0020 s/MB; any measured profile of the own codec is faster than that. */
static void own_codec(void)
{
    static const double bounds[] = {1e-2, 1e-3, 1e-4};
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_TRUE(pays(1, "1 Gbps", 1, bounds[i], NULL));
        CU_ASSERT_TRUE(pays(2, "1 Gbps", 1, bounds[i], NULL));
        CU_ASSERT_TRUE(pays(64, "1 Gbps", 1, bounds[i], NULL));
    }
}

/* SZ3 class, 10 Gbps port, one decoding core. Up to n = 10 the client's own link counts: at most
 * 1/119.551 = 0.0084 s/MB saved, 1/180 + n/380 >= 0.0082 spent, and at n = 1 with ratios of at
 * most 17.2 (1 - 1/17.2) / 119.551 = 0.0079 < 0.0082. Above that n / 1195.51 = 0.00084 n saved
 * against 0.0056 + 0.0026 n spent: never. */
static void sz3_class(void)
{
    static const int counts[] = {1, 2, 4, 8, 10, 11, 16, 32, 64};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        CU_ASSERT_FALSE(pays(counts[i], "10 Gbps", 1, 1e-2, "sz3-class"));
        CU_ASSERT_FALSE(pays(counts[i], "10 Gbps", 1, 1e-3, "sz3-class"));
        CU_ASSERT_FALSE(pays(counts[i], "10 Gbps", 1, 1e-4, "sz3-class"));
    }
    /* sixteen cores, 1e-2 on updates (ratio 11.2): n 0.000762 > 0.00556 + 0.00263 from 10.75 on */
    CU_ASSERT_FALSE(pays(10, "10 Gbps", 16, 1e-2, "sz3-class"));
    CU_ASSERT_TRUE(pays(11, "10 Gbps", 16, 1e-2, "sz3-class"));
}

/* 50 / 100 MB/s on one shared 1 Gbps port, N cores: n 0.86468 / 119.551 > 0.03, n > 4.15. One core:
 * n 0.00723 > 0.02 + 0.01 n never. */
static void shared_port(void)
{
    CU_ASSERT_FALSE(pays(4, "1 Gbps", 4, 1e-2, "fl-runner-class"));
    CU_ASSERT_TRUE(pays(5, "1 Gbps", 5, 1e-2, "fl-runner-class"));
    CU_ASSERT_FALSE(pays(5, "1 Gbps", 1, 1e-2, "fl-runner-class"));
    CU_ASSERT_FALSE(pays(64, "1 Gbps", 1, 1e-2, "fl-runner-class"));
}

static const struct strait_test tests[] = {
    {"encoding, sending and decoding overlap by pieces", overlap},
    {"the 50 MB/s class begins to pay at 42 clients on a 10 Gbps port with N cores", runner_class},
    {"with free decoding it begins to pay at 28", free_decoding},
    {"the own codec pays from the first client on at 1 Gbps", own_codec},
    {"the SZ3 class never pays on a 10 Gbps port with serial decoding", sz3_class},
    {"on one shared 1 Gbps port the 50 MB/s class pays from 5 on, serially never", shared_port},
};
STRAIT_SUITE("analysis/crossings", tests);
