/* Why a row's round takes as long as it does: where its time goes, and what it would be if each
 * phase or kind of link were faster. */
#pragma once
#include <jansson.h>
#include "analysis/store.h"
#include "campaign/plan.h"

/** The resolved point that a row of a results folder is of, from the header that announced it.
 *  Out:     file    of the experiment, borrowed from the store
 *           header  that header, borrowed; either may be NULL
 *  Returns: new reference, or NULL with *err: INPUT when no header has such a point */
json_t *strait_why_point(const char **file, const json_t **header, const struct strait_store *store,
                         const json_t *row, struct strait_error *err);

/** Explain a row.
 *  In:      resolved  its point
 *           factor    how many times as fast each is tried
 *  Returns: new {"record": "why", "row", "factor", "predicted", "faster": [{"what", "text",
 *           "round_s", "interval_s", "saves_s", "limits"}], "names": what the file calls
 *           clients and sites, texts}, the largest gain first, where
 *           predicted and faster are by fluid; NULL with *err
 *  Cost:    a simulation, with those of its interval, for each that the experiment has; n_jobs at a
 *           time */
json_t *strait_why(const struct strait_plan_setup *setup, const json_t *row, const json_t *resolved,
                   double factor, int n_jobs, struct strait_error *err);
