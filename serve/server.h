/* Answer a browser on this machine until a signal comes. */
#pragma once
#include <jansson.h>
#include "core/error.h"

struct strait_server_options {
    unsigned port;             /* of 127.0.0.1; 0: a free one */
    const json_t *choices;     /* answer of /api/choices */
    const json_t *experiments; /* of /api/experiments */
    /** Called once requests are taken; NULL: not. */
    void (*ready)(unsigned port, void *context);
    void *context;
};

/** Serve the page and its questions (docs/serve.md) to this machine alone until SIGINT, SIGTERM or
 *  SIGHUP comes. Questions that run then are ended.
 *  Returns: 0 after such a signal, or -1 with *err: HOST without libmicrohttpd, SYSTEM when
 *           the port is taken */
int strait_server_run(const struct strait_server_options *o, struct strait_error *err);
/** Is there what it needs? 0, or -1 with *err HOST: built without libmicrohttpd, or not
 *  installed. */
int strait_server_check(struct strait_error *err);
