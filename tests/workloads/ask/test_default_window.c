/* The window of a network that names none, against its definition: a look at every path. */
#include <math.h>
#include <stdlib.h>
#include "core/random.h"
#include "tests/kit/suite.h"
#include "workloads/ask/network.h"

enum { MAX_RANKS = 300, N_NETWORKS = 300 };

/* Up to 256 ranks all pairs, with more those of rank 0 and of neighbours. */
static double by_every_path(const struct strait_network *n)
{
    double window_bytes = 1e6;
    for (int i = 0; i < n->n_ranks; i++)
        for (int j = 0; j < n->n_ranks; j++)
            if (i != j && (n->n_ranks <= 256 || i == 0 || j == 0 || j == i + 1))
                window_bytes = fmax(window_bytes, 2 * strait_path_bits_per_s(n, i, j) / 8 *
                                                      strait_path_rtt_s(n, i, j));
    return window_bytes;
}

/* Runs of ranks whose links are alike, as experiments have them, of drawn lengths. */
static void draw_links(struct strait_network *n, uint64_t seed)
{
    for (int i = 0, left = 0; i < n->n_ranks; i++, left--) {
        const uint64_t r = strait_random_bits(seed, "link", (uint64_t)i, 0);
        if (left == 0) {
            left = 1 + (int)(r % 5);
            n->out[i].rate_bits_per_s = 1e9 * (double)(1 + r / 8 % 2);
            n->in[i].rate_bits_per_s = 1e9 * (double)(1 + r / 16 % 3);
            n->out[i].delay_s = 0.01 * (double)(1 + r / 64 % 3);
            n->in[i].delay_s = 0.01 * (double)(1 + r / 256 % 2);
            n->site[i] = (int)(r / 1024 % 4) - 1;
        } else {
            n->out[i] = n->out[i - 1];
            n->in[i] = n->in[i - 1];
            n->site[i] = n->site[i - 1];
        }
    }
    for (int i = 0; i < n->n_sites; i++) {
        const uint64_t r = strait_random_bits(seed, "site", (uint64_t)i, 0);
        n->site_out[i].rate_bits_per_s = n->site_in[i].rate_bits_per_s = 1e9 * (double)(1 + r % 4);
        n->site_out[i].delay_s = n->site_in[i].delay_s = 0.02 * (double)(1 + r / 4 % 3);
    }
}

static void like_a_look_at_every_path(void)
{
    static struct strait_link out[MAX_RANKS], in[MAX_RANKS], site_out[3], site_in[3];
    static int site[MAX_RANKS];
    const uint64_t seed = strait_test_seed();
    for (uint64_t i = 0; i < N_NETWORKS; i++) {
        const uint64_t r = strait_random_bits(seed, "ranks", i, 0);
        struct strait_network n = {.n_ranks = r % 32 == 0 ? MAX_RANKS : 1 + (int)(r / 32 % 24),
                                   .out = out,
                                   .in = in,
                                   .site = site,
                                   .n_sites = 3,
                                   .site_out = site_out,
                                   .site_in = site_in};
        draw_links(&n, strait_random_bits(seed, "network", i, 0));
        strait_test_context("network %d of %d ranks", (int)i, n.n_ranks);
        CU_ASSERT_DOUBLE_EQUAL(strait_network_default_window_bytes(&n), by_every_path(&n), 0);
    }
}

static const struct strait_test tests[] = {
    {"is what a look at every path gives", like_a_look_at_every_path},
};
STRAIT_SUITE("workloads/ask/default_window", tests);
