/* What limits a round: the parts of its critical path, and how busy every resource was. */
#pragma once
#include <jansson.h>
#include "core/error.h"
#include "limits_inputs.h"

/** Put into a row:
 *  "critical_path"  {part: {"s", "at"}}: seconds a round on the critical path, where `at` is the
 *                   rank, link or path with most of them, or null. Parts add up to the round:
 *                   "compute", "encode", "decode", "aggregate"; of a transfer "transfer", what its
 *                   own bytes take on the link that was filled most meanwhile, "wait", what other
 *                   bytes took there, and "latency", when that link had nothing to carry: path
 *                   delay, slow start, losses; "other"
 *  "utilisation"    {resource: {"mean", "most", "at", "n"}}: the share of the rounds' time for
 *                   which each of n resources of a kind was busy or filled; most: the worst one,
 *                   `at`
 *  "limits"         {"by", "at", "share", "utilisation", "text"}: what has the largest share of the
 *                   critical path: "link" (all links of a kind, both directions together; `at` is
 *                   the worst), "host-link" (between host and accelerator), "latency", "straggler",
 *                   "compute", "encode", "decode", "aggregate" or "other"; utilisation: of that resource, null for none
 *  All three are null where no round is known in full.
 *  Returns: 0, or -1 with *err NOMEM
 *  Cost:    O(s log s) for s spans */
int strait_limits_put(json_t *row, const struct strait_limits_inputs *in, struct strait_error *err);
