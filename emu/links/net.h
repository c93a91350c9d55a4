/* A star of network namespaces with shaped links. The realisation shapes them: a relay process in
 * user space (a TUN device a node; the state of a link is the time at which it is free), or the
 * kernel (a veth pair a node, netem and tbf at its two ends). */
#pragma once
#include "net_plan.h"
#include "netlink.h"

/** "relay" or "kernel". */
const char *strait_emu_realisation_name(enum strait_emu_realisation realisation);

struct strait_emu_net;

/** Build namespaces, devices, routes and links. A relay ends with the calling thread; the kernel's
 *  shapers are read back and compared with the plan. Nothing has a name outside these processes:
 *  when they end, by any signal, everything is gone.
 *  Out:     out   free with strait_emu_net_free
 *  In:      plan  copied
 *  Returns: 0, or -1 with *err: INPUT for an impossible plan, HOST if this machine or user cannot
 *           (no TUN, no netem, no right to make namespaces), BACKEND if the kernel's shapers differ
 *           from the plan
 *  Cost:    about 1 ms a node */
int strait_emu_net_up(struct strait_emu_net **out, const struct strait_emu_net_plan *plan,
                      struct strait_error *err);

/** End the relay and close the namespaces. In a forked child it only closes the child's copies.
 *  NULL is allowed. */
void strait_emu_net_free(struct strait_emu_net *net);

int strait_emu_net_n_nodes(const struct strait_emu_net *net);
enum strait_emu_realisation strait_emu_net_realisation(const struct strait_emu_net *net);
double strait_emu_net_dilation(const struct strait_emu_net *net);

/** A node's namespace as a file descriptor, owned by net; -1 for a node of another host. */
int strait_emu_net_namespace_fd(const struct strait_emu_net *net, int node);

/** Move the calling thread into a node's namespace. A forked child also closes everything else of
 *  net (other namespaces, the relay's control socket) and can afterwards only enter again.
 *  Returns: 0, or -1 with *err */
int strait_emu_net_enter(struct strait_emu_net *net, int node, struct strait_error *err);

/** A node's interface counters, read from the kernel inside its namespace. */
int strait_emu_net_counters(struct strait_emu_counters *out, struct strait_emu_net *net, int node,
                            struct strait_error *err);

/** Read counters and lateness.
 *  Out:     out      release with strait_emu_relay_report_release
 *  In:      restart  reset counters and lateness afterwards
 *  Returns: 0, or -1 with *err BACKEND when the relay is gone */
int strait_emu_net_report(struct strait_emu_relay_report *out, struct strait_emu_net *net,
                          bool restart, struct strait_error *err);

/** Round trips measured by the stock ping program in the namespace of `from`: an independent probe.
 *  56 data bytes, so each way has 98 bytes and the overhead on the wire.
 *  Out:     rtt_min_s, rtt_median_s  virtual (real time divided by the dilation); may be NULL
 *  In:      n  probes, 20 ms of virtual time apart
 *  Returns: 0, or -1 with *err: HOST when ping is missing, BACKEND when an answer is missing */
int strait_emu_net_ping(double *rtt_min_s, double *rtt_median_s, struct strait_emu_net *net,
                        int from, int to, int n, struct strait_error *err);
