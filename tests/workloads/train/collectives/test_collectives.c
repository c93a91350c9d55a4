/* Collectives: bytes and messages of every rank against closed forms at 1 to 9 ranks and odd sizes,
 * and real sums bit by bit against the stated order. */
#include "tests/kit/collective_forms.h"

static void exact(void)
{
    for (int n = 1; n <= MOST_RANKS; n++) {
        struct strait_outcome o = run_ranks(n, true, check_all, NULL);
        strait_outcome_free(&o);
    }
}

/* Rank i's packet has 1 + 100 i elements. Everybody passes on all but its right neighbour's. */
static void gather_main(struct strait_rank *r)
{
    struct strait_group world = strait_world(r, 0);
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
    for (int n = 1; n <= MOST_RANKS; n++) {
        struct strait_outcome o = run_ranks(n, true, gather_main, NULL);
        strait_outcome_free(&o);
    }
}

static const struct strait_test tests[] = {
    {"every collective sends the bytes of its closed form and sums in its stated order", exact},
    {"packets of any sizes are gathered, all but the neighbour's passed on", gathered},
};
STRAIT_SUITE("workloads/train/collectives/collectives", tests);
