#include "kv_quality.h"

#include <math.h>
#include <stdio.h>

#include "kv_attention.h"
#include "workloads/ask/experiment.h"
#include "transformer.h"

/* For the small transformer: a context that runs in 0.1 s, and the tokens after it. */
enum { CONTEXT = 512, QUERIES = 16 };

static double key_bits(const struct strait_experiment *e)
{
    return strait_experiment_param(e, "keys_kept") * 8 *
           strait_experiment_param(e, "element_bytes");
}

int kv_check_keys(const struct strait_experiment *e, struct strait_error *err)
{
    const double bits = key_bits(e), all = 8 * strait_experiment_param(e, "element_bytes");
    if (strait_experiment_param(e, "keys") != KV_QUANTISED ||
        (fabs(bits - nearbyint(bits)) < 1e-6 && bits > 0.5 && bits < 8.5))
        return 0;
    return strait_refuse_at(err, e->file, "/strategy/keys_kept",
                            "expected a share that leaves 1 to 8 whole bits of %g, found %g bits",
                            all, bits);
}

/* The same shares of tokens, directions and bits as in the run's cache. */
static struct strait_key_choice choice_of(const struct strait_experiment *e, size_t n_tokens)
{
    const double kept = strait_experiment_param(e, "keys_kept"),
                 share = strait_experiment_param(e, "top_k") / strait_experiment_param(e, "tokens");
    const size_t head = STRAIT_GPT_WIDTH / STRAIT_GPT_HEADS;
    struct strait_key_choice c = {.top_k = (size_t)lround(fmin(share, 1) * (double)n_tokens),
                                  .early = strait_experiment_param(e, "speculate") > 0};
    if (c.top_k == 0)
        c.top_k = 1;
    if (strait_experiment_param(e, "keys") == KV_QUANTISED)
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

int kv_approximate_quality(json_t **out, const struct strait_experiment *e,
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
            failed = strait_error_memory(err, "attention");
    }
    strait_cache_release(&cache);
    strait_transformer_free(t);
    strait_tensors_free(tensors);
    return failed ? -1 : 0;
}

/* Everything is kept, so nothing is missed. */
int kv_full_quality(json_t **out, const struct strait_experiment *e, struct strait_error *err)
{
    const struct strait_key_quality q = {.recall = 1};
    (void)e;
    *out = quality_json(&q, NULL);
    return *out ? 0 : strait_error_memory(err, "attention");
}
