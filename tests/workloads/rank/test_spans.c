/* Spans come back from their packed form bit by bit. */
#include <math.h>
#include <string.h>
#include "core/random.h"
#include "tests/kit/suite.h"
#include "workloads/rank/spans.h"

enum { N = 1000 };

/* One of a few values, or any: what is like an earlier span, and what is like none. */
static uint64_t draw(int i, const char *what, uint64_t n_usual)
{
    const uint64_t bits = strait_random_bits(7, what, (uint64_t)i, 0);
    return strait_random_bits(7, "usual", bits, 0) % 4 != 0 ? bits % n_usual : bits;
}

static double draw_time(int i, const char *what)
{
    const double odd[] = {0, -0.0, INFINITY, -INFINITY, 5e-324, 1e300, -1};
    const uint64_t which = draw(i, what, 64);
    return which < sizeof(odd) / sizeof(*odd) ? odd[which] : (double)which / 16;
}

static struct strait_span drawn(int i)
{
    struct strait_span s;
    memset(&s, 0, sizeof(s));
    s.kind = (int32_t)(draw(i, "kind", 3) % STRAIT_N_SPAN_KINDS);
    s.start_s = draw_time(i, "start");
    s.end_s = draw(i, "length", 2) == 0 ? s.start_s + 0.1 : draw_time(i, "end");
    s.queued_s = draw(i, "queued", 2) == 0 ? s.start_s : draw_time(i, "queue");
    s.bytes = draw(i, "bytes", 200);
    s.raw_bytes = draw(i, "raw", 2) == 0 ? s.bytes : draw(i, "raw bytes", 3);
    s.rank = (int32_t)draw(i, "rank", 2);
    s.round = (int32_t)draw(i, "round", 2);
    s.peer = (int32_t)draw(i, "peer", 4);
    s.tag = (int32_t)draw(i, "tag", 4);
    s.lane = (int16_t)draw(i, "lane", 2);
    s.channel = (int16_t)draw(i, "channel", 2);
    return s;
}

/* By number, by a walk and by block; each block knows its earliest end, and the latest so far. */
static void come_back_from(unsigned n_a_block, unsigned max_unpacked)
{
    struct strait_spans all = {.n_a_block = n_a_block, .max_unpacked = max_unpacked};
    struct strait_span_walk walk;
    size_t n_walked = 0, n_in_blocks = 0;
    double most_s = -INFINITY;
    for (int i = 0; i < N; i++) {
        const struct strait_span s = drawn(i);
        CU_ASSERT_FATAL(strait_spans_add(&all, &s));
        /* room for what is not packed, a quarter more than is needed, and no more than a block */
        const unsigned most = all.n_blocks > 0 ? strait_spans_a_block(&all) : N;
        CU_ASSERT_FATAL(all.cap_newest >= all.n_newest && all.cap_newest <= most);
        if (all.n_blocks == 0)
            CU_ASSERT_AT_MOST(all.cap_newest, all.n_newest + all.n_newest / 4 + 3);
    }
    strait_spans_begin(&walk, &all);
    for (const struct strait_span *s; (s = strait_spans_next(&walk)); n_walked++) {
        const struct strait_span was = drawn((int)n_walked), at = strait_spans_at(&all, n_walked);
        CU_ASSERT_EQUAL_FATAL(memcmp(s, &was, sizeof(was)), 0);
        CU_ASSERT_EQUAL_FATAL(memcmp(&at, &was, sizeof(was)), 0);
    }
    CU_ASSERT_EQUAL(n_walked, N);
    for (size_t block = 0; block <= all.n_blocks; block++) {
        struct strait_span room[STRAIT_SPANS_BLOCK];
        double least_s = INFINITY;
        size_t n;
        const struct strait_span *spans = strait_spans_block(&n, room, &all, block);
        CU_ASSERT_EQUAL(block * strait_spans_a_block(&all), n_in_blocks);
        for (size_t i = 0; i < n; i++) {
            least_s = fmin(least_s, spans[i].end_s);
            most_s = fmax(most_s, spans[i].end_s);
        }
        n_in_blocks += n;
        if (block < all.n_blocks) {
            CU_ASSERT_EQUAL(all.blocks[block].least_end_s, least_s);
            CU_ASSERT_EQUAL(all.blocks[block].most_end_s, most_s);
        }
    }
    CU_ASSERT_EQUAL(n_in_blocks, N);
    strait_spans_release(&all);
    CU_ASSERT(all.n_blocks == 0 && all.n_newest == 0 && all.packed_bytes == 0);
}

