/* A parameter of a codec or of a strategy, as declared: its name, its range and its default. */
#pragma once

enum strait_param_kind {
    STRAIT_PARAM_NUMBER,
    STRAIT_PARAM_INTEGER,
    STRAIT_PARAM_CORES, /* an integer, or "clients": as many as there are clients */
    STRAIT_PARAM_TIME,  /* "2 s" */
    STRAIT_PARAM_BYTES, /* "25 MB" */
    STRAIT_PARAM_SPEED, /* "1.5 GB/s" */
    STRAIT_PARAM_PERCENT,
    STRAIT_PARAM_CHOICE /* one of `choices` */
};

struct strait_param {
    const char *name, *doc;
    enum strait_param_kind kind;
    double min, max, fallback;  /* fallback NAN: required */
    const char *const *choices; /* names of the values 0, 1, .. max, NULL-terminated; else NULL */
};

/* The members `params` and `n_params` of whatever has a table of them. */
#define STRAIT_PARAMS(table) .params = (table), .n_params = sizeof(table) / sizeof((table)[0])
