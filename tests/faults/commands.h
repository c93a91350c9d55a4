/* Commands that are disturbed, and what is right about what they leave. */
#pragma once
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/random.h"
#include "tests/kit/folder.h"
#include "tests/kit/program.h"
#include "tests/kit/suite.h"

static const char experiment[] =
    "{\"schema\": \"strait-experiment/1\", \"title\": \"faults\", \"model\": \"cnn\",\n"
    " \"strategy\": {\"name\": \"fedavg\", \"rounds\": 2, \"local_steps\": 1},\n"
    " \"codec\": {\"name\": \"sz\", \"bound\": {\"range\": 1e-3}},\n"
    " \"network\": {\"topology\": \"star\", \"client\": {\"rate\": \"100 Mbps\", \"rtt\": \"10 "
    "ms\"},\n"
    "             \"server\": {\"rate\": \"1 Gbps\"}}, \"clients\": 2, \"seed\": 1}\n";

enum { N_COMMANDS = 6 };

struct command {
    const char *name;
    const char *args[16];
    const char *makes; /* a file whose bytes are the result; NULL: standard output is, and rows */
    bool timed;        /* what rows say is measured: only their keys are compared */
};

static const struct command commands[N_COMMANDS] = {
    {"check", {"check", "faults.json", "--on", "fluid"}, NULL, false},
    {"fluid", {"run", "faults.json", "--on", "fluid", "--set", "/clients=2"}, NULL, false},
    {"sim", {"run", "faults.json", "--on", "sim", "--no-break-even"}, NULL, false},
    {"emu",
     {"run", "faults.json", "--on", "emu", "--timing", "replay", "--realisation", "relay",
      "--dilation", "2", "--no-break-even"},
     NULL,
     true},
    {"encode",
     {"codec", "encode", "x.f32", "--codec", "sz:range=1e-3", "-o", "x.strait"},
     "x.strait",
     false},
    {"plot", {"plot", "drawn", "--out", "p.svg"}, "p.svg", false},
};

/* What a command's rows say, sorted by key, without times of this machine. */
static json_t *rows_of(const struct program *p, const struct command *c)
{
    json_t *rows = json_object();
    if (strcmp(c->args[0], "run") != 0 || !program_has(p, "results/faults/results.jsonl"))
        return rows;
    char *text = program_read(p, "results/faults/results.jsonl");
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        json_t *row = json_loads(line, 0, NULL);
        const char *record = json_string_value(json_object_get(row, "record"));
        const char *key = json_string_value(json_object_get(row, "key"));
        json_object_del(row, "wall_s");
        json_object_del(row, "check");
        json_object_del(row, "report"); /* of processes and memory */
        const bool kept = record && key && !strstr(record, "net_cpu");
        char id[128];
        snprintf(id, sizeof(id), "%s %s", record ? record : "", key ? key : "");
        if (kept)
            json_object_set_new(rows, id, c->timed ? json_true() : json_incref(row));
        json_decref(row);
    }
    free(text);
    return rows;
}

/* The command's other result, or NULL. */
static char *result_of(const struct program *p, const struct command *c, size_t *len_bytes)
{
    *len_bytes = 0;
    if (strcmp(c->args[0], "run") == 0 || (c->makes && !program_has(p, c->makes)))
        return NULL;
    return program_read_bytes(p, c->makes ? c->makes : "said.out", len_bytes);
}

static void clean(const struct program *p, const struct command *c)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", p->folder, c->makes ? c->makes : "results");
    if (c->makes)
        unlink(path);
    else if (program_has(p, "results"))
        folder_remove(path);
}

struct reference {
    json_t *rows;
    char *bytes;
    size_t len_bytes;
};

static bool equals(const struct program *p, const struct command *c, const struct reference *r)
{
    size_t len_bytes;
    json_t *rows = rows_of(p, c);
    char *bytes = result_of(p, c, &len_bytes);
    const bool same = json_equal(rows, r->rows) && len_bytes == r->len_bytes &&
                      (len_bytes == 0 || memcmp(bytes, r->bytes, len_bytes) == 0);
    json_decref(rows);
    free(bytes);
    return same;
}

/* Are all rows that are there right? */
static bool holds_only(const struct program *p, const struct command *c, const struct reference *r)
{
    json_t *rows = rows_of(p, c), *row;
    const char *id;
    bool right = true;
    json_object_foreach (rows, id, row)
        right = right && json_equal(row, json_object_get(r->rows, id));
    json_decref(rows);
    return right;
}

static void forget(struct reference *r)
{
    json_decref(r->rows);
    free(r->bytes);
}

/* The folder with what the commands read. */
static void prepare(struct program *p)
{
    static const char *const drawn[] = {
        "run",        "faults.json", "--on",  "fluid",           "--set",
        "/clients=2", "--out",       "drawn", "--no-break-even", NULL};
    float values[1000];
    program_set_up(p);
    program_write(p, "faults.json", experiment);
    for (int i = 0; i < 1000; i++)
        values[i] = (float)strait_random_unit(1, "faults", (uint64_t)i, 0);
    program_write_bytes(p, "x.f32", values, sizeof(values));
    struct said s = program_call(p, drawn);
    CU_ASSERT_EQUAL(s.status, 0);
    said_release(&s);
}
