/* FedBuff (Nguyen et al., AISTATS 2022): fully asynchronous. A client that reports gets the newest
 * model; the server steps after every `buffer` updates, each weighted by how many versions have
 * passed since its client began. Who reports the last of them gets the model after the step. */
#include <math.h>

#include "federated.h"

enum {
    SERVER = STRAIT_STAR_SERVER,
    MODEL = STRAIT_STAR_DOWN,
    UPDATE = STRAIT_STAR_UP
}; /* two channels; a tag is the model's version */

static void server(struct strait_rank *r)
{
    const int buffer = (int)strait_param(r, "buffer");
    struct strait_codec *codec = strait_codec(r, "down");
    struct strait_tensor *w = strait_tensor(r, STRAIT_WEIGHTS, 0, STRAIT_ALL_LAYERS);
    struct strait_tensor *y = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
    strait_learns(r, w);
    struct strait_packet *model = strait_snapshot(r, codec, NAN, w);
    strait_star_begin(r, model);
    for (int version = 0; strait_round(r); version++) {
        int last = 0; /* who reports the last update of this step */
        for (int k = 0; k < buffer; k++) {
            struct strait_message m = strait_recv(r, STRAIT_ANY, UPDATE);
            const double weight = strait_param(r, "server_lr") / buffer / sqrt(1 + version - m.tag);
            if (k + 1 < buffer)
                strait_send(r, m.src, MODEL, version, strait_keep(model));
            last = m.src;
            strait_decode(r, y, m.packet);
            strait_add(r, w, y, weight); /* in order of arrival, as the method requires */
        }
        strait_drop(r, model);
        model = strait_snapshot(r, codec, NAN, w);
        strait_send(r, last, MODEL, version + 1, strait_keep(model));
    }
    strait_drop(r, model);
} /* the run ends with rank 0; clients are cut off */

static void fedbuff(struct strait_rank *r)
{
    if (strait_me(r) == SERVER)
        server(r);
    else
        strait_star_report_forever(r, STRAIT_UPDATE);
}

static const struct strait_param params[] = {
    {"rounds", "steps of the server", STRAIT_PARAM_INTEGER, .min = 1, .max = 1e6, .fallback = 5},
    {"local_steps", "training steps of a client between two reports", STRAIT_PARAM_INTEGER,
     .min = 0, .max = 1e9, .fallback = 20},
    {"buffer", "updates for each step of the server", STRAIT_PARAM_INTEGER, .min = 1, .max = 1e6,
     .fallback = 10},
    {"server_lr", "learning rate of the server", STRAIT_PARAM_NUMBER, .min = 0, .max = 100,
     .fallback = 1},
    STRAIT_STRAGGLER_PARAMS,
};
const struct strait_strategy strait_strategy_fedbuff = {
    .name = "fedbuff",
    .summary = "asynchronous: the server steps after every `buffer` updates, summed as they arrive",
    .source = "Nguyen et al., AISTATS 2022",
    .has_server = true,
    .leaving = STRAIT_LEAVING_IF_ONE_STAYS,
    .has_one_lane = true,
    .ends_with_rank_0 = true,
    .trains = true,
    .uplink_kind = "update",
    .downlink_kind = "param",
    STRAIT_PARAMS(params),
    .uses_stream = strait_star_uses_stream,
    .period = strait_strategy_repeats,
    .rank_main = fedbuff,
};
