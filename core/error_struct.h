/* An error as a struct, part of the installed headers. error.h has its functions. */
#pragma once

enum strait_error_code {
    STRAIT_OK = 0,
    STRAIT_ERR_USAGE,   /* the command line is wrong: exit 2 */
    STRAIT_ERR_INPUT,   /* a file or a stream of bytes is wrong: exit 2 */
    STRAIT_ERR_SYSTEM,  /* a system call failed: exit 1 */
    STRAIT_ERR_BACKEND, /* a run failed, stalled or is invalid: exit 1 */
    STRAIT_ERR_HOST,    /* this machine cannot do it: exit 3 */
    STRAIT_ERR_NOMEM    /* memory ran out: exit 1 */
};

struct strait_error {
    enum strait_error_code code;
    int saved_errno; /* 0 where no system call was involved */
    char where[256]; /* "wan.json#/network/server/rate", "a.csv:12", or the command that ran */
    char text[512];  /* lower case, no full stop: expected X, found Y */
};
