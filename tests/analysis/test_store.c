/* The results folder under truncation, damage, full disks, kills and a second writer. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "analysis/store.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"

static char folder[128], file[160];

static void begin_folder(void)
{
    snprintf(folder, sizeof(folder), "/tmp/strait-store-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(file, sizeof(file), "%s/%s", folder, STRAIT_RESULTS_FILE);
}

static void end_folder(void)
{
    unlink(file);
    CU_ASSERT_EQUAL(rmdir(folder), 0);
}

static json_t *row(const char *key, int value)
{
    return json_pack("{s:s, s:s, s:b, s:i}", "record", "row", "key", key, "valid", 1, "value",
                     value);
}

static int add(struct strait_store *s, const char *key, int value, struct strait_error *err)
{
    json_t *r = row(key, value);
    const int status = strait_store_add(s, r, err);
    json_decref(r);
    return status;
}

static int value_of(const struct strait_store *s, const char *key)
{
    const json_t *found = strait_store_find(s, "row", key);
    return found ? (int)json_integer_value(json_object_get(found, "value")) : -1;
}

static void begin_run(struct strait_store *s)
{
    json_t *header = json_pack("{s:s, s:s, s:[{s:s, s:n, s:[s, s, s]}]}", "record", "header",
                               "schema", STRAIT_RESULTS_SCHEMA, "runs", "backend", "sim", "control",
                               "keys", "a", "b", "c");
    CU_ASSERT_EQUAL(strait_store_begin(s, header, NULL), 0);
    json_decref(header);
}

static void write_three(void)
{
    struct strait_store *s;
    CU_ASSERT_FATAL(strait_store_open(&s, folder, true, NULL) == 0);
    begin_run(s);
    CU_ASSERT_EQUAL(add(s, "a", 1, NULL), 0);
    CU_ASSERT_EQUAL(add(s, "b", 2, NULL), 0);
    CU_ASSERT_EQUAL(add(s, "c", 3, NULL), 0);
    strait_store_free(s);
}

static long size_of(void)
{
    struct stat info;
    return stat(file, &info) == 0 ? (long)info.st_size : -1;
}

static void test_lines(void)
{
    size_t len;
    json_t *record = row("a", 1);
    char *line = strait_store_line(record, &len);
    CU_ASSERT_PTR_NOT_NULL_FATAL(line);
    CU_ASSERT_EQUAL(line[len - 1], '\n');
    json_t *plain = json_loadb(line, len - 1, 0, NULL); /* still JSON for every other program */
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(plain, "key")), "a");
    CU_ASSERT_PTR_NOT_NULL(json_object_get(plain, "check"));
    json_t *again = strait_store_read_line(line, len - 1);
    CU_ASSERT_TRUE(json_equal(again, record));
    /* whatever byte is changed, the line is no longer believed */
    for (size_t i = 0; i + 1 < len; i++) {
        line[i] ^= 1;
        json_t *damaged = strait_store_read_line(line, len - 1);
        CU_ASSERT_PTR_NULL(damaged);
        json_decref(damaged);
        line[i] ^= 1;
    }
    for (size_t n = 0; n + 1 < len; n++)
        CU_ASSERT_PTR_NULL(strait_store_read_line(line, n));
    json_decref(plain);
    json_decref(again);
    json_decref(record);
    free(line);
}

static void test_reopen(void)
{
    struct strait_store *s;
    begin_folder();
    write_three();
    CU_ASSERT_FATAL(strait_store_open(&s, folder, true, NULL) == 0);
    CU_ASSERT_EQUAL(value_of(s, "b"), 2);
    CU_ASSERT_EQUAL(value_of(s, "z"), -1);
    CU_ASSERT_EQUAL(strait_store_n_refused(s), 0);
    CU_ASSERT_EQUAL(add(s, "b", 20, NULL), 0); /* the later one stands */
    CU_ASSERT_EQUAL(value_of(s, "b"), 20);
    strait_store_free(s);
    CU_ASSERT_FATAL(strait_store_open(&s, folder, false, NULL) == 0);
    CU_ASSERT_EQUAL(value_of(s, "b"), 20);
    json_t *rows = strait_store_rows(s);
    CU_ASSERT_EQUAL(json_array_size(rows), 3);
    CU_ASSERT_EQUAL(json_array_size(strait_store_records(s)), 4); /* with the header */
    json_decref(rows);
    strait_store_free(s);
    end_folder();
}

