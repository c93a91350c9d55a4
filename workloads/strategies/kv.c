/* Decoding with the key-value cache in the host's memory. A round is one token of every sequence:
 * layer by layer, what attention needs crosses the host-accelerator link, and is computed with.
 *
 * kvfull moves the whole cache, one layer ahead of the computation. kvapprox keeps approximate keys
 * on the accelerator (few dimensions, or few bits: attention.h), scores with them, and fetches the
 * exact keys and values of the top_k tokens alone, row by row; with `speculate` a layer's tokens
 * are chosen with the query that it would have for the input of the layer before, so that they
 * arrive while that one is computed. */
#include <math.h>
#include <stdio.h>

#include "../attention.h"
#include "../experiment.h"
#include "../rank.h"
#include "../strategy.h"
#include "../transformer.h"

struct cache {
    int n_layers;
    double whole_bytes, rows_bytes;             /* that cross the link */
    double whole_s, rows_s, score_s, compute_s; /* of one layer, all sequences */
};

/* Bytes of keys and values that `tokens` tokens of one layer have. */
static double bytes_of(const struct strait_rank *r, double tokens)
{
    return 2 * tokens * strait_param(r, "kv_heads") * strait_param(r, "head_dim") *
           strait_param(r, "element_bytes") * strait_param(r, "sequences");
}

static struct cache cache_of(const struct strait_rank *r, bool approximate)
{
    const struct strait_experiment *e = strait_experiment(r);
    const double link = e->link.bytes_per_s, tokens = strait_param(r, "tokens");
    struct cache c = {.n_layers = (int)strait_param(r, "layers"),
                      .whole_bytes = bytes_of(r, tokens),
                      .whole_s = bytes_of(r, tokens) / link,
                      .compute_s = strait_param(r, "compute") / strait_device_speed(r)};
    if (!approximate)
        return c;
    /* A key and its value lie together, one row a head. */
    const double row = 2 * strait_param(r, "head_dim") * strait_param(r, "element_bytes");
    const double efficiency = strait_host_link_efficiency(&e->link, row);
    const double k = strait_param(r, "top_k") < tokens ? strait_param(r, "top_k") : tokens;
    c.rows_bytes = (1 - strait_param(r, "hits")) * bytes_of(r, k);
    c.rows_s = c.rows_bytes / (link * efficiency);
    c.score_s = strait_param(r, "keys_kept") * bytes_of(r, tokens) / 2 / e->memory_bytes_per_s;
    return c;
}

static struct strait_task *fetch(struct strait_rank *r, double bytes, double s)
{
    return strait_copy_start(r, STRAIT_TO_ACCEL, bytes, s);
}

static void compute(struct strait_rank *r, double s)
{
    strait_work(r, STRAIT_SPAN_COMPUTE, STRAIT_ACCEL, s, NULL, NULL);
}

static void kvfull(struct strait_rank *r)
{
    const struct cache c = cache_of(r, false);
    struct strait_task *coming = fetch(r, c.whole_bytes, c.whole_s);
    while (strait_round(r))
        for (int layer = 0; layer < c.n_layers; layer++) {
            strait_wait(r, coming);
            if (layer + 1 < c.n_layers || !strait_is_last_round(r)) /* or the next token's first */
                coming = fetch(r, c.whole_bytes, c.whole_s);
            compute(r, c.compute_s);
        }
}

static void kvapprox(struct strait_rank *r)
{
    const struct cache c = cache_of(r, true);
    const bool speculate = strait_param(r, "speculate") > 0;
    struct strait_task *coming = NULL;
    while (strait_round(r))
        for (int layer = 0; layer < c.n_layers; layer++) {
            if (!coming) {
                compute(r, c.score_s);
                coming = fetch(r, c.rows_bytes, c.rows_s);
            }
            strait_wait(r, coming);
            coming = NULL;
            if (speculate && layer + 1 < c.n_layers) { /* a token's first query is not known yet */
                compute(r, c.score_s);
                coming = fetch(r, c.rows_bytes, c.rows_s);
            }
            compute(r, c.compute_s);
        }
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    (void)e, (void)src, (void)dst, (void)channel;
    return false; /* each rank is a replica of its own */
}

