/* The heap of streams: least key first, then least tie, whatever was removed or moved between. */
#include <math.h>
#include <string.h>
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

/* Each that is there once, and nothing else. */
static void see_all(const struct strait_heap *h, const struct strait_heap_node *nodes)
{
    bool seen[N] = {false};
    size_t at = 0;
    for (const struct strait_heap_node *node; (node = strait_heap_next(h, &at));) {
        CU_ASSERT_FALSE_FATAL(seen[node - nodes]);
        seen[node - nodes] = true;
    }
    for (int i = 0; i < N; i++)
        CU_ASSERT_EQUAL_FATAL(seen[i], strait_heap_holds(&nodes[i]));
}

/* Mostly ascending, as times are, held against a search of all: the least is at hand after every
 * push, removal and move. One push in `one_in` comes from anywhere; 0: none does. */
static void against_search(uint64_t one_in)
{
    struct strait_heap h = {0};
    static struct strait_heap_node nodes[N];
    CU_ASSERT_EQUAL_FATAL(strait_heap_reserve(&h, 8), 0);
    memset(nodes, 0, sizeof(nodes));
    for (uint64_t step = 0; step < 20 * N; step++) {
        struct strait_heap_node *node = &nodes[strait_random_bits(2, "which", step, 0) % N];
        const uint64_t drawn = strait_random_bits(2, "key", step, one_in);
        const bool anywhere = one_in > 0 && drawn % one_in == 0;
        const double key = (double)(anywhere ? drawn % step : step / 3);
        if (!strait_heap_holds(node)) {
            node->key = key;
            node->tie = (int64_t)step;
            CU_ASSERT_EQUAL_FATAL(strait_heap_push(&h, node), 0);
        } else if (drawn >> 32 & 1) {
            strait_heap_remove(&h, node);
        } else {
            strait_heap_rekey(&h, node, key);
        }
        const struct strait_heap_node *least = NULL;
        size_t n = 0;
        for (int i = 0; i < N; i++) {
            const struct strait_heap_node *x = &nodes[i];
            n += strait_heap_holds(x);
            if (strait_heap_holds(x) &&
                (!least || x->key < least->key || (x->key == least->key && x->tie < least->tie)))
                least = x;
        }
        CU_ASSERT_EQUAL_FATAL(h.n, n);
        CU_ASSERT_PTR_EQUAL_FATAL(strait_heap_first(&h), least);
        CU_ASSERT_EQUAL_FATAL(strait_heap_first_key(&h), least ? least->key : INFINITY);
        if (step % 101 == 0)
            see_all(&h, nodes);
        for (struct strait_heap_node *first; step % 997 == 0 && (first = strait_heap_first(&h));)
            strait_heap_remove(&h, first); /* empty, it begins again */
    }
    strait_heap_release(&h);
}

static void mostly_ascending(void)
{
    against_search(0);
    against_search(100);
    against_search(3);
}

static void medians(void)
{
    double odd[] = {3, -1, 2}, even[] = {4, 1, 2, 8}, one[] = {7};
    CU_ASSERT_EQUAL(strait_median(odd, 3), 2);
    CU_ASSERT_EQUAL(strait_median(even, 4), 3);
    CU_ASSERT_EQUAL(strait_median(one, 1), 7);
    CU_ASSERT(odd[0] < odd[1] && odd[1] < odd[2] && even[0] == 1 && even[3] == 8);
}

static const struct strait_test tests[] = {
    {"a median is the middle number, or the mean of the middle two", medians},
    {"the least is at hand whatever the order in which nodes come", mostly_ascending},
    {"streams come out by key, then by tie, after removals and moves", order},
};
STRAIT_SUITE("core/heap", tests);
