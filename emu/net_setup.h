/* Set up the shaped network of a run, and probe it. */
#pragma once
#include "emu/links/net.h"
#include "emu/process/shared.h"
#include "emu/judge/validity.h"

/** The smallest window for every stream: the experiment's, or that of the largest bandwidth-delay
 *  product. */
double strait_emu_net_setup_window_bytes(const struct strait_network *n,
                                         const struct strait_emu_shared *s);
/** Build namespaces, links and relay for the network of a run.
 *  Out:     out    free with strait_emu_net_free
 *  In:      trunk  which nodes are on this host; NULL: all
 *  Returns: 0, or -1 with *err as strait_emu_net_up
 */
int strait_emu_net_setup_build(struct strait_emu_net **out, const struct strait_run *run,
                               const struct strait_emu_shared *shared, double dilation,
                               const char *tun_path, enum strait_emu_realisation realisation,
                               const struct strait_emu_trunk *trunk, struct strait_error *err);
/** By how many virtual seconds a message may pass earlier than the rate allows: 0 with the relay;
 *  with kernel links the largest burst of an idle tbf. */
double strait_emu_net_setup_credit_s(const struct strait_run *run, double dilation,
                                     enum strait_emu_realisation realisation);
/** Ping from rank 0 to one rank of each kind of port. Skips paths that lose packets.
 *  Out:     probes  STRAIT_EMU_MAX_PROBES, n of them filled
 *  Returns: 0, or -1 with *err as strait_emu_net_ping */
int strait_emu_net_setup_probe(struct strait_emu_probe *probes, int *n, struct strait_emu_net *net,
                               const struct strait_run *run, double dilation,
                               struct strait_error *err);
