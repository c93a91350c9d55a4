/* Approximate attention in a transformer of learn/: where an approximation is exact, nothing may
 * change. */
#include "workloads/train/kvcache/trained_attention.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core/random.h"
#include "learn/char_transformer.h"
#include "tests/kit/suite.h"
#include "tests/kit/training.h"

enum { LAYERS = 2, WIDTH = 32, HEADS = 2, CONTEXT = 32, D = WIDTH / HEADS, EXAMPLES = 6 };
static const char *const small =
    "{\"task\": \"char-transformer\", \"layers\": 2, \"width\": 32, \"heads\": 2, \"context\": 32}";

struct fixture {
    struct strait_learn *l;
    float *w;
    size_t n;
};

/* Weights of about 0.5, so that attention is far from flat. */
static void set_up(struct fixture *f)
{
    f->l = strait_test_learn(small, 1, 1);
    f->n = strait_learn_n_elems(f->l);
    f->w = malloc(f->n * sizeof(*f->w));
    for (size_t i = 0; i < f->n; i++)
        f->w[i] = (float)(strait_random_unit(2, "w", i, 0) - 0.5);
}

static void tear_down(struct fixture *f)
{
    strait_learn_free(f->l);
    free(f->w);
}

static struct strait_way_quality of(const struct fixture *f, struct strait_attention_way way)
{
    struct strait_way_quality q = {0};
    struct strait_error err = {0};
    CU_ASSERT_EQUAL_FATAL(strait_attention_ways(&q, &way, 1, f->l, f->w, EXAMPLES, &err), 0);
    CU_ASSERT_EQUAL(q.n, EXAMPLES * CONTEXT);
    return q;
}

static double full_loss(const struct fixture *f)
{
    struct strait_learner *x;
    struct strait_score score;
    struct strait_error err = {0};
    CU_ASSERT_EQUAL_FATAL(strait_learner_new(&x, f->l, 0, &err), 0);
    strait_learner_evaluate(x, f->w, EXAMPLES, &score);
    strait_learner_free(x);
    return score.loss;
}

/* Single precision in another order: 1e-5 of a loss of about 5. */
static void same_as_full(const struct fixture *f, struct strait_attention_way way)
{
    const struct strait_way_quality q = of(f, way);
    strait_test_context("top %zu, rank %zu, %u bits", way.top_k, way.rank, way.bits);
    CU_ASSERT_DOUBLE_EQUAL(q.loss, full_loss(f), 5e-5);
    CU_ASSERT_AT_LEAST(q.agreement, 1 - 1.0 / (EXAMPLES * CONTEXT)); /* one tie at most */
}

static void what_leaves_nothing_out(void)
{
    struct fixture f;
    set_up(&f);
    same_as_full(&f, (struct strait_attention_way){0});
    same_as_full(&f, (struct strait_attention_way){.top_k = CONTEXT});
    same_as_full(&f, (struct strait_attention_way){.top_k = 1000, .rank = 1});
    same_as_full(&f, (struct strait_attention_way){.rank = D});
    tear_down(&f);
}

/* The rows of keys in a block's qkv, weight or bias. */
static float *keys_of(const struct fixture *f, size_t block, const char *param, size_t *n)
{
    size_t n_params;
    char layer[32];
    const struct strait_learn_param *p = strait_learn_params(f->l, &n_params);
    snprintf(layer, sizeof(layer), "blocks.%zu.qkv", block);
    for (size_t i = 0; i < n_params; i++)
        if (strcmp(p[i].layer, layer) == 0 && strcmp(p[i].param, param) == 0) {
            *n = p[i].n_elems / 3;
            return f->w + p[i].first + *n;
        }
    CU_FAIL_FATAL("no qkv");
    return NULL;
}

/* All rows of a head's key matrix are multiples of one: its keys lie on a line, and one direction
 * has all of them. */