/* A run may be killed after any byte: what is whole stands, the rest is cut before appending. */
static void test_truncation(void)
{
    begin_folder();
    write_three();
    const long size = size_of();
    char *whole = malloc(size > 0 ? (size_t)size : 1);
    FILE *in = fopen(file, "r");
    CU_ASSERT_FATAL(in && fread(whole, 1, (size_t)size, in) == (size_t)size);
    fclose(in);
    for (long n = 0; n <= size; n += n < size - 40 ? 17 : 1) {
        int n_lines = 0;
        for (long i = 0; i < n; i++)
            n_lines += whole[i] == '\n';
        FILE *out = fopen(file, "w");
        CU_ASSERT_FATAL(out && fwrite(whole, 1, (size_t)n, out) == (size_t)n);
        fclose(out);
        struct strait_store *s;
        CU_ASSERT_FATAL(strait_store_open(&s, folder, true, NULL) == 0);
        CU_ASSERT_EQUAL(json_array_size(strait_store_records(s)), (size_t)n_lines);
        CU_ASSERT_EQUAL(value_of(s, "c"), n_lines == 4 ? 3 : -1);
        CU_ASSERT_EQUAL(add(s, "d", 4, NULL), 0);
        strait_store_free(s);
        CU_ASSERT_FATAL(strait_store_open(&s, folder, false, NULL) == 0);
        CU_ASSERT_EQUAL(strait_store_n_refused(s), 0);
        CU_ASSERT_EQUAL(value_of(s, "d"), 4);
        CU_ASSERT_EQUAL(json_array_size(strait_store_records(s)), (size_t)n_lines + 1);
        strait_store_free(s);
    }
    free(whole);
    end_folder();
}

static void test_invalid(void)
{
    struct strait_store *s;
    begin_folder();
    CU_ASSERT_FATAL(strait_store_open(&s, folder, true, NULL) == 0);
    json_t *r = row("a", 1);
    json_object_set_new(r, "valid", json_false());
    CU_ASSERT_EQUAL(strait_store_add(s, r, NULL), 0);
    CU_ASSERT_PTR_NULL(strait_store_find(s, "row", "a"));
    json_decref(r);
    CU_ASSERT_EQUAL(add(s, "a", 2, NULL), 0); /* a valid one takes its place */
    CU_ASSERT_EQUAL(value_of(s, "a"), 2);
    strait_store_free(s);
    end_folder();
}

