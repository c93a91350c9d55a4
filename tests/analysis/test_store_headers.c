/* What a results folder says of its runs: their profiles, held once, and which run is the last. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/store.h"
#include "tests/analysis/store_folder.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"

/* A run of one row with a profile of so many letters. */
static void run_with(const char *key, const char *hash, size_t n_letters)
{
    struct strait_store *s = NULL;
    char *text = calloc(1, n_letters + 1);
    CU_ASSERT_FATAL(text && strait_store_open(&s, folder, true, NULL) == 0);
    memset(text, *hash, n_letters);
    json_t *header = json_pack("{s:s, s:s, s:{s:s, s:b, s:{s:s}}, s:[]}", "record", "header",
                               "schema", STRAIT_RESULTS_SCHEMA, "profile", "hash", hash,
                               "calibrated", 0, "as", "text", text, "runs");
    CU_ASSERT_EQUAL(strait_store_begin(s, header, NULL), 0);
    CU_ASSERT_EQUAL(add(s, key, 1, NULL), 0);
    json_decref(header);
    strait_store_free(s);
    free(text);
}

/* The first letter and the length of the profile in the nth record. */
static void expect_profile(const struct strait_store *s, size_t n, char letter, size_t n_letters)
{
    const json_t *header = json_array_get(strait_store_records(s), n);
    const json_t *as = json_object_get(json_object_get(header, "profile"), "as");
    const char *text = json_string_value(json_object_get(as, "text"));
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_EQUAL(text[0], letter);
    CU_ASSERT_EQUAL(strlen(text), n_letters);
}

/* The same with the profile as text, two runs in one opened folder: the second has its hash. */
static void test_profile_texts(void)
{
    struct strait_store *s = NULL;
    size_t len_bytes;
    begin_folder();
    run_with("a", "x", 3);
    char *inside = folder_bytes(folder, "results.jsonl", &len_bytes), *as_text = NULL;
    unlink(file);
    CU_ASSERT_FATAL(strait_store_open(&s, folder, true, NULL) == 0);
    for (int i = 0; i < 2; i++) {
        json_t *header =
            json_pack("{s:s, s:s, s:{s:s, s:b}, s:[]}", "record", "header", "schema",
                      STRAIT_RESULTS_SCHEMA, "profile", "hash", "x", "calibrated", 0, "runs");
        const long before_bytes = i == 0 ? 0 : size_of();
        CU_ASSERT_EQUAL(strait_store_begin(s, header, NULL), 0);
        strait_store_profile(s, "{\"text\":\"xxx\"}");
        CU_ASSERT_EQUAL(add(s, "a", 1, NULL), 0);
        if (i == 0)
            as_text = folder_bytes(folder, "results.jsonl", &len_bytes);
        else /* less the 20 letters of ,"as":{"text":"xxx"} */
            CU_ASSERT_EQUAL(size_of() - before_bytes, before_bytes - 20);
        json_decref(header);
    }
    strait_store_free(s);
    CU_ASSERT_STRING_EQUAL(as_text, inside); /* byte by byte, with the checksum */
    CU_ASSERT_FATAL(strait_store_open(&s, folder, false, NULL) == 0);
    expect_profile(s, 0, 'x', 3);
    expect_profile(s, json_array_size(strait_store_records(s)) - 1, 'x', 3);
    strait_store_free(s);
    free(inside);
    free(as_text);
    end_folder();
}

static void run_of(const char *runs, const char *key)
{
    struct strait_store *s = NULL;
    json_t *header = json_pack("{s:s, s:s, s:s, s:{s:{s:i}}, s:o}", "record", "header", "schema",
                               STRAIT_RESULTS_SCHEMA, "sweep", key, "experiment", "set", "/seed", 3,
                               "runs", json_loads(runs, 0, NULL));
    CU_ASSERT_FATAL(strait_store_open(&s, folder, true, NULL) == 0);
    CU_ASSERT_EQUAL(strait_store_begin(s, header, NULL), 0);
    CU_ASSERT_EQUAL(add(s, key, 1, NULL), 0);
    json_decref(header);
    strait_store_free(s);
}

