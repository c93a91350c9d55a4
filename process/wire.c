#include "wire.h"

#include <string.h>
#include "codecs/frame.h"
#include "core/hash.h"

_Static_assert((int)STRAIT_FRAME_BYTES == STRAIT_PROC_FRAME_BYTES, "a message costs its frame");
_Static_assert((int)STRAIT_FRAME_WORDS == (int)STRAIT_N_WORDS, "all words travel");

void strait_proc_wire_pack(unsigned char out[STRAIT_PROC_FRAME_BYTES],
                           const struct strait_packet *packet, int tag)
{
    struct strait_frame f = {.codec_id = packet->codec_id,
                             .flags = packet->flags,
                             .bound = packet->bound,
                             .tag = tag,
                             .n_elems = packet->n_elems,
                             .payload_bytes = packet->data ? packet->payload_bytes : 0,
                             .raw_bytes = packet->raw_bytes};
    memcpy(f.words, packet->words, sizeof(f.words));
    strait_frame_pack(out, &f, f.payload_bytes > 0 ? packet->data : NULL);
}

size_t strait_proc_wire_part_at(size_t payload_bytes, int n, int i)
{
    const size_t rest = payload_bytes % (size_t)n, at = (size_t)i;
    return payload_bytes / (size_t)n * at + (at < rest ? at : rest);
}

uint64_t strait_proc_wire_checksum(const unsigned char in[STRAIT_PROC_FRAME_BYTES])
{
    return strait_checksum(in, STRAIT_PROC_FRAME_BYTES); /* the payload's is among them */
}

static int unpack(struct strait_frame *f, const unsigned char *in, struct strait_error *err)
{
    struct strait_error why = {.code = STRAIT_OK};
    if (strait_frame_unpack(f, in, &why) == 0)
        return 0;
    return strait_error_set(err, STRAIT_ERR_BACKEND, NULL, "a message begins with a bad frame: %s",
                            why.text);
}

int strait_proc_wire_unpack(struct strait_packet **packet, int *tag,
                            const unsigned char in[STRAIT_PROC_FRAME_BYTES], uint64_t noise_bytes,
                            bool real, struct strait_error *err)
{
    struct strait_frame f;
    if (unpack(&f, in, err) != 0)
        return -1;
    const uint64_t n_bytes = real ? f.payload_bytes : noise_bytes;
    if (n_bytes > STRAIT_PROC_MAX_PAYLOAD_BYTES || (!real && f.payload_bytes > 0))
        return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                "expected a payload of at most %llu bytes, found %llu",
                                (unsigned long long)(real ? STRAIT_PROC_MAX_PAYLOAD_BYTES : 0),
                                (unsigned long long)(real ? n_bytes : f.payload_bytes));
    struct strait_packet *p = strait_packet_new(real ? n_bytes : 0);
    if (!p)
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL,
                                "a payload of %llu bytes does not fit in memory",
                                (unsigned long long)n_bytes);
    p->payload_bytes = n_bytes;
    p->raw_bytes = f.raw_bytes;
    p->codec_id = f.codec_id;
    p->flags = f.flags;
    p->bound = f.bound;
    p->n_elems = f.n_elems;
    memcpy(p->words, f.words, sizeof(p->words));
    *packet = p;
    *tag = f.tag;
    return 0;
}

int strait_proc_wire_verify(const unsigned char in[STRAIT_PROC_FRAME_BYTES],
                            const struct strait_packet *packet, struct strait_error *err)
{
    struct strait_frame f;
    struct strait_error why = {.code = STRAIT_OK};
    if (unpack(&f, in, err) != 0)
        return -1;
    if (strait_frame_verify(in, &f, packet->data, &why) == 0)
        return 0;
    return strait_error_set(err, STRAIT_ERR_BACKEND, NULL, "a message of %zu bytes is damaged: %s",
                            packet->payload_bytes, why.text);
}
