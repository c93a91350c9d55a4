#include "network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codecs/frame.h"
#include "core/random.h"

enum { ETHERNET_HEADER_BYTES = 14, IP_HEADER_BYTES = 20, TCP_HEADER_BYTES = 32 };

double strait_goodput_bytes_per_s(const struct strait_network *n, const struct strait_link *l)
{
    const double segment = n->tcp.segment_bytes;
    const double frame = segment + TCP_HEADER_BYTES + IP_HEADER_BYTES + ETHERNET_HEADER_BYTES;
    return l->rate_bits_per_s / 8 * segment / (frame + n->overhead_bytes);
}

double strait_link_bits_per_s(const struct strait_link *l, double t_s)
{
    return l->schedule ? strait_schedule_bits_per_s(l->schedule, t_s) : l->rate_bits_per_s;
}

double strait_link_least_bits_per_s(const struct strait_link *l)
{
    double least = l->rate_bits_per_s;
    for (size_t i = 0; l->schedule && i < l->schedule->n; i++)
        least = fmin(least, l->schedule->bits_per_s[i]);
    return least;
}

unsigned strait_tcp_n_connections(const struct strait_tcp *tcp)
{
    return tcp->n_connections > 0 ? tcp->n_connections : 1;
}

double strait_network_frame_bytes(const struct strait_network *n)
{
    return (double)strait_tcp_n_connections(&n->tcp) * STRAIT_FRAME_BYTES;
}

int strait_network_site(const struct strait_network *n, int rank)
{
    return n->site ? n->site[rank] : 0;
}

int strait_network_n_links(const struct strait_network *n)
{
    return 2 * n->n_ranks + 2 * n->n_sites + (n->between ? n->n_sites * n->n_sites : 0);
}

const struct strait_link *strait_network_link(const struct strait_network *n, int link)
{
    if (link < 2 * n->n_ranks)
        return link % 2 == 0 ? &n->out[link / 2] : &n->in[link / 2];
    link -= 2 * n->n_ranks;
    if (link < 2 * n->n_sites)
        return link % 2 == 0 ? &n->site_out[link / 2] : &n->site_in[link / 2];
    return &n->between[link - 2 * n->n_sites];
}

bool strait_network_is_away(const struct strait_network *n, int rank, double t_s)
{
    const struct strait_schedule *present = n->out[rank].present;
    return present && !(strait_schedule_bits_per_s(present, t_s) > 0);
}

int strait_network_n_scheduled(const struct strait_network *n)
{
    int n_scheduled = 0;
    for (int i = 0; i < strait_network_n_links(n); i++)
        n_scheduled += strait_network_link(n, i)->schedule != NULL;
    return n_scheduled;
}

int strait_network_path(const struct strait_network *n, int src, int dst,
                        int links[STRAIT_MAX_HOPS])
{
    const int from = strait_network_site(n, src), to = strait_network_site(n, dst);
    const int sites = 2 * n->n_ranks, pairs = sites + 2 * n->n_sites;
    int n_hops = 0;
    links[n_hops++] = 2 * src;
    if (from != to && from >= 0)
        links[n_hops++] = sites + 2 * from;
    if (from != to && from >= 0 && to >= 0 && n->between &&
        n->between[from * n->n_sites + to].rate_bits_per_s > 0)
        links[n_hops++] = pairs + from * n->n_sites + to;
    if (from != to && to >= 0)
        links[n_hops++] = sites + 2 * to + 1;
    links[n_hops++] = 2 * dst + 1;
    return n_hops;
}

double strait_path_bits_per_s(const struct strait_network *n, int src, int dst)
{
    int links[STRAIT_MAX_HOPS];
    double least = INFINITY;
    for (int i = 0, n_hops = strait_network_path(n, src, dst, links); i < n_hops; i++)
        least = fmin(least, strait_network_link(n, links[i])->rate_bits_per_s);
    return least;
}

