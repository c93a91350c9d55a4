/* The wire format: every codec writes the bytes that it wrote, at every SIMD level. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "codecs/spec.h"
#include "core/hash.h"
#include "tests/kit/data.h"
#include "tests/kit/suite.h"
#include "plain_tensor.h"

enum { MAX_NAME = 64 };

static const char *const levels[] = {"portable", "avx2", "avx512"};

/* The checksum that tests/golden/codecs.txt has for this codec; false: none. */
static bool golden_of(uint64_t *sum, const char *name)
{
    char line[256], found[MAX_NAME];
    FILE *f = fopen(DATA("tests/golden/codecs.txt"), "r");
    bool have = false;
    CU_ASSERT_FATAL(f != NULL);
    while (!have && fgets(line, sizeof(line), f)) {
        unsigned long long value;
        have = sscanf(line, "%63s %llx", found, &value) == 2 && strcmp(found, name) == 0;
        if (have)
            *sum = value;
    }
    fclose(f);
    return have;
}

/* Write a new codec's line into such a file, in the order of names. */
static void add_golden(const char *path, const char *name, uint64_t sum)
{
    char line[256], next[4200];
    bool added = false;
    snprintf(next, sizeof(next), "%s.new", path);
    FILE *from = fopen(path, "r"), *to = fopen(next, "w");
    CU_ASSERT_FATAL(from && to);
    while (fgets(line, sizeof(line), from)) {
        if (!added && line[0] != '#' && strcmp(line, name) > 0) {
            fprintf(to, "%s %016llx\n", name, (unsigned long long)sum);
            added = true;
        }
        fputs(line, to);
    }
    if (!added)
        fprintf(to, "%s %016llx\n", name, (unsigned long long)sum);
    fclose(from);
    CU_ASSERT_EQUAL(fclose(to), 0);
    CU_ASSERT_EQUAL(rename(next, path), 0);
}

static void golden_line(void)
{
    char path[] = "/tmp/strait-golden-XXXXXX", text[128];
    const int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0 && write(fd, "# sums\nb 01\nd 02\n", 18) == 18 && close(fd) == 0);
    add_golden(path, "c", 0xabc);
    add_golden(path, "e", 1);
    add_golden(path, "a", 2);
    FILE *f = fopen(path, "r");
    const size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
    text[n] = '\0';
    CU_ASSERT_STRING_EQUAL(text, "# sums\na 0000000000000002\nb 01\nc 0000000000000abc\nd 02\n"
                                 "e 0000000000000001\n");
    if (f)
        fclose(f);
    unlink(path);
}

enum { GOLDEN_ELEMS = 40000 };

/* A tensor of the golden lines: about normal, with zeros and a few large ones. */
static void golden_tensor(float *x)
{
    plain_tensor(x, GOLDEN_ELEMS, 11);
    for (size_t i = 0; i < GOLDEN_ELEMS; i += 7)
        x[i] = i % 5 == 0 ? x[i] * 64 : 0;
}

/* Of a codec with all defaults the bytes of one tensor; of other settings those of five lengths. */
static uint64_t golden_sum(const char *text)
{
    static const size_t lengths[] = {GOLDEN_ELEMS, 4097, 1024, 100, 3, 1};
    static float x[GOLDEN_ELEMS];
    const bool plain = !strchr(text, ':');
    struct strait_codec_spec spec;
    struct strait_error err = {0};
    uint64_t sums[sizeof(lengths) / sizeof(*lengths)] = {0};
    void *state;
    golden_tensor(x);
    CU_ASSERT_EQUAL_FATAL(strait_codec_spec_parse(&spec, text, &err), 0);
    const struct strait_request request = {
        .bound = spec.bound.kind == STRAIT_BOUND_NONE ? bound_of(spec.ops) : spec.bound,
        .key = 42,
        .n_rows = 200};
    for (size_t i = 0; i < (plain ? 1 : sizeof(lengths) / sizeof(*lengths)); i++) {
        struct strait_request r = request;
        r.n_rows = lengths[i] % r.n_rows == 0 ? r.n_rows : 1;
        CU_ASSERT_EQUAL_FATAL(strait_codec_open(spec.ops, &state, spec.params, &err), 0);
        const size_t cap_bytes = spec.ops->max_bytes(state, lengths[i]);
        unsigned char *bytes = malloc(cap_bytes + 1);
        size_t len_bytes = 0;
        CU_ASSERT_FATAL(bytes && strait_codec_encode(spec.ops, state, bytes, cap_bytes, &len_bytes,
                                                     x, lengths[i], r, &err) == 0);
        sums[i] = strait_checksum(bytes, len_bytes);
        free(bytes);
        spec.ops->close(state);
    }
    return plain ? sums[0] : strait_checksum(sums, sizeof(sums));
}

