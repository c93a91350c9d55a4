/* strait codec encode and decode from outside, and every wrong command line. */
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "codecs/container.h"
#include "tests/kit/program.h"
#include "tests/kit/tensor_kinds.h"

enum { ROWS = 60, COLUMNS = 100, N = ROWS * COLUMNS };

static struct program program;
#define CALL(...) PROGRAM_CALL(&program, __VA_ARGS__)

static float weights[N];

/* weights.npy and weights.f32 with the same values. */
static void set_up(void)
{
    unsigned char file[STRAIT_NPY_HEADER_BYTES + sizeof(weights)];
    const struct strait_array_form form = {
        .npy = true, .dtype = "<f4", .n_dims = 2, .shape = {ROWS, COLUMNS}, .n_elems = N};
    program_set_up(&program);
    make_tensor(weights, N, TENSOR_WEIGHTS, 1);
    const size_t head = strait_npy_header(file, &form);
    memcpy(file + head, weights, sizeof(weights));
    program_write_bytes(&program, "weights.npy", file, head + sizeof(weights));
    program_write_bytes(&program, "weights.f32", weights, sizeof(weights));
}

static bool same_files(const char *a, const char *b)
{
    size_t n_a, n_b;
    char *x = program_read_bytes(&program, a, &n_a), *y = program_read_bytes(&program, b, &n_b);
    const bool same = n_a == n_b && memcmp(x, y, n_a) == 0;
    free(x);
    free(y);
    return same;
}

static void expect(struct said s, int status, const char *part)
{
    CU_ASSERT_EQUAL(s.status, status);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.err, part));
    CU_ASSERT_EQUAL(program_n_lines(s.err), 1);
    if (s.status != status || !strstr(s.err, part))
        fprintf(stderr, "expected %d, \"%s\": %d, %s", status, part, s.status, s.err);
    said_release(&s);
}

static struct strait_error ignored;

/* A text of settings with which this codec encodes anything: a loose bound where it needs one. */
static void usable_spec(char text[STRAIT_SPEC_CHARS], const struct strait_codec_ops *ops)
{
    struct strait_codec_spec spec = strait_codec_spec_default(ops);
    for (unsigned k = STRAIT_BOUND_ABS; k < N_STRAIT_BOUNDS; k++)
        if (!(ops->bounds & 1u << STRAIT_BOUND_NONE) && ops->bounds & 1u << k) {
            spec.bound = (struct strait_bound){(enum strait_bound_kind)k,
                                               k == STRAIT_BOUND_RATIO ? 8 : 1e-2};
            break;
        }
    strait_codec_spec_text(text, &spec);
}

/* Through files and back: a lossless codec gives the very file, any other one of its form whose
 * values are what the codec itself decodes. */
static void round_trip(const struct strait_codec_ops *ops, const char *name)
{
    char spec[STRAIT_SPEC_CHARS], encoded[64];
    size_t n_in, n_out;
    usable_spec(spec, ops);
    snprintf(encoded, sizeof(encoded), "%s.strait", name);
    struct said s = CALL("codec", "encode", name, "--codec", spec, "--key", "7", "--force");
    CU_ASSERT_EQUAL_FATAL(s.status, 0);
    CU_ASSERT_EQUAL(program_n_lines(s.err), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.err, "ratio "));
    CU_ASSERT_STRING_EQUAL(s.out, "");
    said_release(&s);
    expect(CALL("codec", "decode", encoded, "-o", "again", "--force"), 0, spec);
    char *in = program_read_bytes(&program, name, &n_in),
         *out = program_read_bytes(&program, "again", &n_out);
    CU_ASSERT_EQUAL_FATAL(n_in, n_out);
    CU_ASSERT_EQUAL(memcmp(in, out, n_in - sizeof(weights)), 0); /* the header */
    if (ops->flags & STRAIT_CODEC_LOSSLESS)
        CU_ASSERT_EQUAL(memcmp(in, out, n_in), 0);
    free(in);
    free(out);
}

static void round_trips(void)
{
    size_t n;
    const struct strait_codec_ops *const *codecs = strait_codecs(&n);
    set_up();
    for (size_t i = 0; i < n; i++) {
        if (strait_codec_unavailable(codecs[i]))
            continue;
        round_trip(codecs[i], "weights.npy");
        round_trip(codecs[i], "weights.f32");
    }
    program_tear_down(&program);
}

