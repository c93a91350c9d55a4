/* The frame before each payload on the wire. */
#include "frame.h"
#include <assert.h>
#define XXH_STATIC_LINKING_ONLY /* for a checksum state on the stack */
#include <xxhash.h>
#include "core/bytes.h"

enum { AT_CHECKSUM = 88 };

static uint64_t checksum(const unsigned char *frame, const void *payload, size_t payload_bytes)
{
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, frame, AT_CHECKSUM);
    if (payload_bytes > 0)
        XXH3_64bits_update(&state, payload, payload_bytes);
    return XXH3_64bits_digest(&state);
}

void strait_frame_pack(unsigned char out[STRAIT_FRAME_BYTES], const struct strait_frame *frame,
                       const void *payload)
{
    assert(frame->codec_id <= UINT8_MAX && frame->flags <= UINT8_MAX);
    memset(out, 0, STRAIT_FRAME_BYTES);
    memcpy(out, (const char[]){'S', 'T', 'R', 'T'}, 4);
    out[4] = STRAIT_FRAME_VERSION;
    out[5] = (unsigned char)frame->codec_id;
    out[6] = (unsigned char)frame->bound.kind;
    out[7] = (unsigned char)frame->flags;
    strait_put32(out + 8, (uint32_t)frame->tag);
    strait_put64(out + 16, frame->n_elems);
    strait_put64(out + 24, frame->payload_bytes);
    strait_put64(out + 32, frame->raw_bytes);
    strait_put_double(out + 40, frame->bound.value);
    for (size_t i = 0; i < STRAIT_FRAME_WORDS; i++)
        strait_put_double(out + 48 + 8 * i, frame->words[i]);
    strait_put64(out + AT_CHECKSUM, checksum(out, payload, (size_t)frame->payload_bytes));
}

int strait_frame_unpack(struct strait_frame *frame, const unsigned char in[STRAIT_FRAME_BYTES],
                        struct strait_error *err)
{
    if (memcmp(in, "STRT", 4) != 0)
        return strait_refuse(err, "frame", "expected \"STRT\", found bytes %02x %02x %02x %02x",
                             in[0], in[1], in[2], in[3]);
    if (in[4] != STRAIT_FRAME_VERSION)
        return strait_refuse(err, "frame", "expected version %d, found %d", STRAIT_FRAME_VERSION,
                             in[4]);
    if (in[5] != 0 && !strait_codec_by_id(in[5]))
        return strait_refuse(err, "frame", "expected a known codec, found %d", in[5]);
    if (in[6] >= N_STRAIT_BOUNDS)
        return strait_refuse(err, "frame", "expected a known kind of bound, found %d", in[6]);
    if (strait_get32(in + 12) != 0 || strait_get64(in + 80) != 0)
        return strait_refuse(err, "frame", "reserved bytes are not zero");
    *frame = (struct strait_frame){
        .codec_id = in[5],
        .flags = in[7],
        .tag = (int32_t)strait_get32(in + 8),
        .n_elems = strait_get64(in + 16),
        .payload_bytes = strait_get64(in + 24),
        .raw_bytes = strait_get64(in + 32),
        .bound = {.kind = (enum strait_bound_kind)in[6], .value = strait_get_double(in + 40)},
    };
    for (size_t i = 0; i < STRAIT_FRAME_WORDS; i++)
        frame->words[i] = strait_get_double(in + 48 + 8 * i);
    return 0;
}

int strait_frame_verify(const unsigned char in[STRAIT_FRAME_BYTES],
                        const struct strait_frame *frame, const void *payload,
                        struct strait_error *err)
{
    if (strait_get64(in + AT_CHECKSUM) != checksum(in, payload, (size_t)frame->payload_bytes))
        return strait_refuse(err, "frame", "frame and payload do not match their checksum");
    return 0;
}
