/* Files that are read once, plain and packed: what is in the buffer, where it stands, lines, and
 * numbers as strtod reads them. */
#include "traces/import/source.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include "tests/kit/program.h"

enum { N_BYTES = 3 * STRAIT_SOURCE_BUFFER + 1000, MAX_LINE = 16 << 20 };

static char byte_of(size_t i)
{
    return (char)('a' + i * 31 % 26);
}

/* The file's path, valid until the next call. */
static const char *file(const struct program *p, const char *name, const char *bytes, size_t n,
                        bool packed)
{
    static char path[4200];
    snprintf(path, sizeof(path), "%s/%s", p->folder, name);
    const gzFile f = gzopen(path, packed ? "wb1" : "wbT"); /* T: as it is */
    CU_ASSERT_FATAL(f && (n == 0 || gzwrite(f, bytes, (unsigned)n) == (int)n));
    CU_ASSERT_EQUAL(gzclose(f), Z_OK);
    return path;
}

/* As much as was asked for is there, or all that is left, with a NUL behind it. */
static void filled(void)
{
    static const size_t wants[] = {1, 24, 1000, STRAIT_SOURCE_BUFFER, 1, STRAIT_SOURCE_BUFFER};
    struct program p;
    char *bytes = malloc(N_BYTES);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    for (size_t i = 0; i < N_BYTES; i++)
        bytes[i] = byte_of(i);
    program_set_up(&p);
    for (int packed = 0; packed < 2; packed++) {
        struct strait_source s;
        struct strait_error err = {0};
        size_t at = 0, left;
        CU_ASSERT_EQUAL_FATAL(
            strait_source_open(&s, file(&p, "bytes", bytes, N_BYTES, packed), &err), 0);
        for (int k = 0; (left = N_BYTES - at) > 0; k = (k + 1) % 6) {
            const size_t want = wants[k], n = strait_source_fill(&s, want);
            strait_test_context("packed %d, at byte %zu, %zu wanted", packed, at, want);
            CU_ASSERT_AT_LEAST(n, want < left ? want : left);
            CU_ASSERT_AT_MOST(n, left);
            CU_ASSERT_EQUAL_FATAL(s.end - s.at, n);
            CU_ASSERT_AT_MOST(s.end, STRAIT_SOURCE_BUFFER);
            CU_ASSERT_EQUAL(s.buffer[s.end], '\0');
            CU_ASSERT_EQUAL(strait_source_offset(&s), at);
            CU_ASSERT_EQUAL(memcmp(s.buffer + s.at, bytes + at, n), 0);
            /* some of it is read, an odd count */
            const size_t taken = n > 777 ? n - 333 : n;
            s.at += taken;
            at += taken;
        }
        CU_ASSERT_EQUAL(strait_source_fill(&s, 1), 0);
        CU_ASSERT_EQUAL(strait_source_offset(&s), N_BYTES);
        strait_source_release(&s);
        CU_ASSERT(!s.buffer && !s.gz && !s.text);
    }
    program_tear_down(&p);
    free(bytes);
}

