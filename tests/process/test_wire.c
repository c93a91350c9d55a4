/* A packet's frame, there and back, and what is refused. */
#include "process/wire.h"
#include <stdlib.h>
#include <string.h>
#include "tests/kit/suite.h"

enum { N = STRAIT_PROC_FRAME_BYTES };

static struct strait_packet *packet_of(size_t payload_bytes, bool real)
{
    struct strait_packet *p = strait_packet_new(real ? payload_bytes : 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    p->payload_bytes = payload_bytes;
    p->raw_bytes = 4000;
    p->codec_id = 1;
    p->bound = (struct strait_bound){STRAIT_BOUND_RANGE, 1e-3};
    p->n_elems = 1000;
    for (size_t i = 0; i < STRAIT_N_WORDS; i++)
        p->words[i] = (double)i + 0.5;
    for (size_t i = 0; real && i < payload_bytes; i++)
        p->data[i] = (unsigned char)(7 * i);
    return p;
}

static void expect_same(const struct strait_packet *a, const struct strait_packet *b)
{
    CU_ASSERT_EQUAL(a->payload_bytes, b->payload_bytes);
    CU_ASSERT_EQUAL(a->raw_bytes, b->raw_bytes);
    CU_ASSERT_EQUAL(a->codec_id, b->codec_id);
    CU_ASSERT_EQUAL(a->bound.kind, b->bound.kind);
    CU_ASSERT_EQUAL(a->bound.value, b->bound.value);
    CU_ASSERT_EQUAL(a->n_elems, b->n_elems);
    CU_ASSERT_EQUAL(memcmp(a->words, b->words, sizeof(a->words)), 0);
}

/* Real payload is announced by the frame, a sized one beside it. */
static void there_and_back(void)
{
    static const size_t sizes[] = {0, 1, 100};
    for (int real = 0; real < 2; real++)
        for (size_t i = 0; i < 3; i++) {
            unsigned char frame[N];
            struct strait_packet *p = packet_of(sizes[i], real), *back = NULL;
            struct strait_error err = {0};
            int tag = 0;
            strait_proc_wire_pack(frame, p, -7);
            const uint64_t noise_bytes = real ? 0 : sizes[i];
            CU_ASSERT_EQUAL_FATAL(
                strait_proc_wire_unpack(&back, &tag, frame, noise_bytes, real, &err), 0);
            CU_ASSERT_EQUAL(tag, -7);
            expect_same(back, p);
            CU_ASSERT_EQUAL(back->data != NULL, real && sizes[i] > 0);
            if (back->data)
                memcpy(back->data, p->data, sizes[i]);
            CU_ASSERT_EQUAL(strait_proc_wire_verify(frame, back, &err), 0);
            strait_packet_drop(p);
            strait_packet_drop(back);
        }
}

static void refused(void)
{
    unsigned char frame[N], other[N];
    struct strait_packet *p = packet_of(100, true), *back = NULL;
    struct strait_error err = {0};
    int tag;
    strait_proc_wire_pack(frame, p, 1);
    /* a payload where only noise is expected */
    uint64_t noise_bytes = 0;
    CU_ASSERT_EQUAL(strait_proc_wire_unpack(&back, &tag, frame, noise_bytes, false, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_BACKEND);
    CU_ASSERT_STRING_EQUAL(err.text, "expected a payload of at most 0 bytes, found 100");
    /* noise beyond the limit */
    err = (struct strait_error){0};
    struct strait_packet *sized = packet_of(0, false);
    strait_proc_wire_pack(other, sized, 1);
    noise_bytes = STRAIT_PROC_MAX_PAYLOAD_BYTES + 1;
    CU_ASSERT_EQUAL(strait_proc_wire_unpack(&back, &tag, other, noise_bytes, false, &err), -1);
    noise_bytes = STRAIT_PROC_MAX_PAYLOAD_BYTES;
    CU_ASSERT_EQUAL(strait_proc_wire_unpack(&back, &tag, other, noise_bytes, false, NULL), 0);
    CU_ASSERT_EQUAL(back->payload_bytes, STRAIT_PROC_MAX_PAYLOAD_BYTES);
    strait_packet_drop(back);
    /* another magic, and a changed byte of the payload */
    err = (struct strait_error){0};
    memcpy(other, frame, N);
    other[0] ^= 1;
    CU_ASSERT_EQUAL(strait_proc_wire_unpack(&back, &tag, other, noise_bytes, true, &err), -1);
    CU_ASSERT_EQUAL(strncmp(err.text, "a message begins with a bad frame: ", 35), 0);
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(strait_proc_wire_verify(other, p, &err), -1);
    CU_ASSERT_EQUAL(strncmp(err.text, "a message begins with a bad frame: ", 35), 0);
    err = (struct strait_error){0};
    p->data[99] ^= 1;
    CU_ASSERT_EQUAL(strait_proc_wire_verify(frame, p, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_BACKEND);
    CU_ASSERT_EQUAL(strncmp(err.text, "a message of 100 bytes is damaged: ", 35), 0);
    strait_packet_drop(p);
    strait_packet_drop(sized);
}

/* Equal for equal messages, and another for each byte that is changed. */
static void checksums(void)
{
    unsigned char frame[N];
    struct strait_packet *p = packet_of(100, true);
    strait_proc_wire_pack(frame, p, 1);
    const uint64_t sum = strait_proc_wire_checksum(frame);
    CU_ASSERT_EQUAL(strait_proc_wire_checksum(frame), sum);
    for (size_t i = 0; i < N; i++) {
        frame[i] ^= 1;
        CU_ASSERT_NOT_EQUAL(strait_proc_wire_checksum(frame), sum);
        frame[i] ^= 1;
    }
    p->data[50]++;
    strait_proc_wire_pack(frame, p, 1);
    CU_ASSERT_NOT_EQUAL(strait_proc_wire_checksum(frame), sum);
    strait_packet_drop(p);
}

static const struct strait_test tests[] = {
    {"a packet there and back, with its payload or with its size alone", there_and_back},
    {"what does not fit, and what was changed, is refused", refused},
    {"the checksum sees every byte", checksums},
};
STRAIT_SUITE("process/wire", tests);
