#include "sums_sent.h"

#include <stdlib.h>
#include <string.h>

static double *cut_into(struct strait_sum_cut *cut, int n_parts, int n)
{
    cut->n_parts = n_parts;
    return cut->sent = calloc((size_t)n + 1, sizeof(*cut->sent));
}

/* Ranks in the sum of the places [first, first + n), of which the first `extra` hold two. */
static int ranks_in(int first, int n, int extra)
{
    const int twice = extra - first;
    return n + (twice < 0 ? 0 : twice < n ? twice : n);
}

/* All of a tensor to fold; then halves, quarters, ...; then the parts of the whole sum. */
static int by_halving(struct strait_sum_cut *cuts, int n)
{
    int n_places = 1, n_cuts = 1;
    while (n_places <= n / 2)
        n_places *= 2;
    const int extra = n - n_places;
    double *sent = cut_into(&cuts[0], 1, n);
    if (!sent)
        return -1;
    sent[1] = extra;
    for (int mask = 1; mask < n_places; mask *= 2) {
        sent = cut_into(&cuts[n_cuts++], 2 * mask, n);
        if (!sent)
            return -1;
        for (int first = 0; first < n_places; first += mask) /* `mask` places, a part of each */
            sent[ranks_in(first, mask, extra)] += 0.5;
    }
    sent[n] += n_places - 1 + extra;
    return n_cuts;
}

static void by_tree(double *sent, int n)
{
    for (int place = 1; place < n; place++) {
        const int low = place & -place;
        sent[low < n - place ? low : n - place]++;
    }
    sent[n] += n - 1;
}

int strait_sum_cuts(struct strait_sum_cut *cuts, const char *how, int n)
{
    memset(cuts, 0, STRAIT_MAX_SUM_CUTS * sizeof(*cuts));
    if (strcmp(how, "halving") == 0)
        return by_halving(cuts, n);
    const int is_tree = strcmp(how, "tree") == 0;
    double *sent = cut_into(&cuts[0], is_tree ? 1 : n, n);
    if (!sent)
        return -1;
    if (is_tree) {
        by_tree(sent, n);
        return 1;
    }
    if (strcmp(how, "all_to_all") == 0)
        sent[1] = n - 1;
    else
        for (int k = 1; k < n; k++)
            sent[k] = 1;
    sent[n] += n - 1;
    return 1;
}

void strait_sum_cuts_release(struct strait_sum_cut *cuts)
{
    for (int i = 0; i < STRAIT_MAX_SUM_CUTS; i++)
        free(cuts[i].sent);
}
