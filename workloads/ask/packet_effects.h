/* What happens to single packets of a network: loss, jitter, full queues. Emulation has it;
 * simulations, which know flows alone, say what they leave out. */
#pragma once
#include <jansson.h>
#include <stddef.h>
#include "network.h"

/** The effects that a network asks for, with their figures: a new array of texts such as "loss 1 %
 *  on client uplinks", "jitter 2 ms to 5 ms on client links"; empty where there are none. A port's
 *  uplink leads from it, its downlink to it, "links" are both. */
json_t *strait_packet_effects(const struct strait_network *n);

/** "not modelled, so that times are without it: A; B" in buf. Returns: buf */
enum { STRAIT_NOT_MODELLED_CHARS = 512 };
const char *strait_not_modelled_text(char buf[STRAIT_NOT_MODELLED_CHARS], const json_t *effects);
