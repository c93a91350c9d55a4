#include "network.h"

#include <math.h>
#include <stdlib.h>

enum { ETHERNET_HEADER_BYTES = 14, IP_HEADER_BYTES = 20, TCP_HEADER_BYTES = 32 };

double strait_goodput_bytes_per_s(const struct strait_network *n, const struct strait_link *l)
{
    const double segment = n->tcp.segment_bytes;
    const double frame = segment + TCP_HEADER_BYTES + IP_HEADER_BYTES + ETHERNET_HEADER_BYTES;
    return l->rate_bits_per_s / 8 * segment / (frame + n->overhead_bytes);
}

double strait_path_delay_s(const struct strait_network *n, int src, int dst)
{
    return src == dst ? 0 : n->out[src].delay_s + n->in[dst].delay_s;
}

double strait_path_rtt_s(const struct strait_network *n, int src, int dst)
{
    return strait_path_delay_s(n, src, dst) + strait_path_delay_s(n, dst, src);
}

const char *strait_congestion_name(enum strait_congestion c)
{
    switch (c) {
    case STRAIT_RENO:
        return "reno";
    case STRAIT_BBR:
        return "bbr";
    case STRAIT_CUBIC:
        return "cubic";
    }
    return "?";
}

struct strait_network *strait_network_star(int n_ranks, struct strait_link server_out,
                                           struct strait_link server_in,
                                           struct strait_link client_out,
                                           struct strait_link client_in, double overhead_bytes,
                                           struct strait_tcp tcp)
{
    struct strait_network *n = calloc(1, sizeof(*n));
    if (!n)
        return NULL;
    n->n_ranks = n_ranks;
    n->overhead_bytes = overhead_bytes;
    n->tcp = tcp;
    n->out = calloc((size_t)n_ranks, sizeof(*n->out));
    n->in = calloc((size_t)n_ranks, sizeof(*n->in));
    if (!n->out || !n->in) {
        strait_network_free(n);
        return NULL;
    }
    for (int i = 0; i < n_ranks; i++) {
        n->out[i] = i == 0 ? server_out : client_out;
        n->in[i] = i == 0 ? server_in : client_in;
    }
    return n;
}

void strait_network_free(struct strait_network *n)
{
    if (!n)
        return;
    free(n->out);
    free(n->in);
    free(n);
}
