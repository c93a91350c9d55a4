/* For tests of importers: a trace as text, in a file of its own. */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/kit/suite.h"
#include "traces/import/import.h"

/** Import these bytes as "trace" of a folder of its own; err.where without that folder. Release. */
static inline int import_bytes(struct strait_import *in, const void *bytes, size_t n,
                               struct strait_error *err)
{
    char path[] = "/tmp/strait-import-XXXXXX";
    const int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL_FATAL(write(fd, bytes, n), (ssize_t)n);
    close(fd);
    *err = (struct strait_error){0};
    const int status = strait_import_read(in, path, NULL, err);
    in->path = "trace";
    unlink(path);
    if (strncmp(err->where, path, strlen(path)) == 0)
        memmove(err->where, err->where + strlen(path), strlen(err->where + strlen(path)) + 1);
    return status;
}

static inline int import_text(struct strait_import *in, const char *text, struct strait_error *err)
{
    return import_bytes(in, text, strlen(text), err);
}

/* A text and the one line that refuses it; where: ":3" for line 3. */
struct refused_trace {
    const char *text, *where, *error;
};

static inline void expect_refused(const struct refused_trace *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct strait_import in;
        struct strait_error err;
        strait_test_context("%.200s", cases[i].text);
        CU_ASSERT_EQUAL(import_text(&in, cases[i].text, &err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        CU_ASSERT_STRING_EQUAL(err.where, cases[i].where);
        CU_ASSERT_CONTAINS(err.text, cases[i].error);
        strait_import_release(&in);
    }
}

/** Every beginning of a trace, and every byte of it changed, is read or refused: no crash, one line
 *  of error, and a graph that is given was finished. */
static inline void expect_survives(const void *bytes, size_t n)
{
    unsigned char *damaged = malloc(n + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(damaged);
    for (size_t i = 0; i < 2 * n; i++) {
        struct strait_import in;
        struct strait_error err;
        memcpy(damaged, bytes, n);
        if (i >= n)
            damaged[i - n] ^= (unsigned char)(1u << i % 8);
        const int status = import_bytes(&in, damaged, i < n ? i : n, &err);
        CU_ASSERT_EQUAL(err.code != STRAIT_OK, status != 0);
        CU_ASSERT_PTR_NULL(strchr(err.text, '\n'));
        strait_import_release(&in);
    }
    free(damaged);
}
