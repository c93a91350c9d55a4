/* Collectives: bytes and messages of every rank against closed forms at 1 to 9 ranks and odd sizes,
 * and real sums bit by bit against the stated order. */
#include "collective_forms.h"

static void exact(void)
{
    for (int n = 1; n <= (IS_SANITIZED ? 5 : MAX_RANKS); n++) {
        struct strait_outcome o = run_ranks(n, true, check_all, NULL);
        strait_outcome_free(&o);
    }
}

/* Rank i's packet has 1 + 100 i elements. Everybody passes on all but its right neighbour's. */
static void gather_main(struct strait_rank *r)
{
    struct strait_group world = strait_world(r, 0);
    memset(strait_group_met(r, &world), true, (size_t)world.n); /* connections are open */
    struct strait_tensor *x = strait_tensor(r, STRAIT_GRADIENTS, 0, STRAIT_ALL_LAYERS);
    struct strait_packet **all = strait_alloc(r, (size_t)world.n, sizeof(struct strait_packet *));
    const struct strait_log *log = &r->run->logs[world.me];
    for (int sizes_first = 0; sizes_first < 2; sizes_first++) {
        const uint64_t bytes = log->payload_bytes, n_messages = log->n_messages;
        uint64_t wanted = 0;
        struct strait_tensor *mine = strait_range(r, x, 0, 1 + 100 * (size_t)world.me);
        all[world.me] = strait_encode(r, strait_codec(r, "none"), NAN, mine);
        strait_gather_packets(r, world, all, sizes_first == 1);
        for (int i = 0; i < world.n; i++) {
            wanted += i != (world.me + 1) % world.n ? 4 * (1 + 100 * (uint64_t)i) : 0;
            if (all[i]->n_elems != 1 + 100 * (uint64_t)i)
                complain(r, N_COLLECTIVES, "a packet's elements", (double)all[i]->n_elems, 1);
            strait_drop(r, all[i]);
        }
        if (world.n == 1)
            wanted = 0;
        if (log->payload_bytes - bytes != wanted)
            complain(r, N_COLLECTIVES, "gathered bytes", (double)(log->payload_bytes - bytes),
                     (double)wanted);
        if (log->n_messages - n_messages != (uint64_t)((1 + sizes_first) * (world.n - 1)))
            complain(r, N_COLLECTIVES, "messages", (double)(log->n_messages - n_messages),
                     (1 + sizes_first) * (world.n - 1));
    }
}

static void gathered(void)
{
    for (int n = 1; n <= (IS_SANITIZED ? 5 : MAX_RANKS); n++) {
        struct strait_outcome o = run_ranks(n, true, gather_main, NULL);
        strait_outcome_free(&o);
    }
}

/* Two calls without a pause. Plain values travel as views: whoever is done first and adds to its
 * own again must not change what a rank that is far still has to read. The first result is S, whose
 * order is stated; of four equal ones pairs of pairs are 4 S, exactly. */
static void check_twice(struct strait_rank *r, enum collective kind)
{
    const int n = strait_n_ranks(r), me = strait_me(r);
    struct strait_tensor *x = strait_tensor(r, STRAIT_GRADIENTS, 0, STRAIT_ALL_LAYERS);
    const size_t n_elems = strait_n_elems(x);
    float *values = strait_values(r, x), *sums = strait_alloc(r, n_elems, sizeof(*sums));
    for (size_t i = 0; i < n_elems; i++) {
        sums[i] = expected(kind, n, n_elems, i, values[i]);
        values[i] = part_of(me, values[i]);
    }
    for (int call = 0; call < 2; call++) {
        call_collective(r, kind, x);
        values = strait_values(r, x);
        for (size_t i = 0; i < n_elems; i++) {
            const float sum = call == 0 ? sums[i] : 4 * sums[i];
            if (memcmp(&values[i], &sum, sizeof(sum)) != 0)
                complain(r, kind, call == 0 ? "first sum" : "second sum", (double)values[i],
                         (double)sum);
        }
    }
}

static void halve_twice(struct strait_rank *r)
{
    check_twice(r, HALVING);
}

static void trees_twice(struct strait_rank *r)
{
    check_twice(r, DOUBLE_TREE);
}

static void tree_twice(struct strait_rank *r)
{
    check_twice(r, TREE);
}

