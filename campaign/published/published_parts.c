#include "published_parts.h"

#include <float.h>
#include <math.h>

static const double LINEAR_RATIO = 1.1; /* of a step to its computing: scales trivially */
static const double MIN_SHARE = 0.05;   /* of computing that communication must take to count */

int strait_published_parts_read(struct strait_published_parts *out, struct strait_object *row,
                                struct strait_error *err)
{
    struct strait_object o;
    double wire_mb, gbps;
    if (strait_object_enter(&o, row, "parts", true, err) != 0)
        return -1;
    *out = (struct strait_published_parts){.known = o.json != NULL};
    if (!o.json)
        return 0;
    if (strait_object_number(&o, &out->compute_s, "compute_s", 0, 1e9, err) != 0 ||
        strait_object_number(&o, &wire_mb, "wire_mb", 0, 1e15, err) != 0 ||
        strait_object_number(&o, &gbps, "gbps", DBL_MIN, 1e9, err) != 0 ||
        strait_object_number_or(&o, &out->overlap_s, "overlap_s", 0, 1e9, 0, err) != 0 ||
        strait_object_number_or(&o, &out->samples, "samples", 0, 1e12, 0, err) != 0)
        return -1;
    out->wire_bytes = 1e6 * wire_mb;
    out->bits_per_s = 1e9 * gbps;
    return strait_object_close(&o, err);
}

/* A figure as seconds of a step, and back. */
static double step_s(const struct strait_published_parts *p, double figure)
{
    return p->samples > 0 ? p->samples / figure : figure;
}

static void put_communication(json_t *row, const struct strait_published_parts *p,
                              double published_s, double ours_s)
{
    const double of_s = published_s - p->compute_s, our_s = ours_s - p->compute_s;
    if (of_s < MIN_SHARE * p->compute_s || !(of_s > 0) || isnan(ours_s))
        return;
    json_object_set_new(row, "communication",
                        json_pack("{s:f, s:f, s:f}", "published", of_s, "ours", our_s, "relative",
                                  our_s / of_s - 1));
}

void strait_published_parts_put(json_t *row, const struct strait_published_parts *p,
                                double published, double ours)
{
    if (!p->known)
        return;
    const double published_s = step_s(p, published), wire_s = 8 * p->wire_bytes / p->bits_per_s,
                 closed_s = p->compute_s + fmax(0, wire_s - p->overlap_s),
                 closed = step_s(p, closed_s);
    json_object_set_new(
        row, "closed", json_pack("{s:f, s:f}", "ours", closed, "relative", closed / published - 1));
    json_object_set_new(
        row, "linear",
        json_boolean(p->compute_s > 0 && published_s <= LINEAR_RATIO * p->compute_s));
    put_communication(row, p, published_s, step_s(p, ours));
    if (wire_s > published_s)
        json_object_set_new(row, "unreachable", json_real(wire_s / published_s));
}
