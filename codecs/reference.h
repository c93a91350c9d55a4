/* Reference coding: parameters change little in a round, so the tensors of a bundle are coded as
 * differences from the values that the receivers decoded last. The loop is closed: the sender
 * decodes its own packets, so that it knows the receivers' values bit for bit, and errors do not
 * add up over rounds.
 *
 *   u32 sender, u32 version, u32 base, one bit a tensor (from the lowest, padded with zeros), then
 *   the bundle (bundle.h)
 *
 * A packet of version v replaces the values of version `base`; base 0 is a key frame, which needs
 * none. A set bit says that the tensor is coded as a difference. Others are coded whole: lossless
 * ones, those whose difference has a larger range than they have themselves, and those whose bound
 * is so near to the resolution of float32 that the sum of reference and difference might leave it.
 * A codec with decode_from (codec.h) takes the reference itself, and forms its own differences.
 *
 * The bound holds for the values themselves: relative kinds are taken from the tensor, not from the
 * difference, and given to the codec as absolute ones. */
#pragma once
#include "bundle.h"

struct strait_reference; /* the last decoded values of consecutive tensors; one call at a time */

/** Room for n_elems values of n_slices tensors; without values: the first packet is a key frame.
 *  NULL with *err NOMEM. */
struct strait_reference *strait_reference_new(size_t n_elems, size_t n_slices,
                                              struct strait_error *err);
void strait_reference_free(struct strait_reference *ref);
/** Bytes that one takes for its values and for encoding; a receiver needs the first alone. */
size_t strait_reference_bytes(size_t n_elems, bool encodes);
size_t strait_reference_head_bytes(size_t n_slices);
/** The version of its values: 0 before the first packet. */
uint32_t strait_reference_version(const struct strait_reference *ref);
const float *strait_reference_values(const struct strait_reference *ref);
/** Values and version of another one of as many tensors. */
void strait_reference_copy(struct strait_reference *to, const struct strait_reference *from);
/** The next packet that is encoded becomes a key frame. */
void strait_reference_forget(struct strait_reference *ref);

/** From now on code every finite tensor as a difference, even if that is not smaller: EF21, whose
 *  codec may send any part of the difference. */
void strait_reference_always(struct strait_reference *ref);

/** Encode tensors that lie one behind the other in memory, and take over what receivers decode.
 *  In:      bundle, s  as for strait_bundle_encode, without memory; the bound's kind is NONE, ABS,
 *                      RANGE or RMS
 *           cap_bytes  at least the head and strait_bundle_max_bytes
 *           keeps      false: leave the reference as it is (for packets to whom sent it)
 *  Returns: 0, or -1 with *err
 *  Cost:    that of one encode, one decode if it keeps, and two or three passes over the values */
int strait_reference_encode(struct strait_reference *ref, uint32_t sender,
                            const struct strait_bundle *bundle, unsigned char *out,
                            size_t cap_bytes, size_t *len_bytes, const struct strait_slice *s,
                            size_t n_slices, bool keeps, struct strait_error *err);
/** Decode into the tensors; any input bytes are safe. If the reference already has the packet's
 *  values, as the sender's has, they are copied.
 *  In:      keeps    true: the reference becomes these values, whatever it was for a key frame
 *  Returns: 0, or -1 with *err INPUT: not a packet of these tensors, or not against the version
 *           that the reference has */
int strait_reference_decode(struct strait_reference *ref, const struct strait_bundle *bundle,
                            struct strait_slice *s, size_t n_slices, const unsigned char *in,
                            size_t len_bytes, bool keeps, struct strait_error *err);
/** Read the number of the rank that encoded a packet. False: the packet is too short. */
bool strait_reference_sender(uint32_t *sender, const unsigned char *in, size_t len_bytes);
