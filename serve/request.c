#include "request.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct route {
    const char *path, *method;
    enum strait_http_kind kind;
    const char *file, *type;
} routes[] = {
    {"/", "GET", STRAIT_HTTP_FILE, "serve/page/index.html", "text/html; charset=utf-8"},
    {"/plan", "GET", STRAIT_HTTP_FILE, "serve/page/index.html", "text/html; charset=utf-8"},
    {"/api/choices", "GET", STRAIT_HTTP_CHOICES, NULL, NULL},
    {"/api/experiments", "GET", STRAIT_HTTP_EXPERIMENTS, NULL, NULL},
    {"/api/run", "POST", STRAIT_HTTP_RUN, NULL, NULL},
    {"/api/check", "POST", STRAIT_HTTP_CHECK, NULL, NULL},
    {"/api/plan", "POST", STRAIT_HTTP_PLAN, NULL, NULL},
};
/* Below /page/: names of letters, digits, "-" and "_", and one of these endings. */
static const struct {
    const char *prefix, *folder;
} folders[] = {{"/page/", "serve/page/"}, {"/uplot/", "page/uplot/"}};
static const struct {
    const char *ending, *type;
} types[] = {{".js", "text/javascript; charset=utf-8"},
             {".css", "text/css; charset=utf-8"},
             {".json", "application/json"},
             {".svg", "image/svg+xml"}};

/* Is the Host "localhost" or "127.0.0.1", with any port (a forwarded one is another)? */
static int is_here(const char *host)
{
    static const char *const names[] = {"localhost", "127.0.0.1"};
    for (size_t i = 0; host && i < sizeof(names) / sizeof(*names); i++) {
        const size_t n = strlen(names[i]);
        if (strncasecmp(host, names[i], n) == 0 &&
            (host[n] == '\0' || (host[n] == ':' && host[n + 1] &&
                                 strspn(host + n + 1, "0123456789") == strlen(host + n + 1))))
            return 1;
    }
    return 0;
}

/* A file of the page. Its name has no slash and one dot, so that it lies in its folder. */
static int find_file(struct strait_http_request *r)
{
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        const size_t n = strlen(folders[i].prefix);
        if (strncmp(r->path, folders[i].prefix, n) != 0)
            continue;
        const char *name = r->path + n;
        const size_t stem = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                         "0123456789-_");
        /* uPlot's files have ".iife" and ".min" before their ending. */
        const char *end = name + stem;
        while (strncmp(end, ".min", 4) == 0 || strncmp(end, ".iife", 5) == 0)
            end += end[1] == 'm' ? 4 : 5;
        for (size_t k = 0; stem > 0 && k < sizeof(types) / sizeof(*types); k++)
            if (strcmp(end, types[k].ending) == 0) {
                r->kind = STRAIT_HTTP_FILE;
                r->type = types[k].type;
                return snprintf(r->file, sizeof(r->file), "%s%s", folders[i].folder, name) <
                       (int)sizeof(r->file);
            }
    }
    return 0;
}

static unsigned refuse(struct strait_error *err, unsigned status, const char *text,
                       const char *found)
{
    strait_refuse(err, "request", "expected %s, found \"%.200s\"", text, found ? found : "");
    return status;
}

/* What only requests with a body can get wrong. */
static unsigned check_body(const struct strait_http_request *r, struct strait_error *err)
{
    static const char json[] = "application/json";
    const size_t n = sizeof(json) - 1;
    if (r->origin && (strncmp(r->origin, "http://", 7) != 0 || strcmp(r->origin + 7, r->host) != 0))
        return refuse(err, 403, "the origin of this page", r->origin);
    if (!r->content_type || strncasecmp(r->content_type, json, n) != 0 ||
        (r->content_type[n] != '\0' && r->content_type[n] != ';'))
        return refuse(err, 415, "a body of type application/json", r->content_type);
    if (r->length && (strlen(r->length) > 9 || atol(r->length) > STRAIT_HTTP_MAX_BYTES))
        return refuse(err, 413, "a body of at most 1048576 B", r->length);
    return 0;
}

unsigned strait_http_request_read(struct strait_http_request *r, struct strait_error *err)
{
    if (!is_here(r->host))
        return refuse(err, 403, "localhost or 127.0.0.1 as the host", r->host);
    const struct route *found = NULL;
    for (size_t i = 0; i < sizeof(routes) / sizeof(*routes); i++)
        if (strcmp(r->path, routes[i].path) == 0)
            found = &routes[i];
    if (!found && !find_file(r))
        return refuse(err, 404, "a page or a question that is known here", r->path);
    const char *method = found ? found->method : "GET";
    if (strcmp(r->method, method) != 0 &&
        !(strcmp(method, "GET") == 0 && strcmp(r->method, "HEAD") == 0))
        return refuse(err, 405, method, r->method);
    if (found) {
        r->kind = found->kind;
        snprintf(r->file, sizeof(r->file), "%s", found->file ? found->file : "");
        r->type = found->type;
    }
    return strcmp(method, "POST") == 0 ? check_body(r, err) : 0;
}