/* A file of at most so many bytes, as a full disk: the row that does not fit leaves nothing. */
static void test_full_disk(void)
{
    begin_folder();
    write_three();
    const long before = size_of();
    const pid_t pid = fork();
    if (pid == 0) {
        struct rlimit limit = {(rlim_t)before + 20, (rlim_t)before + 20};
        struct strait_store *s;
        struct strait_error err = {0};
        signal(SIGXFSZ, SIG_IGN);
        if (strait_store_open(&s, folder, true, NULL) != 0 || setrlimit(RLIMIT_FSIZE, &limit) != 0)
            _exit(10);
        if (add(s, "d", 4, &err) == 0)
            _exit(11);
        if (err.code != STRAIT_ERR_SYSTEM || !strstr(err.where, STRAIT_RESULTS_FILE))
            _exit(12);
        if (strait_store_find(s, "row", "d") || value_of(s, "a") != 1)
            _exit(13);
        strait_store_free(s);
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    CU_ASSERT_EQUAL(WEXITSTATUS(status), 0);
    CU_ASSERT_EQUAL(size_of(), before);
    end_folder();
}

static bool write_word(const char *path, const char *word)
{
    FILE *f = fopen(path, "we");
    const bool written = f && fputs(word, f) >= 0;
    return f && fclose(f) == 0 && written;
}

/* A mount namespace; an ordinary user is himself in a user namespace, else nothing on the new file
 * system would be his. */
static bool enter_namespace(void)
{
    char map[64], groups[64];
    snprintf(map, sizeof(map), "%u %u 1", (unsigned)geteuid(), (unsigned)geteuid());
    snprintf(groups, sizeof(groups), "%u %u 1", (unsigned)getegid(), (unsigned)getegid());
    if (geteuid() == 0)
        return unshare(CLONE_NEWNS) == 0;
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && write_word("/proc/self/uid_map", map) &&
           write_word("/proc/self/setgroups", "deny") && write_word("/proc/self/gid_map", groups);
}

/* In the child: a file system of 64 KiB of its own, filled until a row does not fit. 0: as it
 * should be; 77: this user cannot mount. */
static int fill_a_disk(void)
{
    struct strait_store *s;
    struct strait_error err = {0};
    char key[32];
    int n = 0;
    if (!enter_namespace() || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", folder, "tmpfs", 0, "size=64k") != 0)
        return 77;
    if (strait_store_open(&s, folder, true, NULL) != 0)
        return 10;
    do
        snprintf(key, sizeof(key), "%d", n++);
    while (n < 10000 && add(s, key, n, &err) == 0);
    if (err.code != STRAIT_ERR_SYSTEM || err.saved_errno != ENOSPC)
        return 11;
    strait_store_free(s);
    if (strait_store_open(&s, folder, false, NULL) != 0)
        return 12;
    const bool whole =
        strait_store_n_refused(s) == 0 && json_array_size(strait_store_records(s)) == (size_t)n - 1;
    strait_store_free(s);
    return whole ? 0 : 13;
}

static void test_no_space(void)
{
    int status;
    begin_folder();
    const pid_t pid = fork();
    if (pid == 0)
        _exit(fill_a_disk());
    waitpid(pid, &status, 0);
    end_folder();
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        strait_test_skip("this user cannot mount a file system of its own");
    else
        CU_ASSERT_EQUAL(status, 0);
}

/* Adds records for ever and says so by a byte each. */
static void write_on(int round, int told)
{
    struct strait_store *s;
    if (strait_store_open(&s, folder, true, NULL) != 0)
        _exit(1);
    for (int i = 0;; i++) {
        char key[32];
        snprintf(key, sizeof(key), "%d-%d", round, i % 50);
        if (add(s, key, i, NULL) != 0 || write(told, "", 1) != 1)
            _exit(1);
    }
}

/* Writers are killed in the middle of things; after each, every line is whole or not believed. */
static void test_killed_writers(void)
{
    struct strait_store *s;
    begin_folder();
    for (int round = 0; round < 10; round++) {
        int fds[2];
        char byte;
        CU_ASSERT_FATAL(pipe(fds) == 0);
        const pid_t pid = fork();
        if (pid == 0)
            write_on(round, fds[1]);
        for (int i = 0; i < 3; i++)
            CU_ASSERT_FATAL(read(fds[0], &byte, 1) == 1);
        usleep(1000 * (useconds_t)round); /* to another moment of its next record */
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        close(fds[0]);
        close(fds[1]);
    }
    CU_ASSERT_FATAL(strait_store_open(&s, folder, true, NULL) == 0);
    strait_store_free(s);
    CU_ASSERT_FATAL(strait_store_open(&s, folder, false, NULL) == 0);
    CU_ASSERT_EQUAL(strait_store_n_refused(s), 0);
    CU_ASSERT(json_array_size(strait_store_records(s)) >= 30);
    strait_store_free(s);
    end_folder();
}

static void test_two_writers(void)
{
    struct strait_store *a, *b;
    struct strait_error err = {0};
    begin_folder();
    write_three();
    CU_ASSERT_FATAL(strait_store_open(&a, folder, true, NULL) == 0);
    CU_ASSERT_EQUAL(strait_store_open(&b, folder, true, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_BACKEND);
    CU_ASSERT_STRING_EQUAL(err.text, "another run writes its results there");
    CU_ASSERT_EQUAL(strait_store_open(&b, folder, false, NULL), 0); /* reading is free */
    strait_store_free(b);
    strait_store_free(a);
    CU_ASSERT_EQUAL(strait_store_open(&b, folder, true, NULL), 0);
    strait_store_free(b);
    end_folder();
}

static void test_nothing_written(void)
{
    struct strait_store *s;
    char deep[160];
    begin_folder();
    snprintf(deep, sizeof(deep), "%s/deep", folder);
    CU_ASSERT_FATAL(strait_store_open(&s, deep, true, NULL) == 0);
    begin_run(s); /* a header alone says nothing */
    strait_store_free(s);
    CU_ASSERT_EQUAL(access(deep, F_OK), -1);
    end_folder();
}

static void test_bad_files(void)
{
    struct strait_store *s;
    struct strait_error err = {0};
    size_t len;
    begin_folder();
    CU_ASSERT_EQUAL(strait_store_open(&s, folder, false, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    json_t *header = json_pack("{s:s, s:s}", "record", "header", "schema", "strait-results/9");
    char *line = strait_store_line(header, &len);
    FILE *out = fopen(file, "w");
    CU_ASSERT_FATAL(out && fwrite(line, 1, len, out) == len);
    fclose(out);
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(strait_store_open(&s, folder, true, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err.text,
                           "expected the schema \"strait-results/1\", found \"strait-results/9\"");
    CU_ASSERT_EQUAL(size_of(), (long)len); /* what is not ours is left as it is */
    unlink(file);
    CU_ASSERT_EQUAL_FATAL(symlink("/dev/full", file), 0); /* zeros without end when it is read */
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(strait_store_open(&s, folder, true, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "expected a regular file");
    json_decref(header);
    free(line);
    end_folder();
}

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
    {"a line is JSON, and no damaged or shortened line is believed", test_lines},
    {"rows come back, and the last row of a key stands", test_reopen},
    {"a file cut at any byte keeps its whole lines and can be appended to", test_truncation},
    {"an INVALID row is never found", test_invalid},
    {"headers with one profile hold it once, and each is read with it", test_profiles},
    {"a profile given as text is written as one that is inside", test_profile_texts},
    {"rows are those of the last run of each backend and control", test_last_runs},
    {"a row that does not fit leaves the file as it was", test_full_disk},
    {"a full disk is an error of the system", test_no_space},
    {"killed writers leave whole lines", test_killed_writers},
    {"a second writer is refused, a reader is not", test_two_writers},
    {"a folder in which nothing was written is gone again", test_nothing_written},
    {"missing results and another schema are refused", test_bad_files},
};
STRAIT_SUITE("analysis/store", tests);