/* Other tensors, of 30 rows of 200: the same floats on every machine, too. */
enum { KINDS_ELEMS = 6000, KINDS_ROW = 200 };
static const char kinds_of_tensors[] = "roscdnwf";

static void tensor_of_kind(float *x, char kind)
{
    static float basis[3 * (KINDS_ROW + KINDS_ELEMS / KINDS_ROW)];
    float at = 0;
    plain_tensor(x, KINDS_ELEMS, 12);
    plain_tensor(basis, sizeof(basis) / sizeof(*basis), 13);
    for (size_t i = 0; i < KINDS_ELEMS; i++) {
        const size_t row = i / KINDS_ROW, column = i % KINDS_ROW;
        float near = x[i] / 64;
        switch (kind) {
        case 'r': /* rows of other magnitudes */
            x[i] = ldexpf(x[i], -(int)(row % 20));
            break;
        case 'o': /* outliers */
            x[i] = i % 97 == 0 ? ldexpf(x[i], 20) : x[i];
            break;
        case 's': /* sparse */
            x[i] = i % 11 == 3 ? x[i] : 0;
            break;
        case 'c': /* constant */
            x[i] = 0.375f;
            break;
        case 'd': /* denormal and just above */
            x[i] = ldexpf(x[i], -124);
            break;
        case 'n': /* all of one sign, far from 0 */
            x[i] = 3 + x[i];
            break;
        case 'w': /* a walk */
            x[i] = at += x[i] / 16;
            break;
        default: /* few directions */
            for (size_t k = 0; k < 3; k++)
                near += basis[3 * column + k] * basis[3 * (KINDS_ROW + row) + k] * 32;
            x[i] = near;
        }
    }
}

/* Of the bytes and of what they come back as. */
static uint64_t kinds_sum(const char *text)
{
    static float x[KINDS_ELEMS], y[KINDS_ELEMS];
    struct strait_codec_spec spec;
    struct strait_error err = {0};
    uint64_t sums[2 * sizeof(kinds_of_tensors)] = {0};
    CU_ASSERT_EQUAL_FATAL(strait_codec_spec_parse(&spec, text, &err), 0);
    const struct strait_request request = {
        .bound = spec.bound.kind == STRAIT_BOUND_NONE ? bound_of(spec.ops) : spec.bound,
        .key = 43,
        .n_rows = KINDS_ELEMS / KINDS_ROW};
    for (size_t i = 0; kinds_of_tensors[i]; i++) {
        void *state;
        size_t len_bytes = 0;
        strait_test_context("%s, tensor %c", text, kinds_of_tensors[i]);
        tensor_of_kind(x, kinds_of_tensors[i]);
        CU_ASSERT_EQUAL_FATAL(strait_codec_open(spec.ops, &state, spec.params, &err), 0);
        const size_t cap_bytes = spec.ops->max_bytes(state, KINDS_ELEMS);
        unsigned char *bytes = malloc(cap_bytes + 1);
        CU_ASSERT_FATAL(bytes && strait_codec_encode(spec.ops, state, bytes, cap_bytes, &len_bytes,
                                                     x, KINDS_ELEMS, request, &err) == 0);
        CU_ASSERT_EQUAL_FATAL(spec.ops->decode(state, y, KINDS_ELEMS, bytes, len_bytes, &err), 0);
        sums[2 * i] = strait_checksum(bytes, len_bytes);
        sums[2 * i + 1] = strait_checksum(y, sizeof(y));
        free(bytes);
        spec.ops->close(state);
    }
    return strait_checksum(sums, sizeof(sums));
}

/* want: what the file says; NULL: it has no line, which make golden adds. */
static void check_golden_line(const char *text, const uint64_t *want,
                              uint64_t (*sum_of)(const char *text), const char *behind)
{
    char name[STRAIT_SPEC_CHARS + 8];
    snprintf(name, sizeof(name), "%s%s", text, behind);
    uint64_t sum = want ? *want : 0;
    bool have = want;
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        setenv("STRAIT_SIMD", levels[i], 1);
        const uint64_t found = sum_of(text);
        if (!have && getenv("STRAIT_WRITE_GOLDEN")) { /* the other levels must give the same */
            add_golden(DATA("tests/golden/codecs.txt"), name, found);
            printf("%s: its line is in tests/golden/codecs.txt now\n", name);
            sum = found;
            have = true;
        }
        if (!have)
            printf("%s has no line in tests/golden/codecs.txt: make golden adds it\n", name);
        else if (found != sum)
            printf("%s: %s %016llx; where the wire format is meant to change, delete its line in "
                   "tests/golden/codecs.txt, then make golden\n",
                   levels[i], name, (unsigned long long)found);
        CU_ASSERT(have && found == sum);
        if (!have)
            break;
    }
    unsetenv("STRAIT_SIMD");
}

