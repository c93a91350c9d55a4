/* From which value of any number of an experiment on a codec pays: break-even in bandwidth, round
 * trip, codec speed or clients. */
#pragma once
#include <jansson.h>
#include "campaign/plan.h"

/** Search along one pointer with fluid, from a `span`-th of the point's own value to `span` times
 *  it, in steps of 2 %: whether a round with the point's codec is shorter than one without.
 *  Out:     record   new {"pointer", "own", "first", "last", "pays": [[from, to]], "text"}: values
 *                    in the unit of the file ("Gbps", "ms") or plain numbers; or {"pointer",
 *                    "why"}, why it cannot be asked here
 *  In:      resolved a point with a codec
 *           pointer  a quantity or a number: /clients, /network/client/rate, /network/client/rtt,
 *                    /codec/speed, ... Where /network/client is an array of ports, or states each
 *                    way by itself, /rate and /rtt scale all of them, and values are factors
 *  Returns: 0, or -1 with *err
 *  Cost:    some 30 to 60 pairs of simulations with those of their intervals */
int strait_breakeven_over(json_t **record, const struct strait_plan_setup *setup,
                          const json_t *resolved, const char *pointer, double span,
                          struct strait_error *err);
