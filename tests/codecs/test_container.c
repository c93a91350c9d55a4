#include <stdlib.h>
#include <string.h>
#include "core/bytes.h"
#include "codecs/container.h"
#include "codecs/frame.h"
#include "core/random.h"
#include "tests/kit/suite.h"

enum { FILE_BYTES = 1024, HEAD = 96 + 24 + 8 * 2 + 4 + 13 /* letters of "sz:range=1e-3" */ };

/* A file with a codec's bytes 1, 2, 3, 4, 5. Returns its length. */
static size_t make_file(unsigned char *file, struct strait_container *c)
{
    *c = (struct strait_container){
        .key = 0x1122334455667788,
        .n_rows = 2,
        .form = {.npy = true, .dtype = "<f8", .n_dims = 2, .shape = {2, 3}, .n_elems = 6},
        .payload_bytes = 5};
    CU_ASSERT_EQUAL_FATAL(strait_codec_spec_parse(&c->spec, "sz:range=1e-3", NULL), 0);
    CU_ASSERT_EQUAL_FATAL(strait_container_head_bytes(c), HEAD);
    for (unsigned char i = 0; i < 5; i++)
        file[HEAD + i] = (unsigned char)(i + 1);
    strait_container_seal(file, c);
    return HEAD + 5;
}

/* Exactly as long as the file, so that reading past it is seen. */
static int open_file(struct strait_container *c, size_t *at, const unsigned char *file, size_t len,
                     struct strait_error *err)
{
    unsigned char *exact = malloc(len > 0 ? len : 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(exact);
    memcpy(exact, file, len);
    const int status = strait_container_open(c, at, exact, len, "a.strait", err);
    free(exact);
    return status;
}

static void round_trip(void)
{
    unsigned char file[FILE_BYTES];
    struct strait_container c, again;
    struct strait_error err = {0};
    size_t at;
    const size_t len = make_file(file, &c);
    CU_ASSERT_EQUAL_FATAL(open_file(&again, &at, file, len, &err), 0);
    CU_ASSERT_EQUAL(at, HEAD);
    CU_ASSERT_EQUAL(again.payload_bytes, 5);
    CU_ASSERT_EQUAL(again.key, 0x1122334455667788);
    CU_ASSERT_EQUAL(again.n_rows, 2);
    CU_ASSERT(again.form.npy && again.form.n_dims == 2 && again.form.n_elems == 6);
    CU_ASSERT_STRING_EQUAL(again.form.dtype, "<f8");
    CU_ASSERT_EQUAL(again.form.shape[1], 3);
    CU_ASSERT_PTR_EQUAL(again.spec.ops, c.spec.ops);
    CU_ASSERT_EQUAL(again.spec.bound.value, 1e-3);
}

/* The layout of container.h written out: frame.h tests the frame itself. */
static void layout(void)
{
    static const unsigned char expected[] =
        "\x01<f8\x02\0\0\0\x88\x77\x66\x55\x44\x33\x22\x11\x02\0\0\0\0\0\0\0"
        "\x02\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x0d\0\0\0sz:range=1e-3\x01\x02\x03\x04\x05";
    unsigned char file[FILE_BYTES];
    struct strait_container c;
    CU_ASSERT_EQUAL(make_file(file, &c), 96 + sizeof(expected) - 1);
    CU_ASSERT_EQUAL(memcmp(file + 96, expected, sizeof(expected) - 1), 0);
    CU_ASSERT_EQUAL(memcmp(file, "STRT\x01\x03\x00\x01", 8), 0); /* sz is codec 3 on the wire */
}

static void damaged(void)
{
    unsigned char file[FILE_BYTES];
    struct strait_container c;
    struct strait_error err = {0};
    size_t at;
    const size_t len = make_file(file, &c);
    for (size_t cut = 0; cut < len; cut++)
        CU_ASSERT_EQUAL_FATAL(open_file(&c, &at, file, cut, NULL), -1);
    for (size_t bit = 0; bit < 8 * len; bit++) {
        file[bit / 8] ^= (unsigned char)(1u << bit % 8);
        CU_ASSERT_EQUAL_FATAL(open_file(&c, &at, file, len, NULL), -1);
        file[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    file[len] = 0;
    CU_ASSERT_EQUAL(open_file(&c, &at, file, len + 1, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "cut or added to"));
    CU_ASSERT_STRING_EQUAL(err.where, "a.strait");
}

/* The checksum over what now stands there: nothing is believed for its checksum's sake. */
static void seal_again(unsigned char *file, size_t len)
{
    struct strait_frame frame;
    CU_ASSERT_EQUAL_FATAL(strait_frame_unpack(&frame, file, NULL), 0);
    frame.payload_bytes = len - STRAIT_FRAME_BYTES;
    strait_frame_pack(file, &frame, file + STRAIT_FRAME_BYTES);
}

static void hostile(void)
{
    unsigned char file[FILE_BYTES];
    struct strait_container c;
    size_t at;
    const size_t len = make_file(file, &c);
    struct strait_sequence s = strait_sequence_at(7);
    for (int i = 0; i < 20000; i++) {
        unsigned char changed[FILE_BYTES];
        memcpy(changed, file, len);
        const size_t cut = 96 + strait_sequence_next(&s) % (len - 96 + 1);
        for (uint64_t k = strait_sequence_next(&s) % 4; k < 4; k++)
            changed[96 + strait_sequence_next(&s) % (HEAD - 96)] =
                (unsigned char)(strait_sequence_next(&s) >> (strait_sequence_next(&s) % 8));
        seal_again(changed, cut);
        if (open_file(&c, &at, changed, cut, NULL) == 0) {
            CU_ASSERT_EQUAL_FATAL(at + c.payload_bytes, cut);
            CU_ASSERT_FATAL(c.form.n_elems == 6); /* the frame's count */
        }
    }
}

static void refused(void)
{
    static const struct {
        size_t at;
        unsigned char value;
        const char *expected;
    } cases[] = {
        {96, 2, "a head that is none"},      /* neither raw nor .npy */
        {97, '|', "a head that is none"},    /* dtype */
        {100, 33, "a head that is none"},    /* dimensions */
        {112, 4, "rows that do not fit"},    /* 6 values in 4 rows */
        {120, 4, "disagree"},                /* 4 x 3 are not 6 */
        {127, 0xff, "a shape that is none"}, /* 2^56 255 x 3 */
        {96 + 24 + 16, 200, "settings"},     /* letters beyond the file */
        {96 + 24 + 16 + 4, 'q', "expected a codec"},
        {96 + 24 + 16 + 4 + 12, '\0', "settings"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        unsigned char file[FILE_BYTES];
        struct strait_container c;
        struct strait_error err = {0};
        size_t at;
        const size_t len = make_file(file, &c);
        file[cases[i].at] = cases[i].value;
        seal_again(file, len);
        CU_ASSERT_EQUAL(open_file(&c, &at, file, len, &err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].expected));
        if (!strstr(err.text, cases[i].expected))
            fprintf(stderr, "%zu: %s\n", cases[i].at, err.text);
    }
}

static const struct strait_test tests[] = {
    {"what is sealed opens as the same", round_trip},
    {"the bytes stand as the header file says", layout},
    {"a file cut anywhere, or with any bit flipped, or added to, is refused", damaged},
    {"bytes with a right checksum are not believed for it", hostile},
    {"a head that makes no sense is refused with the reason", refused},
};
STRAIT_SUITE("codecs/container", tests);