double strait_path_delay_s(const struct strait_network *n, int src, int dst)
{
    int links[STRAIT_MAX_HOPS];
    double delay_s = 0;
    for (int i = 0, n_hops = src == dst ? 0 : strait_network_path(n, src, dst, links); i < n_hops;
         i++)
        delay_s += strait_network_link(n, links[i])->delay_s;
    return delay_s;
}

double strait_path_goodput_bytes_per_s(const struct strait_network *n, int src, int dst)
{
    const struct strait_link narrowest = {.rate_bits_per_s = strait_path_bits_per_s(n, src, dst)};
    return strait_goodput_bytes_per_s(n, &narrowest);
}

double strait_path_jitter_s(const struct strait_network *n, int src, int dst)
{
    int links[STRAIT_MAX_HOPS];
    double jitter_s = 0;
    for (int i = 0, n_hops = strait_network_path(n, src, dst, links); i < n_hops; i++) {
        const struct strait_link *l = strait_network_link(n, links[i]);
        jitter_s += l->jitter_s * (l->jitter ? l->jitter->reach : 1);
    }
    return jitter_s;
}

double strait_path_loss_ratio(const struct strait_network *n, int src, int dst)
{
    int links[STRAIT_MAX_HOPS];
    double arrives = 1;
    for (int i = 0, n_hops = strait_network_path(n, src, dst, links); i < n_hops; i++)
        arrives *= 1 - strait_network_link(n, links[i])->loss_ratio;
    return 1 - arrives;
}

static bool link_is_imperfect(const struct strait_link *l)
{
    return l->loss_ratio > 0 || l->jitter_s > 0 ||
           (l->rate_bits_per_s > 0 && l->queue_bytes > 0 && isfinite(l->queue_bytes));
}

bool strait_network_is_imperfect(const struct strait_network *n)
{
    for (int i = 0; i < strait_network_n_links(n); i++)
        if (link_is_imperfect(strait_network_link(n, i)))
            return true;
    return false;
}

bool strait_network_loses(const struct strait_network *n)
{
    for (int i = 0; i < strait_network_n_links(n); i++)
        if (strait_network_link(n, i)->loss_ratio > 0)
            return true;
    return false;
}

bool strait_network_by_packets(const struct strait_network *n)
{
    const bool any = (n->tcp.congestion == STRAIT_BBR && !n->drag) || n->tcp.hystart ||
                     strait_network_is_imperfect(n) || strait_network_n_flows(n) > 0;
    return n->detail == STRAIT_DETAIL_PACKETS || (n->detail == STRAIT_DETAIL_CHOSEN && any);
}

