#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/hash.h"
#include "tests/kit/suite.h"

/* XXH3 of the empty input with seed 0, as in the test vectors of xxHash: stable from 0.8 on. */
static void published(void)
{
    char key[STRAIT_KEY_CHARS];
    CU_ASSERT_EQUAL(strait_checksum("", 0), 0x2d06800538d394c2u);
    CU_ASSERT_STRING_EQUAL(strait_hash_bytes(key, "", 0), "99aa06d3014798d86001c324468d497f");
}

/* More than one piece of it, and what is no file. */
static void files(void)
{
    enum { N_BYTES = 40000 };
    char path[] = "/tmp/strait-hash-XXXXXX", *bytes = malloc(N_BYTES);
    uint64_t sum, len_bytes;
    const int fd = mkstemp(path);
    CU_ASSERT_FATAL(bytes && fd >= 0);
    for (int i = 0; i < N_BYTES; i++)
        bytes[i] = (char)(i / 7);
    CU_ASSERT_EQUAL_FATAL(write(fd, bytes, N_BYTES), N_BYTES);
    CU_ASSERT_TRUE(strait_checksum_file(&sum, &len_bytes, path));
    CU_ASSERT_EQUAL(len_bytes, N_BYTES);
    CU_ASSERT_EQUAL(sum, strait_checksum(bytes, N_BYTES));
    CU_ASSERT_FALSE(strait_checksum_file(&sum, &len_bytes, "/tmp"));
    CU_ASSERT_EQUAL(unlink(path), 0);
    CU_ASSERT_FALSE(strait_checksum_file(&sum, &len_bytes, path));
    close(fd);
    free(bytes);
}

static void hash_text(char key[STRAIT_KEY_CHARS], const char *text)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(value);
    CU_ASSERT_PTR_EQUAL(strait_hash_json(key, value), key);
    json_decref(value);
}

static void canonical(void)
{
    char a[STRAIT_KEY_CHARS], b[STRAIT_KEY_CHARS];
    hash_text(a, "{\"x\": 1e-3, \"y\": {\"p\": [1, 2], \"q\": null}}");
    hash_text(b, "{ \"y\":{\"q\":null,\n\"p\":[1,2]}, \"x\":0.001 }");
    CU_ASSERT_STRING_EQUAL(a, b);
    /* By hand: what the canonical text of [2, {"a": 1, "b": 2}] is. */
    static const char text[] = "[2,{\"a\":1,\"b\":2}]";
    hash_text(a, "[2, {\"b\": 2, \"a\": 1}]");
    CU_ASSERT_STRING_EQUAL(a, strait_hash_bytes(b, text, strlen(text)));
    /* The double next to 0.1 is 0.1000000000000000055511: 17 digits of it, as keys always had. */
    static const char digits[] = "[0.10000000000000001]";
    hash_text(a, "[0.1]");
    CU_ASSERT_STRING_EQUAL(a, strait_hash_bytes(b, digits, strlen(digits)));
}

static void differences(void)
{
    /* 0.1 and the next double after it; order in a list; a string and a number; null and absent */
    static const char *const pairs[][2] = {{"[0.1]", "[0.10000000000000002]"},
                                           {"[1, 2]", "[2, 1]"},
                                           {"[\"1\"]", "[1]"},
                                           {"{\"a\": null}", "{}"}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        char a[STRAIT_KEY_CHARS], b[STRAIT_KEY_CHARS];
        hash_text(a, pairs[i][0]);
        hash_text(b, pairs[i][1]);
        CU_ASSERT_STRING_NOT_EQUAL(a, b);
    }
}

static void flipped_bits(void)
{
    unsigned char data[1000];
    memset(data, 0xa5, sizeof(data));
    const uint64_t before = strait_checksum(data, sizeof(data));
    for (size_t i = 0; i < sizeof(data); i += 37) {
        data[i] ^= 1;
        CU_ASSERT_NOT_EQUAL(strait_checksum(data, sizeof(data)), before);
        data[i] ^= 1;
    }
    CU_ASSERT_EQUAL(strait_checksum(data, sizeof(data)), before);
}

static const struct strait_test tests[] = {
    {"the empty input has its published hashes", published},
    {"equal JSON hashes equally however it is written", canonical},
    {"different JSON hashes differently", differences},
    {"a flipped bit changes the checksum", flipped_bits},
    {"a file has the checksum of what it holds", files},
};
STRAIT_SUITE("core/hash", tests);
