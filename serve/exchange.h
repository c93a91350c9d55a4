/* One request and its response, between libmicrohttpd and the jobs. */
#pragma once
#include <stdbool.h>
#include "jobs.h"
#include "mhd.h"

/* One for the server; the context of libmicrohttpd's callbacks. */
struct strait_exchange_context {
    const struct strait_mhd *mhd;
    struct strait_jobs *jobs;
    char *texts[2]; /* answers of choices and experiments */
};

struct strait_exchange {
    struct MHD_Connection *connection;
    int fd; /* of the connection */
    struct strait_http_request request;
    char *body; /* NULL once a job has it */
    size_t len_bytes, cap_bytes;
    bool is_too_large;
    char *answer; /* of its job; NULL: none yet */
    unsigned status;
};

/** Put the answer of its job; takes it. */
void strait_exchange_answer(struct strait_exchange *x, unsigned status, char *answer);
/** libmicrohttpd's callbacks: a request, in parts; and its end, whatever it was. */
enum MHD_Result strait_exchange_handle(void *context, struct MHD_Connection *connection,
                                       const char *url, const char *method, const char *version,
                                       const char *upload, size_t *upload_bytes, void **exchange);
void strait_exchange_end(void *context, struct MHD_Connection *connection, void **exchange,
                         enum MHD_RequestTerminationCode code);
