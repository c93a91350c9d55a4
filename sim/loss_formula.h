/* How fast TCP is on links that lose packets, by a formula instead of packet by packet. */
#pragma once
#include "workloads/ask/network.h"

/** Payload bytes/s of a long TCP connection that loses this share of its segments (above 0), if
 *  nothing else limits it; INFINITY under BBR, which does not slow down for losses.
 *  Source:  Reno: Padhye, Firoiu, Towsley and Kurose 1998, equation 30, with b = 1 (Linux counts
 *           segments, RFC 3465); CUBIC: RFC 9438 section 5.1, with the same time-outs */
double strait_lossy_bytes_per_s(const struct strait_tcp *tcp, double loss_ratio, double rtt_s);

/** Make ports as slow as the losses of their paths make them; then nothing is lost, and bytes go as
 *  flows. Every rank is taken to talk to the server, or where there is none to the next one. */
void strait_network_slow_by_losses(struct strait_network *n);