bool strait_path_drops(const struct strait_network *n, int src, int dst)
{
    int links[STRAIT_MAX_HOPS];
    for (int i = 0, n_hops = strait_network_path(n, src, dst, links); i < n_hops; i++)
        if (isfinite(strait_network_link(n, links[i])->queue_bytes))
            return true;
    return strait_path_loss_ratio(n, src, dst) > 0;
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

double strait_path_share(const struct strait_network *n, int src, int dst)
{
    return n->drag ? 1 / (n->drag[src] + n->drag[dst]) : 1;
}

int strait_network_spread_shares(struct strait_network *n, double spread, uint64_t seed,
                                 bool has_server)
{
    n->drag = calloc((size_t)n->n_ranks, sizeof(*n->drag));
    n->share_spread = spread;
    for (int i = has_server ? 1 : 0; i < n->n_ranks && n->drag; i++) {
        const double u = strait_random_unit(seed, "share", (uint64_t)i, 0);
        n->drag[i] = 1 / (1 + spread * (2 * u - 1));
    }
    return n->drag ? 0 : -1;
}

int strait_network_n_flows(const struct strait_network *n)
{
    int n_flows = 0;
    for (int i = 0; i < 2 * n->n_ranks; i++)
        n_flows += strait_network_link(n, i)->n_flows;
    return n_flows;
}

/* A copy of n elements with room for one more, zeroed; NULL where there are none, or no memory. */
static void *copy_of(const void *from, size_t n, size_t size)
{
    void *to = from ? calloc(n + 1, size) : NULL;
    return to ? memcpy(to, from, n * size) : NULL;
}

/* With room for a rank more. */
static struct strait_network *copy_network(const struct strait_network *n)
{
    struct strait_network *w = copy_of(n, 1, sizeof(*w));
    const size_t n_ranks = (size_t)n->n_ranks, n_sites = (size_t)n->n_sites;
    if (!w)
        return NULL;
    w->schedules = w->presences = NULL;
    w->jitters = NULL;
    w->out = copy_of(n->out, n_ranks, sizeof(*w->out));
    w->in = copy_of(n->in, n_ranks, sizeof(*w->in));
    w->site = copy_of(n->site, n_ranks, sizeof(*w->site));
    w->site_out = copy_of(n->site_out, n_sites, sizeof(*w->site_out));
    w->site_in = copy_of(n->site_in, n_sites, sizeof(*w->site_in));
    w->between = copy_of(n->between, n_sites * n_sites, sizeof(*w->between));
    w->drag = copy_of(n->drag, n_ranks, sizeof(*w->drag));
    if (!w->out || !w->in || !w->site != !n->site || !w->site_out != !n->site_out ||
        !w->site_in != !n->site_in || !w->between != !n->between || !w->drag != !n->drag) {
        strait_network_free(w);
        return NULL;
    }
    return w;
}

struct strait_network *strait_network_at_rate(const struct strait_network *n, double factor)
{
    struct strait_network *w = copy_network(n);
    for (int i = 0; w && i < n->n_ranks; i++) {
        w->out[i].rate_bits_per_s *= factor;
        w->in[i].rate_bits_per_s *= factor;
    }
    for (int i = 0; w && i < n->n_sites; i++) {
        w->site_out[i].rate_bits_per_s *= factor;
        w->site_in[i].rate_bits_per_s *= factor;
    }
    for (int i = 0; w && w->between && i < n->n_sites * n->n_sites; i++)
        w->between[i].rate_bits_per_s *= factor;
    return w;
}

struct strait_network *strait_network_off_delays(const struct strait_network *n, double off,
                                                 uint64_t draw)
{
    struct strait_network *w = copy_network(n);
    for (int i = 0; w && i < n->n_ranks; i++) {
        const double u = strait_random_unit(draw, "delay", (uint64_t)i, 0);
        w->out[i].delay_s *= 1 + off * (2 * u - 1);
        w->in[i].delay_s *= 1 + off * (2 * u - 1);
    }
    return w;
}

struct strait_network *strait_network_with_others(const struct strait_network *n)
{
    struct strait_network *w = copy_network(n);
    if (!w)
        return NULL;
    double bits_per_s[2] = {0};
    for (int i = 0; i < 2 * n->n_ranks; i++)
        if (strait_network_link(n, i)->n_flows > 0)
            bits_per_s[i % 2] += strait_network_link(n, i)->rate_bits_per_s;
    w->out[n->n_ranks] = w->in[n->n_ranks] = (struct strait_link){
        .rate_bits_per_s = 2 * fmax(bits_per_s[0], bits_per_s[1]), .queue_bytes = INFINITY};
    if (w->site)
        w->site[n->n_ranks] = -1;
    w->n_ranks++;
    w->n_others = 1;
    return w;
}

static void free_schedules(struct strait_schedule *s)
{
    for (struct strait_schedule *next; s; s = next) {
        next = s->next;
        strait_schedule_free(s);
    }
}

void strait_network_free(struct strait_network *n)
{
    if (!n)
        return;
    free(n->out);
    free(n->in);
    free(n->site);
    free(n->site_out);
    free(n->site_in);
    free(n->between);
    free(n->drag);
    free_schedules(n->schedules);
    free_schedules(n->presences);
    for (struct strait_jitter *j; (j = n->jitters);) {
        n->jitters = j->next;
        strait_jitter_free(j);
    }
    free(n);
}
