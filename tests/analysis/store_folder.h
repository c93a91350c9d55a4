/* A results folder of its own for each test of a store, and a row to write there. */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "analysis/store.h"
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

/* Of the results file; -1: there is none. */
static long size_of(void)
{
    struct stat info;
    return stat(file, &info) == 0 ? (long)info.st_size : -1;
}
