/* Gloo's broadcast and all-gather: bytes, messages and times against closed forms. */
#include "collective_cases.h"

static const double PATH_S = 0.02, RATE_BYTES_PER_S = 100e6 / 8 * 1448 / 1538;
static size_t n_elems;
static double late_s; /* of rank 0 */

static double wire_s(size_t n)
{
    return (4 * (double)n + 96) / RATE_BYTES_PER_S;
}

static struct strait_group gloo(struct strait_rank *r, struct strait_gloo_room *room)
{
    struct strait_group world = strait_world(r, 0);
    *room = strait_gloo_room_of(r);
    world.library = STRAIT_GLOO;
    world.gloo = room;
    return world;
}

static void note_end(struct strait_rank *r)
{
    const struct strait_span end = {
        .end_s = strait_now_s(r), .rank = strait_me(r), .kind = STRAIT_SPAN_ROUND};
    strait_log_add(&r->run->logs[strait_me(r)], &end);
}

static double end_of(const struct strait_outcome *o, int rank)
{
    return o->point->logs[rank].total_s[STRAIT_SPAN_ROUND];
}

static void broadcast_main(struct strait_rank *r)
{
    struct strait_gloo_room room;
    struct strait_group world = gloo(r, &room);
    struct strait_tensor *x = strait_scratch(r, n_elems);
    for (int root = 0; root < world.n; root++) {
        struct strait_packet *p = strait_broadcast_packet(
            r, world, root,
            world.me == root ? strait_encode(r, strait_codec(r, "none"), NAN, x) : NULL,
            root % 2 == 0 ? 4 * n_elems : 0);
        CU_ASSERT_EQUAL(p->n_elems, n_elems);
        strait_drop(r, p);
    }
}

/* A word and a packet to each but the root; where the size is told first, two of each. */
static void broadcasts(void)
{
    n_elems = 1000;
    for (size_t n = 1; n <= 9; n++) {
        struct strait_outcome o = run_ranks((int)n, false, broadcast_main, NULL);
        strait_test_context("%zu ranks", n);
        CU_ASSERT_EQUAL(o.payload_bytes, n * (n - 1) * 4 * n_elems);
        CU_ASSERT_EQUAL(o.n_messages, 2 * (n - 1) * (n + n / 2));
        strait_outcome_free(&o);
    }
    strait_test_context("%s", "");
}

static void first_broadcast(struct strait_rank *r)
{
    struct strait_gloo_room room;
    struct strait_group world = gloo(r, &room);
    struct strait_packet *p = NULL;
    if (strait_me(r) == 0)
        p = strait_encode(r, strait_codec(r, "none"), NAN, strait_scratch(r, n_elems));
    strait_drop(r, strait_broadcast_packet(r, world, 0, p, 4 * n_elems));
    note_end(r);
}

/* Of four: both words of the root's children come at once; its two packets share its port; rank 1
 * has a word of rank 3, and passes on: a word, a packet that shares, a packet. */
static void broadcast_time(void)
{
    n_elems = 100000;
    struct strait_outcome o = run_ranks(4, false, first_broadcast, NULL);
    const double both_s = 2 * PATH_S + 2 * wire_s(0) + 2 * wire_s(n_elems);
    CU_ASSERT_DOUBLE_EQUAL(end_of(&o, 2), both_s, 1e-4);
    CU_ASSERT_DOUBLE_EQUAL(end_of(&o, 3), both_s + PATH_S + wire_s(n_elems), 1e-4);
    strait_outcome_free(&o);
}

static void gather_main(struct strait_rank *r)
{
    struct strait_gloo_room room;
    struct strait_group world = gloo(r, &room);
    struct strait_packet **all = strait_alloc(r, (size_t)world.n, sizeof(struct strait_packet *));
    all[world.me] = strait_encode(r, strait_codec(r, "none"), NAN, strait_scratch(r, n_elems));
    if (strait_me(r) == 0)
        strait_work(r, STRAIT_SPAN_WAIT, STRAIT_TIMER, late_s, NULL, NULL);
    strait_gather_packets(r, world, all, false);
    for (int i = 0; i < world.n; i++)
        strait_drop(r, all[i]);
    note_end(r);
}

/* Two ranks, a half takes h: together both ways are full, words and then both halves: 2 a + 2 h. If
 * rank 0 is late by more than a delay it has both words when it begins, and each of its halves goes
 * before its own word for that: the other's first half leaves when its first has come, the second
 * when its second has: 3 h and two delays after its begin it has all. */
static void late_gather(void)
{
    n_elems = 500000;
    const double h = wire_s(n_elems / 2);
    late_s = 0;
    struct strait_outcome o = run_ranks(2, false, gather_main, NULL);
    CU_ASSERT_DOUBLE_EQUAL(end_of(&o, 0), 2 * PATH_S + 2 * h, 1e-3);
    strait_outcome_free(&o);
    late_s = 0.05;
    o = run_ranks(2, false, gather_main, NULL);
    CU_ASSERT_DOUBLE_EQUAL(end_of(&o, 0), late_s + 2 * PATH_S + 3 * h, 1e-3);
    strait_outcome_free(&o);
}

/* n - 1 times each packet in halves, a word for each. */
static void gathers(void)
{
    late_s = 0;
    n_elems = 1000;
    for (size_t n = 2; n <= 9; n++) {
        struct strait_outcome o = run_ranks((int)n, false, gather_main, NULL);
        strait_test_context("%zu ranks", n);
        CU_ASSERT_EQUAL(o.payload_bytes, n * (n - 1) * 4 * n_elems);
        CU_ASSERT_EQUAL(o.n_messages, 4 * n * (n - 1));
        strait_outcome_free(&o);
    }
    strait_test_context("%s", "");
}

static const struct strait_test tests[] = {
    {"a packet reaches all from every root, told its size or not", broadcasts},
    {"a broadcast goes to whoever is ready, the near half first", broadcast_time},
    {"two halves of each packet go around, each asked for", gathers},
    {"the data of a late rank goes before its words", late_gather},
};
STRAIT_SUITE("workloads/train/collectives/gloo", tests);
