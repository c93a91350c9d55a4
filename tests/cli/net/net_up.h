/* A small network that the program brings up, and what its commands answer. */
#pragma once
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include "tests/kit/program.h"

static const char experiment[] =
    "{\"schema\": \"strait-experiment/1\", \"title\": \"net\", \"model\": \"cnn\","
    " \"strategy\": {\"name\": \"fedavg\", \"rounds\": 1, \"local_steps\": 1}, \"codec\": \"none\","
    " \"network\": {\"client\": {\"rate\": \"1 Gbps\", \"rtt\": \"10 ms\"},"
    "               \"server\": {\"rate\": \"1 Gbps\"}}, \"clients\": 2}\n";

/* False, with the test skipped, where this machine or user cannot do it at all. */
static bool up(const struct program *p, const char *name)
{
    program_write(p, "net.json", experiment);
    struct said s = PROGRAM_CALL(p, "net", "up", "net.json", "--name", name);
    if (s.status == 3)
        strait_test_skip(s.err);
    else
        CU_ASSERT_EQUAL(s.status, 0);
    const bool is_up = s.status == 0;
    said_release(&s);
    return is_up;
}

static void expect(const struct program *p, int status, const char *out, const char *const args[])
{
    struct said s = program_call(p, args);
    CU_ASSERT_EQUAL(s.status, status);
    if (out)
        CU_ASSERT_STRING_EQUAL(s.out, out);
    if (s.status != status || (out && strcmp(s.out, out) != 0))
        fprintf(stderr, "%s %s: %d: %s%s\n", args[0], args[1], s.status, s.out, s.err);
    said_release(&s);
}
static size_t n_files(const struct program *p)
{
    char path[128];
    size_t n = 0;
    snprintf(path, sizeof(path), "%s/strait", p->folder);
    DIR *dir = opendir(path);
    for (const struct dirent *e; dir && (e = readdir(dir));)
        n += e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return n;
}

#define EXPECT(p, status, out, ...)                                                                \
    expect(p, status, out, (const char *const[]){"net", __VA_ARGS__, NULL})
