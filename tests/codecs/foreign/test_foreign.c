/* SZ3 and LibPressio with a library of our own in their place (data/fake_codecs.c), which is what
 * machines without them can test, and which misbehaves on demand. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "codecs/codec.h"
#include "codecs/foreign/isolate.h"
#include "core/hash.h"
#include "core/process.h"
#include "tests/kit/data.h"
#include "tests/kit/suite.h"

enum { N = 1000 };
/* id, 2 bytes of length, kind, checksum, number of corrections, half of each float. */
enum { HEAD_BYTES = 1 + 2 + 1 + 8, CODED_BYTES = HEAD_BYTES + 1 + 2 * N };
enum { RAW_BYTES = 1 + 2 + 1 + 4 * N };
enum { PARAM_ISOLATE, PARAM_VERIFY, PARAM_LIMIT };

static char folder[64], library[80]; /* of this program: the library is made once */

static void remove_library(void)
{
    unlink(library);
    rmdir(folder);
}

static bool library_is_there(void)
{
    struct strait_error err = {0};
    if (*library)
        return true;
    snprintf(folder, sizeof(folder), "/tmp/strait-fake-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(library, sizeof(library), "%s/libfake.so", folder);
    atexit(remove_library);
    const char *const argv[] = {
        "cc", "-shared", "-fPIC", "-O1", "-o", library, DATA("tests/data/fake_codecs.c"), NULL};
    CU_ASSERT_EQUAL_FATAL(strait_process_run(NULL, 0, argv, NULL, 60, &err), 0);
    return true;
}

struct rig {
    const struct strait_codec_ops *ops;
    void *state;
    float x[N], y[N];
    unsigned char bytes[4 * N + 64];
    size_t len_bytes;
    struct strait_error err;
};

/* FAKE is what the library sees in processes that start from now on. */
static void rig_open(struct rig *r, const char *name, const char *fake, const double *params)
{
    CU_ASSERT_FATAL(library_is_there());
    setenv("STRAIT_SZ3_LIB", library, 1);
    setenv("STRAIT_LIBPRESSIO_LIB", library, 1);
    setenv("FAKE", fake, 1);
    memset(r, 0, sizeof(*r));
    r->ops = strait_codec_find(name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(r->ops);
    CU_ASSERT_PTR_NULL(strait_codec_unavailable(r->ops));
    CU_ASSERT_EQUAL_FATAL(strait_codec_open(r->ops, &r->state, params, &r->err), 0);
    for (size_t i = 0; i < N; i++)
        r->x[i] = 1 + (float)i / N;
}

/* Values from 1 to 2 lose less than 2^-7: the bound holds. */
static int encode(struct rig *r)
{
    const struct strait_request request = {.bound = {STRAIT_BOUND_ABS, 0x1p-7}};
    r->err = (struct strait_error){0};
    return strait_codec_encode(r->ops, r->state, r->bytes, sizeof(r->bytes), &r->len_bytes, r->x, N,
                               request, &r->err);
}

static int decode(struct rig *r)
{
    r->err = (struct strait_error){0};
    return r->ops->decode(r->state, r->y, N, r->bytes, r->len_bytes, &r->err);
}

/* The checksum over everything behind it, as plugin.h says. */
static void sign(struct rig *r)
{
    const uint64_t sum = strait_checksum(r->bytes + HEAD_BYTES, r->len_bytes - HEAD_BYTES);
    for (unsigned i = 0; i < 8; i++)
        r->bytes[4 + i] = (unsigned char)(sum >> 8 * i);
}

/* The last is how long a call may take: a minute, so that a busy machine ends none. Only where the
 * library loops is it 0.2 s. */
static const double sz3_params[] = {1, 1, 60}, sz3_hasty[] = {1, 1, 0.2};
static const double pressio_params[] = {1 /* zfp */, 1, 1, 60}, pressio_hasty[] = {1, 1, 1, 0.2};
static const struct {
    const char *name;
    const double *params, *hasty;
    size_t coded_bytes; /* LibPressio's begin with compressor and bound */
} codecs[] = {{"sz3", sz3_params, sz3_hasty, CODED_BYTES},
              {"libpressio", pressio_params, pressio_hasty, CODED_BYTES + 9}};
enum { N_CODECS = sizeof(codecs) / sizeof(codecs[0]) };

static void not_installed(void)
{
    static const struct {
        const char *name, *variable, *library, *reason;
    } cases[] = {
        {"sz3", "STRAIT_SZ3_LIB", "/nowhere/libSZ3c.so",
         "STRAIT_SZ3_LIB is no library that can be loaded"},
        {"sz3", "STRAIT_SZ3_LIB", "libm.so.6", "libSZ3c.so lacks the C interface of SZ3 3"},
        {"libpressio", "STRAIT_LIBPRESSIO_LIB", "/nowhere/liblibpressio.so",
         "STRAIT_LIBPRESSIO_LIB is no library that can be loaded"},
        {"libpressio", "STRAIT_LIBPRESSIO_LIB", "libm.so.6",
         "liblibpressio.so lacks the C interface of LibPressio 1"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct strait_codec_ops *ops = strait_codec_find(cases[i].name);
        struct strait_error err = {0};
        void *state;
        setenv(cases[i].variable, cases[i].library, 1);
        const char *reason = strait_codec_unavailable(ops);
        CU_ASSERT_PTR_NOT_NULL_FATAL(reason);
        CU_ASSERT_STRING_EQUAL(reason, cases[i].reason);
        CU_ASSERT_EQUAL(strait_codec_open_default(ops, &state, &err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_HOST);
        CU_ASSERT_STRING_EQUAL(err.text, cases[i].reason);
    }
}

static void good_library(void)
{
    for (size_t c = 0; c < N_CODECS; c++) {
        struct rig r;
        rig_open(&r, codecs[c].name, "good", codecs[c].params);
        CU_ASSERT_EQUAL_FATAL(encode(&r), 0);
        CU_ASSERT_EQUAL(r.len_bytes, codecs[c].coded_bytes);
        CU_ASSERT_EQUAL_FATAL(decode(&r), 0);
        for (size_t i = 0; i < N; i++) {
            uint32_t bits;
            memcpy(&bits, &r.x[i], 4);
            bits &= 0xffff0000u; /* what the library does */
            CU_ASSERT_EQUAL(memcmp(&bits, &r.y[i], 4), 0);
        }
        r.ops->close(r.state);
    }
}

/* 0x7fc12345 is a NaN with a payload of which the library would keep the half. */
static void corrections(void)
{
    static const uint32_t nan_bits = 0x7fc12345;
    for (size_t c = 0; c < N_CODECS; c++) {
        struct rig r;
        rig_open(&r, codecs[c].name, "good", codecs[c].params);
        r.x[0] = -INFINITY;
        memcpy(&r.x[1], &nan_bits, 4);
        r.x[999] = INFINITY;
        CU_ASSERT_EQUAL_FATAL(encode(&r), 0);
        /* 4 bytes each; gaps of 0, 0 and 997, the last in two bytes. */
        CU_ASSERT_EQUAL(r.len_bytes, codecs[c].coded_bytes + 3 * 4 + 1 + 1 + 2);
        CU_ASSERT_EQUAL_FATAL(decode(&r), 0);
        CU_ASSERT(memcmp(r.x, r.y, 8) == 0 && r.y[999] == INFINITY);
        CU_ASSERT(fabsf(r.x[2] - r.y[2]) <= 0x1p-7f);
        r.ops->close(r.state);
    }
}

/* Every tenth value comes back 1 too large: 100 corrections with gaps of 9 take 5 bytes each. */
static void bound_missed(void)
{
    for (size_t c = 0; c < N_CODECS; c++) {
        struct rig r;
        rig_open(&r, codecs[c].name, "loose", codecs[c].params);
        CU_ASSERT_EQUAL_FATAL(encode(&r), 0);
        CU_ASSERT_EQUAL(r.len_bytes, codecs[c].coded_bytes + 100 * 5);
        CU_ASSERT_EQUAL_FATAL(decode(&r), 0);
        for (size_t i = 0; i < N; i++)
            CU_ASSERT(fabsf(r.x[i] - r.y[i]) <= 0x1p-7f);
        r.ops->close(r.state);
    }
}

static void useless_answers(void)
{
    static const struct {
        size_t codec;
        const char *fake;
    } cases[] = {{0, "null"}, {0, "huge"}, {0, "tiny"}, {1, "null"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rig r;
        rig_open(&r, codecs[cases[i].codec].name, cases[i].fake, codecs[cases[i].codec].params);
        CU_ASSERT_EQUAL_FATAL(encode(&r), 0);
        CU_ASSERT_EQUAL(r.len_bytes, RAW_BYTES);
        CU_ASSERT_EQUAL_FATAL(decode(&r), 0);
        CU_ASSERT_EQUAL(memcmp(r.x, r.y, sizeof(r.x)), 0);
        r.ops->close(r.state);
    }
}

/* With 12 kB of values and results. */
static const struct {
    const char *how, *text;
} deaths[] = {{"exit", "called exit"},
              {"abort", "was ended by SIGABRT"},
              {"crash", "was ended by SIGSEGV"},
              {"loop", "took longer than 0.2"},
              {"memory", ""}}; /* how it ends is up to the allocator */
enum { N_DEATHS = sizeof(deaths) / sizeof(deaths[0]) };

static void dies_while_encoding(void)
{
    for (size_t c = 0; c < N_CODECS; c++)
        for (size_t i = 0; i < N_DEATHS; i++) {
            struct rig r;
            char fake[32];
            const double some[] = {1, 1, 1, 3}; /* without the first, those of sz3 */
            const bool loops = strcmp(deaths[i].how, "loop") == 0;
            snprintf(fake, sizeof(fake), "encode %s", deaths[i].how);
            rig_open(&r, codecs[c].name, fake,
                     loops                                  ? codecs[c].hasty
                     : strcmp(deaths[i].how, "memory") == 0 ? some + (c == 0)
                                                            : codecs[c].params);
            CU_ASSERT_EQUAL(encode(&r), -1);
            CU_ASSERT_EQUAL(r.err.code, STRAIT_ERR_BACKEND);
            CU_ASSERT_PTR_NOT_NULL(strstr(r.err.text, deaths[i].text));
            /* A process that starts now finds a library that works; time enough for it, too. */
            if (loops) {
                r.ops->close(r.state);
                rig_open(&r, codecs[c].name, "good", codecs[c].params);
            }
            setenv("FAKE", "good", 1);
            CU_ASSERT_EQUAL(encode(&r), 0);
            CU_ASSERT_EQUAL(decode(&r), 0);
            r.ops->close(r.state);
        }
}

static void dies_while_decoding(void)
{
    for (size_t c = 0; c < N_CODECS; c++)
        for (size_t i = 0; i < N_DEATHS - 1; i++) {
            struct rig good, r;
            char fake[32];
            rig_open(&good, codecs[c].name, "good", codecs[c].params);
            CU_ASSERT_EQUAL_FATAL(encode(&good), 0);
            snprintf(fake, sizeof(fake), "decode %s", deaths[i].how);
            rig_open(&r, codecs[c].name, fake,
                     strcmp(deaths[i].how, "loop") == 0 ? codecs[c].hasty : codecs[c].params);
            memcpy(r.bytes, good.bytes, good.len_bytes);
            r.len_bytes = good.len_bytes;
            CU_ASSERT_EQUAL(decode(&r), -1);
            CU_ASSERT_EQUAL(r.err.code, STRAIT_ERR_INPUT);
            CU_ASSERT_PTR_NOT_NULL(strstr(r.err.text, deaths[i].text));
            good.ops->close(good.state);
            r.ops->close(r.state);
        }
}

/* Only who knows the format gets past the checksum, and then no further than the process. */
static void hostile_streams(void)
{
    struct rig r;
    rig_open(&r, "sz3", "good", sz3_params);
    CU_ASSERT_EQUAL_FATAL(encode(&r), 0);
    const struct rig good = r;
    memcpy(r.bytes + HEAD_BYTES + 1, "die", 3);
    CU_ASSERT_EQUAL(decode(&r), -1);
    CU_ASSERT_STRING_EQUAL(r.err.text, "expected a stream of 1000 values"); /* not even tried */
    sign(&r);
    CU_ASSERT_EQUAL(decode(&r), -1);
    CU_ASSERT_EQUAL(r.err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(r.err.text,
                           "expected a stream of 1000 values: libSZ3c.so was ended by SIGABRT");
    memcpy(r.bytes, good.bytes, good.len_bytes);
    CU_ASSERT_EQUAL(decode(&r), 0);
    /* Corrections beyond the values, more than there are values, and cut off. */
    static const unsigned char bad[][8] = {{1, 0xe8, 0x07}, {0xe9, 0x07}, {0xff, 0xff, 0xff}};
    for (size_t i = 0; i < 3; i++) {
        memcpy(r.bytes, good.bytes, good.len_bytes);
        memcpy(r.bytes + HEAD_BYTES, bad[i], sizeof(bad[i]));
        sign(&r);
        CU_ASSERT_EQUAL(decode(&r), -1);
        CU_ASSERT_STRING_EQUAL(r.err.text, "expected a stream of 1000 values");
    }
    r.ops->close(r.state);
}

static void without_isolation(void)
{
    static const double here_sz3[] = {0, 1, 60}, here_pressio[] = {1, 0, 1, 60};
    static const double *const here[] = {here_sz3, here_pressio};
    for (size_t c = 0; c < N_CODECS; c++) {
        struct rig a, b;
        rig_open(&a, codecs[c].name, "good", codecs[c].params);
        rig_open(&b, codecs[c].name, "good", here[c]);
        CU_ASSERT_EQUAL(encode(&a), 0);
        CU_ASSERT_EQUAL(encode(&b), 0);
        CU_ASSERT(a.len_bytes == b.len_bytes && memcmp(a.bytes, b.bytes, a.len_bytes) == 0);
        CU_ASSERT(decode(&a) == 0 && decode(&b) == 0 && memcmp(a.y, b.y, sizeof(a.y)) == 0);
        a.ops->close(a.state);
        b.ops->close(b.state);
    }
}

static void no_such_compressor(void)
{
    struct strait_error err = {0};
    void *state;
    CU_ASSERT_FATAL(library_is_there());
    setenv("STRAIT_LIBPRESSIO_LIB", library, 1);
    const double sz3[] = {0, 1, 1, 60};
    CU_ASSERT_EQUAL(strait_codec_open(strait_codec_find("libpressio"), &state, sz3, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err.text,
                           "expected a compressor that this liblibpressio.so was built with");
}

/* What the program has not written out yet must not be written by a library that calls exit. */
static void buffers_are_safe(void)
{
    struct rig r;
    struct stat before, after;
    FILE *f = tmpfile();
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fprintf(f, "a row");
    CU_ASSERT_EQUAL(fstat(fileno(f), &before), 0);
    rig_open(&r, "sz3", "encode exit", sz3_params);
    CU_ASSERT_EQUAL(encode(&r), -1);
    CU_ASSERT_EQUAL(fstat(fileno(f), &after), 0);
    CU_ASSERT(before.st_size == 0 && after.st_size == 0);
    r.ops->close(r.state);
    fclose(f);
}

/* Two processes with one open codec, as a simulation in a forked child has it. */
static void forked_program(void)
{
    struct rig r;
    rig_open(&r, "sz3", "good", sz3_params);
    CU_ASSERT_EQUAL_FATAL(encode(&r), 0);
    for (size_t i = 0; i < 3; i++) {
        const pid_t pid = fork();
        CU_ASSERT_FATAL(pid >= 0);
        if (pid == 0) {
            const bool good = encode(&r) == 0 && decode(&r) == 0 && fabsf(r.y[5] - r.x[5]) < 0.01f;
            r.ops->close(r.state);
            _exit(good ? 0 : 1);
        }
        CU_ASSERT_EQUAL(encode(&r), 0);
        int status = -1;
        waitpid(pid, &status, 0);
        CU_ASSERT_EQUAL(status, 0);
        CU_ASSERT_EQUAL(decode(&r), 0);
    }
    r.ops->close(r.state);
}

/* 20 ms of CPU time by the library's own clock, in encode alone. */
static void cpu_time_is_told(void)
{
    struct rig r;
    rig_open(&r, "sz3", "encode busy", sz3_params);
    const double before_s = strait_isolated_cpu_s();
    CU_ASSERT_EQUAL(encode(&r), 0);
    CU_ASSERT(strait_isolated_cpu_s() - before_s >= 0.02);
    r.ops->close(r.state);
}

static const struct strait_test tests[] = {
    {"a library that is missing or another one is a reason, not a failure", not_installed},
    {"a library that works is used, byte for byte", good_library},
    {"NaN with payload and infinities come back through corrections", corrections},
    {"values that the library lets miss the bound are corrected", bound_missed},
    {"where the library returns nothing or nonsense the values are stored", useless_answers},
    {"a library that exits, aborts, crashes, loops or eats memory is an error",
     dies_while_encoding},
    {"a stream on which the library does so is refused", dies_while_decoding},
    {"a crafted stream harms neither the program nor the next stream", hostile_streams},
    {"without isolation the bytes are the same", without_isolation},
    {"a compressor that LibPressio lacks is refused by open", no_such_compressor},
    {"a library that calls exit writes nothing of the program's", buffers_are_safe},
    {"a forked program gets a process of its own", forked_program},
    {"CPU time of the other process is told", cpu_time_is_told},
};
STRAIT_SUITE("codecs/foreign/foreign", tests);