/* --- what is found -------------------------------------------------------------------------- */

/* Of the small transformer: a context that runs in a tenth of a second, and the tokens after it. */
enum { CONTEXT = 512, QUERIES = 16 };
enum keys { LOW_RANK, QUANTISED };
static const char *const forms[] = {"low-rank", "quantised", NULL};

static double key_bits(const struct strait_experiment *e)
{
    return strait_experiment_param(e, "keys_kept") * 8 *
           strait_experiment_param(e, "element_bytes");
}

static int check_keys(const struct strait_experiment *e, struct strait_error *err)
{
    char where[256];
    const double bits = key_bits(e), all = 8 * strait_experiment_param(e, "element_bytes");
    if (strait_experiment_param(e, "keys") != QUANTISED ||
        (fabs(bits - nearbyint(bits)) < 1e-6 && bits > 0.5 && bits < 8.5))
        return 0;
    snprintf(where, sizeof(where), "%s#/strategy/keys_kept", e->file);
    return strait_error_set(err, STRAIT_ERR_INPUT, where,
                            "expected a share that leaves 1 to 8 whole bits of %g, found %g bits",
                            all, bits);
}

/* The same share of tokens, directions and bits as of the run's cache. */
static struct strait_key_choice choice_of(const struct strait_experiment *e, size_t n_tokens)
{
    const double kept = strait_experiment_param(e, "keys_kept"),
                 share = strait_experiment_param(e, "top_k") / strait_experiment_param(e, "tokens");
    const size_t head = STRAIT_GPT_WIDTH / STRAIT_GPT_HEADS;
    struct strait_key_choice c = {.top_k = (size_t)lround(fmin(share, 1) * (double)n_tokens),
                                  .early = strait_experiment_param(e, "speculate") > 0};
    if (c.top_k == 0)
        c.top_k = 1;
    if (strait_experiment_param(e, "keys") == QUANTISED)
        c.bits = (unsigned)lround(key_bits(e));
    else
        c.rank = (size_t)fmax(1, nearbyint(kept * (double)head));
    return c;
}

static json_t *quality_json(const struct strait_key_quality *q, const char *of)
{
    json_t *out = json_pack("{s:f, s:f, s:f}", "recall", q->recall, "attention_error", q->error,
                            "attention_error_of_true", q->error_of_true_k);
    if (out && of)
        json_object_set_new(out, "of", json_string(of));
    return out;
}

static int approximate_quality(json_t **out, const struct strait_experiment *e,
                               struct strait_error *err)
{
    const double tokens = strait_experiment_param(e, "tokens");
    const size_t n = tokens < CONTEXT ? (size_t)tokens : CONTEXT;
    const struct strait_key_choice choice = choice_of(e, n);
    struct strait_tensors *tensors;
    struct strait_transformer *t = NULL;
    struct strait_cache cache = {0};
    struct strait_key_quality q;
    char of[320];
    if (strait_tensors_load(&tensors, e->tensors, err) != 0)
        return -1;
    int failed = strait_transformer_new(&t, tensors, e->seed, err) != 0 ||
                 strait_transformer_run(&cache, t, n + QUERIES, e->seed, err) != 0 ||
                 strait_attention_quality(&q, &cache, choice, QUERIES, err) != 0;
    if (!failed) {
        snprintf(of, sizeof(of),
                 "a transformer of %d layers and %d heads of %d values, %.0f %% of its weights "
                 "recorded and the rest drawn, over %zu drawn words: %zu of them are chosen, as "
                 "many as %g of %g",
                 STRAIT_GPT_BLOCKS, STRAIT_GPT_HEADS, STRAIT_GPT_WIDTH / STRAIT_GPT_HEADS,
                 100 * t->recorded_ratio, n, choice.top_k, strait_experiment_param(e, "top_k"),
                 tokens);
        *out = quality_json(&q, of);
        if (!*out)
            failed = strait_error_set(err, STRAIT_ERR_NOMEM, "attention", "memory ran out");
    }
    strait_cache_release(&cache);
    strait_transformer_free(t);
    strait_tensors_free(tensors);
    return failed ? -1 : 0;
}

