/* Who measures layers hears of each: forward from the first to the last, then backward from the
 * last to the first; what lies between belongs to none. */
#include <stdlib.h>
#include "learn/learn_network.h"
#include "tests/kit/fashion.h"
#include "tests/kit/suite.h"
#include "tests/kit/training.h"

enum { MAX = 512 };

struct heard {
    size_t n, layers[MAX];
    bool back[MAX];
};

static void hear(void *context, size_t layer, bool back)
{
    struct heard *h = context;
    CU_ASSERT_FATAL(h->n < MAX);
    h->layers[h->n] = layer;
    h->back[h->n++] = back;
}

/* Of the laps that are a layer's: those of each forward, then those of each backward. in_order: 0,
 * 1, ..., n - 1, then n - 1, ..., 0, each with a lap of no layer before it. */
static void there_and_back(const char *training, bool in_order)
{
    struct strait_learn *l = strait_test_learn(training, 1, 1);
    struct strait_learner *x = NULL;
    struct strait_error err = {0};
    struct heard h = {.n = 0};
    const struct learn_laps laps = {hear, &h};
    const size_t n = strait_learn_n_elems(l), n_layers = l->n_layers;
    float *w = malloc(2 * n * sizeof(*w));
    CU_ASSERT_EQUAL_FATAL(strait_learner_new(&x, l, 0, &err), 0);
    CU_ASSERT_FATAL(w != NULL && n_layers > 1);
    x->laps = &laps;
    strait_learn_init(l, w);
    strait_learner_gradient(x, w, 0, w + n);
    bool back = false;
    size_t n_named = 0, n_heard[2][MAX] = {{0}};
    for (size_t i = 0; i < h.n; i++) {
        strait_test_context("%s: lap %zu of %zu", training, i, h.n);
        CU_ASSERT(!back || h.back[i]); /* what belongs to no layer goes one of the ways, too */
        back = h.back[i];
        if (h.layers[i] == LEARN_NO_LAYER)
            continue;
        CU_ASSERT_FATAL(h.layers[i] < n_layers);
        n_heard[back][h.layers[i]]++;
        if (in_order) {
            CU_ASSERT_EQUAL(back, n_named >= n_layers);
            CU_ASSERT_EQUAL(h.layers[i], back ? 2 * n_layers - 1 - n_named : n_named);
            CU_ASSERT(i > 0 && h.layers[i - 1] == LEARN_NO_LAYER);
        }
        n_named++;
    }
    CU_ASSERT(!in_order || n_named == 2 * n_layers);
    for (size_t i = 0; i < n_layers; i++)
        CU_ASSERT(n_heard[0][i] > 0 && n_heard[1][i] > 0);
    strait_learner_free(x);
    strait_learn_free(l);
    free(w);
}

static void each_layer(void)
{
    struct fashion_folder f;
    fashion_set_up(&f, 40, 10);
    there_and_back("{\"task\": \"fashion-mlp\", \"batch\": 4}", true);
    there_and_back("{\"task\": \"fashion-resnet\", \"batch\": 1}", false);
    fashion_tear_down(&f);
    there_and_back("{\"task\": \"char-transformer\", \"layers\": 2, \"width\": 32, \"heads\": 2, "
                   "\"context\": 32, \"batch\": 2}",
                   false);
}

static const struct strait_test tests[] = {
    {"every layer is heard of once each way, in its order", each_layer},
};
STRAIT_SUITE("learn/laps", tests);