static void refused(void)
{
    struct program p;
    struct strait_source s;
    struct strait_error err = {0};
    char path[4200];
    program_set_up(&p);
    CU_ASSERT_EQUAL(strait_source_open(&s, file(&p, "empty", "", 0, false), &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "expected a file with a trace, found an empty one");
    strait_source_release(&s);
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(strait_source_open(&s, p.folder, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "expected a file with a trace, found a folder");
    CU_ASSERT_STRING_EQUAL(err.where, p.folder);
    strait_source_release(&s);
    err = (struct strait_error){0};
    snprintf(path, sizeof(path), "%s/fifo", p.folder);
    CU_ASSERT_EQUAL_FATAL(mkfifo(path, 0600), 0);
    CU_ASSERT_EQUAL(strait_source_open(&s, path, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text,
                           "expected a file with a trace, found something that is no file");
    strait_source_release(&s);
    err = (struct strait_error){0};
    snprintf(path, sizeof(path), "%s/none", p.folder);
    CU_ASSERT_EQUAL(strait_source_open(&s, path, &err), -1);
    CU_ASSERT_CONTAINS(err.text, "No such file");
    strait_source_release(&s);
    program_tear_down(&p);
}

/* A packed file that ends early: nothing of what was read last is believed, and every later failure
 * tells of it. */
static void cut_off(void)
{
    struct program p;
    struct strait_source s;
    struct strait_error err = {0}, other = {0};
    struct stat st;
    char *bytes = calloc(2, STRAIT_SOURCE_BUFFER), *line;
    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    for (size_t i = 0; i < 2 * STRAIT_SOURCE_BUFFER; i++)
        bytes[i] = i % 100 == 99 ? '\n' : byte_of(i * i);
    program_set_up(&p);
    const char *path = file(&p, "cut", bytes, 2 * STRAIT_SOURCE_BUFFER, true);
    CU_ASSERT_EQUAL_FATAL(stat(path, &st), 0);
    CU_ASSERT_EQUAL_FATAL(truncate(path, st.st_size - 20), 0);
    CU_ASSERT_EQUAL_FATAL(strait_source_open(&s, path, &err), 0);
    int got;
    size_t n_lines = 0;
    while ((got = strait_source_line(&s, &line, &err)) > 0)
        n_lines += strlen(line) == 99;
    CU_ASSERT_EQUAL(got, -1);
    CU_ASSERT(s.has_failed);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err.where, path);
    CU_ASSERT_CONTAINS(err.text, "expected gzip data, found them damaged or cut off after ");
    CU_ASSERT_CONTAINS(err.text, " bytes of content: ");
    CU_ASSERT_AT_LEAST(n_lines, STRAIT_SOURCE_BUFFER / 100);
    CU_ASSERT_EQUAL(strait_source_fill(&s, 1), 0);
    CU_ASSERT_EQUAL(strait_source_fail_byte(&s, &other, "something %d", 7), -1);
    CU_ASSERT_STRING_EQUAL(other.text, err.text);
    CU_ASSERT_STRING_EQUAL(other.where, path);
    strait_source_release(&s);
    free(bytes);
    program_tear_down(&p);
}

/* Lines with LF, CRLF and neither; long ones go on over the buffer's end. */
static void lines(void)
{
    struct program p;
    struct strait_source s;
    struct strait_error err = {0};
    const size_t n_long = STRAIT_SOURCE_BUFFER + 5;
    char *text = malloc(3 * STRAIT_SOURCE_BUFFER), *line;
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    size_t n = (size_t)sprintf(text, "one\r\n\n\r\ntwo \r three\n");
    memset(text + n, 'x', n_long);
    n += n_long;
    n += (size_t)sprintf(text + n, "\r\nlast");
    program_set_up(&p);
    for (int how = 0; how < 3; how++) { /* plain, packed, memory */
        static const char *const wanted[] = {"one", "", "", "two \r three", NULL, "last"};
        const char *path = how < 2 ? file(&p, "lines", text, n, how) : "memory";
        CU_ASSERT_EQUAL_FATAL(how < 2 ? strait_source_open(&s, path, &err)
                                      : strait_source_of(&s, path, text, n, &err),
                              0);
        for (size_t i = 0; i < 6; i++) {
            strait_test_context("how %d, line %zu", how, i + 1);
            CU_ASSERT_EQUAL_FATAL(strait_source_line(&s, &line, &err), 1);
            CU_ASSERT_EQUAL(s.line, i + 1);
            if (wanted[i])
                CU_ASSERT_STRING_EQUAL(line, wanted[i]);
            else
                CU_ASSERT_EQUAL(strlen(line), n_long);
        }
        CU_ASSERT_EQUAL(strait_source_line(&s, &line, &err), 0);
        CU_ASSERT_PTR_NULL(line);
        CU_ASSERT_EQUAL(strait_source_line(&s, &line, &err), 0);
        CU_ASSERT_EQUAL(strait_source_fail_line(&s, &err, "bad %d", 7), -1);
        char where[4300];
        snprintf(where, sizeof(where), "%s:8", path);
        CU_ASSERT_STRING_EQUAL(err.where, where);
        CU_ASSERT_STRING_EQUAL(err.text, "bad 7");
        err = (struct strait_error){0};
        CU_ASSERT_EQUAL(strait_source_fail_byte(&s, &err, "bad %d", 8), -1);
        snprintf(where, sizeof(where), "%s: at byte %zu", path, n);
        CU_ASSERT_STRING_EQUAL(err.where, where);
        err = (struct strait_error){0};
        strait_source_release(&s);
    }
    program_tear_down(&p);
    free(text);
}

/* A byte of zero, and a line of 16 MB and of one byte more, packed. */
static void odd_lines(void)
{
    struct program p;
    struct strait_source s;
    struct strait_error err = {0};
    char *text = malloc(MAX_LINE + 2), *line;
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_EQUAL_FATAL(strait_source_of(&s, "zero", "good\nno\0\n", 9, &err), 0);
    CU_ASSERT_EQUAL(strait_source_line(&s, &line, &err), 1);
    CU_ASSERT_EQUAL(strait_source_line(&s, &line, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.where, "zero:2");
    CU_ASSERT_STRING_EQUAL(err.text, "expected text, found a zero byte");
    strait_source_release(&s);
    program_set_up(&p);
    memset(text, 'y', MAX_LINE + 2);
    for (int more = 0; more < 2; more++) {
        err = (struct strait_error){0};
        text[MAX_LINE + more] = '\n';
        const char *path = file(&p, "long", text, (size_t)MAX_LINE + 1 + (size_t)more, true);
        CU_ASSERT_EQUAL_FATAL(strait_source_open(&s, path, &err), 0);
        CU_ASSERT_EQUAL(strait_source_line(&s, &line, &err), more ? -1 : 1);
        if (!more)
            CU_ASSERT_EQUAL(strlen(line), MAX_LINE);
        CU_ASSERT_STRING_EQUAL(err.text,
                               more ? "expected lines of text, found one longer than 16 MB" : "");
        strait_source_release(&s);
        text[MAX_LINE] = 'y';
    }
    program_tear_down(&p);
    free(text);
}

static void words(void)
{
    char text[] = " \tone  two\t three ", *rest = text;
    CU_ASSERT_STRING_EQUAL(strait_source_word(&rest), "one");
    CU_ASSERT_STRING_EQUAL(strait_source_word(&rest), "two");
    CU_ASSERT_STRING_EQUAL(strait_source_word(&rest), "three");
    CU_ASSERT_PTR_NULL(strait_source_word(&rest));
    CU_ASSERT_PTR_NULL(strait_source_word(&rest));
}

/* What strtod reads, to the last bit, and where it stops; limits hold at the limit. */
static void numbers(void)
{
    static const char *const texts[] = {"0",
                                        "7",
                                        "999999999999999",
                                        "1234567890123456",
                                        "12345678901234567890",
                                        "0.1",
                                        "1.",
                                        "123456789.123456789",
                                        "0.3000000000000000444",
                                        "1234567890123456789.5",
                                        "0.1234567890123456789",
                                        "9007199254740993.0",
                                        "4503599627370497.5",
                                        "1e3",
                                        "1.5e-7",
                                        "-2.5",
                                        "+3",
                                        ".5",
                                        "0x10",
                                        "1.2.3",
                                        "5b",
                                        "1.25b",
                                        "inf",
                                        "nan",
                                        "1E5",
                                        "12,5",
                                        "-",
                                        "",
                                        "x",
                                        "1p3",
                                        "2.5p1",
                                        "179769313486231570000.0",
                                        "0.000001",
                                        "100000.00000000000001"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        char *end;
        double found = -1;
        const double wanted = strtod(texts[i], &end);
        strait_test_context("\"%s\"", texts[i]);
        const char *rest = strait_source_double(&found, texts[i]);
        CU_ASSERT_PTR_EQUAL(rest, end == texts[i] ? NULL : end);
        CU_ASSERT(end == texts[i] || found == wanted || (isnan(found) && isnan(wanted)));
    }
    double x;
    int64_t n;
    CU_ASSERT(strait_source_number(&x, "2.5ms", "ms", 2.5, 2.5) && x == 2.5);
    CU_ASSERT(strait_source_number(&x, "-3", NULL, -3, 0) && x == -3);
    CU_ASSERT_FALSE(strait_source_number(&x, "2.5", NULL, 2.6, 9));
    CU_ASSERT_FALSE(strait_source_number(&x, "2.5", NULL, 0, 2.4));
    CU_ASSERT_FALSE(strait_source_number(&x, "2.5m", "ms", 0, 9));
    CU_ASSERT_FALSE(strait_source_number(&x, "2.5ms", NULL, 0, 9));
    static const char *const none[] = {"",    "x",     " 1", "0x10", "nan",
                                       "inf", "1e999", "-",  "+.",   NULL};
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
        strait_test_context("\"%s\"", none[i] ? none[i] : "nothing");
        CU_ASSERT_FALSE(strait_source_number(&x, none[i], NULL, -1e300, 1e300));
        CU_ASSERT_FALSE(strait_source_integer(&n, none[i], NULL, -100, INT64_MAX));
    }
    CU_ASSERT(strait_source_integer(&n, "17", NULL, 17, 17) && n == 17);
    CU_ASSERT_FALSE(strait_source_integer(&n, "17", NULL, 18, 99));
    CU_ASSERT_FALSE(strait_source_integer(&n, "17", NULL, 0, 16));
    CU_ASSERT(strait_source_integer(&n, "-5", NULL, -5, 0) && n == -5);
    CU_ASSERT(strait_source_integer(&n, "3e2b", "b", 0, 300) && n == 300);
    CU_ASSERT(strait_source_integer(&n, "999999999999999", NULL, 0, INT64_MAX) &&
              n == 999999999999999);
    CU_ASSERT(strait_source_integer(&n, "9007199254740992", NULL, 0, INT64_MAX) &&
              n == 9007199254740992);
    CU_ASSERT_FALSE(strait_source_integer(&n, "9007199254740994", NULL, 0, INT64_MAX));
    CU_ASSERT_FALSE(strait_source_integer(&n, "1.5", NULL, 0, 9));
    CU_ASSERT_FALSE(strait_source_integer(&n, "5x", NULL, 0, 9));
}

static const struct strait_test tests[] = {
    {"a buffer has what was asked for, and a NUL behind it", filled},
    {"what is no file with a trace is refused", refused},
    {"a packed file that was cut off is not believed", cut_off},
    {"lines end with LF, CRLF or the file", lines},
    {"zero bytes, and lines of more than 16 MB, are refused", odd_lines},
    {"words are cut at blanks", words},
    {"numbers are read as strtod reads them, within limits", numbers},
};
STRAIT_SUITE("traces/import/source", tests);
