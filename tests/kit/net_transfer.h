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
/** TCP with timestamps carries 1448 of 1514 (no overhead) or of 1538 bytes (a real wire). Within 1
 *  %, in one of some rounds of three transfers each: a busy machine may come late. */
bool goodput_is(struct strait_emu_net *net, int from, int to, double rate_bits_per_s,
                double frame_bytes, size_t n_bytes);
/** Ping's least of eleven between 0.1 ms below the plan (it prints three digits) and 0.3 ms above,
 * in one of some rounds: all of them cross the links, and a machine that is late only adds to some.
 */
bool rtt_is(struct strait_emu_net *net, int from, int to, double wanted_s);