/* 0.01 of the range, measured here; and the names that are chosen without -o. */
static void bound_kept(void)
{
    float min = INFINITY, max = -INFINITY, worst = 0;
    size_t n;
    set_up();
    expect(CALL("codec", "encode", "weights.f32", "--codec", "sz:range=0.01"), 0, "of the bound");
    CU_ASSERT_TRUE(program_has(&program, "weights.f32.strait"));
    CU_ASSERT_EQUAL(remove(strcat(strcpy((char[256]){0}, program.folder), "/weights.f32")), 0);
    expect(CALL("codec", "decode", "weights.f32.strait"), 0, "sz:range=0.01");
    float *y = (float *)(void *)program_read_bytes(&program, "weights.f32", &n);
    CU_ASSERT_EQUAL_FATAL(n, sizeof(weights));
    for (size_t i = 0; i < N; i++) {
        min = fminf(min, weights[i]);
        max = fmaxf(max, weights[i]);
        worst = fmaxf(worst, fabsf(weights[i] - y[i]));
    }
    CU_ASSERT((double)worst <= 0.01 * ((double)max - (double)min));
    CU_ASSERT(worst > 0);
    free(y);
    program_tear_down(&program);
}

/* Figures for programs: of N float32 values, which `none` keeps, and their sizes. */
static void as_json(void)
{
    set_up();
    struct said s = CALL("codec", "encode", "weights.f32", "--codec", "none", "--json");
    json_t *line = json_loads(s.out, 0, NULL);
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(line, "out")), "weights.f32.strait");
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(line, "values")), N);
    CU_ASSERT_EQUAL(json_number_value(json_object_get(line, "raw_bytes")), 4.0 * N);
    CU_ASSERT_EQUAL(json_number_value(json_object_get(line, "encoded_bytes")), 4.0 * N);
    CU_ASSERT_TRUE(json_is_true(json_object_get(line, "exact")));
    json_decref(line);
    said_release(&s);
    s = CALL("codec", "decode", "weights.f32.strait", "-o", "again", "--json");
    line = json_loads(s.out, 0, NULL);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(line, "codec")), "none");
    CU_ASSERT_EQUAL(json_number_value(json_object_get(line, "ratio")), 1);
    json_decref(line);
    said_release(&s);
    program_tear_down(&program);
}

static void pipes(void)
{
    set_up();
    program.in = "weights.npy";
    struct said s = CALL("codec", "encode", "-", "--codec", "zstd");
    CU_ASSERT_EQUAL_FATAL(s.status, 0);
    program_write_bytes(&program, "piped.strait", s.out, s.out_bytes);
    said_release(&s);
    program.in = "piped.strait";
    s = CALL("codec", "decode", "-");
    CU_ASSERT_EQUAL_FATAL(s.status, 0);
    program_write_bytes(&program, "piped.npy", s.out, s.out_bytes);
    said_release(&s);
    CU_ASSERT_TRUE(same_files("weights.npy", "piped.npy"));
    s = CALL("codec", "encode", "weights.npy", "--codec", "zstd", "-o", "file.strait");
    said_release(&s);
    CU_ASSERT_TRUE(same_files("file.strait", "piped.strait")); /* no times, no names in it */
    program_tear_down(&program);
}

/* 0.1 is no float and 0.5 is one: of (0.1, 0.5, 0.1, 0.5) two change. */
static void other_types(void)
{
    static const char header[] =
        "\x93NUMPY\x01\x00\x38\x00{'descr': '<f8', 'fortran_order': False, 'shape': (4,)}\n";
    const double values[] = {0.1, 0.5, 0.1, 0.5};
    unsigned char file[256];
    size_t n;
    set_up();
    const size_t head = sizeof(header) - 1;
    CU_ASSERT_EQUAL_FATAL(head, 10 + 0x38);
    memcpy(file, header, head);
    memcpy(file + head, values, sizeof(values));
    program_write_bytes(&program, "doubles.npy", file, head + sizeof(values));
    expect(CALL("codec", "encode", "doubles.npy", "--codec", "none"), 0,
           "float64 (4,), read as float32 with 2 values rounded, 16.0 B");
    expect(CALL("codec", "encode", "doubles.npy", "--codec", "none", "--force"), 0,
           "ratio 1.000, every bit kept");
    expect(CALL("codec", "decode", "doubles.npy.strait", "-o", "floats.npy"), 0, "was <f8");
    char *floats = program_read_bytes(&program, "floats.npy", &n);
    CU_ASSERT_EQUAL_FATAL(n, 128 + 16);
    CU_ASSERT_EQUAL(memcmp(floats + 128, (const float[]){0.1f, 0.5f, 0.1f, 0.5f}, 16), 0);
    free(floats);
    program_tear_down(&program);
}

