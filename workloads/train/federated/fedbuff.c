/* FedBuff (Nguyen et al., AISTATS 2022): nobody waits for anybody. A client that reports gets the
 * newest model at once; the server steps after every `buffer` updates, each of which counts less
 * the more versions have passed since its client began. */
#include <math.h>

#include "federated.h"

enum { SERVER = 0, MODEL = 0, UPDATE = 1 }; /* two channels; a tag is the model's version */

static void server(struct strait_rank *r)
{
    const int buffer = (int)strait_param(r, "buffer");
    struct strait_codec *codec = strait_codec(r, "down");
    struct strait_tensor *w = strait_tensor(r, STRAIT_WEIGHTS, 0, STRAIT_ALL_LAYERS);
    struct strait_tensor *y = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
    struct strait_packet *model = strait_snapshot(r, codec, NAN, w);
    for (int i = 1; i < strait_n_ranks(r); i++)
        strait_send(r, i, MODEL, 0, strait_keep(model));
    for (int version = 0; strait_round(r); version++) {
        for (int k = 0; k < buffer; k++) {
            struct strait_message m = strait_recv(r, STRAIT_ANY, UPDATE);
            const double weight = strait_param(r, "server_lr") / buffer / sqrt(1 + version - m.tag);
            strait_send(r, m.src, MODEL, version, strait_keep(model));
            strait_decode(r, y, m.packet);
            strait_add(r, w, y, weight); /* in order of arrival: that is the method */
        }
        strait_drop(r, model);
        model = strait_snapshot(r, codec, NAN, w);
    }
    strait_drop(r, model);
} /* ends with rank 0: the clients are cut off wherever they are */

static void client(struct strait_rank *r)
{
    struct strait_tensor *w = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
    struct strait_tensor *update = strait_tensor(r, STRAIT_UPDATE, 0, STRAIT_ALL_LAYERS);
    strait_straggle(r, true);
    for (int i = 0;; i++) {
        struct strait_message m = strait_recv(r, SERVER, MODEL);
        strait_enter_round(r, i);
        strait_straggle(r, false);
        strait_decode(r, w, m.packet);
        strait_train(r, update, (int)strait_param(r, "local_steps"));
        strait_send(r, SERVER, UPDATE, m.tag, strait_encode(r, strait_codec(r, "up"), NAN, update));
    }
}

static void fedbuff(struct strait_rank *r)
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
    {"rounds", "steps of the server", STRAIT_PARAM_INTEGER, 1, 1e6, 5, NULL},
    {"local_steps", "training steps of a client between two reports", STRAIT_PARAM_INTEGER, 0, 1e9,
     20, NULL},
    {"buffer", "updates for each step of the server", STRAIT_PARAM_INTEGER, 1, 1e6, 10, NULL},
    {"server_lr", "learning rate of the server", STRAIT_PARAM_NUMBER, 0, 100, 1, NULL},
    STRAIT_STRAGGLER_PARAMS,
};
const struct strait_strategy strait_strategy_fedbuff = {
    .name = "fedbuff",
    .summary = "asynchronous: the server steps after every `buffer` updates, summed as they arrive",
    .source = "Nguyen et al., AISTATS 2022",
    .has_server = true,
    .ends_with_rank_0 = true,
    .uplink_kind = "update",
    .downlink_kind = "param",
    .params = params,
    .n_params = sizeof(params) / sizeof(params[0]),
    .uses_stream = uses_stream,
    .period = strait_strategy_repeats,
    .rank_main = fedbuff,
};
