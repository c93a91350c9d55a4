/* Hierarchical federated averaging (Liu et al., ICC 2020): the clients of a region average with
 * their leader for `region_rounds` rounds, then the leaders average with the server. A region's
 * leader is its first client, which also trains. */
#include <math.h>

#include "workloads/ask/experiment.h"
#include "federated.h"

/* Channels; a tag is the server's round. */
enum { SERVER = 0, MODEL = 0, UPDATE, REGION_MODEL, REGION_UPDATE, STOP = -1 };

struct region { /* the ranks [leader, end) */
    int leader, end;
};

/* Defines regions: `size` consecutive clients, the last region with the rest; size 0: the sites of
 * the network, or all clients of a star. */
static struct region region_of(const struct strait_network *n, int size, int rank)
{
    struct region region = {rank, rank + 1};
    if (size > 0) {
        region.leader = 1 + (rank - 1) / size * size;
        region.end = region.leader + size < n->n_ranks ? region.leader + size : n->n_ranks;
        return region;
    }
    const int site = strait_network_site(n, rank);
    while (region.leader > 1 && strait_network_site(n, region.leader - 1) == site)
        region.leader--;
    while (region.end < n->n_ranks && strait_network_site(n, region.end) == site)
        region.end++;
    return region;
}

static struct region my_region(const struct strait_rank *r, int rank)
{
    return region_of(r->run->network, (int)strait_param(r, "region_size"), rank);
}

/* Data of the ranks [first, end), to weigh by: as many numbers as ranks where none train. */
static double n_examples(const struct strait_rank *r, int first, int end)
{
    double n = 0;
    for (int i = first; i < end; i++)
        n += strait_n_examples(r, i);
    return n;
}

/* Receive from n senders from `first` on; decode as they arrive into y[0 ... n - 1]. */
static void collect(struct strait_rank *r, int channel, int n, const int *place_of,
                    struct strait_tensor **y, struct strait_task **decoding)
{
    for (int k = 0; k < n; k++) {
        struct strait_message m = strait_recv(r, STRAIT_ANY, channel);
        const int i = place_of[m.src];
        decoding[i] = strait_decode_start(r, y[i], m.packet);
    }
}

static void server(struct strait_rank *r)
{
    const int n_ranks = strait_n_ranks(r);
    struct strait_tensor *w = strait_tensor(r, STRAIT_WEIGHTS, 0, STRAIT_ALL_LAYERS);
    struct region *regions = strait_alloc(r, (size_t)n_ranks, sizeof(*regions));
    struct strait_tensor **y = strait_alloc(r, (size_t)n_ranks, sizeof(struct strait_tensor *));
    struct strait_task **decoding = strait_alloc(r, (size_t)n_ranks, sizeof(*decoding));
    int *place_of = strait_alloc(r, (size_t)n_ranks, sizeof(*place_of)), n = 0;
    for (int first = 1; first < n_ranks; first = regions[n++].end) {
        regions[n] = my_region(r, first);
        y[n] = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
        place_of[first] = n;
    }
    strait_learns(r, w);
    for (int round = 0; strait_round(r); round++) {
        struct strait_packet *model = strait_encode(r, strait_codec(r, "down"), NAN, w);
        for (int i = 0; i < n; i++)
            strait_send(r, regions[i].leader, MODEL, round, strait_keep(model));
        strait_drop(r, model);
        collect(r, UPDATE, n, place_of, y, decoding);
        for (int i = 0; i < n; i++) { /* in the order of the regions, each by its clients */
            strait_wait(r, decoding[i]);
            strait_add(r, w, y[i],
                       n_examples(r, regions[i].leader, regions[i].end) /
                           n_examples(r, 1, n_ranks));
        }
    }
    for (int i = 0; i < n; i++)
        strait_send(r, regions[i].leader, MODEL, STOP, strait_control(r, 0));
}

struct leader {
    struct region region;
    int n; /* clients, including the leader */
    /* base: from the server; moved: the region's change since; w: the sum. */
    struct strait_tensor *base, *moved, *w;
    struct strait_tensor **updates; /* n, the leader's own first */
    struct strait_task **decoding;
    int *place_of; /* position of a rank among its clients */
};

static void send_region(struct strait_rank *r, const struct leader *l, int tag,
                        struct strait_packet *taken)
{
    for (int i = l->region.leader + 1; i < l->region.end; i++)
        strait_send(r, i, REGION_MODEL, tag, strait_keep(taken));
    strait_drop(r, taken);
}

/* One round in the region, from parameters w: adds the mean of its clients' updates to `moved`. */
static void region_round(struct strait_rank *r, const struct leader *l, struct strait_tensor *w)
{
    const int first = l->region.leader;
    strait_train(r, w, l->updates[0], (int)strait_param(r, "local_steps"));
    collect(r, REGION_UPDATE, l->n - 1, l->place_of, l->updates, l->decoding);
    for (int i = 0; i < l->n; i++) { /* in the order of the clients */
        if (i > 0)
            strait_wait(r, l->decoding[i]);
        strait_add(r, l->moved, l->updates[i],
                   strait_n_examples(r, first + i) / n_examples(r, first, l->region.end));
    }
}

