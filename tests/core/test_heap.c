/* The heap of streams: least key first, then least tie, whatever was removed or moved between. */
#include "core/random.h"
#include "core/heap.h"
#include "tests/kit/suite.h"

enum { N = 500 };

static void order(void)
{
    struct strait_heap h = {0};
    static struct strait_heap_node nodes[N];
    for (int i = 0; i < N; i++) {
        nodes[i] = (struct strait_heap_node){
            .key = (double)(strait_random_bits(1, "heap", (uint64_t)i, 0) % 50), .tie = i};
        CU_ASSERT_EQUAL_FATAL(strait_heap_push(&h, &nodes[i]), 0);
    }
    for (int i = 0; i < N; i += 3) { /* a third leaves, a third moves */
        strait_heap_remove(&h, &nodes[i]);
        CU_ASSERT_FALSE(strait_heap_holds(&nodes[i]));
        if (i + 1 < N)
            strait_heap_rekey(&h, &nodes[i + 1], 49 - nodes[i + 1].key);
    }
    CU_ASSERT_EQUAL(h.n, N - (N + 2) / 3);
    double key = -1;
    int64_t tie = -1;
    size_t n = 0;
    for (struct strait_heap_node *first; (first = strait_heap_first(&h)); n++) {
        CU_ASSERT(first->key > key || (first->key == key && first->tie > tie));
        key = first->key;
        tie = first->tie;
        strait_heap_remove(&h, first);
    }
    CU_ASSERT_EQUAL(n, N - (N + 2) / 3);
    strait_heap_release(&h);
}

static const struct strait_test tests[] = {
    {"streams come out by key, then by tie, after removals and moves", order},
};
STRAIT_SUITE("core/heap", tests);
