#include "consensus.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/names.h"

/* All begin together, but some machines read their files from others. */
static const double AGREE_S = 120;

static int out_of_memory(struct strait_error *err)
{
    return strait_error_memory(err, NULL);
}

static int tell_json(struct strait_mpi_world *w, int dst, json_t *taken, struct strait_error *err)
{
    char *text = taken ? json_dumps(taken, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(taken);
    if (!text)
        return out_of_memory(err);
    const int failed = strait_mpi_tell(w, dst, text, strlen(text), AGREE_S, err);
    free(text);
    return failed;
}

static json_t *listen_json(struct strait_mpi_world *w, int src, double deadline_s,
                           struct strait_error *err)
{
    void *text = NULL;
    size_t n = 0;
    json_t *json = NULL;
    if (strait_mpi_listen(w, src, &text, &n, deadline_s, err) == 0 &&
        !(json = json_loadb(text, n, 0, NULL)))
        strait_error_set(err, STRAIT_ERR_BACKEND, NULL, "rank %d says what nobody understands",
                         src);
    free(text);
    return json;
}

static json_t *error_json(const struct strait_error *e)
{
    return json_pack("{s:i, s:s, s:s}", "code", (int)e->code, "where", e->where, "text", e->text);
}

static void error_of(struct strait_error *e, const json_t *json)
{
    *e = (struct strait_error){.code = STRAIT_OK};
    const json_int_t code = json_integer_value(json_object_get(json, "code"));
    const char *where = json_string_value(json_object_get(json, "where"));
    const char *text = json_string_value(json_object_get(json, "text"));
    if (code != 0)
        strait_error_set(e, (enum strait_error_code)code, where, "%s", text ? text : "");
}

static json_t *hello_json(const struct strait_mpi_hello *h, const struct strait_error *err)
{
    char host[STRAIT_MPI_HOST_CHARS];
    strait_mpi_world_host(host);
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:o}", "version", STRAIT_VERSION, "program",
                     h->program, "experiment", h->experiment, "file", h->file, "profile",
                     h->profile, "host", host, "error", error_json(err));
}

static const char *text_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text ? text : "";
}

/* Hold rank i's hello against rank 0's. */
static void compare(struct strait_error *verdict, int i, const json_t *hello, const json_t *mine)
{
    struct strait_error own;
    const char *host = text_of(hello, "host");
    error_of(&own, json_object_get(hello, "error"));
    if (own.code != STRAIT_OK)
        strait_error_set(verdict, own.code, NULL, "rank %d on %s: %s%s%s", i, host, own.where,
                         *own.where ? ": " : "", own.text);
    else if (strcmp(text_of(hello, "program"), text_of(mine, "program")) != 0)
        strait_refuse(verdict, NULL,
                      "expected the same program on all machines, found %s (%.8s) as rank 0 on %s "
                      "and %s (%.8s) as rank %d on %s",
                      text_of(mine, "version"), text_of(mine, "program"), text_of(mine, "host"),
                      text_of(hello, "version"), text_of(hello, "program"), i, host);
    else if (strcmp(text_of(hello, "experiment"), text_of(mine, "experiment")) != 0)
        strait_refuse(verdict, NULL,
                      "expected the same experiment on all machines, found %s as rank 0 and "
                      "another, %s, as rank %d on %s",
                      text_of(mine, "file"), text_of(hello, "file"), i, host);
    else if (strcmp(text_of(hello, "profile"), text_of(mine, "profile")) != 0)
        strait_refuse(verdict, NULL,
                      "expected the same profile on all machines, found another as rank %d on %s",
                      i, host);
}

static void count_host(json_t *hosts, const json_t *hello)
{
    const char *host = text_of(hello, "host");
    const json_int_t n = json_integer_value(json_object_get(hosts, host));
    json_object_set_new(hosts, host, json_integer(n + 1));
}

int strait_mpi_agree(struct strait_mpi_world *w, const struct strait_mpi_hello *hello,
                     char *machines, size_t cap, struct strait_error *err)
{
    json_t *mine = hello_json(hello, err), *verdict;
    struct strait_error why = *err;
    if (!mine)
        return out_of_memory(err);
    if (w->me != 0) {
        *err = (struct strait_error){.code = STRAIT_OK};
        if (tell_json(w, 0, mine, err) != 0 || !(verdict = listen_json(w, 0, AGREE_S, err)))
            return -1;
        error_of(err, verdict);
        json_decref(verdict);
        return err->code == STRAIT_OK ? 0 : -1;
    }
    json_t *hosts = json_object();
    count_host(hosts, mine);
    for (int i = 1; i < w->n; i++) {
        struct strait_error unheard = {.code = STRAIT_OK};
        json_t *theirs = listen_json(w, i, AGREE_S, &unheard);
        if (theirs && why.code == STRAIT_OK)
            compare(&why, i, theirs, mine);
        else if (!theirs && why.code == STRAIT_OK)
            why = unheard;
        count_host(hosts, theirs);
        json_decref(theirs);
    }
    json_decref(mine);
    for (int i = 1; i < w->n; i++)
        tell_json(w, i, error_json(&why), NULL);
    const char *host;
    const json_t *n;
    *machines = '\0';
    json_object_foreach (hosts, host, n)
        strait_text_add(machines, cap, "%s %d, ", host, (int)json_integer_value(n));
    strait_text_add(machines, cap, "%s", w->library);
    json_decref(hosts);
    *err = why;
    return err->code == STRAIT_OK ? 0 : -1;
}

static int tell_all(struct strait_mpi_world *w, json_t *taken, struct strait_error *err)
{
    int failed = taken ? 0 : out_of_memory(err);
    for (int i = 1; i < w->n && !failed; i++)
        failed = tell_json(w, i, json_incref(taken), err);
    json_decref(taken);
    return failed;
}

int strait_mpi_announce(struct strait_mpi_world *w, const json_t *point, struct strait_error *err)
{
    return tell_all(w, point ? json_pack("{s:O}", "point", point) : json_object(), err);
}

int strait_mpi_next(struct strait_mpi_world *w, json_t **point, struct strait_error *err)
{
    json_t *next = listen_json(w, 0, INFINITY, err);
    const int failed = next ? 0 : -1;
    *point = json_incref(json_object_get(next, "point"));
    json_decref(next);
    return failed;
}
