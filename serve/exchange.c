#if __has_include(<microhttpd.h>)
#include "exchange.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/shipped.h"

/* The page loads nothing from elsewhere, is shown in no frame of others and sends nothing away. */
static const char *const headers[][2] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
     "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cache-Control", "no-store"},
};

/* --- responses ------------------------------------------------------------------------------ */

static enum MHD_Result respond(const struct strait_mhd *mhd, struct MHD_Connection *connection,
                               unsigned status, const char *type, void *data, size_t len_bytes,
                               enum MHD_ResponseMemoryMode mode)
{
    struct MHD_Response *response = mhd->create_response_from_buffer(len_bytes, data, mode);
    if (!response) {
        if (mode == MHD_RESPMEM_MUST_FREE)
            free(data);
        return MHD_NO;
    }
    for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++)
        mhd->add_response_header(response, headers[i][0], headers[i][1]);
    mhd->add_response_header(response, "Content-Type", type ? type : "application/json");
    if (status == 503)
        mhd->add_response_header(response, "Retry-After", "1");
    const enum MHD_Result queued = mhd->queue_response(connection, status, response);
    mhd->destroy_response(response);
    return queued;
}

static enum MHD_Result respond_error(const struct strait_mhd *mhd,
                                     struct MHD_Connection *connection, unsigned status,
                                     const struct strait_error *err)
{
    char line[sizeof(err->where) + sizeof(err->text) + 2];
    snprintf(line, sizeof(line), "%s: %s", err->where, err->text);
    for (char *p = line; *p; p++)
        if ((unsigned char)*p >= 0x80)
            *p = '?';
    json_t *json = json_pack("{s:s}", "error", line);
    char *text = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    return text ? respond(mhd, connection, status, NULL, text, strlen(text), MHD_RESPMEM_MUST_FREE)
                : MHD_NO;
}

static enum MHD_Result respond_file(const struct strait_mhd *mhd, struct strait_exchange *x)
{
    char path[4096], *bytes = NULL;
    struct strait_error err = {0};
    FILE *f = fopen(strait_share_path(path, sizeof(path), x->request.file), "rb");
    size_t len_bytes = 0;
    if (f && fseek(f, 0, SEEK_END) == 0 && (len_bytes = (size_t)ftell(f)) < (size_t)1 << 24 &&
        fseek(f, 0, SEEK_SET) == 0 && (bytes = malloc(len_bytes + 1)) != NULL)
        len_bytes = fread(bytes, 1, len_bytes, f);
    if (f)
        fclose(f);
    if (bytes)
        return respond(mhd, x->connection, 200, x->request.type, bytes, len_bytes,
                       MHD_RESPMEM_MUST_FREE);
    strait_refuse(&err, "request", "expected a file of the page, found none");
    return respond_error(mhd, x->connection, 404, &err);
}

/* --- requests ------------------------------------------------------------------------------- */

void strait_exchange_answer(struct strait_exchange *x, unsigned status, char *answer)
{
    x->status = answer ? status : 500;
    x->answer = answer ? answer : strdup("{\"error\": \"request: memory ran out\"}");
}

static struct strait_exchange *begin(const struct strait_mhd *mhd,
                                     struct MHD_Connection *connection)
{
    struct strait_exchange *x = calloc(1, sizeof(*x));
    if (x) {
        x->connection = connection;
        x->fd = mhd->get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    }
    return x;
}

/* The first call has the head of a request alone: what it says wrongly is refused unread. */
static enum MHD_Result read_head(const struct strait_mhd *mhd, struct strait_exchange *x,
                                 const char *url, const char *method)
{
    const struct {
        const char **value, *name;
    } wanted[] = {{&x->request.host, "Host"},
                  {&x->request.origin, "Origin"},
                  {&x->request.content_type, "Content-Type"},
                  {&x->request.length, "Content-Length"}};
    struct strait_error err = {0};
    x->request.method = method;
    x->request.path = url;
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
        *wanted[i].value =
            mhd->lookup_connection_value(x->connection, MHD_HEADER_KIND, wanted[i].name);
    const unsigned refused = strait_http_request_read(&x->request, &err);
    return refused ? respond_error(mhd, x->connection, refused, &err) : MHD_YES;
}

static void keep_body(struct strait_exchange *x, const char *upload, size_t len_bytes)
{
    if (x->len_bytes + len_bytes > STRAIT_HTTP_MAX_BYTES)
        x->is_too_large = true;
    if (!x->is_too_large && x->cap_bytes < x->len_bytes + len_bytes) {
        const size_t cap_bytes = 2 * (x->len_bytes + len_bytes);
        char *more = realloc(x->body, cap_bytes);
        x->is_too_large = !more;
        x->body = more ? more : x->body;
        x->cap_bytes = more ? cap_bytes : x->cap_bytes;
    }
    if (x->is_too_large)
        return;
    memcpy(x->body + x->len_bytes, upload, len_bytes);
    x->len_bytes += len_bytes;
}

static enum MHD_Result ask(const struct strait_exchange_context *c, struct strait_exchange *x)
{
    struct strait_error err = {0};
    if (x->is_too_large || !x->body) {
        strait_refuse(&err, "request", "expected a body of 1 to %d B", STRAIT_HTTP_MAX_BYTES);
        return respond_error(c->mhd, x->connection, x->body ? 413 : 400, &err);
    }
    char *body = x->body;
    x->body = NULL;
    if (strait_jobs_add(c->jobs, x->request.kind, body, x->len_bytes, x) != 0) {
        strait_refuse(&err, "request", "expected fewer questions at a time, found %d waiting",
                      STRAIT_MAX_JOBS);
        return respond_error(c->mhd, x->connection, 503, &err);
    }
    c->mhd->suspend_connection(x->connection);
    return MHD_YES;
}

enum MHD_Result strait_exchange_handle(void *context, struct MHD_Connection *connection,
                                       const char *url, const char *method, const char *version,
                                       const char *upload, size_t *upload_bytes, void **exchange)
{
    const struct strait_exchange_context *c = context;
    struct strait_exchange *x = *exchange;
    (void)version;
    if (!x) {
        *exchange = x = begin(c->mhd, connection);
        return x ? read_head(c->mhd, x, url, method) : MHD_NO;
    }
    if (*upload_bytes > 0) {
        keep_body(x, upload, *upload_bytes);
        *upload_bytes = 0;
        return MHD_YES;
    }
    if (x->answer) {
        char *answer = x->answer;
        x->answer = NULL;
        return respond(c->mhd, connection, x->status, NULL, answer, strlen(answer),
                       MHD_RESPMEM_MUST_FREE);
    }
    if (x->request.kind == STRAIT_HTTP_FILE)
        return respond_file(c->mhd, x);
    if (x->request.kind >= STRAIT_HTTP_RUN)
        return ask(c, x);
    char *text = c->texts[x->request.kind == STRAIT_HTTP_EXPERIMENTS];
    return respond(c->mhd, connection, 200, NULL, text, strlen(text), MHD_RESPMEM_PERSISTENT);
}

void strait_exchange_end(void *context, struct MHD_Connection *connection, void **exchange,
                         enum MHD_RequestTerminationCode code)
{
    const struct strait_exchange_context *c = context;
    struct strait_exchange *x = *exchange;
    (void)connection;
    (void)code;
    if (!x)
        return;
    for (size_t i = c->jobs->n; i-- > 0;)
        if (c->jobs->jobs[i].owner == x)
            strait_jobs_remove(c->jobs, i);
    free(x->body);
    free(x->answer);
    free(x);
    *exchange = NULL;
}
#endif
