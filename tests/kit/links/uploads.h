/* What emulated runs are judged on: clients that send 4 MB each to rank 0, at once. */
#pragma once
#include "tests/kit/emu_world.h"

enum { UPLOAD_BYTES = 4000000, BURN_MS = 200 };

/** 1 Gbps less what 1448 bytes of payload need on the wire (1514 as tc counts, and overhead), in
 *  bytes/s. */
double upload_goodput(double overhead_bytes);
/** A star of n clients and rank 0 at 1 Gbps that runs upload, or with burns burn_and_upload. */
void upload_world(struct world *w, int n_clients, double rtt_s, bool burns);
/** Run it and give the time at which the last sender knew of its end (where they worked: at which
 *  the last message had arrived), or NAN with *err. */
double upload_run_s(struct world *w, struct strait_error *err);
