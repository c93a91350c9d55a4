#include "case.h"

#include <math.h>
#include "analysis/fields.h"
#include "analysis/row.h"

const char *const strait_feature_names[STRAIT_N_FEATURES] = {"rate_mbps", "rtt_ms", "clients",
                                                             "model_mb", "severity"};

struct path {
    int n;
    double rtt_s, loss_ratio, jitter_ratio, fullness;
};

/* How long the narrowest link's rate takes to fill its shortest queue, of what the path holds. */
static double fullness_of(const struct strait_network *n, int src, int dst)
{
    int links[STRAIT_MAX_HOPS];
    const int n_links = strait_network_path(n, src, dst, links);
    double most = 0;
    for (int i = 0; i < n_links; i++) {
        const struct strait_link *l = strait_network_link(n, links[i]);
        if (isfinite(l->queue_bytes) && l->queue_bytes > 0)
            most = fmax(most, strait_path_bits_per_s(n, src, dst) / 8 *
                                  strait_path_rtt_s(n, src, dst) / l->queue_bytes);
    }
    return most;
}

/* Add a path; unless all count, if the strategy sends there. */
static void add_path(struct path *p, const struct strait_experiment *e, int src, int dst, bool all)
{
    const struct strait_network *n = e->network;
    const struct strait_strategy *s = e->strategy;
    if (!all && s->uses_stream && !s->uses_stream(e, src, dst, 0))
        return;
    p->n++;
    const double rtt_s = strait_path_rtt_s(n, src, dst),
                 jitter_s = strait_path_jitter_s(n, src, dst);
    p->rtt_s = fmax(p->rtt_s, rtt_s);
    p->loss_ratio = fmax(p->loss_ratio, strait_path_loss_ratio(n, src, dst));
    if (jitter_s > 0)
        p->jitter_ratio = fmax(p->jitter_ratio, jitter_s / fmax(rtt_s, 1e-9));
    p->fullness = fmax(p->fullness, fullness_of(n, src, dst));
}

/* Of every rank with rank 0 and with its neighbour, both ways: all pairs would be too many. */
static struct path worst_path(const struct strait_experiment *e, bool all)
{
    struct path p = {0};
    for (int r = 1; r < e->network->n_ranks; r++) {
        add_path(&p, e, 0, r, all);
        add_path(&p, e, r, 0, all);
        if (r > 1)
            add_path(&p, e, r - 1, r, all);
    }
    return p.n > 0 || all ? p : worst_path(e, true); /* none of these is used */
}

/* Windows of 1, 2 and 4 times the first one. */
static const double SHORT_WINDOWS = 7;

static double narrowest_bits_per_s(const struct strait_network *n)
{
    double least = INFINITY;
    const int n_ports = 2 * (n->n_ranks + n->n_sites);
    for (int i = 0; i < n_ports; i++)
        least = fmin(least, strait_network_link(n, i)->rate_bits_per_s);
    return least;
}

static const char *family_of(const struct strait_experiment *e)
{
    if (e->strategy->ends_with_rank_0)
        return "asynchronous";
    return e->strategy->has_server ? "server" : "peers";
}

struct strait_case strait_case_of(const struct strait_experiment *e, double message_bytes)
{
    const struct strait_network *n = e->network;
    const struct path p = worst_path(e, false);
    const bool lossy = p.loss_ratio > 0, jumps = p.jitter_ratio > 0, fills = p.fullness > 0;
    struct strait_case c = {
        .network = lossy   ? "loss"
                   : jumps ? "jitter"
                   : fills ? "queue"
                           : "clean",
        .congestion = n->tcp.congestion == STRAIT_BBR ? "bbr" : "loss-based",
        .family = family_of(e),
        .messages = message_bytes <= SHORT_WINDOWS * n->tcp.initial_window_bytes ? "short" : "long",
        .is_alone = e->strategy->has_server && e->n_clients == 1};
    if (strait_network_n_scheduled(n) > 0)
        c.network = "changing rates"; /* none was emulated */
    if (e->graph)
        c.network = "replays"; /* likewise; the model stands for nothing */
    if (!(message_bytes > 0))
        c.network = "clean", c.congestion = "none";
    c.features[STRAIT_FEATURE_RATE] = narrowest_bits_per_s(n) / 1e6;
    c.features[STRAIT_FEATURE_RTT] = 1e3 * p.rtt_s;
    c.features[STRAIT_FEATURE_CLIENTS] = e->n_clients;
    c.features[STRAIT_FEATURE_MODEL] = e->graph ? NAN : 4e-6 * (double)e->model->n_elems;
    c.features[STRAIT_FEATURE_SEVERITY] = lossy   ? p.loss_ratio
                                          : jumps ? p.jitter_ratio
                                          : fills ? p.fullness
                                                  : 0;
    return c;
}

json_t *strait_case_json(const struct strait_case *c)
{
    json_t *out = json_pack("{s:s, s:s, s:s, s:s}", "network", c->network, "congestion",
                            c->congestion, "family", c->family, "messages", c->messages);
    for (int i = 0; i < STRAIT_N_FEATURES; i++)
        json_object_set_new(out, strait_feature_names[i], strait_json_number(c->features[i]));
    return out;
}

struct strait_case strait_case_from(const json_t *json)
{
    struct strait_case c = {.network = strait_text_of(json, "network"),
                            .congestion = strait_text_of(json, "congestion"),
                            .family = strait_text_of(json, "family"),
                            .messages = strait_text_of(json, "messages")};
    for (int i = 0; i < STRAIT_N_FEATURES; i++)
        c.features[i] = strait_row_number(json, strait_feature_names[i]);
    return c;
}
