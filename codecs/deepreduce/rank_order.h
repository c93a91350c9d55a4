/* The order of values by size, and how it is sent beside value codecs that need sorted values. */
#pragma once
#include "core/bytes.h"

/* For each rank in the order: the place of the value, and whether it is negative. */
struct strait_rank_order {
    uint32_t *place; /* n of them, indexed by rank */
    size_t n;
    bool signs;          /* ranked by magnitude: the signs are sent too */
    unsigned char *sign; /* n of them, 1: negative; only with `signs` */
};

/** Sort values.
 *  Out:     order   place[n] and sign[n]; highest value first, equal ones by place
 *           sorted  float32[n]: the values, or magnitudes, in that order; NaN as 0, infinities as
 *                   the largest float
 *  In:      v       float32[n]
 *           scratch uint64_t[2 n]
 *  Cost:    three passes of a radix sort */
void strait_rank_order_of(struct strait_rank_order *order, float *sorted, const float *v, size_t n,
                          uint64_t *scratch);

/** Bits for a number below n: ceil(log2 n). */
unsigned strait_rank_bits(size_t n);

/* How place[n], each below n_places, is written. Packed: strait_rank_bits(n_places) bits each, plus
 * one for the sign, padded to whole bytes. Else 4 or 8 bytes each, the top bit the sign. */
enum strait_rank_form { STRAIT_RANK_PACKED = 0, STRAIT_RANK_INT32 = 4, STRAIT_RANK_INT64 = 8 };

size_t strait_rank_order_bytes(size_t n, size_t n_places, bool signs, enum strait_rank_form form);
void strait_rank_order_write(struct strait_writer *w, const struct strait_rank_order *order,
                             size_t n_places, enum strait_rank_form form);
/** Read an order; order->n and order->signs are set before. False: malformed, or a place occurs
 *  twice.
 *  In:      seen  (n_places + 7) / 8 bytes of scratch */
bool strait_rank_order_read(struct strait_reader *r, struct strait_rank_order *order,
                            size_t n_places, enum strait_rank_form form, unsigned char *seen);
