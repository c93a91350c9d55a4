/* Checks of a plan, and values derived from it. */
#pragma once
#include "net.h"

#define STRAIT_EMU_PACKET_RUN_S 0.25e-3 /* virtual: a super-packet at the rate of a link */

/** 0, or -1 with *err INPUT naming the impossible field. */
int strait_emu_net_plan_check(const struct strait_emu_net_plan *plan, struct strait_error *err);

/** The plan's dilation, with 0 as 1. */
double strait_emu_net_plan_dilation(const struct strait_emu_net_plan *plan);

/** Largest IP packet of its nodes: 1500, or what fits between hosts. */
uint32_t strait_emu_net_plan_mtu_bytes(const struct strait_emu_net_plan *plan);

/** TCP segments in a super-packet of STRAIT_EMU_PACKET_RUN_S at a link's rate: at least 1, at most
 *  64 KiB. Longer ones would delay the acknowledgements that pace the sender. */
unsigned strait_emu_net_packet_run_segments(double rate_bits_per_s, double overhead_bytes);
