/* For tests of importers: a trace as text, in a file of its own. */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/hash.h"
#include "tests/kit/failing/damaged.h"
#include "tests/kit/suite.h"
#include "traces/import/import.h"

/* A look at a file says what reading it says, its errors too. */
static inline void expect_same_file(const struct strait_import *in, const char *path, int status,
                                    const struct strait_error *err)
{
    struct strait_import look;
    struct strait_error other = {0};
    CU_ASSERT_EQUAL(strait_import_look(&look, path, NULL, &other), status);
    CU_ASSERT_STRING_EQUAL(other.where, err->where);
    CU_ASSERT_STRING_EQUAL(other.text, err->text);
    if (status == 0)
        CU_ASSERT(json_equal(look.facts, in->facts));
    strait_import_release(&look);
}

/** Import these bytes as "trace" of a folder of its own; err.where without that folder. Release. */
static inline int import_bytes(struct strait_import *in, const void *bytes, size_t n,
                               struct strait_error *err)
{
    char path[] = "/tmp/strait-import-XXXXXX";
    const int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL_FATAL(write(fd, bytes, n), (ssize_t)n);
    close(fd);
    *err = (struct strait_error){0};
    const int status = strait_import_read(in, path, NULL, err);
    expect_same_file(in, path, status, err);
    in->path = "trace";
    unlink(path);
    if (strncmp(err->where, path, strlen(path)) == 0)
        memmove(err->where, err->where + strlen(path), strlen(err->where + strlen(path)) + 1);
    return status;
}

static inline int import_text(struct strait_import *in, const char *text, struct strait_error *err)
{
    return import_bytes(in, text, strlen(text), err);
}

/* A text and the one line that refuses it; where: ":3" for line 3. */
struct refused_trace {
    const char *text, *where, *error;
};

static inline void expect_refused(const struct refused_trace *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct strait_import in;
        struct strait_error err;
        strait_test_context("%.200s", cases[i].text);
        CU_ASSERT_EQUAL(import_text(&in, cases[i].text, &err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        CU_ASSERT_STRING_EQUAL(err.where, cases[i].where);
        CU_ASSERT_CONTAINS(err.text, cases[i].error);
        strait_import_release(&in);
    }
}

static inline void import_add_model(struct damaged_sum *s, const struct strait_model *m)
{
    const double all[] = {m->fwd_s, m->bwd_s, m->opt_s, (double)m->n_elems, (double)m->n_layers,
                          m->batch};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        damaged_add_number(s, all[i]);
    for (size_t i = 0; i < m->n_rows; i++) {
        const struct strait_param_row *r = &m->rows[i];
        const double row[] = {r->fwd_s_p50,       r->fwd_s_p90,          r->bwd_s_p50,
                              r->bwd_s_p90,       r->ready_s_p50,        (double)r->ready_order,
                              (double)r->n_elems, (double)r->layer_index};
        damaged_add(s, r->layer);
        damaged_add(s, r->param);
        for (size_t k = 0; k < sizeof(row) / sizeof(*row); k++)
            damaged_add_number(s, row[k]);
    }
}

static inline void import_add_graph(struct damaged_sum *s, const struct strait_program *g)
{
    for (int r = 0; r < g->n_ranks; r++) {
        for (size_t i = 0; i < g->ranks[r].n_nodes; i++) {
            const struct strait_program_node *o = &g->ranks[r].nodes[i];
            const double node[] = {o->kind, o->collective,    o->unit,   o->group, o->peer,
                                   o->tag,  (double)o->bytes, o->time_s, o->flop};
            for (size_t k = 0; k < sizeof(node) / sizeof(*node); k++)
                damaged_add_number(s, node[k]);
        }
        for (size_t i = 0; i < g->ranks[r].n_edges; i++) {
            damaged_add_number(s, g->ranks[r].edges[i].from);
            damaged_add_number(s, g->ranks[r].edges[i].to);
            damaged_add_number(s, g->ranks[r].edges[i].on_start);
        }
    }
}

/* A look says the same of the same bytes, or that it is in doubt. */
static inline void expect_same_look(const struct strait_import *in, int status,
                                    const struct strait_error *err, const unsigned char *bytes,
                                    size_t n)
{
    struct strait_import look = {0};
    struct strait_error other = {0};
    struct strait_source from;
    int seen = strait_source_of(&from, "trace", bytes, n, &other);
    seen = seen == 0 ? strait_import_source(&look, &from, NULL, true, &other) : seen;
    if (seen != 0 || !look.graph || !look.graph->look->is_doubtful) {
        CU_ASSERT_EQUAL(seen, status);
        CU_ASSERT_STRING_EQUAL(other.text, err->text);
        CU_ASSERT_STRING_EQUAL(other.where, err->where);
    }
    if (seen == 0 && status == 0)
        CU_ASSERT(json_equal(look.facts, in->facts));
    strait_import_release(&look);
    strait_source_release(&from);
}

static inline void import_damaged(struct damaged_sum *s, void *context, const unsigned char *bytes,
                                  size_t n)
{
    struct strait_import in = {0};
    struct strait_error err = {0};
    struct strait_source from;
    char key[STRAIT_KEY_CHARS];
    int status = strait_source_of(&from, "trace", bytes, n, &err);
    status = status == 0 ? strait_import_source(&in, &from, NULL, false, &err) : status;
    CU_ASSERT_EQUAL(err.code != STRAIT_OK, status != 0);
    CU_ASSERT_PTR_NULL(strchr(err.text, '\n'));
    expect_same_look(&in, status, &err, bytes, n);
    damaged_add_error(s, &err, NULL);
    const json_t *const said[] = {in.facts, in.inferred, in.missing, in.experiment};
    for (size_t i = 0; status == 0 && i < sizeof(said) / sizeof(*said); i++)
        damaged_add(s, said[i] ? strait_hash_json(key, said[i]) : "");
    if (status == 0) {
        damaged_add(s, in.iters);
        damaged_add(s, in.slowness);
    }
    if (status == 0 && in.model)
        import_add_model(s, in.model);
    if (status == 0 && in.graph)
        import_add_graph(s, in.graph);
    strait_import_release(&in);
    strait_source_release(&from);
    (void)context;
}

/** Every beginning of a trace, and every byte of it changed, is read or refused as it was: no
 *  crash, one line of error (tests/kit/failing/damaged.h). */
static inline void expect_survives(const char *name, const void *bytes, size_t n)
{
    damaged_check(name, bytes, n, import_damaged, NULL);
}
