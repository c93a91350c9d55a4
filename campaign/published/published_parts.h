/* What a published step consists of, as far as it is published: the row's closed form, what of it
 * is communication, whether it scales trivially, and whether its bytes pass its link at all. */
#pragma once
#include "core/json.h"

/* "parts" of a row. compute_s 0 and wire_bytes 0: unknown. */
struct strait_published_parts {
    double compute_s;  /* of a step without communication, as published for one worker */
    double wire_bytes; /* through the busiest port, in one direction */
    double bits_per_s; /* of that port, nominal */
    double overlap_s;  /* of computing that communication may run beside */
    double samples;    /* of a step, where the figure is samples/s; 0: it is seconds */
    bool known;
};

/** Read the optional "parts" of a row: {"compute_s", "wire_mb", "gbps", "overlap_s", "samples"}. */
int strait_published_parts_read(struct strait_published_parts *out, struct strait_object *row,
                                struct strait_error *err);
/** Add to a row what follows from its parts and figures:
 *    closed         {ours, relative}: compute + max(0, bytes / rate - overlap), in the row's unit
 *    linear         whether the published step is within 10 % of computing alone
 *    communication  {published, ours, relative}: seconds beside computing, where published ones
 *                   are at least 5 % of it
 *    unreachable    by which factor the bytes need longer than the published step, where they do
 *  ours NAN: only what needs none. */
void strait_published_parts_put(json_t *row, const struct strait_published_parts *p,
                                double published, double ours);
