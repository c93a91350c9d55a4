/* Closed forms of what the simulators compute event by event, to test them. Sizes are bytes on a
 * stream (payload and frame), rates are payload bytes a second. All streams start at 0 unless
 * stated; times are those of the last byte's arrival. */
#pragma once
#include <stddef.h>

/** n equal messages at once through one link: delay + n bytes / rate. */
double strait_oracle_equal_s(size_t n, double bytes, double bytes_per_s, double delay_s);

/** Processor sharing: n equal messages through one link, message i posted at begin_s[i]
 *  (ascending). Out: end_s[n]. No ramp. Returns 0, or -1 when memory runs out. O(n).
 *  Source:  virtual time of Parekh and Gallager (IEEE/ACM ToN 1993), all weights equal */
int strait_oracle_shared(double *end_s, const double *begin_s, size_t n, double bytes,
                         double bytes_per_s, double delay_s);

/** One warm stream with a fixed window smaller than the bandwidth-delay product: full windows, one
 *  a round trip, then the rest. */
double strait_oracle_capped_s(double bytes, double window_bytes, double bytes_per_s, double rtt_s);

/** Ring all-reduce of `bytes` over n ranks on a star of equal ports without ramp: 2 (n - 1) steps
 *  of delay + (bytes / n + frame) / rate. */
double strait_oracle_ring_s(size_t n, double bytes, double frame_bytes, double bytes_per_s,
                            double delay_s);

/** n equal messages at once over cold streams through one link that they share: windows of
 *  initial, 2 initial, 4 initial ... bytes, one a round trip, until the link is full.
 *  Source: RFC 5681 section 3.1 without delayed acknowledgements, infinite queue */
double strait_oracle_ramp_s(size_t n, double bytes, double initial_window_bytes, double bytes_per_s,
                            double rtt_s);

/** One message in equal parts on n cold connections of one stream; bytes includes all their frames.
 *  The connections share the link first come, first served: each window passes as soon as the link
 *  is free and the first byte of the previous window is acknowledged. -1: out of memory. O(n
 *  log(bytes)). */
double strait_oracle_connections_s(size_t n, double bytes, double initial_window_bytes,
                                   double bytes_per_s, double rtt_s);
