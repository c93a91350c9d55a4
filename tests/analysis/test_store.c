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
#include "tests/analysis/store_folder.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"

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

static const struct strait_test tests[] = {
    {"a line is JSON, and no damaged or shortened line is believed", test_lines},
    {"rows come back, and the last row of a key stands", test_reopen},
    {"a file cut at any byte keeps its whole lines and can be appended to", test_truncation},
    {"an INVALID row is never found", test_invalid},
    {"a row that does not fit leaves the file as it was", test_full_disk},
    {"a full disk is an error of the system", test_no_space},
    {"killed writers leave whole lines", test_killed_writers},
    {"a second writer is refused, a reader is not", test_two_writers},
    {"a folder in which nothing was written is gone again", test_nothing_written},
    {"missing results and another schema are refused", test_bad_files},
};
STRAIT_SUITE("analysis/store", tests);