/* All keys and values are there. */
static int full_quality(json_t **out, const struct strait_experiment *e, struct strait_error *err)
{
    const struct strait_key_quality q = {.recall = 1};
    (void)e;
    *out = quality_json(&q, NULL);
    return *out ? 0 : strait_error_set(err, STRAIT_ERR_NOMEM, "attention", "memory ran out");
}

/* --- what an experiment may ask for ---------------------------------------------------------- */

#define CACHE_PARAMS                                                                                 \
    {"rounds", "tokens to decode", STRAIT_PARAM_INTEGER, 1, 1e6, 8, NULL},                           \
        {"tokens", "tokens in the cache of each sequence", STRAIT_PARAM_INTEGER, 1, 1e9, 8192,       \
         NULL},                                                                                      \
        {"sequences", "sequences that are decoded together", STRAIT_PARAM_INTEGER, 1, 1e6, 1, NULL}, \
        {"layers", "transformer layers", STRAIT_PARAM_INTEGER, 1, 1e4, 32, NULL},                    \
        {"kv_heads", "heads of keys and values", STRAIT_PARAM_INTEGER, 1, 1e4, 32, NULL},            \
        {"head_dim", "values of a key", STRAIT_PARAM_INTEGER, 1, 1e5, 128, NULL},                    \
        {"element_bytes", "of a key or value", STRAIT_PARAM_NUMBER, 0.25, 8, 2, NULL},               \
    {                                                                                                \
        "compute", "time of one layer on the accelerator, all sequences", STRAIT_PARAM_TIME, 0,      \
            1e6, 0.5e-3, NULL                                                                        \
    }

static const struct strait_strategy_param full_params[] = {CACHE_PARAMS};
const struct strait_strategy strait_strategy_kvfull = {
    .name = "kvfull",
    .summary = "decoding with an offloaded KV cache: all of it crosses the link, a layer ahead",
    .source = "the baseline of FlexGen (Sheng et al., ICML 2023); the link is a timer on every "
              "backend",
    .uplink_kind = "param",
    .params = full_params,
    .n_params = sizeof(full_params) / sizeof(full_params[0]),
    .uses_stream = uses_stream,
    .period = strait_strategy_repeats,
    .quality = full_quality,
    .rank_main = kvfull,
};

static const char *const no_yes[] = {"no", "yes", NULL};
static const struct strait_strategy_param approx_params[] = {
    CACHE_PARAMS,
    {"top_k", "tokens whose exact keys and values are fetched", STRAIT_PARAM_INTEGER, 1, 1e9, 512,
     NULL},
    {"keys", "what is kept of keys: their strongest directions, or few bits a value",
     STRAIT_PARAM_CHOICE, 0, 1, LOW_RANK, forms},
    {"keys_kept", "approximate keys on the accelerator, share of the keys' bytes",
     STRAIT_PARAM_PERCENT, 1e-3, 1, 0.125, NULL},
    {"hits", "share of the rows that are on the accelerator already", STRAIT_PARAM_PERCENT, 0, 1, 0,
     NULL},
    {"speculate", "choose with the query for the input of the layer before", STRAIT_PARAM_CHOICE, 0,
     1, 0, no_yes},
};
const struct strait_strategy strait_strategy_kvapprox = {
    .name = "kvapprox",
    .summary = "the same with approximate scores: only the top-k tokens' rows cross the link",
    .source = "top-k attention over approximate keys, as in InfiniGen (Lee et al., OSDI 2024); the "
              "link is a timer on every backend",
    .uplink_kind = "param",
    .params = approx_params,
    .n_params = sizeof(approx_params) / sizeof(approx_params[0]),
    .check = check_keys,
    .uses_stream = uses_stream,
    .period = strait_strategy_repeats,
    .quality = approximate_quality,
    .rank_main = kvapprox,
};
