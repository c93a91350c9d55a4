#include "selection.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "core/random.h"

void strait_choose_clients(int *chosen, int n_chosen, int n_clients, double draw)
{
    struct strait_sequence s = strait_sequence_at((uint64_t)(draw * 0x1p53));
    int n = 0;
    assert(n_chosen <= n_clients);
    for (int i = 0; n < n_chosen; i++)
        if (strait_sequence_unit(&s) * (n_clients - i) < n_chosen - n)
            chosen[n++] = i;
}

double strait_draw_slowness(double sigma, double draw, double other)
{
    const double pi = 3.14159265358979323846;
    const double normal = sqrt(-2 * log(1 - draw)) * cos(2 * pi * other);
    return exp(sigma * normal);
}

static int sooner(const void *a, const void *b, void *arg)
{
    const int i = *(const int *)a, k = *(const int *)b;
    const double *took_s = arg;
    if (took_s[i] < took_s[k] || took_s[i] > took_s[k])
        return took_s[i] < took_s[k] ? -1 : 1;
    return i - k;
}

void strait_order_by_time(int *order, const double *took_s, int n_clients)
{
    for (int i = 0; i < n_clients; i++)
        order[i] = i;
    qsort_r(order, (size_t)n_clients, sizeof(*order), sooner, (void *)took_s);
}

int strait_n_asked(int n_wanted, double factor, int n_clients)
{
    if (n_wanted == 0)
        return n_clients;
    const double most = ceil(n_wanted * factor - 1e-9); /* so that 10 * 1.1 gives 11 */
    return most < n_clients ? (int)most : n_clients;
}