/* Halves of 600 kB go in two pieces of up to 512 KiB: twice the messages, the same sums. */
static void pieces_main(struct strait_rank *r)
{
    enum { N_ELEMS = 300001, N_PIECES_EACH = 2 };
    const int n = strait_n_ranks(r), me = strait_me(r);
    const struct strait_log *log = &r->run->logs[me];
    struct strait_tensor *x = strait_scratch(r, N_ELEMS);
    float *values = strait_values(r, x);
    const struct sent wanted = in_two_trees(N_ELEMS, me, n);
    for (int call = 0; call < 3; call++) {
        const uint64_t bytes = log->payload_bytes, n_messages = log->n_messages;
        for (int i = 0; i < N_ELEMS; i++)
            values[i] = part_of(me, (float)i / 7);
        call_collective(r, DOUBLE_TREE, x);
        for (int i = 0; i < N_ELEMS; i++) {
            const float sum = below(part_with(N_ELEMS, (size_t)i, 2), 0, n, (float)i / 7);
            if (memcmp(&values[i], &sum, sizeof(sum)) != 0)
                complain(r, DOUBLE_TREE, "sum of pieces", (double)values[i], (double)sum);
        }
        if (log->payload_bytes - bytes != 4 * wanted.n_elems)
            complain(r, DOUBLE_TREE, "bytes", (double)(log->payload_bytes - bytes),
                     4 * (double)wanted.n_elems);
        if (log->n_messages - n_messages != N_PIECES_EACH * wanted.n_messages)
            complain(r, DOUBLE_TREE, "messages", (double)(log->n_messages - n_messages),
                     N_PIECES_EACH * (double)wanted.n_messages);
        barrier(r);
    }
}

static void pieces(void)
{
    for (int n = 2; n <= 6; n++) {
        struct strait_outcome o = run_ranks(n, true, pieces_main, NULL);
        CU_ASSERT(o.payload_bytes > 0);
        strait_outcome_free(&o);
    }
}

static void world_main(struct strait_rank *r)
{
    const struct strait_group world = strait_world(r, 0), again = strait_world(r, 1);
    const int one = world.me;
    const struct strait_group alone = strait_group_of(r, &one, 1, 2);
    for (int i = 0; i < world.n; i++)
        if (world.ranks[i] != i)
            complain(r, N_COLLECTIVES, "a rank of the world", world.ranks[i], i);
    if (world.ranks != again.ranks || world.ranks != strait_all_ranks(r))
        complain(r, N_COLLECTIVES, "arrays of ranks", 2, 1);
    if (alone.ranks == &one || alone.ranks[0] != one)
        complain(r, N_COLLECTIVES, "a rank of its own group", alone.ranks[0], one);
    struct strait_packet *mine = strait_control(r, (double)(uintptr_t)world.ranks);
    if (world.me > 0) {
        strait_send(r, 0, 1, 0, mine);
        return;
    }
    for (int i = 1; i < world.n; i++) {
        struct strait_message m = strait_recv(r, i, 1);
        if (m.packet->words[0] != mine->words[0])
            complain(r, N_COLLECTIVES, "where the ranks are", m.packet->words[0], mine->words[0]);
        strait_drop(r, m.packet);
    }
    strait_drop(r, mine);
}

static void shared_world(void)
{
    struct strait_outcome o = run_ranks(3, true, world_main, NULL);
    strait_outcome_free(&o);
}

/* What is sent to one of four ranks takes 0.2 s longer than what is sent to the others. */
static void at_once(void)
{
    static const char near[] = "{\"rate\":\"10 Gbps\",\"rtt\":\"1 ms\"}",
                      far[] =
                          "{\"rate\":\"10 Gbps\",\"rtt\":\"1 ms\",\"in\":{\"delay\":\"200 ms\"}}";
    for (int late = 0; late < 4; late++) {
        char network[1024];
        snprintf(network, sizeof(network),
                 "{\"client\":[%s,%s,%s,%s],\"tcp\":{\"initial_window\":\"1 GB\"}}",
                 late == 0 ? far : near, late == 1 ? far : near, late == 2 ? far : near,
                 late == 3 ? far : near);
        const struct ranks_on on = {&strait_fluid, network};
        struct strait_outcome o = run_ranks_on(&on, 4, true, halve_twice, NULL);
        strait_outcome_free(&o);
        o = run_ranks_on(&on, 4, true, tree_twice, NULL);
        strait_outcome_free(&o);
        o = run_ranks_on(&on, 4, true, trees_twice, NULL);
        strait_outcome_free(&o);
    }
}

static const struct strait_test tests[] = {
    {"every collective sends the bytes of its closed form and sums in its stated order", exact},
    {"a call may follow at once, however far a rank is that still reads", at_once},
    {"halves of two trees go in pieces", pieces},
    {"all ranks are listed once for all of a simulation", shared_world},
    {"packets of any sizes are gathered, all but the neighbour's passed on", gathered},
};
STRAIT_SUITE("workloads/train/collectives/collectives", tests);
