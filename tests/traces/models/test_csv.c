/* The strict reader of tables: lines, fields, limits, and where errors point. */
#include "traces/models/csv.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/kit/suite.h"

struct world {
    char path[32];
    struct strait_csv csv;
    struct strait_error err;
};

/* A file of these bytes, open; false where it was refused. */
static bool set_up(struct world *w, const char *text, size_t len)
{
    *w = (struct world){.path = "/tmp/strait-csv-XXXXXX"};
    const int fd = mkstemp(w->path);
    CU_ASSERT_FATAL(fd >= 0 && write(fd, text, len) == (ssize_t)len);
    close(fd);
    const int status = strait_csv_open(&w->csv, w->path, &w->err);
    unlink(w->path);
    CU_ASSERT_EQUAL(status, w->err.code == STRAIT_OK ? 0 : -1);
    return status == 0;
}

static void tear_down(struct world *w)
{
    strait_csv_release(&w->csv);
    CU_ASSERT_PTR_NULL(w->csv.text);
}

/* The error is at this line, and says so. */
static void expect(struct world *w, size_t line, const char *text)
{
    char where[64];
    snprintf(where, sizeof(where), "%s:%zu", w->path, line);
    CU_ASSERT_EQUAL(w->err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(w->err.where, where);
    CU_ASSERT_STRING_EQUAL(w->err.text, text);
    w->err = (struct strait_error){0};
}

static void bytes(void)
{
    static const struct {
        const char *text;
        size_t len, line;
        const char *error; /* NULL: fine */
    } cases[] = {
        {"a\tb\r\nc \x7e\n", 9, 0, NULL},
        {"\xc3\xa9\n", 3, 0, NULL},
        {"", 0, 0, NULL},
        {"a\nb\x7f\n", 5, 2, "expected lines of text, found the byte 0x7f"},
        {"a\rb\n", 4, 1, "expected lines of text, found the byte 0x0d"},
        {"a\n\nb\r", 5, 3, "expected lines of text, found the byte 0x0d"},
        {"a\0b\n", 4, 1, "expected lines of text, found the byte 0x00"},
        {"\x1f", 1, 1, "expected lines of text, found the byte 0x1f"},
        {"a\v", 2, 1, "expected lines of text, found the byte 0x0b"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world w;
        strait_test_context("case %zu", i);
        CU_ASSERT_EQUAL(set_up(&w, cases[i].text, cases[i].len), cases[i].error == NULL);
        if (cases[i].error)
            expect(&w, cases[i].line, cases[i].error);
        tear_down(&w);
    }
}

static void files(void)
{
    struct strait_csv csv = {0};
    struct strait_error err = {0};
    char large[] = "/tmp/strait-csv-XXXXXX";
    CU_ASSERT_EQUAL(strait_csv_open(&csv, "/nowhere/x.csv", &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err.where, "/nowhere/x.csv");
    CU_ASSERT_STRING_EQUAL(err.text, "expected a readable file, found: No such file or directory");
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(strait_csv_open(&csv, "/dev/null/x", &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err.text, "expected a readable file, found: Not a directory");
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(strait_csv_open(&csv, "/dev/null", &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "expected a file of at most 256 MB, found something else");
    err = (struct strait_error){0};
    const int fd = mkstemp(large);
    CU_ASSERT_FATAL(fd >= 0 && ftruncate(fd, 256000001) == 0); /* a hole */
    close(fd);
    CU_ASSERT_EQUAL(strait_csv_open(&csv, large, &err), -1);
    unlink(large);
    CU_ASSERT_STRING_EQUAL(err.text, "expected a file of at most 256 MB, found a larger one");
    strait_csv_release(&csv);
}

static void lines(void)
{
    static const char text[] = "# name:  a b \t\r\n#x\n# : \n#k:v:w\na,b\n1,2\r\n,\n\n \n\n";
    struct world w;
    char *key, *value;
    bool more = false;
    CU_ASSERT_FATAL(set_up(&w, text, strlen(text)));
    CU_ASSERT_TRUE(strait_csv_comment(&w.csv, &key, &value));
    CU_ASSERT_STRING_EQUAL(key, "name");
    CU_ASSERT_STRING_EQUAL(value, "a b");
    CU_ASSERT_TRUE(strait_csv_comment(&w.csv, &key, &value)); /* the one without a colon is left */
    CU_ASSERT_STRING_EQUAL(key, "");
    CU_ASSERT_STRING_EQUAL(value, "");
    CU_ASSERT_TRUE(strait_csv_comment(&w.csv, &key, &value));
    CU_ASSERT_STRING_EQUAL(key, "k");
    CU_ASSERT_STRING_EQUAL(value, "v:w");
    CU_ASSERT_FALSE(strait_csv_comment(&w.csv, &key, &value));
    CU_ASSERT_EQUAL(strait_csv_header(&w.csv, "a,b", &w.err), 0);
    CU_ASSERT_EQUAL(w.csv.line, 5);
    CU_ASSERT_EQUAL(strait_csv_next(&w.csv, &more, &w.err), 0);
    CU_ASSERT_TRUE(more);
    CU_ASSERT_EQUAL(w.csv.line, 6);
    CU_ASSERT_EQUAL(w.csv.n_fields, 2);
    CU_ASSERT_STRING_EQUAL(w.csv.fields[0], "1");
    CU_ASSERT_STRING_EQUAL(w.csv.fields[1], "2");
    CU_ASSERT_EQUAL(strait_csv_next(&w.csv, &more, &w.err), 0);
    CU_ASSERT_STRING_EQUAL(w.csv.fields[0], "");
    CU_ASSERT_STRING_EQUAL(w.csv.fields[1], "");
    CU_ASSERT_EQUAL(strait_csv_next(&w.csv, &more, &w.err), -1); /* a line follows the blank one */
    CU_ASSERT_FALSE(more);
    expect(&w, 8, "expected a row, found an empty line");
    tear_down(&w);
}

static void ends(void)
{
    static const struct {
        const char *text;
        size_t line;
        const char *error; /* of the row behind the header; NULL: none is there */
    } cases[] = {{"a,b", 1, NULL},
                 {"a,b\n", 1, NULL},
                 {"a,b\r\n\r\n\n", 1, NULL},
                 {"a,b\n\n\nx,y\n", 2, "expected a row, found an empty line"},
                 {"a,b\nx\n", 2, "expected 2 columns, found 1"},
                 {"a,b\nx,y,z", 2, "expected 2 columns, found 3"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world w;
        bool more = true;
        strait_test_context("case %zu", i);
        CU_ASSERT_FATAL(set_up(&w, cases[i].text, strlen(cases[i].text)));
        CU_ASSERT_EQUAL(strait_csv_header(&w.csv, "a,b", &w.err), 0);
        CU_ASSERT_EQUAL(strait_csv_next(&w.csv, &more, &w.err), cases[i].error ? -1 : 0);
        CU_ASSERT_FALSE(more);
        if (cases[i].error)
            expect(&w, cases[i].line, cases[i].error);
        tear_down(&w);
    }
}

static void headers(void)
{
    struct world w;
    CU_ASSERT_FATAL(set_up(&w, "a,c\n", 4));
    CU_ASSERT_EQUAL(strait_csv_header(&w.csv, "a,b", &w.err), -1);
    expect(&w, 1, "expected the header \"a,b\", found \"a,c\"");
    CU_ASSERT_EQUAL(strait_csv_header(&w.csv, "a,b", &w.err), -1);
    expect(&w, 2, "expected the header \"a,b\", found the end of the file");
    tear_down(&w);
}

/* A row of one field, "x", and what a reader says of it; NULL: it is taken. */
static void values(void)
{
    static const struct {
        const char *field, *number, *integer, *text;
    } cases[] = {
        {"3", NULL, NULL, NULL},
        {"10", NULL, NULL, NULL},
        {"-2.5", NULL, "expected a whole number of at most 10 in column y, found \"-2.5\"", NULL},
        {"1e1", NULL, "expected a whole number of at most 10 in column y, found \"1e1\"", NULL},
        {"11", "expected a number from -2.5 to 10 in column y, found \"11\"",
         "expected a whole number of at most 10 in column y, found \"11\"", NULL},
        {"-2.6", "expected a number from -2.5 to 10 in column y, found \"-2.6\"",
         "expected a whole number of at most 10 in column y, found \"-2.6\"", NULL},
        {"", "expected a number in column y, found \"\"",
         "expected a whole number of at most 10 in column y, found \"\"",
         "expected 1 to 4 characters in column y, found 0"},
        {"nan", "expected a number in column y, found \"nan\"",
         "expected a whole number of at most 10 in column y, found \"nan\"", NULL},
        {"0x1", "expected a number in column y, found \"0x1\"",
         "expected a whole number of at most 10 in column y, found \"0x1\"", NULL},
        {"1-", "expected a number in column y, found \"1-\"",
         "expected a whole number of at most 10 in column y, found \"1-\"", NULL},
        {"1e999", "expected a number in column y, found \"1e999\"",
         "expected a whole number of at most 10 in column y, found \"1e999\"",
         "expected 1 to 4 characters in column y, found 5"},
        {" 1", "expected a number in column y, found \" 1\"",
         "expected a whole number of at most 10 in column y, found \" 1\"", NULL},
        {"99999999999999999999999",
         "expected a number from -2.5 to 10 in column y, found "
         "\"99999999999999999999999\"",
         "expected a whole number of at most 10 in column y, found \"99999999999999999999999\"",
         "expected 1 to 4 characters in column y, found 23"},
        {"1234", "expected a number from -2.5 to 10 in column y, found \"1234\"",
         "expected a whole number of at most 10 in column y, found \"1234\"", NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world w;
        char file[128], text[5];
        bool more;
        double number = -99;
        size_t integer = 99;
        strait_test_context("\"%s\"", cases[i].field);
        const int n = snprintf(file, sizeof(file), "x,y,z\na,%s,b\n", cases[i].field);
        CU_ASSERT_FATAL(set_up(&w, file, (size_t)n));
        CU_ASSERT_EQUAL(strait_csv_header(&w.csv, "x,y,z", &w.err), 0);
        CU_ASSERT_EQUAL(strait_csv_next(&w.csv, &more, &w.err), 0);
        CU_ASSERT_EQUAL(strait_csv_number(&w.csv, &number, 1, -2.5, 10, &w.err),
                        cases[i].number ? -1 : 0);
        if (cases[i].number)
            expect(&w, 2, cases[i].number);
        CU_ASSERT_EQUAL(number, cases[i].number ? -99 : strtod(cases[i].field, NULL));
        CU_ASSERT_EQUAL(strait_csv_integer(&w.csv, &integer, 1, 10, &w.err),
                        cases[i].integer ? -1 : 0);
        if (cases[i].integer)
            expect(&w, 2, cases[i].integer);
        CU_ASSERT_EQUAL(integer, cases[i].integer ? 99 : strtoull(cases[i].field, NULL, 10));
        CU_ASSERT_EQUAL(strait_csv_text(&w.csv, text, sizeof(text), 1, &w.err),
                        cases[i].text ? -1 : 0);
        if (cases[i].text)
            expect(&w, 2, cases[i].text);
        else
            CU_ASSERT_STRING_EQUAL(text, cases[i].field);
        tear_down(&w);
    }
}

static const struct strait_test tests[] = {
    {"control characters but for tabs and ends of lines are refused", bytes},
    {"what is no file of at most 256 MB is refused", files},
    {"comments, a header, rows, and no blank line between rows", lines},
    {"the end, with and without blank lines", ends},
    {"the header must be this one", headers},
    {"numbers, whole numbers and texts within their limits", values},
};
STRAIT_SUITE("traces/models/csv", tests);
