/* Before simulating packet by packet: say where it takes long, and what is quicker. */
#pragma once
#include "session_state.h"

/** Print on r->notes what r's missing points need if that is more than a minute. */
void strait_packet_estimate_say(const struct strait_session *r);
