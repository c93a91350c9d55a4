/* Federated averaging (McMahan et al., AISTATS 2017): broadcast, local steps, encode, upload,
 * decode, average. The server decodes on `decode_cores` cores and adds in rank order. With more
 * than one of `pieces`, a client sends each piece while it encodes the next, and the server decodes
 * it while the next is on its way: a round then takes the slowest of the three and one piece. */
#include <math.h>

#include "../rank.h"
#include "../strategy.h"

enum { SERVER = 0, MODEL = 0, UPDATE = 1, STOP = -1 }; /* two channels; a tag is the round */

static struct strait_tensor *piece_of(struct strait_rank *r, struct strait_tensor *x, int i, int n)
{
    return n > 1 ? strait_slice(r, x, i, n) : x;
}

static void server(struct strait_rank *r)
{
    const int n_clients = strait_n_ranks(r) - 1, n_pieces = (int)strait_param(r, "pieces");
    struct strait_tensor *w = strait_tensor(r, STRAIT_WEIGHTS, 0, STRAIT_ALL_LAYERS);
    struct strait_tensor **y = strait_alloc(r, (size_t)n_clients, sizeof(struct strait_tensor *));
    const int n_tasks = n_clients * n_pieces;
    struct strait_task **decoding = strait_alloc(r, (size_t)n_tasks, sizeof(*decoding));
    int *n_here = strait_alloc(r, (size_t)n_clients, sizeof(*n_here));
    for (int i = 0; i < n_clients; i++)
        y[i] = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);

    for (int round = 0; strait_round(r); round++) {
        struct strait_packet *model = strait_encode(r, strait_codec(r, "down"), NAN, w);
        for (int i = 1; i <= n_clients; i++) /* encoded once; the flows share the server's port */
            strait_send(r, i, MODEL, round, strait_keep(model));
        strait_drop(r, model);

        for (int n = 0; n < n_tasks; n++) { /* decode as they arrive, k cores: k at a time */
            struct strait_message m = strait_recv(r, STRAIT_ANY, UPDATE);
            const int from = m.src - 1,
                      piece = n_here[from]++ % n_pieces; /* a stream is in order */
            decoding[from * n_pieces + piece] =
                strait_decode_start(r, piece_of(r, y[from], piece, n_pieces), m.packet);
        }
        for (int i = 0; i < n_clients; i++) { /* whatever the order of arrival, one of adding */
            for (int piece = 0; piece < n_pieces; piece++)
                strait_wait(r, decoding[i * n_pieces + piece]);
            strait_add(r, w, y[i], 1.0 / n_clients);
        }
    }
    for (int i = 1; i <= n_clients; i++)
        strait_send(r, i, MODEL, STOP, strait_control(r, 0));
}

static void client(struct strait_rank *r)
{
    struct strait_tensor *w = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
    struct strait_tensor *update = strait_tensor(r, STRAIT_UPDATE, 0, STRAIT_ALL_LAYERS);
    const int n_pieces = (int)strait_param(r, "pieces");
    struct strait_message m;
    while ((m = strait_recv(r, SERVER, MODEL)).tag != STOP) {
        strait_enter_round(r, m.tag);
        strait_decode(r, w, m.packet);
        strait_train(r, update, (int)strait_param(r, "local_steps"));
        for (int i = 0; i < n_pieces; i++)
            strait_send(
                r, SERVER, UPDATE, m.tag,
                strait_encode(r, strait_codec(r, "up"), NAN, piece_of(r, update, i, n_pieces)));
    }
    strait_drop(r, m.packet);
}

static void fedavg(struct strait_rank *r)
{
    (strait_me(r) == SERVER ? server : client)(r);
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    (void)e;
    return channel == MODEL ? src == SERVER && dst != SERVER
                            : channel == UPDATE && src != SERVER && dst == SERVER;
}

static const struct strait_strategy_param params[] = {
    {"rounds", "rounds of the run", STRAIT_PARAM_INTEGER, 1, 1e6, 5, NULL},
    {"local_steps", "training steps of a client in a round", STRAIT_PARAM_INTEGER, 0, 1e9, 20,
     NULL},
    {"pieces", "parts that a client encodes and sends one by one", STRAIT_PARAM_INTEGER, 1, 4096, 1,
     NULL},
    {"decode_cores", "cores on which the server decodes", STRAIT_PARAM_CORES, 1, 1e6, 1, NULL},
};
const struct strait_strategy strait_strategy_fedavg = {
    .name = "fedavg",
    .summary = "federated averaging: broadcast, local steps, upload, average",
    .source = "McMahan et al., AISTATS 2017",
    .has_server = true,
    .uplink_kind = "update",
    .downlink_kind = "param",
    .params = params,
    .n_params = sizeof(params) / sizeof(params[0]),
    .uses_stream = uses_stream,
    .period = strait_strategy_repeats,
    .rank_main = fedavg,
};
