/* Messages over streams of TCP connections, packet by packet, on a network whose links lose
 * packets, fill or jitter. Virtual time only; the caller says how far.
 *
 * Everything follows from the network, the seed and the times of the messages: the same calls give
 * the same times to the last bit. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "workloads/ask/network.h"

struct strait_packets; /* the network */
struct strait_pipe;    /* one stream: its connections, and the messages that they carry */

/** In:      network  borrowed
 *           seed     of the draws: losses, jitter, the moment at which senders start
 *           ramp     false: no slow start (the negative control)
 *  Returns: NULL when memory runs out */
struct strait_packets *strait_packets_new(const struct strait_network *network, uint64_t seed,
                                          bool ramp);
void strait_packets_free(struct strait_packets *w);
/** A stream from src to dst.
 *  In:      n_before  streams from src to dst on lower channels: an emulation opens these first,
 *                     and draws are keyed by the order
 *  Returns: NULL when memory runs out */
struct strait_pipe *strait_packets_open(struct strait_packets *w, int src, int dst, int channel,
                                        unsigned n_before);
/** Who posted the message of strait_packets_run. */
void *strait_pipe_owner(const struct strait_pipe *pipe);
/** Send a message of so many bytes, frames included, at at_s, which is not before the time to which
 *  the network has run. owner: for the caller. 0, or -1 when memory runs out. */
int strait_pipe_post(struct strait_pipe *pipe, void *owner, double at_s, double bytes);
/** Run until the next message has arrived, or until before_s.
 *  Out:     arrived  whose oldest message it is; NULL: none before that time
 *  Returns: when it arrived; INFINITY: none; NAN: memory ran out */
double strait_packets_run(struct strait_packets *w, double before_s, struct strait_pipe **arrived);
