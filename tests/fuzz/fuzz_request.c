/* libFuzzer on what a browser sends: six lines (method, path, host, origin, type, length), then the
 * body. What is taken is within its limits, and names no file. */
#include <stdlib.h>
#include <string.h>
#include "serve/experiment_request.h"
#include "serve/request.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

static void check_request(struct strait_http_request *r)
{
    if (strait_http_request_read(r, NULL) != 0)
        return;
    if (r->kind == STRAIT_HTTP_FILE && (strstr(r->file, "..") || r->file[0] == '/'))
        abort();
    if (r->length && strlen(r->length) < 10 && atol(r->length) > STRAIT_HTTP_MAX_BYTES &&
        strcmp(r->method, "POST") == 0)
        abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
    char *text = malloc(n + 1), *lines[6], *at = text;
    if (!text)
        return 0;
    memcpy(text, data, n);
    text[n] = '\0';
    for (int i = 0; i < 6; i++) {
        lines[i] = at;
        at += strcspn(at, "\n");
        if (*at)
            *at++ = '\0';
    }
    struct strait_http_request r = {.method = lines[0],
                                    .path = lines[1],
                                    .host = *lines[2] ? lines[2] : NULL,
                                    .origin = *lines[3] ? lines[3] : NULL,
                                    .content_type = *lines[4] ? lines[4] : NULL,
                                    .length = *lines[5] ? lines[5] : NULL};
    check_request(&r);
    struct strait_asked q;
    if (strait_asked_read(&q, at, (size_t)(text + n - at), NULL) == 0 &&
        q.sweep->n_points > STRAIT_ASKED_MAX_POINTS)
        abort();
    strait_asked_release(&q);
    free(text);
    return 0;
}