/* Of each backend and control the last run that announced it, the latest first; of a key without a
 * row there is none. */
static void test_last_runs(void)
{
    static const char wanted[] = "d a b c ";
    char found[32] = "";
    size_t i;
    json_t *row;
    begin_folder();
    run_of("[{\"backend\": \"fluid\", \"keys\": [\"a\"]}]", "a");
    run_of("[{\"backend\": \"emu\", \"keys\": [\"b\"]}]", "b");
    run_of("[{\"backend\": \"emu\", \"control\": \"unshaped\", \"keys\": [\"c\"]}]", "c");
    run_of("[{\"backend\": \"emu\", \"control\": \"slow\", \"keys\": [\"none\"]},"
           " {\"backend\": \"fluid\", \"keys\": [\"d\", \"a\", 7],"
           " \"labels\": {\"d\": {\"/x\": \"y\"}}}]",
           "d");
    run_of("[{\"backend\": \"emu\", \"keys\": [\"b\"]}]", "b");
    run_of("[{\"backend\": \"fluid\", \"keys\": [\"d\", \"a\"],"
           " \"labels\": {\"d\": {\"/x\": \"y\"}}}]",
           "d");
    struct strait_store *s;
    CU_ASSERT_FATAL(strait_store_open(&s, folder, false, NULL) == 0);
    json_t *rows = strait_store_rows(s);
    json_array_foreach (rows, i, row) {
        const char *key = json_string_value(json_object_get(row, "key"));
        strcat(strcat(found, key), " ");
        CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_object_get(row, "set"), "/seed")),
                        3);
        CU_ASSERT_EQUAL(json_object_get(row, "labels") != NULL, strcmp(key, "d") == 0);
        CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(row, "sweep")),
                               strcmp(key, "a") == 0 ? "d" : key);
    }
    CU_ASSERT_STRING_EQUAL(found, wanted);
    json_decref(rows);
    strait_store_free(s);
    end_folder();
}

static void test_profiles(void)
{
    begin_folder();
    run_with("a", "x", 5000);
    const long first_bytes = size_of();
    run_with("b", "y", 3000);
    const long second_bytes = size_of();
    CU_ASSERT(second_bytes - first_bytes > 3000);
    run_with("c", "x", 5000);
    run_with("d", "y", 3000);
    /* A header without its profile has some 150 letters, and a row 80. */
    CU_ASSERT(size_of() - second_bytes < 1000);
    struct strait_store *s;
    CU_ASSERT_FATAL(strait_store_open(&s, folder, false, NULL) == 0);
    CU_ASSERT_EQUAL(json_array_size(strait_store_records(s)), 8);
    for (size_t i = 0; i < 8; i += 4) { /* headers and rows in turn */
        expect_profile(s, i, 'x', 5000);
        expect_profile(s, i + 2, 'y', 3000);
    }
    strait_store_free(s);
    /* The first header is damaged: the next run with its profile writes it again. */
    const int fd = open(file, O_WRONLY | O_CLOEXEC);
    CU_ASSERT(fd >= 0 && pwrite(fd, "#", 1, 0) == 1);
    close(fd);
    run_with("e", "x", 5000);
    CU_ASSERT_FATAL(strait_store_open(&s, folder, false, NULL) == 0);
    CU_ASSERT_EQUAL(strait_store_n_refused(s), 1);
    expect_profile(s, 7, 'x', 5000); /* of nine records, less the refused one */
    strait_store_free(s);
    end_folder();
}

static const struct strait_test tests[] = {
    {"headers with one profile hold it once, and each is read with it", test_profiles},
    {"a profile given as text is written as one that is inside", test_profile_texts},
    {"rows are those of the last run of each backend and control", test_last_runs},
};
STRAIT_SUITE("analysis/store_headers", tests);