static void keys_on_a_line(void)
{
    struct fixture f;
    size_t n;
    set_up(&f);
    const double before = of(&f, (struct strait_attention_way){.rank = 1}).loss;
    CU_ASSERT_AT_LEAST(fabs(before - full_loss(&f)), 1e-4); /* of drawn keys it leaves things out */
    for (size_t b = 0; b < LAYERS; b++) {
        memset(keys_of(&f, b, "bias", &n), 0, WIDTH * sizeof(float));
        float *w = keys_of(&f, b, "weight", &n);
        for (size_t i = 0; i < n; i++)
            w[i] = w[i % WIDTH] * (float)(1 + i / WIDTH % 3);
    }
    same_as_full(&f, (struct strait_attention_way){.rank = 1});
    tear_down(&f);
}

static void first_value(void *how, float *out, float *p, const struct learn_head *h, size_t layer,
                        size_t head)
{
    (void)how, (void)p, (void)layer, (void)head;
    for (size_t i = 0; i < h->n; i++)
        memcpy(out + i * h->out, h->v, h->d * sizeof(*out));
}

/* Keys that are all alike score alike, and of ties the first token is chosen: its value alone. */
static void one_token_of_many_alike(void)
{
    struct fixture f;
    size_t n;
    double loss;
    set_up(&f);
    for (size_t b = 0; b < LAYERS; b++) {
        float *w = keys_of(&f, b, "weight", &n);
        memset(w, 0, n * sizeof(*w));
    }
    const struct learn_gpt *shape = strait_char_transformer_shape(f.l);
    float *room = aligned_alloc(64, (learn_gpt_room(shape, EXAMPLES, false) + 15) / 16 * 64);
    unsigned char words[EXAMPLES * (CONTEXT + 1)];
    const uint32_t examples[EXAMPLES] = {0, 1, 2, 3, 4, 5};
    strait_char_transformer_words(f.l, words, examples, EXAMPLES, true);
    learn_gpt_score(shape, &loss, NULL, f.w, words, EXAMPLES, room, first_value, NULL);
    CU_ASSERT_DOUBLE_EQUAL(of(&f, (struct strait_attention_way){.top_k = 1}).loss,
                           loss / (EXAMPLES * CONTEXT), 5e-5);
    free(room);
    tear_down(&f);
}

/* Channels whose values are all alike have a step of 0: one bit holds them. Eight bits of other
 * channels leave 1/510 of their range. */
static void bits(void)
{
    struct fixture f;
    size_t n;
    set_up(&f);
    const double full = full_loss(&f);
    const double of_1 = fabs(of(&f, (struct strait_attention_way){.bits = 1}).loss - full),
                 of_8 = fabs(of(&f, (struct strait_attention_way){.bits = 8}).loss - full);
    CU_ASSERT_AT_LEAST(of_1, 10 * of_8);
    for (size_t b = 0; b < LAYERS; b++) {
        float *w = keys_of(&f, b, "weight", &n);
        memset(w, 0, 2 * n * sizeof(*w)); /* and values, which follow */
    }
    same_as_full(&f, (struct strait_attention_way){.bits = 1});
    tear_down(&f);
}

static void refusals(void)
{
    static const struct {
        struct strait_attention_way way;
        const char *text;
    } cases[] = {{{.rank = D + 1}, "expected a rank of at most 16, found 17"},
                 {{.bits = 9}, "expected at most 8 bits, found 9"}};
    struct fixture f;
    set_up(&f);
    for (size_t i = 0; i < 2; i++) {
        struct strait_way_quality q;
        struct strait_error err = {0};
        CU_ASSERT_EQUAL(strait_attention_ways(&q, &cases[i].way, 1, f.l, f.w, 1, &err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        CU_ASSERT_STRING_EQUAL(err.text, cases[i].text);
    }
    tear_down(&f);
}

static const struct strait_test tests[] = {
    {"what leaves nothing out changes nothing", what_leaves_nothing_out},
    {"keys on a line need one direction", keys_on_a_line},
    {"of tokens alike the first is chosen", one_token_of_many_alike},
    {"bits hold channels that are alike", bits},
    {"ranks and bits that cannot be are refused", refusals},
};
STRAIT_SUITE("workloads/train/kvcache/trained_attention", tests);
