/* A message's frame on the wire: the frame of codecs/frame.h with a packet's description. */
#pragma once
#include <stdbool.h>
#include "core/error.h"
#include "workloads/rank/backend.h"

/* Bytes of a message beside its payload: its frame only. */
#define STRAIT_PROC_FRAME_BYTES 96
/* Larger payloads are refused before memory is allocated. */
#define STRAIT_PROC_MAX_PAYLOAD_BYTES ((uint64_t)1 << 32)

/** Write the frame of a packet. For a sized packet (no data) the frame announces no payload: the
 *  receiver learns the length of the noise that follows elsewhere. */
void strait_proc_wire_pack(unsigned char out[STRAIT_PROC_FRAME_BYTES],
                           const struct strait_packet *packet, int tag);
/** Offset of part i of n in a payload; part n is its end. Parts differ by at most one byte; each is
 *  sent on its own connection, behind a copy of the frame, which describes the whole. */
size_t strait_proc_wire_part_at(size_t payload_bytes, int n, int i);
/** A checksum of frame and payload, from the packed frame, which contains the payload's. */
uint64_t strait_proc_wire_checksum(const unsigned char in[STRAIT_PROC_FRAME_BYTES]);
/** Allocate the packet that a frame announces.
 *  Out:     packet     new; with room for its payload if the run has real payload
 *           tag        of the message
 *  In:      noise_bytes  of a sized payload, which the frame does not announce
 *           real         the frame announces the payload, which is kept
 *  Returns: 0, or -1 with *err: BACKEND when the frame is malformed or announces too much, NOMEM */
int strait_proc_wire_unpack(struct strait_packet **packet, int *tag,
                            const unsigned char in[STRAIT_PROC_FRAME_BYTES], uint64_t noise_bytes,
                            bool real, struct strait_error *err);
/** Check frame and payload. 0, or -1 with *err BACKEND. */
int strait_proc_wire_verify(const unsigned char in[STRAIT_PROC_FRAME_BYTES],
                            const struct strait_packet *packet, struct strait_error *err);
