/* Who sends to whom in decentralised training. Every rank of a graph but one from a file has as
 * many senders as the others and as many receivers, so equal weights 1 / (senders + 1) keep the
 * mean. Pure. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum strait_graph {
    STRAIT_GRAPH_RING,        /* both neighbours */
    STRAIT_GRAPH_TORUS,       /* four of a grid as square as n allows; a prime n: the ring */
    STRAIT_GRAPH_EXPONENTIAL, /* to i + 1, i + 2, i + 4 ..: directed */
    STRAIT_GRAPH_ONE_PEER,    /* the same, one of them a round: of 2^k ranks all have met in k */
    STRAIT_GRAPH_COMPLETE,
    STRAIT_GRAPH_FILE /* the experiment's edges, of any number a rank; not for the functions here */
};

/** Whether src sends to dst in this round; ranks below n.
 *  Source:  Lian et al., NIPS 2017 (ring); Ying et al., NeurIPS 2021 (exponential, one peer) */
bool strait_graph_has(enum strait_graph graph, int n, int round, int src, int dst);
/** Rounds after which it begins again: 1, or those of ONE_PEER. */
int strait_graph_period(enum strait_graph graph, int n);
/** Whether it is the same in both directions and all rounds. */
bool strait_graph_is_symmetric(enum strait_graph graph);
/** The other of a rank's pair in this round; -1: none, as of one rank where n is odd. All pairs are
 *  one of the n - 1 (n odd: n) rounds in which everybody meets everybody, drawn by the key, so each
 *  other rank is as likely.
 *  Source:  the circle method of tournaments */
int strait_graph_partner(uint64_t seed, int n, int round, int me);