static void check_both_lines(const char *text)
{
    char kinds[STRAIT_SPEC_CHARS + 8];
    uint64_t want;
    bool have = golden_of(&want, text);
    check_golden_line(text, have ? &want : NULL, golden_sum, "");
    snprintf(kinds, sizeof(kinds), "%s@kinds", text);
    have = golden_of(&want, kinds);
    check_golden_line(text, have ? &want : NULL, kinds_sum, "@kinds");
}

static void check_golden(const struct strait_codec_ops *ops)
{
    if (!ops->unavailable && !(ops->flags & STRAIT_CODEC_MACHINE)) /* else somebody else's bytes */
        check_both_lines(ops->name);
}

/* A name of the first, each of the values of one of its settings. */
static const char *const settings[][12] = {
    {"sz", "abs=0.01", "rms=0.1", "pointwise=0.01", "ratio=8", "range=1e-2,directions=4",
     "range=1e-4,directions=2", "threads=3"},
    {"qsgd", "levels=1", "levels=300", "bucket=0", "bucket=100", "payload=published"},
    {"dithering", "levels=1", "levels=40", "bucket=0", "bucket=100", "norm=max"},
    {"terngrad", "clip=0", "clip=1", "payload=published", "payload=two_bits"},
    {"natural", "bits=9"},
    {"u8bit", "rounding=down"},
    {"block", "type=int8", "type=int4", "type=e4m3", "type=e5m2", "type=e2m1", "type=e3m0",
     "block=0", "block=10"},
    {"mx", "type=e5m2", "type=e3m2", "type=e2m3", "type=e2m1", "type=int8"},
    {"sketchml", "quantiles=2", "quantiles=1000", "payload=published"},
    {"inceptionn", "k=1", "k=14", "fixed_point=published"},
    {"signsgd", "payload=published"},
    {"signum", "payload=published"},
    {"efsignsgd", "payload=published"},
    {"onebit", "payload=published"},
    {"randomk", "ratio=0.3", "ratio=1", "scale=yes"},
    {"topk", "ratio=0.3", "ratio=1", "payload=published", "payload=published-int64"},
    {"threshold", "threshold=0", "threshold=0.1", "payload=published", "payload=published-int64"},
    {"dgc", "ratio=0.3", "payload=published", "payload=published-int64"},
    {"adaq", "ratio=0.3", "payload=published"},
    {"gtopk", "ratio=0.3", "payload=published"},
    {"chunktopk", "chunk=2,k=1", "chunk=100,k=7", "values=two_bits"},
    {"dcttopk", "chunk=8,k=3", "payload=published"},
    {"omnireduce", "block=1", "block=50,ratio=0.2"},
    {"dfloat16", "contexts=none", "contexts=left", "contexts=scale"},
    {"dfloat32", "contexts=none", "contexts=left", "contexts=scale"},
    {"sdp4bit", "bits=2", "bits=8", "block=100", "block=2048", "hadamard=0", "hadamard=10"},
    {"dynamiq", "budget=2.75", "budget=3", "budget=4", "budget=6", "budget=8.75"},
    {"thc", "bits=1", "bits=8", "granularity=255", "rotation=0", "overflow=0.5"},
    {"cocktailsgd", "bits=2", "bits=8", "sample=1,ratio=1", "bucket=7"},
    {"countsketch", "share=0.5", "rows=1", "ratio=0.1"},
    {"deepreduce", "index=raw", "index=bitmap", "index=rice", "index=rle", "index=huffman",
     "index=bloom-p0", "index=bloom-p1", "index=bloom-p2", "value=fp16", "value=sz"},
    {"deepreduce", "sparsifier=randomk", "sparsifier=threshold", "sparsifier=dgc",
     "sparsifier=adaq", "value=qsgd", "value=qsgd,levels=7", "payload=published",
     "index=bloom-p0,fpr=0.1"},
};

static void golden_settings(void)
{
    char text[STRAIT_SPEC_CHARS];
    for (size_t c = 0; c < sizeof(settings) / sizeof(*settings); c++)
        for (size_t i = 1; i < sizeof(*settings) / sizeof(**settings) && settings[c][i]; i++) {
            snprintf(text, sizeof(text), "%s:%s", settings[c][0], settings[c][i]);
            strait_test_context("%s", text);
            check_both_lines(text);
        }
}

static void golden(void)
{
    for_each_codec(check_golden);
}

static const struct strait_test tests[] = {
    {"every codec writes the bytes of the wire format, at every SIMD level", golden},
    {"the bytes of other settings and lengths stay as they are", golden_settings},
    {"a new codec's line goes between its neighbours", golden_line},
};
STRAIT_SUITE("codecs/codec_golden", tests);
