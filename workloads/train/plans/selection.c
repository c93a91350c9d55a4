#include "selection.h"

#include <assert.h>
#include <math.h>

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

int strait_n_asked(int n_wanted, double factor, int n_clients)
{
    if (n_wanted == 0)
        return n_clients;
    const double most = ceil(n_wanted * factor - 1e-9); /* so that 10 * 1.1 gives 11 */
    return most < n_clients ? (int)most : n_clients;
}
