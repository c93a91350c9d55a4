/* Effects on single packets: loss, jitter, full queues. Emulations and simulations of packets have
 * them; simulations of flows name those that they leave out. */
#pragma once
#include <jansson.h>
#include <stddef.h>
#include "network.h"

/** The effects that a network asks for, with their figures: texts such as "loss 1 % on client
 *  uplinks", "jitter 2 ms to 5 ms on client links". A port's uplink leads from it, its downlink to
 *  it, "links" are both.
 *  Returns: a new object {"not_modelled": [texts], "by_formula": [texts], "drawn": [texts]} without
 *           the keys that would be empty; by_formula: slows ports (sim/loss_formula.h); drawn: what
 *           a simulation of packets has; its times are one draw */
json_t *strait_packet_effects(const struct strait_network *n);

/** "not modelled, so that times are without it: A, B; packet by packet, drawn by the seed: C" in
 *  buf, "" where there are none. In: effects: an object with these keys. Returns: buf */
enum { STRAIT_EFFECTS_CHARS = 512 };
const char *strait_effects_text(char buf[STRAIT_EFFECTS_CHARS], const json_t *effects);
