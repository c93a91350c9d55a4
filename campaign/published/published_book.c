/* Published figures: reading the file. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "published_book.h"

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

static int expect_one_of(const struct strait_object *o, const char *key, const char *found,
                         const char *const *names, struct strait_error *err)
{
    char where[STRAIT_JSON_POINTER_MAX * 2], all[128] = "";
    if (is_one_of(found, names))
        return 0;
    for (int i = 0; names[i]; i++) {
        strncat(all, i > 0 ? ", " : "", sizeof(all) - strlen(all) - 1);
        strncat(all, names[i], sizeof(all) - strlen(all) - 1);
    }
    return strait_refuse(err, strait_object_where(o, key, where, sizeof(where)),
                         "expected one of %s, found \"%s\"", all, found);
}

static int read_measure(struct published_measure *m, struct strait_object *o,
                        struct strait_error *err)
{
    static const char *const as[] = {"value",      "gain",      "times",  "saved",
                                     "difference", "threshold", "within", NULL};
    static const char *const pick[] = {"max", "min", "mean", NULL};
    char where[STRAIT_JSON_POINTER_MAX * 2];
    if (strait_object_string(o, &m->experiment, "experiment", err) != 0 ||
        strait_object_string(o, &m->metric, "metric", err) != 0 ||
        strait_object_string_or(o, &m->as, "as", "value", err) != 0 ||
        strait_object_string_or(o, &m->pick, "pick", "max", err) != 0 ||
        strait_object_number_or(o, &m->limit, "limit", -1e300, 1e300, NAN, err) != 0 ||
        expect_one_of(o, "as", m->as, as, err) != 0 ||
        expect_one_of(o, "pick", m->pick, pick, err) != 0)
        return -1;
    m->set = strait_object_value(o, "set");
    m->against = strait_object_value(o, "against");
    m->over = strait_object_value(o, "over");
    const bool within = strcmp(m->as, "within") == 0;
    if (within == isnan(m->limit))
        return strait_refuse(err, strait_object_where(o, "limit", where, sizeof(where)),
                             "expected a number for \"within\", and for that alone");
    if ((strcmp(m->as, "value") != 0 && !within) != (m->against != NULL))
        return strait_refuse(err, strait_object_where(o, "against", where, sizeof(where)),
                             "expected settings to compare with for \"gain\", \"times\", "
                             "\"saved\", \"difference\" and \"threshold\", and for these alone");
    if ((m->set && !json_is_object(m->set)) || (m->against && !json_is_array(m->against)) ||
        (m->over && json_object_size(m->over) != 1) ||
        ((strcmp(m->as, "threshold") == 0 || within) && !m->over))
        return strait_refuse(err, strait_object_where(o, NULL, where, sizeof(where)),
                             "expected \"set\": {pointer: value}, \"against\": [{pointer: value}], "
                             "\"over\": {pointer: [values]}");
    return strait_object_close(o, err);
}

static int read_claim(struct published_claim *c, struct strait_object *o, struct strait_error *err)
{
    static const char *const kinds[] = {"figure", "up to", "from", NULL};
    struct strait_object m;
    c->json = o->json;
    if (strait_object_string(o, &c->name, "case", err) != 0 ||
        strait_object_string(o, &c->claim, "claim", err) != 0 ||
        strait_object_string(o, &c->source, "source", err) != 0 ||
        strait_object_string_or(o, &c->kind, "kind", "figure", err) != 0 ||
        expect_one_of(o, "kind", c->kind, kinds, err) != 0 ||
        strait_object_string(o, &c->unit, "unit", err) != 0 ||
        strait_object_number(o, &c->published, "published", -1e300, 1e300, err) != 0 ||
        strait_object_number_or(o, &c->spread, "spread", 0, 1e300, 0, err) != 0 ||
        strait_object_string_or(o, &c->group, "group", NULL, err) != 0 ||
        strait_object_string_or(o, &c->model, "model", NULL, err) != 0 ||
        strait_object_string_or(o, &c->suspect, "suspect", NULL, err) != 0 ||
        strait_published_parts_read(&c->parts, o, err) != 0 ||
        strait_object_bool_or(o, &c->input, "input", false, err) != 0 ||
        strait_object_string_or(o, &c->reason, "reason", NULL, err) != 0 ||
        strait_object_enter(&m, o, "measure", true, err) != 0)
        return -1;
    if (m.json && read_measure(&c->measure, &m, err) != 0)
        return -1;
    c->halves = strait_object_value(o, "halves");
    return strait_object_close(o, err);
}

int published_book_read(struct published_book *b, const char *const *cases, size_t n_cases,
                        struct strait_error *err)
{
    struct strait_object o, row;
    const char *schema;
    if (!(b->json = strait_json_load(b->path, err)) ||
        strait_object_open(&o, b->path, "", b->json, err) != 0 ||
        strait_object_string(&o, &schema, "schema", err) != 0)
        return -1;
    if (strcmp(schema, "strait-published/1") != 0)
        return strait_refuse(err, b->path, "expected schema \"strait-published/1\", found \"%s\"",
                             schema);
    const json_t *rows = strait_object_value(&o, "rows");
    const size_t n = json_array_size(rows);
    b->claims = calloc(n + 1, sizeof(*b->claims));
    if (!b->claims)
        return strait_error_memory(err, b->path);
    for (size_t i = 0; i < n; i++) {
        char pointer[64];
        struct published_claim c = {0};
        bool wanted = n_cases == 0;
        snprintf(pointer, sizeof(pointer), "/rows/%zu", i);
        if (strait_object_open(&row, b->path, pointer, json_array_get(rows, i), err) != 0 ||
            read_claim(&c, &row, err) != 0)
            return -1;
        for (size_t k = 0; k < n_cases; k++)
            wanted |= strcmp(cases[k], c.name) == 0;
        if (wanted)
            b->claims[b->n_claims++] = c;
    }
    if (b->n_claims == 0)
        return strait_refuse(err, b->path, "expected a case of this file, found none of them");
    return strait_object_close(&o, err);
}
