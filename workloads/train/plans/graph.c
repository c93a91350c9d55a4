#include "graph.h"

#include "core/random.h"

/* Steps of 1, 2, 4 .. that are below n; 1 for a single rank. */
static int n_hops(int n)
{
    int hops = 1;
    while (1 << hops < n)
        hops++;
    return hops;
}

/* Rows of the grid: the largest divisor up to the root. */
static int n_rows(int n)
{
    int rows = 1;
    for (int d = 1; d * d <= n; d++)
        rows = n % d == 0 ? d : rows;
    return rows;
}

static bool next_to(int n, int a, int b)
{
    return (a + 1) % n == b || (b + 1) % n == a;
}

static bool in_torus(int n, int src, int dst)
{
    const int columns = n / n_rows(n);
    if (src / columns == dst / columns)
        return next_to(columns, src % columns, dst % columns);
    return src % columns == dst % columns && next_to(n_rows(n), src / columns, dst / columns);
}

bool strait_graph_has(enum strait_graph graph, int n, int round, int src, int dst)
{
    const int ahead = (dst - src + n) % n;
    if (src == dst)
        return false;
    switch (graph) {
    case STRAIT_GRAPH_RING:
        return next_to(n, src, dst);
    case STRAIT_GRAPH_TORUS:
        return in_torus(n, src, dst);
    case STRAIT_GRAPH_EXPONENTIAL:
        return (ahead & (ahead - 1)) == 0;
    case STRAIT_GRAPH_ONE_PEER:
        return ahead == 1 << round % n_hops(n);
    case STRAIT_GRAPH_COMPLETE:
        return true;
    case STRAIT_GRAPH_FILE:
        break;
    }
    return false;
}

int strait_graph_period(enum strait_graph graph, int n)
{
    return graph == STRAIT_GRAPH_ONE_PEER ? n_hops(n) : 1;
}

bool strait_graph_is_symmetric(enum strait_graph graph)
{
    return graph != STRAIT_GRAPH_EXPONENTIAL && graph != STRAIT_GRAPH_ONE_PEER;
}

int strait_graph_partner(uint64_t seed, int n, int round, int me)
{
    const int last = n % 2 == 0 ? n - 1 : n; /* sits still; nobody's if n is odd */
    if (n < 2)
        return -1;
    const int turn =
        (int)(strait_random_unit(seed, "pairs", 0, (uint64_t)round) * last); /* 0 to last - 1 */
    int other = me == last ? turn : (2 * turn - me + last) % last;
    if (other == me)
        other = last;
    return other < n ? other : -1;
}
