/* Text tables: what is left out, what lines up, where lines break. */
#include "analysis/table.h"

#include <math.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "tests/kit/suite.h"

static void expect(struct strait_table *t, const char *expected)
{
    char *text = NULL;
    size_t n_bytes;
    struct strait_error err = {0};
    FILE *out = open_memstream(&text, &n_bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    CU_ASSERT_EQUAL(strait_table_finish(t, out, &err), 0);
    fclose(out);
    CU_ASSERT_STRING_EQUAL(text, expected);
    if (strcmp(text, expected) != 0)
        fprintf(stderr, "found\n%sexpected\n%s", text, expected);
    free(text);
}

static void row(struct strait_table *t, const char *a, const char *b, const char *c)
{
    strait_table_cell(t, a);
    strait_table_cell(t, b);
    strait_table_cell(t, c);
}

/* The middle column goes where it is 0 in every row, and stays with one other cell or no rows. */
static void omitted(void)
{
    for (int i = 0; i < 3; i++) {
        struct strait_table *t = strait_table_new();
        strait_table_column(t, "name", false);
        strait_table_column(t, "share %", true);
        strait_table_omit(t, "0");
        strait_table_column(t, "s", true);
        if (i < 2)
            row(t, "a", "0", "1.5");
        if (i < 2)
            row(t, "bb", i == 0 ? "0" : "<1", "0");
        expect(t, i == 0   ? "name    s\n"
                             "────  ───\n"
                             "a     1.5\n"
                             "bb      0\n"
                  : i == 1 ? "name  share %    s\n"
                             "────  ───────  ───\n"
                             "a           0  1.5\n"
                             "bb         <1    0\n"
                           : "name  share %  s\n"
                             "────  ───────  ─\n");
    }
}

/* Rules before a row but not the first, wide letters, words that are broken, empty cells at the
 * end. */
static void laid_out(void)
{
    struct strait_table *t = strait_table_new();
    strait_table_column(t, "a", false);
    strait_table_column(t, "b", false);
    strait_table_wrap(t, 7);
    strait_table_column(t, "c", true);
    strait_table_rule(t);
    row(t, "\u6f22", "two words more", "1");
    strait_table_rule(t);
    row(t, "x", NULL, "");
    expect(t, "a   b      c\n"
              "──  ─────  ─\n"
              "\u6f22  two    1\n"
              "    words\n"
              "    more\n"
              "──  ─────  ─\n"
              "x\n");
}

static void expect_within(const struct strait_table *t, size_t max_columns, const char *expected)
{
    char *text = NULL;
    size_t n_bytes;
    FILE *out = open_memstream(&text, &n_bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    strait_table_print_within(t, out, max_columns);
    fclose(out);
    CU_ASSERT_STRING_EQUAL(text, expected);
    if (strcmp(text, expected) != 0)
        fprintf(stderr, "found\n%sexpected\n%s", text, expected);
    free(text);
}

/* As wide as it is: 4 + 2 + 17 + 2 + 13 = 38 columns. The title on two lines: 30. The note on two
 * lines: 24. */
static void narrower(void)
{
    struct strait_table *t = strait_table_new();
    const char *wide = "name  attention error %  note\n"
                       "────  ─────────────────  ─────────────\n"
                       "a                  17.8  one two three\n"
                       "bb                    3\n";
    strait_table_column(t, "name", false);
    strait_table_column(t, "attention error %", true);
    strait_table_column(t, "note", false);
    row(t, "a", "17.8", "one two three");
    row(t, "bb", "3", "");
    expect_within(t, 0, wide);
    expect_within(t, 38, wide);
    expect_within(t, 37,
                  "name  attention  note\n"
                  "        error %\n"
                  "────  ─────────  ─────────────\n"
                  "a          17.8  one two three\n"
                  "bb            3\n");
    expect_within(t, 24,
                  "name  attention  note\n"
                  "        error %\n"
                  "────  ─────────  ───────\n"
                  "a          17.8  one two\n"
                  "                 three\n"
                  "bb            3\n");
    strait_table_free(t);
}

static struct strait_table *numbers(void)
{
    struct strait_table *t = strait_table_new();
    strait_table_column(t, "run", false);
    strait_table_column(t, "n", true);
    strait_table_key(t);
    strait_table_column(t, "aaaa", true);
    strait_table_column(t, "bbbb", true);
    strait_table_column(t, "cccc", true);
    row(t, "x", "1", "1111");
    strait_table_cell(t, "2222");
    strait_table_cell(t, "3333");
    strait_table_rule(t);
    row(t, "y", "2", "4");
    strait_table_cell(t, "5");
    strait_table_cell(t, "6");
    return t;
}

/* 3 + 2 + 1 for the keys and 2 + 4 for a number: two of the three within 18 columns. */
static const char *const below = "run  n  aaaa  bbbb\n"
                                 "───  ─  ────  ────\n"
                                 "x    1  1111  2222\n"
                                 "───  ─  ────  ────\n"
                                 "y    2     4     5\n"
                                 "\n"
                                 "run  n  cccc\n"
                                 "───  ─  ────\n"
                                 "x    1  3333\n"
                                 "───  ─  ────\n"
                                 "y    2     6\n";

static void continued(void)
{
    struct strait_table *t = numbers();
    expect_within(t, 18, below);
    expect_within(t, 23, below);
    strait_table_free(t);
}

/* 1 + 2 + 5 */
static void cut_words(void)
{
    struct strait_table *t = strait_table_new();
    strait_table_column(t, "k", false);
    strait_table_column(t, "v", false);
    strait_table_cell(t, "a");
    strait_table_cell(t, "abcdefghij");
    expect_within(t, 8,
                  "k  v\n"
                  "─  ─────\n"
                  "a  abcde\n"
                  "   fghij\n");
    strait_table_free(t);
}

/* A terminal turns each \n into \r\n. */
static void on_a_terminal(void)
{
    const struct winsize size = {.ws_row = 24, .ws_col = 18};
    char shown[1024] = "", plain[1024] = "";
    int master, slave;
    if (openpty(&master, &slave, NULL, NULL, &size) != 0) {
        strait_test_skip("no pseudo-terminal can be opened here");
        return;
    }
    FILE *out = fdopen(slave, "w");
    struct strait_table *t = numbers();
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    strait_table_print(t, out);
    fflush(out);
    for (size_t n = 0; n < strlen(below) + 11;) { /* of 11 lines; the kernel hands over parts */
        const ssize_t more = read(master, shown + n, sizeof(shown) - 1 - n);
        CU_ASSERT_FATAL(more > 0);
        n += (size_t)more;
    }
    for (size_t i = 0, n = 0; shown[i]; i++)
        if (shown[i] != '\r')
            plain[n++] = shown[i];
    CU_ASSERT_STRING_EQUAL(plain, below);
    strait_table_free(t);
    fclose(out);
    close(master);
}

/* A pipe is no terminal: as wide as the table is, or as COLUMNS asks, unless --wide does. */
static void in_a_file(void)
{
    char *wide = NULL, *within = NULL, *asked = NULL, *both = NULL;
    size_t len;
    struct strait_table *t = numbers();
    FILE *out = open_memstream(&within, &len);
    strait_table_print_within(t, out, 0);
    fclose(out);
    for (int i = 0; i < 3; i++) {
        if (i > 0)
            setenv("COLUMNS", "18", 1);
        strait_table_wide = i == 2;
        out = tmpfile();
        CU_ASSERT_PTR_NOT_NULL_FATAL(out);
        strait_table_print(t, out);
        char **text = i == 0 ? &wide : i == 1 ? &asked : &both;
        *text = calloc(1, 1024);
        rewind(out);
        CU_ASSERT_FATAL(*text && fread(*text, 1, 1023, out) > 0);
        fclose(out);
    }
    unsetenv("COLUMNS");
    strait_table_wide = false;
    CU_ASSERT_STRING_EQUAL(wide, within);
    CU_ASSERT_STRING_EQUAL(both, within);
    CU_ASSERT_STRING_EQUAL(asked, below);
    strait_table_free(t);
    free(wide);
    free(within);
    free(asked);
    free(both);
}

/* "a  bb  spare" takes 12 columns with the spare one, 5 without. Wide enough, it is there; else
 * what is left stands in one block. */
static void spare(void)
{
    struct strait_table *t = strait_table_new();
    strait_table_column(t, "a", false);
    strait_table_column(t, "bb", true);
    strait_table_column(t, "spare", false);
    strait_table_spare(t);
    row(t, "x", "12", "there");
    expect_within(t, 12,
                  "a  bb  spare\n"
                  "─  ──  ─────\n"
                  "x  12  there\n");
    expect_within(t, 11,
                  "a  bb\n"
                  "─  ──\n"
                  "x  12\n");
    strait_table_free(t);
}

static void prose(void)
{
    char said[256] = "";
    FILE *out = tmpfile();
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    strait_prose(out, "%d lines, as they are\nin a file", 2);
    setenv("COLUMNS", "10", 1);
    strait_prose(out, "one two three unbreakable\n  in two by two\n");
    unsetenv("COLUMNS");
    rewind(out);
    CU_ASSERT(fread(said, 1, sizeof(said) - 1, out) > 0);
    fclose(out);
    CU_ASSERT_STRING_EQUAL(said, "2 lines, as they are\nin a file\n"
                                 "one two\nthree\nunbreakable\n"
                                 "  in two\n  by two\n");
}

/* Significant digits; a number that is rounded up to the next power of ten has no digit more. */
static void numbers_as_text(void)
{
    static const struct {
        double value;
        int digits;
        const char *text;
    } cases[] = {{1.23456, 4, "1.235"}, {12.3456, 4, "12.35"},    {1234.56, 4, "1235"},
                 {123456, 4, "123456"}, {9.9996, 4, "10.00"},     {0.99996, 4, "1.000"},
                 {0.5, 3, "0.500"},     {-0.0123, 2, "-0.012"},   {0, 4, "0"},
                 {1e-4, 3, "0.000100"}, {0.99e-4, 3, "9.90e-05"}, {9999999, 3, "9999999"},
                 {1e7, 3, "1.00e+07"},  {INFINITY, 3, "-"},       {NAN, 3, "-"}};
    char buf[STRAIT_NUMBER_CHARS];
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        CU_ASSERT_STRING_EQUAL(strait_format_number(buf, cases[i].value, cases[i].digits),
                               cases[i].text);
}

/* A unit begins where the number would be rounded up to 1 of it; hours at 100 minutes. */
static void seconds_and_bytes(void)
{
    static const struct {
        double value;
        const char *text;
    } seconds[] = {{1.2344, "1.234 s"},    {59.996, "60.00 s"},     {0.9995, "0.9995 s"},
                   {0.9994, "999 ms"},     {56.72e-3, "56.7 ms"},   {0.9995e-3, "1.00 ms"},
                   {0.9994e-3, "999 us"},  {0.6e-9, "0.000600 us"}, {0.4e-9, "0 s"},
                   {5999.4, "5999 s"},     {5999.5, "1 h 40 min"},  {7500, "2 h 05 min"},
                   {-7500, "-2 h 05 min"}, {-0.5, "-500 ms"},       {INFINITY, "-"}},
      bytes[] = {{0, "0 B"},          {999, "999 B"},     {999.5, "1.00 KB"},
                 {498e6, "498 MB"},   {1.5e9, "1.50 GB"}, {2e12, "2.00 TB"},
                 {-2000, "-2.00 KB"}, {5e15, "5000 TB"},  {NAN, "-"}};
    char buf[STRAIT_NUMBER_CHARS];
    for (size_t i = 0; i < sizeof(seconds) / sizeof(*seconds); i++)
        CU_ASSERT_STRING_EQUAL(strait_seconds_text(buf, seconds[i].value), seconds[i].text);
    for (size_t i = 0; i < sizeof(bytes) / sizeof(*bytes); i++)
        CU_ASSERT_STRING_EQUAL(strait_bytes_text(buf, bytes[i].value), bytes[i].text);
}

/* Columns of a letter of two bytes or more in UTF-8. */
static size_t width_of_letter(unsigned c)
{
    char text[5] = "";
    if (c < 0x800)
        snprintf(text, sizeof(text), "%c%c", (int)(0xc0 | c >> 6), (int)(0x80 | (c & 0x3f)));
    else if (c < 0x10000)
        snprintf(text, sizeof(text), "%c%c%c", (int)(0xe0 | c >> 12), (int)(0x80 | (c >> 6 & 0x3f)),
                 (int)(0x80 | (c & 0x3f)));
    else
        snprintf(text, sizeof(text), "%c%c%c%c", (int)(0xf0 | c >> 18),
                 (int)(0x80 | (c >> 12 & 0x3f)), (int)(0x80 | (c >> 6 & 0x3f)),
                 (int)(0x80 | (c & 0x3f)));
    strait_test_context("U+%X", c);
    return strait_text_width(text);
}

/* At and just beyond the ends of what takes no column, and of what takes two. A byte that begins a
 * letter and has no rest of it is a letter. */
static void letters(void)
{
    static const struct {
        unsigned first, last;
        size_t width;
    } ranges[] = {{0x300, 0x36f, 0},   {0x200b, 0x200f, 0},   {0xfeff, 0xfeff, 0},
                  {0xfe00, 0xfe0f, 0}, {0x1100, 0x115f, 2},   {0x2e80, 0xa4cf, 2},
                  {0xac00, 0xd7a3, 2}, {0xf900, 0xfaff, 2},   {0xfe30, 0xfe6f, 2},
                  {0xff01, 0xff60, 2}, {0x1f300, 0x1faff, 2}, {0x20000, 0x3fffd, 2}};
    for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++) {
        const unsigned first = ranges[i].first, last = ranges[i].last;
        CU_ASSERT_EQUAL(width_of_letter(first), ranges[i].width);
        CU_ASSERT_EQUAL(width_of_letter(last), ranges[i].width);
        if (first != 0xff01) /* before it is one that nobody has */
            CU_ASSERT_EQUAL(width_of_letter(first - 1), 1);
        if (last != 0xfeff)
            CU_ASSERT_EQUAL(width_of_letter(last + 1), 1);
    }
    CU_ASSERT_EQUAL(strait_text_width(""), 0);
    CU_ASSERT_EQUAL(strait_text_width("\xe4x"), 2);
    CU_ASSERT_EQUAL(strait_text_width("\xe6\xbcx"), 3);
    CU_ASSERT_EQUAL(strait_text_width("\xf0\x9f\x98"), 3);
    CU_ASSERT_EQUAL(strait_text_width("\xc3\xa4\xe6\xbc\xa2\xf0\x9f\x98\x80."), 1 + 2 + 2 + 1);
}

static const struct strait_test tests[] = {
    {"letters take no column, one or two", letters},
    {"numbers have their digits", numbers_as_text},
    {"seconds and bytes have the unit that their size wants", seconds_and_bytes},
    {"a column that says the same everywhere is left out where that is said", omitted},
    {"cells line up, break at blanks and end without any", laid_out},
    {"titles and then texts take more lines where there is less room", narrower},
    {"what still does not fit continues below, behind the columns that name a row", continued},
    {"a spare column is left out where the others fit in one block", spare},
    {"words are cut where nothing else helps", cut_words},
    {"a terminal's width is kept to", on_a_terminal},
    {"in a file a row is a line, unless COLUMNS asks for less", in_a_file},
    {"text around tables breaks at blanks within their width", prose},
};
STRAIT_SUITE("analysis/table", tests);
