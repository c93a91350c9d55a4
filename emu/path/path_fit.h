/* From packets that crossed a path to its rate, loss, queue and round trip, each with its standard
 * error. Pure: no sockets, no clock. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A packet that arrived. The two clocks may differ by any constant. */
struct strait_path_packet {
    uint32_t number; /* in its train, from 0 */
    double sent_s, arrived_s;
};

/* Packets of one length that were sent in order, at one pace. */
struct strait_path_train {
    struct strait_path_packet *packets; /* as they arrived */
    size_t n_arrived, n_sent;
    double wire_bytes; /* of a packet, headers and the network's overhead included */
    bool is_held;      /* the sender's own buffer was full at times */
};

struct strait_path_figure {
    double value, error; /* standard error; NAN: it was not found */
    size_t n;            /* readings behind it */
};

/** Rate of the narrowest link, bits a second on the wire, from a train sent at once: one over the
 *  slope of arrivals, against numbers or against how many came, whichever lies closer to a line
 *  (packets lost behind the link took its time, those before it did not). The first eighth is left
 *  out, which a shaper's credit lets pass faster.
 *  Returns: NAN below 16 arrivals. Source: least squares; its error from the residuals */
struct strait_path_figure strait_path_fit_rate(const struct strait_path_train *t);
/** Share of lost packets. Source: binomial; where none was lost the error is that of one lost */
struct strait_path_figure strait_path_fit_loss(const struct strait_path_train *t);
/** Jitter, +- around the mean delay, if delays are uniform: the middle 90 % of them over 1.8. */
struct strait_path_figure strait_path_fit_jitter(const struct strait_path_train *t);
/** Bytes on the wire of the drop-tail queue that a train sent at once overfilled: what the packet
 *  waited that waited longest, times the rate, and one packet, which the first one's delay has too.
 *  The error is that of one packet's length.
 *  Returns: NAN unless loss is far above loss_ratio, which is that of packets sent apart; then
 *           value is still what was in the queue at most, and error NAN */
struct strait_path_figure strait_path_fit_queue(const struct strait_path_train *t,
                                                double rate_bits_per_s, double loss_ratio);
/** Median of n times, reordered, and its error: 1.2533 standard deviations of the mean, by the
 *  median absolute deviation (normal noise). NAN without any. */
struct strait_path_figure strait_path_fit_median(double *times_s, size_t n);
/** Mean of figures weighted by their numbers of readings; of at least two the error is the larger
 *  of what they say themselves and how far they lie apart. Those that were not found do not count.
 *  */
struct strait_path_figure strait_path_mean(const struct strait_path_figure *f, size_t n);
