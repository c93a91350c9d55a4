/* The speed of TCP under losses. */
#include "loss_formula.h"

#include <math.h>

double strait_lossy_bytes_per_s(const struct strait_tcp *tcp, double loss_ratio, double rtt_s)
{
    const double p = loss_ratio, timeout_s = rtt_s + tcp->rto_min_s;
    double window = sqrt(1.5 / p); /* in segments, on average */
    if (tcp->congestion == STRAIT_BBR)
        return INFINITY;
    if (tcp->congestion == STRAIT_CUBIC) /* (C (3 + beta) / (4 (1 - beta)))^1/4 = 1.054 */
        window = fmax(window, 1.054 * pow(rtt_s / p, 0.75));
    const double timeouts_s =
        timeout_s * fmin(1, 3 * sqrt(3 * p / 8)) * p * (1 + 32 * p * p); /* a segment */
    return tcp->segment_bytes / (rtt_s / window + timeouts_s);
}

/* A port is no faster than the losses between src and dst let its streams be. */
static void slow_down(struct strait_link *port, const struct strait_network *n, int src, int dst,
                      int n_streams)
{
    const double loss_ratio = strait_path_loss_ratio(n, src, dst);
    if (!(loss_ratio > 0) || !(port->rate_bits_per_s > 0))
        return;
    const double wire = port->rate_bits_per_s / strait_goodput_bytes_per_s(n, port);
    const double each =
        strait_lossy_bytes_per_s(&n->tcp, loss_ratio, strait_path_rtt_s(n, src, dst));
    port->rate_bits_per_s = fmin(
        port->rate_bits_per_s, n_streams * (double)strait_tcp_n_connections(&n->tcp) * each * wire);
}

void strait_network_slow_by_losses(struct strait_network *n)
{
    n->detail = STRAIT_DETAIL_FLOWS;
    for (int r = 0; r < n->n_ranks && n->n_ranks > 1; r++) {
        const bool serves = n->has_server && r == 0;
        const int peer = n->has_server && r > 0 ? 0 : (r + 1) % n->n_ranks;
        const int n_streams = serves ? n->n_ranks - 1 : 1;
        /* The server's clients differ: what they lose slows their own ports. */
        if (!serves || n->out[r].loss_ratio > 0)
            slow_down(&n->out[r], n, r, peer, n_streams);
        if (!serves || n->in[r].loss_ratio > 0)
            slow_down(&n->in[r], n, peer, r, n_streams);
    }
    for (int r = 0; r < n->n_ranks; r++)
        n->out[r].loss_ratio = n->in[r].loss_ratio = 0;
    for (int s = 0; s < n->n_sites; s++)
        n->site_out[s].loss_ratio = n->site_in[s].loss_ratio = 0;
    for (int p = 0; n->between && p < n->n_sites * n->n_sites; p++)
        n->between[p].loss_ratio = 0;
}