static void errors(void)
{
    static const struct {
        const char *args[PROGRAM_MAX_ARGS];
        const char *part;
    } cases[] = {
        {{"codec"}, "expected a command (strait codec --help), found nothing"},
        {{"codec", "encod"}, "did you mean \"encode\"?"},
        {{"codec", "encode"}, "expected a file, found none"},
        {{"codec", "encode", "weights.f32"}, "expected --codec SPEC"},
        {{"codec", "encode", "weights.f32", "--codec"}, "found nothing"},
        {{"codec", "encode", "weights.f32", "--codec", "szz:range=1"}, "did you mean \"sz\"?"},
        {{"codec", "encode", "weights.f32", "--codec", "sz"}, "expected a bound"},
        {{"codec", "encode", "weights.f32", "--codec", "sz:rnage=1"}, "did you mean \"range\"?"},
        {{"codec", "encode", "weights.f32", "--codec", "none", "--key", "-1"}, "whole number"},
        {{"codec", "encode", "weights.f32", "--codec", "none", "--rows", "7"}, "divides 6000"},
        {{"codec", "encode", "weights.f32", "--codec", "none", "--rows", "0"}, "at least 1"},
        {{"codec", "encode", "weights.f32", "--codec", "none", "-o", "weights.npy"}, "--force"},
        {{"codec", "encode", "weights.f32", "--codec", "none", "-o", "no/where"}, "no/where"},
        {{"codec", "encode", "nothing.f32", "--codec", "none"}, "expected a file"},
        {{"codec", "encode", ".", "--codec", "none", "-o", "x"}, "found a folder"},
        {{"codec", "encode", "odd", "--codec", "none"}, "multiple of 4"},
        {{"codec", "encode", "cut.npy", "--codec", "none"}, "cut.npy: expected 6000 values"},
        {{"codec", "encode", "weights.f32", "more", "--codec", "none"}, "no further argument"},
        {{"codec", "decode"}, "expected a file, found none"},
        {{"codec", "decode", "weights.f32"}, "ends in .strait"},
        {{"codec", "decode", "weights.f32", "-o", "x"}, "a file of strait codec encode"},
        {{"codec", "decode", "cut.strait"}, "cut or added to"},
        {{"codec", "decode", "flipped.strait"}, "checksum"},
        {{"codec", "decode", "good.strait", "-o", "odd"}, "--force"},
        {{"codec", "decode", "none.strait"}, "expected a file"},
        {{"codec", "list", "szz"}, "did you mean \"sz\"?"},
        {{"codec", "list", "sz:range=1"}, "expected a codec"},
        {{"codec", "bench", "weights.f32", "--codec", "sz:range=x"}, "at least 0"},
        {{"codec", "bench", "weights.f32", "--codec", "sz", "--against", "z3"}, "a codec"},
        {{"codec", "bench", "nothing.f32"}, "expected a file"},
        {{"codec", "bench", "empty"}, "expected a tensor with values"},
        {{"codec", "bench", "--kind", "weight"}, "did you mean \"weights\"?"},
        {{"codec", "bench", "weights.f32", "--repeats", "101"}, "at most 100"},
        {{"calibrate"}, "expected a command"},
        {{"calibrate", "codec"}, "did you mean \"codecs\"?"},
        {{"calibrate", "codecs", "weights.f32", "--repeats", "16"}, "at most 15"},
        {{"calibrate", "codecs", "weights.f32", "--out", "odd"}, "--force"},
        {{"calibrate", "codecs", "tiny", "--codec", "none"}, "more than 1024 values"},
    };
    set_up();
    size_t n;
    program_write(&program, "odd", "1234567");
    program_write(&program, "tiny", "12345678");
    program_write(&program, "empty", "");
    char *npy = program_read_bytes(&program, "weights.npy", &n);
    program_write_bytes(&program, "cut.npy", npy, n - 1);
    free(npy);
    struct said s = CALL("codec", "encode", "weights.f32", "--codec", "zstd", "-o", "good.strait");
    said_release(&s);
    char *good = program_read_bytes(&program, "good.strait", &n);
    program_write_bytes(&program, "cut.strait", good, n - 1);
    good[n / 2] ^= 1;
    program_write_bytes(&program, "flipped.strait", good, n);
    free(good);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        s = program_call(&program, cases[i].args);
        CU_ASSERT_STRING_EQUAL(s.out, "");
        CU_ASSERT_EQUAL(strncmp(s.err, "strait: ", 8), 0);
        expect(s, 2, cases[i].part);
    }
    CU_ASSERT_TRUE(same_files("odd", "odd"));
    CU_ASSERT_FALSE(program_has(&program, "x"));
    CU_ASSERT_FALSE(program_has(&program, "weights.f32.strait"));
    program_tear_down(&program);
}

