/* Inside this room: a time-independent trace while it is read, and its actions. */
#pragma once
#include "imported.h"

enum { STRAIT_TI_WORDS = 8, STRAIT_TI_BYTE = 6, STRAIT_TI_DOUBLE = 0 /* data types there */ };

struct strait_ti_request {
    uint32_t node;
    int32_t peer, tag;
    int64_t tested_at; /* node of its last test; -1: none */
};

struct strait_ti_open {
    struct strait_ti_request *items;
    size_t n, cap;
};

struct strait_ti_rank {
    int64_t last;                  /* node that the next one waits for; -1: none */
    int64_t test;                  /* node of the last test; -1: none */
    struct strait_ti_open open[2]; /* irecv, then isend, that were not waited for */
    int default_type;
    bool has_begun;
};

struct strait_ti {
    struct strait_import *in;
    struct strait_source *s;
    struct strait_ti_rank *ranks;
    int n_ranks; /* 0: not known yet, the first pass counts them */
    int highest;
    bool has_tests, has_doubles;
};

/* The words behind the action, and their reading. */
struct strait_ti_line {
    int rank;
    const char *action, *words[STRAIT_TI_WORDS];
    int n_words;
    char *rest; /* of longer lines */
};

/** One action, after all ranks are known. 0, or -1 with *err INPUT naming the line. */
int strait_ti_action(struct strait_ti *r, const struct strait_ti_line *l, struct strait_error *err);

/** After the last action: requests that nothing waited for end at their last test. */
int strait_ti_finish(struct strait_ti *r, struct strait_error *err);
