/* What has arrived at a rank, in order and by channel. */
#include "process/inbox.h"
#include <math.h>
#include <stdlib.h>
#include "tests/kit/suite.h"

static int n_dropped;

static void count_drop(struct strait_packet *p)
{
    n_dropped++;
    free(p);
}

static void put(struct strait_proc_inbox *box, int src, int tag, double arrived_s, int channel)
{
    struct strait_packet *p = calloc(1, sizeof(*p));
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    atomic_init(&p->n_refs, 1);
    p->release = count_drop;
    const struct strait_message m = {
        .packet = p, .src = src, .tag = tag, .posted_s = 0, .arrived_s = arrived_s};
    CU_ASSERT_TRUE(strait_proc_inbox_put(box, &m, channel));
}

/* The tag of what is taken; -1: nothing. */
static int take(struct strait_proc_inbox *box, int src, int channel, double latest_s)
{
    struct strait_message m = {.tag = -1};
    if (strait_proc_inbox_take(box, &m, src, channel, latest_s))
        strait_packet_drop(m.packet);
    return m.tag;
}

static void order(void)
{
    struct strait_proc_inbox box;
    n_dropped = 0;
    strait_proc_inbox_init(&box);
    CU_ASSERT_EQUAL(take(&box, STRAIT_ANY, 0, INFINITY), -1);
    put(&box, 1, 10, 1, 0);
    put(&box, 2, 20, 2, 0);
    put(&box, 1, 11, 3, 0);
    put(&box, 1, 12, 0.5, STRAIT_MAX_CHANNELS - 1);
    CU_ASSERT_EQUAL(take(&box, STRAIT_ANY, 0, 0.9), -1); /* not yet */
    CU_ASSERT_EQUAL(take(&box, 2, 0, 1.9), -1);
    CU_ASSERT_EQUAL(take(&box, 3, 0, INFINITY), -1);
    CU_ASSERT_EQUAL(take(&box, STRAIT_ANY, 1, INFINITY), -1);
    CU_ASSERT_EQUAL(take(&box, 2, 0, 2), 20); /* from the middle, at its moment */
    CU_ASSERT_EQUAL(take(&box, 1, 0, INFINITY), 10);
    put(&box, 2, 21, 4, 0); /* behind what is left */
    CU_ASSERT_EQUAL(take(&box, STRAIT_ANY, 0, INFINITY), 11);
    CU_ASSERT_EQUAL(take(&box, STRAIT_ANY, 0, INFINITY), 21);
    CU_ASSERT_EQUAL(take(&box, STRAIT_ANY, 0, INFINITY), -1);
    CU_ASSERT_EQUAL(take(&box, 1, STRAIT_MAX_CHANNELS - 1, 0.5), 12);
    CU_ASSERT_EQUAL(n_dropped, 5);
    put(&box, 3, 30, 5, 2); /* the last of a channel was taken: the next is the first again */
    put(&box, 3, 31, 5, 2);
    CU_ASSERT_EQUAL(take(&box, 3, 2, INFINITY), 30);
    strait_proc_inbox_release(&box);
    CU_ASSERT_EQUAL(n_dropped, 7);
}

/* Once closed, all that is there and all that comes is dropped. */
static void closed(void)
{
    struct strait_proc_inbox box;
    n_dropped = 0;
    strait_proc_inbox_init(&box);
    for (int c = 0; c < STRAIT_MAX_CHANNELS; c++) {
        put(&box, 1, c, 1, c);
        put(&box, 1, c, 2, c);
    }
    strait_proc_inbox_close(&box);
    CU_ASSERT_EQUAL(n_dropped, 2 * STRAIT_MAX_CHANNELS);
    put(&box, 1, 1, 1, 0);
    CU_ASSERT_EQUAL(n_dropped, 2 * STRAIT_MAX_CHANNELS + 1);
    CU_ASSERT_EQUAL(take(&box, STRAIT_ANY, 0, INFINITY), -1);
    strait_proc_inbox_release(&box);
}

static const struct strait_test tests[] = {
    {"messages are taken by channel and sender, in their order", order},
    {"a closed inbox keeps nothing", closed},
};
STRAIT_SUITE("process/inbox", tests);