static void come_back(void)
{
    come_back_from(0, 0);
    come_back_from(8, 1);
    come_back_from(8, 5);
}

/* Of 1000 spans each hundredth, the last one too, is a round: a walk over rounds meets them all, and
 * leaves out the packed blocks of 8 in which there is none. */
static void of_a_kind(void)
{
    struct strait_spans all = {.n_a_block = 8, .max_unpacked = 1};
    struct strait_span_walk walk;
    int n_rounds = 0, n_met = 0;
    for (int i = 0; i < N; i++) {
        const struct strait_span s = {.tag = i,
                                      .kind = i % 100 == 99 ? STRAIT_SPAN_ROUND : STRAIT_SPAN_WAIT};
        CU_ASSERT_FATAL(strait_spans_add(&all, &s));
    }
    strait_spans_begin_kind(&walk, &all, STRAIT_SPAN_ROUND);
    for (const struct strait_span *s; (s = strait_spans_next(&walk)); n_met++)
        if (s->kind == STRAIT_SPAN_ROUND)
            CU_ASSERT_EQUAL(s->tag, 100 * n_rounds++ + 99);
    CU_ASSERT_EQUAL(n_rounds, N / 100);
    CU_ASSERT_AT_MOST(n_met, 8 * n_rounds);
    strait_spans_begin_kind(&walk, &all, STRAIT_SPAN_ENCODE);
    for (n_met = 0; strait_spans_next(&walk); n_met++)
        continue;
    CU_ASSERT_AT_MOST(n_met, 8);
    strait_spans_release(&all);
}

/* None, one, and just before and after each of the first blocks is packed. */
static void counts(void)
{
    for (size_t n = 0; n < 200; n++) {
        struct strait_spans all = {0};
        struct strait_span_walk walk;
        size_t n_walked = 0;
        for (size_t i = 0; i < n; i++) {
            const struct strait_span s = {.tag = (int32_t)i};
            CU_ASSERT_FATAL(strait_spans_add(&all, &s));
        }
        strait_spans_begin(&walk, &all);
        for (const struct strait_span *s; (s = strait_spans_next(&walk));)
            CU_ASSERT_EQUAL(s->tag, n_walked++);
        CU_ASSERT_EQUAL(n_walked, n);
        CU_ASSERT_PTR_NULL(strait_spans_next(&walk));
        strait_spans_release(&all);
    }
}

/* A step of a ring: three bytes for each of three spans, six of the new time of arrival, and one of
 * a part's size, which differs by an element from step to step: 16. An addition's end may take six
 * more. In each block of 64 the first step has nothing before it: at most 170 bytes more. */
static void small(void)
{
    struct strait_spans all = {0};
    double now_s = 1;
    for (int step = 0; step < N; step++) {
        const double arrived_s =
            now_s + 1e-3 * (1 + strait_random_unit(1, "step", 0, (uint64_t)step));
        const uint64_t bytes = 4000 + 4 * (uint64_t)(step % 2);
        const double added_s = arrived_s + 1e-8 * (double)bytes;
        const struct strait_span spans[] = {
            {now_s, now_s, arrived_s, 0, 0, 3, 0, 2, step, 0, 1, STRAIT_SPAN_WAIT},
            {now_s, now_s, arrived_s, bytes, bytes, 3, 0, 2, step, 0, 1, STRAIT_SPAN_TRANSFER},
            {arrived_s, arrived_s, added_s, 0, 0, 3, 0, -1, -1, 0, -1, STRAIT_SPAN_AGGREGATE}};
        for (int i = 0; i < 3; i++)
            CU_ASSERT_FATAL(strait_spans_add(&all, &spans[i]));
        now_s = added_s;
    }
    CU_ASSERT(all.packed_bytes <= (16 + 6) * N + 170 * all.n_blocks);
    CU_ASSERT(all.n_blocks > 0 && all.packed_bytes < sizeof(struct strait_span) * 3 * N / 6);
    strait_spans_release(&all);
}

static const struct strait_test tests[] = {
    {"packed spans come back bit by bit", come_back},
    {"any number of spans is kept", counts},
    {"those of a kind are found without the others", of_a_kind},
    {"spans of a ring take a sixth of their size or less", small},
};
STRAIT_SUITE("workloads/rank/spans", tests);
