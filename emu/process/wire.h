/* A message's frame on the wire: the frame of codecs/frame.h with what a packet says of itself. */
#pragma once
#include <stdbool.h>
#include "core/error.h"
#include "workloads/rank/backend.h"
#include "transport.h"

/** Write the frame of a packet. The frame of a sized packet (no data) announces no payload: the
 *  noise that follows it is announced by the envelope. */
void strait_emu_wire_pack(unsigned char out[STRAIT_EMU_MESSAGE_OVERHEAD_BYTES],
                          const struct strait_packet *packet, int tag);
/** Where part i of n begins in a payload; part n is its end. Parts differ by one byte at most, and
 *  each travels on a connection of its own, behind a copy of the frame, which is that of the whole.
 */
size_t strait_emu_wire_part_at(size_t payload_bytes, int n, int i);
/** A checksum of frame and payload: of a packed frame, which carries the payload's. */
uint64_t strait_emu_wire_checksum(const unsigned char in[STRAIT_EMU_MESSAGE_OVERHEAD_BYTES]);
/** Make the packet that a frame announces.
 *  Out:     packet     new; with room for its payload if the run has real payload
 *           tag        of the message
 *  In:      envelope   of the message
 *           real       the payload is in the frame's own count and kept
 *  Returns: 0, or -1 with *err: BACKEND when it is no frame of ours or too large, NOMEM
 */
int strait_emu_wire_unpack(struct strait_packet **packet, int *tag,
                           const unsigned char in[STRAIT_EMU_MESSAGE_OVERHEAD_BYTES],
                           const struct strait_emu_envelope *envelope, bool real,
                           struct strait_error *err);
/** Are frame and payload what was sent? -1 with *err BACKEND when not. */
int strait_emu_wire_verify(const unsigned char in[STRAIT_EMU_MESSAGE_OVERHEAD_BYTES],
                           const struct strait_packet *packet, struct strait_error *err);
