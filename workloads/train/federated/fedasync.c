/* FedAsync (Xie, Koyejo and Gupta 2019): clients send their parameters when they are done; the
 * server mixes each into its own with a weight that falls with its staleness, and answers with the
 * result. A round is one such mixing. */
#include <math.h>

#include "federated.h"

enum { SERVER = 0, MODEL = 0, TRAINED = 1 }; /* two channels; a tag is the model's version */
enum { CONSTANT, POLYNOMIAL, HINGE };

/* s(t - tau) of the paper's section 5.2. */
static double staleness_weight(const struct strait_rank *r, int age)
{
    const double a = strait_param(r, "a"), b = strait_param(r, "b");
    switch ((int)strait_param(r, "staleness")) {
    case POLYNOMIAL:
        return pow(age + 1, -a);
    case HINGE:
        return age <= b ? 1 : 1 / (a * (age - b) + 1);
    default:
        return 1;
    }
}

static void server(struct strait_rank *r)
{
    struct strait_codec *codec = strait_codec(r, "down");
    struct strait_tensor *w = strait_tensor(r, STRAIT_WEIGHTS, 0, STRAIT_ALL_LAYERS);
    struct strait_tensor *x = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
    struct strait_packet *model = strait_snapshot(r, codec, NAN, w);
    for (int i = 1; i < strait_n_ranks(r); i++)
        strait_send(r, i, MODEL, 0, strait_keep(model));
    strait_drop(r, model);
    for (int version = 0; strait_round(r); version++) {
        struct strait_message m = strait_recv(r, STRAIT_ANY, TRAINED);
        const double alpha = strait_param(r, "alpha") * staleness_weight(r, version - m.tag);
        strait_decode(r, x, m.packet);
        strait_set(r, w, w, 1 - alpha); /* in order of arrival: that is the method */
        strait_add(r, w, x, alpha);
        strait_send(r, m.src, MODEL, version + 1, strait_snapshot(r, codec, NAN, w));
    }
} /* ends with rank 0: the clients are cut off wherever they are */

static void client(struct strait_rank *r)
{
    struct strait_tensor *w = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
    struct strait_tensor *trained = strait_tensor(r, STRAIT_WEIGHTS, 0, STRAIT_ALL_LAYERS);
    strait_straggle(r, true);
    for (int i = 0;; i++) {
        struct strait_message m = strait_recv(r, SERVER, MODEL);
        strait_enter_round(r, i);
        strait_straggle(r, false);
        strait_decode(r, w, m.packet);
        strait_train(r, trained, (int)strait_param(r, "local_steps"));
        strait_send(r, SERVER, TRAINED, m.tag,
                    strait_encode(r, strait_codec(r, "up"), NAN, trained));
    }
}

static void fedasync(struct strait_rank *r)
{
    (strait_me(r) == SERVER ? server : client)(r);
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    (void)e;
    return channel == MODEL ? src == SERVER && dst != SERVER
                            : channel == TRAINED && src != SERVER && dst == SERVER;
}

static const char *const stalenesses[] = {"constant", "polynomial", "hinge", NULL};
static const struct strait_strategy_param params[] = {
    {"rounds", "updates that the server mixes in", STRAIT_PARAM_INTEGER, 1, 1e6, 20, NULL},
    {"local_steps", "training steps of a client between two reports", STRAIT_PARAM_INTEGER, 0, 1e9,
     20, NULL},
    {"alpha", "weight of a fresh client's parameters", STRAIT_PARAM_NUMBER, 0, 1, 0.6, NULL},
    {"staleness", "how the weight falls with the versions that have passed", STRAIT_PARAM_CHOICE, 0,
     2, POLYNOMIAL, stalenesses},
    {"a", "exponent of polynomial, slope of hinge", STRAIT_PARAM_NUMBER, 0, 1000, 0.5, NULL},
    {"b", "versions that hinge lets pass", STRAIT_PARAM_NUMBER, 0, 1e6, 4, NULL},
    STRAIT_STRAGGLER_PARAMS,
};
const struct strait_strategy strait_strategy_fedasync = {
    .name = "fedasync",
    .summary = "asynchronous: each client's parameters are mixed in as they arrive",
    .source = "Xie, Koyejo and Gupta, 2019 (arXiv 1903.03934)",
    .has_server = true,
    .ends_with_rank_0 = true,
    .uplink_kind = "param",
    .downlink_kind = "param",
    .params = params,
    .n_params = sizeof(params) / sizeof(params[0]),
    .uses_stream = uses_stream,
    .period = strait_strategy_repeats,
    .rank_main = fedasync,
};