/* A right checksum, and few bytes, for more values than the machine has memory: exit 3. */
static void too_large(void)
{
    unsigned char file[1024] = {0};
    struct strait_container c = {
        .form = {.dtype = "<f4", .n_dims = 1, .shape = {1ul << 50}, .n_elems = 1ul << 50},
        .payload_bytes = 16};
    set_up();
    CU_ASSERT_EQUAL_FATAL(strait_codec_spec_parse(&c.spec, "none", &ignored), 0);
    strait_container_seal(file, &c);
    program_write_bytes(&program, "large.strait", file, strait_container_head_bytes(&c) + 16);
    expect(CALL("codec", "decode", "large.strait"), 3, "of memory");
    c.form.shape[0] = c.form.n_elems = 5; /* and 16 bytes are no 5 values */
    strait_container_seal(file, &c);
    program_write_bytes(&program, "short.strait", file, strait_container_head_bytes(&c) + 16);
    expect(CALL("codec", "decode", "short.strait"), 2, "short.strait: none: expected 20 bytes");
    CU_ASSERT_FALSE(program_has(&program, "large"));
    CU_ASSERT_FALSE(program_has(&program, "short"));
    program_tear_down(&program);
}

static void full_disk(void)
{
    set_up();
    expect(CALL("codec", "encode", "weights.f32", "--codec", "none", "-o", "/dev/full"), 1,
           "No space left");
    expect(
        CALL("codec", "encode", "weights.f32", "--codec", "none", "-o", "/dev/null", "--force"), 0,
        "weights.f32: raw float32 (6000,), 24.0 KB as 24.0 KB, ratio 1.000, every bit kept, in ");
    program_tear_down(&program);
}

/* Killed after 0 to 30 ms, into the same name again and again: what bears the name is whole, and
 * decodes to what went in. */
static void killed(void)
{
    enum { LARGE = 1 << 20 };
    float *x = malloc(LARGE * sizeof(*x));
    unsigned n_whole = 0;
    set_up();
    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    make_tensor(x, LARGE, TENSOR_BITS, 3);
    program_write_bytes(&program, "large.f32", x, LARGE * sizeof(*x));
    free(x);
    const char *const args[] = {"codec", "encode",   "large.f32", "--codec", "none",
                                "-o",    "l.strait", "--force",   NULL};
    for (int i = 0; i < 31; i++) {
        const struct timespec moment = {.tv_nsec = i * 1000000};
        const pid_t pid = program_start(&program, "said", args);
        nanosleep(&moment, NULL);
        kill(pid, SIGKILL);
        program_wait(pid);
        if (!program_has(&program, "l.strait"))
            continue;
        struct said s = CALL("codec", "decode", "l.strait", "-o", "again.f32", "--force");
        CU_ASSERT_EQUAL(s.status, 0);
        CU_ASSERT_TRUE(same_files("large.f32", "again.f32"));
        said_release(&s);
        n_whole++;
    }
    struct said s = program_call(&program, args);
    CU_ASSERT_EQUAL(s.status, 0);
    said_release(&s);
    CU_ASSERT(n_whole < 31); /* the first kills came before there was anything */
    program_tear_down(&program);
}

static void help(void)
{
    static const char *const commands[][3] = {
        {"codec", "--help", NULL},         {"codec", "list", "--help"},
        {"codec", "bench", "--help"},      {"codec", "encode", "--help"},
        {"codec", "decode", "--help"},     {"calibrate", "--help", NULL},
        {"calibrate", "codecs", "--help"}, {"calibrate", "host", "--help"}};
    set_up();
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        const char *const args[] = {commands[i][0], commands[i][1], commands[i][2], NULL};
        struct said s = program_call(&program, args);
        CU_ASSERT_EQUAL(s.status, 0);
        CU_ASSERT_EQUAL(strncmp(s.out, "usage: strait ", 14), 0);
        CU_ASSERT_STRING_EQUAL(s.err, "");
        for (char *line = strtok(s.out, "\n"); line; line = strtok(NULL, "\n"))
            CU_ASSERT(strlen(line) <= 100);
        said_release(&s);
    }
    program_tear_down(&program);
}

static const struct strait_test tests[] = {
    {"figures of encode and decode as JSON", as_json},
    {"every codec takes a NumPy and a raw file there and back", round_trips},
    {"a bound is kept through files, and names are chosen", bound_kept},
    {"standard input and output carry the same bytes", pipes},
    {"float64 is read as float32, and said so", other_types},
    {"every wrong input is one line, exit 2, and nothing is written", errors},
    {"a file for more values than there is memory is refused", too_large},
    {"a full disk is an error, and a device is not replaced", full_disk},
    {"a killed encode leaves what was there, or what is new, whole", killed},
    {"every command explains itself", help},
};
STRAIT_SUITE_WITH("cli/codec/cli_codec", tests, .slow_s = 5, .release = true);
