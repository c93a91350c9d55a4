/* The frame before each payload on the wire: 96 bytes, little-endian.
 *
 *    0  "STRT"              16  uint64  n_elems            48  float64 words[4]
 *    4  uint8   version     24  uint64  payload_bytes      80  uint64  0, reserved
 *    5  uint8   codec id    32  uint64  raw_bytes          88  uint64  XXH3 of the bytes 0..87
 *    6  uint8   bound kind  40  float64 bound value                    and of the payload
 *    7  uint8   flags
 *    8  int32   tag, 12 uint32 0, reserved
 *
 * The checksum is XXH3_64bits over the first 88 bytes followed by the payload, as one stream. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "codec.h"

enum { STRAIT_FRAME_BYTES = 96, STRAIT_FRAME_VERSION = 1, STRAIT_FRAME_WORDS = 4 };

struct strait_frame {
    unsigned codec_id; /* 0: no payload to decode */
    unsigned flags;    /* free for the caller, 8 bits */
    int32_t tag;
    uint64_t n_elems;
    uint64_t payload_bytes;
    uint64_t raw_bytes; /* float32 bytes of the payload's values */
    struct strait_bound bound;
    double words[STRAIT_FRAME_WORDS]; /* control words */
};

/** Write the frame of `payload`, frame->payload_bytes long; NULL when 0. */
void strait_frame_pack(unsigned char out[STRAIT_FRAME_BYTES], const struct strait_frame *frame,
                       const void *payload);
/** Read a frame; any input bytes are safe.
 *  Returns: 0, or -1 with *err INPUT: wrong magic, version, codec id or bound kind. payload_bytes
 *           is not checked and may be hostile: compare it with what is expected before
 *           allocating */
int strait_frame_unpack(struct strait_frame *frame, const unsigned char in[STRAIT_FRAME_BYTES],
                        struct strait_error *err);
/** Check the checksum of the frame's bytes and of its payload, frame->payload_bytes long. 0, or -1
 *  with *err INPUT. */
int strait_frame_verify(const unsigned char in[STRAIT_FRAME_BYTES],
                        const struct strait_frame *frame, const void *payload,
                        struct strait_error *err);
