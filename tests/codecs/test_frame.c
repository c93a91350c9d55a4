#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "codecs/frame.h"
#include "core/random.h"
#include "tests/kit/suite.h"

static const unsigned char payload[] = "twelve bytes";

static struct strait_frame example(void)
{
    return (struct strait_frame){.codec_id = 3,
                                 .flags = 5,
                                 .tag = -2,
                                 .n_elems = 0x0102030405060708u,
                                 .payload_bytes = 12,
                                 .raw_bytes = 1000,
                                 .bound = {STRAIT_BOUND_RANGE, 0.25},
                                 .words = {1, -0.5, 0, 1e300}};
}

static void layout(void)
{
    /* Written by hand from the table in frame.h; 0.25 is 3fd0..., -0.5 bfe0..., 1 is 3ff0... */
    static const unsigned char expected[64] = {
        'S',  'T', 'R', 'T', 1, 3, 2,    5,    0xfe, 0xff, 0xff, 0xff, 0, 0, 0,    0,    /* to 16 */
        8,    7,   6,   5,   4, 3, 2,    1,    12,   0,    0,    0,    0, 0, 0,    0,    /* to 32 */
        0xe8, 3,   0,   0,   0, 0, 0,    0,    0,    0,    0,    0,    0, 0, 0xd0, 0x3f, /* to 48 */
        0,    0,   0,   0,   0, 0, 0xf0, 0x3f, 0,    0,    0,    0,    0, 0, 0xe0, 0xbf};
    unsigned char out[STRAIT_FRAME_BYTES], joined[88 + 12];
    const struct strait_frame f = example();
    strait_frame_pack(out, &f, payload);
    CU_ASSERT_EQUAL(memcmp(out, expected, sizeof(expected)), 0);
    /* The checksum is that of 88 bytes and the payload in one piece, little-endian. */
    memcpy(joined, out, 88);
    memcpy(joined + 88, payload, 12);
    const uint64_t sum = XXH3_64bits(joined, sizeof(joined));
    for (unsigned i = 0; i < 8; i++)
        CU_ASSERT_EQUAL(out[88 + i], (unsigned char)(sum >> 8 * i));
}

static void round_trip(void)
{
    unsigned char out[STRAIT_FRAME_BYTES];
    const struct strait_frame f = example();
    struct strait_frame g;
    struct strait_error err = {0};
    strait_frame_pack(out, &f, payload);
    CU_ASSERT_EQUAL_FATAL(strait_frame_unpack(&g, out, &err), 0);
    CU_ASSERT_EQUAL(g.codec_id, f.codec_id);
    CU_ASSERT_EQUAL(g.flags, f.flags);
    CU_ASSERT_EQUAL(g.tag, f.tag);
    CU_ASSERT_EQUAL(g.n_elems, f.n_elems);
    CU_ASSERT_EQUAL(g.payload_bytes, f.payload_bytes);
    CU_ASSERT_EQUAL(g.raw_bytes, f.raw_bytes);
    CU_ASSERT_EQUAL(g.bound.kind, f.bound.kind);
    CU_ASSERT_EQUAL(g.bound.value, f.bound.value);
    for (unsigned i = 0; i < STRAIT_FRAME_WORDS; i++)
        CU_ASSERT_EQUAL(g.words[i], f.words[i]);
    CU_ASSERT_EQUAL(strait_frame_verify(out, &g, payload, &err), 0);
}

/* enum strait_bound_kind is on the wire: a receiver reads what any sender may write. */
static void every_kind_of_bound(void)
{
    for (unsigned kind = 0; kind < N_STRAIT_BOUNDS; kind++) {
        unsigned char out[STRAIT_FRAME_BYTES];
        struct strait_frame f = example(), g;
        f.bound = (struct strait_bound){(enum strait_bound_kind)kind, 8};
        strait_frame_pack(out, &f, payload);
        CU_ASSERT_EQUAL_FATAL(strait_frame_unpack(&g, out, NULL), 0);
        CU_ASSERT_EQUAL(g.bound.kind, f.bound.kind);
        CU_ASSERT_EQUAL(g.bound.value, 8);
    }
}

static void no_payload(void)
{
    unsigned char out[STRAIT_FRAME_BYTES];
    struct strait_frame g;
    struct strait_error err = {0};
    strait_frame_pack(out, &(struct strait_frame){.tag = 7, .words = {42}}, NULL);
    CU_ASSERT_EQUAL(strait_frame_unpack(&g, out, &err), 0);
    CU_ASSERT_EQUAL(strait_frame_verify(out, &g, NULL, &err), 0);
    CU_ASSERT(g.payload_bytes == 0 && g.words[0] == 42 && g.tag == 7);
}

/* Every bit of frame and payload. */
static void every_flip(void)
{
    unsigned char out[STRAIT_FRAME_BYTES], body[sizeof(payload)];
    const struct strait_frame f = example();
    strait_frame_pack(out, &f, payload);
    memcpy(body, payload, sizeof(payload));
    for (unsigned bit = 0; bit < 8 * (STRAIT_FRAME_BYTES + 12); bit++) {
        unsigned char *byte =
            bit < 8 * STRAIT_FRAME_BYTES ? &out[bit / 8] : &body[bit / 8 - STRAIT_FRAME_BYTES];
        struct strait_frame g;
        struct strait_error err = {0};
        *byte ^= (unsigned char)(1u << bit % 8);
        /* A flip in the length is caught by whoever compares it to what it expects. */
        const int unpacked = strait_frame_unpack(&g, out, &err);
        CU_ASSERT(unpacked != 0 || g.payload_bytes != 12 ||
                  strait_frame_verify(out, &g, body, &err) != 0);
        CU_ASSERT(unpacked == 0 || err.code == STRAIT_ERR_INPUT);
        *byte ^= (unsigned char)(1u << bit % 8);
    }
}

static void hostile(void)
{
    static const struct {
        size_t at;
        unsigned char value;
        const char *text;
    } cases[] = {{0, 'X', "expected \"STRT\", found bytes 58 54 52 54"},
                 {4, 9, "expected version 1, found 9"},
                 {5, 77, "expected a known codec, found 77"},
                 {6, 6, "expected a known kind of bound, found 6"},
                 {13, 1, "reserved bytes are not zero"},
                 {80, 1, "reserved bytes are not zero"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        unsigned char out[STRAIT_FRAME_BYTES];
        const struct strait_frame f = example();
        struct strait_frame g;
        struct strait_error err = {0};
        strait_frame_pack(out, &f, payload);
        out[cases[i].at] = cases[i].value;
        CU_ASSERT_EQUAL(strait_frame_unpack(&g, out, &err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        CU_ASSERT_STRING_EQUAL(err.text, cases[i].text);
    }
    struct strait_sequence s = strait_sequence_at(1);
    for (unsigned k = 0; k < 2000; k++) {
        unsigned char noise[STRAIT_FRAME_BYTES];
        struct strait_frame g;
        for (unsigned i = 0; i < STRAIT_FRAME_BYTES; i++)
            noise[i] = (unsigned char)strait_sequence_next(&s);
        memcpy(noise, "STRT\1", 5);
        strait_frame_unpack(&g, noise, NULL);
    }
}

static const struct strait_test tests[] = {
    {"the bytes are those of the layout, the checksum that of frame and payload in one", layout},
    {"what was packed is unpacked", round_trip},
    {"every kind of bound travels", every_kind_of_bound},
    {"a frame without payload is complete", no_payload},
    {"no flipped bit of frame or payload goes unnoticed", every_flip},
    {"a frame that is none is refused by name of the field", hostile},
};
STRAIT_SUITE("codecs/frame", tests);
