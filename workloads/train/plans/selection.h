/* Randomness in federated training, as pure functions of a draw: who takes part in a round, and how
 * slow a client is. */
#pragma once

/** Choose n_chosen of the clients 0 ... n_clients - 1, every set of that size equally likely.
 *  Out:     chosen     n_chosen clients, ascending
 *  In:      draw       in [0, 1); the same draw gives the same choice
 *  Source:  Knuth, The Art of Computer Programming vol. 2, 3.4.2, algorithm S */
void strait_choose_clients(int *chosen, int n_chosen, int n_clients, double draw);

/** A straggler's slowness: lognormal with median 1; sigma is the standard deviation of its
 *  logarithm.
 *  In:      draw, other   independent, in [0, 1)
 *  Returns: above 0; 1 when sigma is 0
 *  Source:  Box and Muller, 1958 */
double strait_draw_slowness(double sigma, double draw, double other);

/** Sort clients by how long they took, equal ones by number: tier t of n is [t n_clients / n,
 *  (t + 1) n_clients / n) of the order.
 *  Out:     order      n_clients
 *  In:      took_s     of each client, INFINITY: did not answer
 *  Source:  Chai et al., TiFL, HPDC 2020, section 4.2 */
void strait_order_by_time(int *order, const double *took_s, int n_clients);

/** Number of clients that a server asks to get n_wanted updates: n_wanted * factor rounded up, at
 *  most n_clients. n_wanted 0: all clients. */
int strait_n_asked(int n_wanted, double factor, int n_clients);
