/* FedAsync (Xie, Koyejo and Gupta 2019): clients send their parameters when they are ready; the
 * server mixes each into its own with a weight that decreases with staleness, and replies with the
 * result. A round is one such mixing. */
#include <math.h>

#include "federated.h"

enum {
    SERVER = STRAIT_STAR_SERVER,
    MODEL = STRAIT_STAR_DOWN,
    TRAINED = STRAIT_STAR_UP
}; /* two channels; a tag is the model's version */
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
    strait_learns(r, w);
    struct strait_packet *model = strait_snapshot(r, codec, NAN, w);
    strait_star_begin(r, model);
    strait_drop(r, model);
    for (int version = 0; strait_round(r); version++) {
        struct strait_message m = strait_recv(r, STRAIT_ANY, TRAINED);
        const double alpha = strait_param(r, "alpha") * staleness_weight(r, version - m.tag);
        strait_decode(r, x, m.packet);
        strait_set(r, w, w, 1 - alpha); /* in order of arrival, as the method requires */
        strait_add(r, w, x, alpha);
        strait_address(r, codec, m.src);
        strait_send(r, m.src, MODEL, version + 1, strait_snapshot(r, codec, NAN, w));
    }
} /* the run ends with rank 0; clients are cut off */

static void fedasync(struct strait_rank *r)
{
    if (strait_me(r) == SERVER)
        server(r);
    else
        strait_star_report_forever(r, STRAIT_WEIGHTS);
}

/* Both ways: a client trains what came down. */
static bool refers(const struct strait_experiment *e, int direction)
{
    (void)e, (void)direction;
    return true;
}

static const char *const stalenesses[] = {"constant", "polynomial", "hinge", NULL};
static const struct strait_param params[] = {
    {"rounds", "updates that the server mixes in", STRAIT_PARAM_INTEGER, .min = 1, .max = 1e6,
     .fallback = 20},
    {"local_steps", "training steps of a client between two reports", STRAIT_PARAM_INTEGER,
     .min = 0, .max = 1e9, .fallback = 20},
    {"alpha", "weight of a fresh client's parameters", STRAIT_PARAM_NUMBER, .min = 0, .max = 1,
     .fallback = 0.6},
    {"staleness", "how the weight falls with the versions that have passed", STRAIT_PARAM_CHOICE,
     .min = 0, .max = 2, .fallback = POLYNOMIAL, .choices = stalenesses},
    {"a", "exponent of polynomial, slope of hinge", STRAIT_PARAM_NUMBER, .min = 0, .max = 1000,
     .fallback = 0.5},
    {"b", "versions that hinge lets pass", STRAIT_PARAM_NUMBER, .min = 0, .max = 1e6,
     .fallback = 4},
    STRAIT_STRAGGLER_PARAMS,
};
const struct strait_strategy strait_strategy_fedasync = {
    .name = "fedasync",
    .summary = "asynchronous: each client's parameters are mixed in as they arrive",
    .source = "Xie, Koyejo and Gupta, 2019 (arXiv 1903.03934)",
    .has_server = true,
    .leaving = STRAIT_LEAVING_IF_ONE_STAYS,
    .has_one_lane = true,
    .ends_with_rank_0 = true,
    .trains = true,
    .uplink_kind = "param",
    .downlink_kind = "param",
    .refers = refers,
    STRAIT_PARAMS(params),
    .uses_stream = strait_star_uses_stream,
    .period = strait_strategy_repeats,
    .rank_main = fedasync,
};
