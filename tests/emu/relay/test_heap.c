/* The heap of moments. */
#include <math.h>
#include "core/random.h"
#include "emu/relay/deadline_heap.h"
#include "tests/kit/suite.h"

static void heap_order(void)
{
    enum { N = 3000 };
    struct strait_emu_heap heap = {0};
    static int ids[N];
    for (int i = 0; i < N; i++) {
        ids[i] = i;
        const double at_s = floor(100 * strait_random_unit(1, "heap", (uint64_t)i, 0));
        CU_ASSERT_FATAL(strait_emu_heap_push(&heap, at_s, &ids[i]));
    }
    struct strait_emu_event before = strait_emu_heap_pop(&heap);
    for (int i = 1; i < N; i++) {
        const struct strait_emu_event e = strait_emu_heap_pop(&heap);
        CU_ASSERT(before.at_s < e.at_s ||
                  (before.at_s == e.at_s && *(int *)before.what < *(int *)e.what));
        before = e;
    }
    CU_ASSERT_EQUAL(heap.n, 0);
    strait_emu_heap_release(&heap);
}

static const struct strait_test tests[] = {
    {"events come out in order of time, then of arrival", heap_order},
};
STRAIT_SUITE("emu/relay/deadline_heap", tests);
