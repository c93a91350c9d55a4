/* What a request asks, and whether it may: a pure function of its first lines. */
#pragma once
#include <stddef.h>
#include "core/error.h"

enum strait_http_kind {
    STRAIT_HTTP_FILE,        /* a file of the page */
    STRAIT_HTTP_CHOICES,     /* what an experiment may name */
    STRAIT_HTTP_EXPERIMENTS, /* those that ship */
    STRAIT_HTTP_RUN,         /* rows of an experiment, by fluid */
    STRAIT_HTTP_CHECK,       /* the same predicted and emulated, by `strait run --on both` */
    STRAIT_HTTP_PLAN         /* the planner's question, as `strait plan` */
};

/* The largest body; a layer table of one's own is the largest part of one. */
enum { STRAIT_HTTP_MAX_BYTES = 1 << 20 };

struct strait_http_request {
    /* --- as it came; NULL where it has none */
    const char *method, *path, *host, *origin, *content_type;
    const char *length; /* Content-Length */
    /* --- what it asks */
    enum strait_http_kind kind;
    char file[128];   /* of the page: its path below what ships */
    const char *type; /* and its media type; NULL: JSON */
};

/** Say what is asked, or refuse it: another host's name (a page elsewhere whose name was made to
 *  point here), another page's origin, a body that is too large or no JSON.
 *  Returns: 0, or the status of the refusal (400 to 415) with *err */
unsigned strait_http_request_read(struct strait_http_request *r, struct strait_error *err);
