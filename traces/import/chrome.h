/* Inside this room: events of the trace viewer's JSON (an array, or an object with "traceEvents"),
 * one at a time, with what Kineto and Horovod write in them. */
#pragma once
#include "pull_json.h"

enum { STRAIT_CHROME_NAME = 192, STRAIT_CHROME_SHORT = 48, STRAIT_CHROME_DIMS = 96 };

struct strait_chrome_event {
    char phase; /* 'X' complete, 'B' and 'E' begin and end, 'i', 'M' of metadata, ... */
    char category[STRAIT_CHROME_SHORT], name[STRAIT_CHROME_NAME];
    char lane[STRAIT_CHROME_SHORT]; /* pid and tid as text */
    double start_us, duration_us;
    /* args */
    double external_id, correlation, sequence, fwd_thread, n_elems; /* -1: none */
    char dims[STRAIT_CHROME_DIMS]; /* of the first input, "16x2704"; "" */
    char collective[STRAIT_CHROME_SHORT], dtype[STRAIT_CHROME_SHORT];
    char arg_name[STRAIT_CHROME_NAME], shape[STRAIT_CHROME_DIMS];
};

struct strait_chrome {
    struct strait_pull_json json;
    bool in_events, has_ended;
    double rank, world; /* of "distributedInfo"; -1: none */
    char backend[STRAIT_CHROME_SHORT];
};

void strait_chrome_begin(struct strait_chrome *c, struct strait_source *s,
                         struct strait_error *err);
void strait_chrome_release(struct strait_chrome *c);
/** The next event. Returns: 1, or 0 after the last whole one, or -1 with *err */
int strait_chrome_next(struct strait_chrome *c, struct strait_chrome_event *e);
/** Whether the file ends within an event, which is left out then. */
bool strait_chrome_is_cut(const struct strait_chrome *c);
