/* The computation of the relay, without clock or device: packets go in with the time at which they
 * arrive and come out with the time at which they are due. All times are real seconds. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "emu/links/net_plan.h"

struct strait_emu_relay;

struct strait_emu_delivery {
    int dst;
    double due_s;
    const unsigned char *bytes; /* virtio_net_hdr and IPv4 packet */
    size_t len_bytes;
    void *packet; /* for strait_emu_relay_done */
};

/** A relay for a plan that strait_emu_net_plan_check accepts.
 *  Returns: free with strait_emu_relay_free; NULL with *err NOMEM
 */
struct strait_emu_relay *strait_emu_relay_new(const struct strait_emu_net_plan *plan,
                                              struct strait_error *err);
void strait_emu_relay_free(struct strait_emu_relay *relay);

enum { STRAIT_EMU_ELSEWHERE = -1 }; /* a node on another host, which shaped its out link */

/** Add a packet that node src sent, at a time no earlier than in previous calls. One to a node of
 *  another host crosses the sender's link here, and is due when it arrives at the in link there.
 *  In:      bytes  copied; at most STRAIT_EMU_PACKET_CAP_BYTES
 *  Cost:    a copy and O(log packets under way); memory is reused */
void strait_emu_relay_offer(struct strait_emu_relay *relay, double now_s, int src,
                            const unsigned char *bytes, size_t len_bytes);

/** When the relay must be called next; INFINITY when nothing is under way. */
double strait_emu_relay_next_s(const struct strait_emu_relay *relay);

/** Take the next packet that is due by now_s; return it with strait_emu_relay_done. */
bool strait_emu_relay_take(struct strait_emu_relay *relay, double now_s,
                           struct strait_emu_delivery *out);
void strait_emu_relay_done(struct strait_emu_relay *relay, const struct strait_emu_delivery *d);

/** Links are numbered as in workloads/ask/network.h: 2 i and 2 i + 1 are out and in of node i, then
 *  those between sites. */
int strait_emu_relay_n_links(const struct strait_emu_relay *relay);
/** Counters of a link, and its queue at now_s. */
struct strait_emu_link_report strait_emu_relay_link(const struct strait_emu_relay *relay, int link,
                                                    double now_s);

/** Fill the relay's part of a report's totals (n_unroutable, n_memory_drops). */
void strait_emu_relay_totals(struct strait_emu_relay_report *out,
                             const struct strait_emu_relay *relay);
/** Reset the counters; packets under way stay. */
void strait_emu_relay_restart_counters(struct strait_emu_relay *relay);
