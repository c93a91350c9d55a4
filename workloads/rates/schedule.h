/* A link's rate over time. */
#pragma once
#include <stddef.h>
#include "core/json.h"

/* Steps: from at_s[i] on the rate is bits_per_s[i]. at_s[0] is 0, times rise, rates are above 0. */
struct strait_schedule {
    struct strait_schedule *next; /* in the list of its network */
    size_t n;
    double *at_s, *bits_per_s;
    double *sum_bits; /* that the link has carried at most by at_s[i] */
    double period_s;  /* after which it begins again; INFINITY: the last step stays */
    double max_bits_per_s;
};

/** Read the rate of a port that changes: [{"at": "0 s", "rate": "1 Gbps"}, ...]; {"steps": [...],
 *  "repeat": "60 s"}; or {"mahimahi": "FILE", "window": "100 ms"}, a packet-delivery trace of
 *  Mahimahi (a line a packet of 1500 bytes, in milliseconds, repeated from its last line on), whose
 *  deliveries are averaged over windows; a window without any is averaged with the next that has.
 *  Out:     s    free with strait_schedule_free
 *  In:      o    whose "rate" is an array or an object
 *  Returns: 0, or -1 with *err INPUT naming the key, or file and line */
int strait_schedule_read(struct strait_schedule **s, struct strait_object *o,
                         struct strait_error *err);
/** Make a schedule of n steps. NULL when memory runs out. */
struct strait_schedule *strait_schedule_new(size_t n, const double *at_s, const double *bits_per_s,
                                            double period_s);
/** The same with so much less at all times, which must be below its least. NULL when memory runs
 *  out. */
struct strait_schedule *strait_schedule_less(const struct strait_schedule *s, double bits_per_s);
void strait_schedule_free(struct strait_schedule *s);

double strait_schedule_bits_per_s(const struct strait_schedule *s, double t_s);
/** The first change after t_s; INFINITY: none. */
double strait_schedule_next_s(const struct strait_schedule *s, double t_s);
/** Bits that a link carries from one time to another, if it is never idle. */
double strait_schedule_bits(const struct strait_schedule *s, double from_s, double to_s);
/** When a link that is never idle has carried so many bits from from_s on. */
double strait_schedule_end_s(const struct strait_schedule *s, double from_s, double bits);