static struct leader begin(struct strait_rank *r)
{
    struct leader l = {.region = my_region(r, strait_me(r)),
                       .base = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS),
                       .moved = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS),
                       .w = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS)};
    l.n = l.region.end - l.region.leader;
    l.updates = strait_alloc(r, (size_t)l.n, sizeof(struct strait_tensor *));
    l.decoding = strait_alloc(r, (size_t)l.n, sizeof(*l.decoding));
    l.place_of = strait_alloc(r, (size_t)strait_n_ranks(r), sizeof(*l.place_of));
    for (int i = 0; i < l.n; i++) {
        l.place_of[l.region.leader + i] = i;
        l.updates[i] =
            strait_tensor(r, i == 0 ? STRAIT_UPDATE : STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
    }
    return l;
}

static void lead(struct strait_rank *r)
{
    struct leader l = begin(r);
    const int n_rounds = (int)strait_param(r, "region_rounds");
    struct strait_message m;
    strait_straggle(r, true);
    while ((m = strait_recv(r, SERVER, MODEL)).tag != STOP) {
        strait_enter_round(r, m.tag);
        strait_straggle(r, false);
        send_region(r, &l, m.tag, strait_keep(m.packet)); /* passed on encoded */
        strait_decode(r, l.base, m.packet);
        strait_set(r, l.moved, l.moved, 0);
        region_round(r, &l, l.base);
        for (int i = 1; i < n_rounds; i++) {
            strait_set(r, l.w, l.base, 1);
            strait_add(r, l.w, l.moved, 1);
            send_region(r, &l, m.tag, strait_encode(r, strait_codec(r, "down"), NAN, l.w));
            region_round(r, &l, l.w);
        }
        strait_send(r, SERVER, UPDATE, m.tag,
                    strait_encode(r, strait_codec(r, "up"), NAN, l.moved));
    }
    send_region(r, &l, STOP, m.packet);
}

static void follow(struct strait_rank *r)
{
    const int leader = my_region(r, strait_me(r)).leader;
    struct strait_tensor *w = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
    struct strait_tensor *update = strait_tensor(r, STRAIT_UPDATE, 0, STRAIT_ALL_LAYERS);
    struct strait_message m;
    strait_straggle(r, true);
    while ((m = strait_recv(r, leader, REGION_MODEL)).tag != STOP) {
        strait_enter_round(r, m.tag);
        strait_straggle(r, false);
        strait_decode(r, w, m.packet);
        strait_train(r, w, update, (int)strait_param(r, "local_steps"));
        strait_send(r, leader, REGION_UPDATE, m.tag,
                    strait_encode(r, strait_codec(r, "up"), NAN, update));
    }
    strait_drop(r, m.packet);
}

static void hierfl(struct strait_rank *r)
{
    if (strait_me(r) == SERVER)
        server(r);
    else if (strait_me(r) == my_region(r, strait_me(r)).leader)
        lead(r);
    else
        follow(r);
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    const bool down = channel == MODEL || channel == REGION_MODEL;
    const int from = down ? src : dst, to = down ? dst : src; /* direction of the model */
    if (to == SERVER || channel > REGION_UPDATE)
        return false;
    const struct region region =
        region_of(e->network, (int)strait_experiment_param(e, "region_size"), to);
    return channel == MODEL || channel == UPDATE ? from == SERVER && to == region.leader
                                                 : from == region.leader && to != region.leader;
}

static const struct strait_param params[] = {
    {"rounds", "rounds of the server", STRAIT_PARAM_INTEGER, .min = 1, .max = 1e6, .fallback = 5},
    {"region_rounds", "rounds inside the regions for each of the server", STRAIT_PARAM_INTEGER,
     .min = 1, .max = 1e6, .fallback = 2},
    {"region_size", "clients of a region, its leader included; 0: the network's sites",
     STRAIT_PARAM_INTEGER, .min = 0, .max = 1e6},
    {"local_steps", "training steps of a client in a round of its region", STRAIT_PARAM_INTEGER,
     .min = 0, .max = 1e9, .fallback = 20},
    STRAIT_STRAGGLER_PARAMS,
};
const struct strait_strategy strait_strategy_hierfl = {
    .name = "hierfl",
    .summary = "hierarchical federated averaging: regions average, then their leaders do",
    .source = "Liu, Zhang, Song and Letaief, ICC 2020",
    .has_server = true,
    .trains = true,
    .uplink_kind = "update",
    .downlink_kind = "param",
    .refers = strait_star_refers,
    STRAIT_PARAMS(params),
    .uses_stream = uses_stream,
    .period = strait_strategy_repeats,
    .rank_main = hierfl,
};
