#include "fusion_plan.h"

#include <math.h>

void strait_layer_costs_fill(struct strait_layer_costs *c, const struct strait_model *m,
                             double speed)
{
    double fwd_s = 0, bwd_s = 0;
    for (size_t l = 0; l < m->n_layers; l++) {
        fwd_s += m->layers[l].fwd_s_p50;
        bwd_s += m->layers[l].bwd_s_p50;
    }
    c->n = (int)m->n_layers;
    for (size_t l = 0; l < m->n_layers; l++) {
        c->bytes[l] = 4.0 * (double)m->layers[l].n_elems;
        c->fwd_s[l] = fwd_s > 0 ? m->layers[l].fwd_s_p50 / fwd_s * m->fwd_s / speed : 0;
        c->bwd_s[l] = bwd_s > 0 ? m->layers[l].bwd_s_p50 / bwd_s * m->bwd_s / speed : 0;
    }
}

struct strait_linear_cost strait_ring_cost(const struct strait_network *network, int n,
                                           struct strait_ring_work work)
{
    double delay_s = 0, s_per_byte = 0;
    for (int i = 0; i < n && n > 1; i++) {
        const int next = (i + 1) % n;
        const struct strait_link narrowest = {.rate_bits_per_s =
                                                  strait_path_bits_per_s(network, i, next)};
        delay_s += strait_path_delay_s(network, i, next) / n;
        s_per_byte = fmax(s_per_byte, 1 / strait_goodput_bytes_per_s(network, &narrowest));
    }
    const double n_hops = n - 1, coded_s = work.encode_s_per_byte + work.decode_s_per_byte,
                 gather_s = coded_s + n_hops * work.decode_s_per_byte;
    return (struct strait_linear_cost){
        .alpha_s = 2 * n_hops * (delay_s + strait_network_frame_bytes(network) * s_per_byte),
        .s_per_byte = n_hops / n *
                          (2 * s_per_byte * work.sent_share + work.add_s_per_byte +
                           work.copy_s_per_byte + coded_s) +
                      (n > 1 ? gather_s / n : 0)};
}

/* --- plans -------------------------------------------------------------------------------- */

void strait_fuse_none(struct strait_fusion *f, const struct strait_layer_costs *c)
{
    f->n_buckets = c->n;
    for (int l = 0; l <= c->n; l++)
        f->first[l] = l;
}

/* Reverse a plan that was noted from its last bucket on: first[0] = 0 ... n. */
static void turn(struct strait_fusion *f, int n_buckets, int n_layers)
{
    f->n_buckets = n_buckets;
    f->first[n_buckets] = n_layers;
    for (int i = 0, k = n_buckets - 1; i < k; i++, k--) {
        const int low = f->first[i];
        f->first[i] = f->first[k];
        f->first[k] = low;
    }
}

void strait_fuse_backward(struct strait_fusion *f, const struct strait_layer_costs *c,
                          double first_bytes, double bytes)
{
    int n = 0;
    double sum = 0;
    for (int l = c->n - 1; l >= 0; l--) {
        sum += c->bytes[l];
        if (sum >= (n == 0 ? first_bytes : bytes) || l == 0) {
            f->first[n++] = l;
            sum = 0;
        }
    }
    turn(f, n, c->n);
}

void strait_fuse_forward(struct strait_fusion *f, const struct strait_layer_costs *c, double bytes)
{
    double sum = 0;
    f->n_buckets = 0;
    for (int l = 0; l < c->n; l++) {
        if (sum == 0 || sum + c->bytes[l] >= bytes) {
            f->first[f->n_buckets++] = l;
            sum = 0;
        }
        sum += c->bytes[l];
    }
    f->first[f->n_buckets] = c->n;
}

void strait_fuse_merge(struct strait_fusion *f, const struct strait_layer_costs *c,
                       struct strait_linear_cost all_reduce)
{
    int n = 0;
    double ready_s = 0, start_s = 0, free_s = 0, bytes = 0; /* of the open bucket */
    for (int l = c->n - 1; l >= 0; l--) {
        ready_s += c->bwd_s[l];
        bytes += c->bytes[l];
        start_s = fmax(free_s, ready_s);
        const double next_s = l > 0 ? ready_s + c->bwd_s[l - 1] : INFINITY;
        if (next_s - start_s < all_reduce.alpha_s) /* the published "before it ends" follows */
            continue;
        f->first[n++] = l;
        free_s = start_s + all_reduce.alpha_s + bytes * all_reduce.s_per_byte;
        bytes = 0;
    }
    turn(f, n, c->n);
}

void strait_fuse_best(struct strait_fusion *f, double *end_s, const struct strait_layer_costs *c,
                      struct strait_linear_cost all_reduce)
{
    /* end_s[l]: best end for the layers [l, n); first[l]: end of the bucket that begins at l. */
    double ready_s = 0;
    end_s[c->n] = 0;
    for (int l = c->n - 1; l >= 0; l--) {
        double bytes = 0;
        ready_s += c->bwd_s[l];
        end_s[l] = INFINITY;
        for (int end = l + 1; end <= c->n; end++) {
            bytes += c->bytes[end - 1];
            const double s =
                fmax(end_s[end], ready_s) + all_reduce.alpha_s + bytes * all_reduce.s_per_byte;
            if (s < end_s[l]) {
                end_s[l] = s;
                f->first[l] = end;
            }
        }
    }
    int n = 0;
    for (int l = 0; l < c->n; n++) { /* n <= l: only overwrites what was read */
        const int end = f->first[l];
        f->first[n] = l;
        l = end;
    }
    f->n_buckets = n;
    f->first[n] = c->n;
}

double strait_fusion_end_s(const struct strait_fusion *f, const struct strait_layer_costs *c,
                           struct strait_linear_cost all_reduce)
{
    double ready_s = 0, end_s = 0;
    for (int g = f->n_buckets - 1; g >= 0; g--) {
        double bytes = 0;
        for (int l = f->first[g + 1] - 1; l >= f->first[g]; l--) {
            ready_s += c->bwd_s[l];
            bytes += c->bytes[l];
        }
        end_s = fmax(end_s, ready_s) + all_reduce.alpha_s + bytes * all_reduce.s_per_byte;
    }
    return end_s;
}
