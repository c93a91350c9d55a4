/* Bulk transfers and pings in an emulated network, compared with arithmetic. */
#pragma once
#include "net_world.h"

struct outcome {
    double all_s;              /* virtual, from the first send to the last reply */
    double goodput_bits_per_s; /* virtual, between half and 9/10 of all bytes */
};

/** n_bytes over each of the flows at once, at most MAX_NODES; each is answered with one byte. */
struct outcome transfer(struct strait_emu_net *net, const struct flow *flows, size_t n_flows,
                        size_t n_bytes);
/** TCP with timestamps carries 1448 of 1514 (no overhead) or of 1538 bytes (a real wire). The bytes
 *  take at least as long as the link needs for them; where time_is_judged, the median goodput of
 *  some transfers is within 1 % of the plan. */
bool goodput_is(struct strait_emu_net *net, int from, int to, double rate_bits_per_s,
                double frame_bytes, size_t n_bytes);
/** Eight flows of 8 MB each fill one port of 1 Gbps, as goodput_is says. */
bool eight_fill_one(struct strait_emu_net *net, const struct flow flows[8]);
/** Wait until what one node sent to the other has arrived there, both ways. */
bool counters_settle(struct strait_emu_counters *from, int i_from, struct strait_emu_counters *to,
                     int i_to, struct strait_emu_net *net);
/** Did so many bytes take at least as long as a link of that rate needs? */
bool is_no_faster(double all_s, double rate_bits_per_s, double frame_bytes, double n_bytes);
/** Ping's least is not below the plan, but for 0.1 ms (it prints three digits); where
 *  time_is_judged, the least of 88 is at most 0.3 ms above. */
bool rtt_is(struct strait_emu_net *net, int from, int to, double wanted_s);
