/* A file of published figures, and how each is worked out. */
#pragma once
#include <jansson.h>
#include "codecs/profile/profile.h"
#include "core/json.h"
#include "published_parts.h"

/* The `measure` of a row, borrowed from the JSON. */
struct published_measure {
    const char *experiment, *metric, *as, *pick; /* experiment NULL: there is none */
    double limit;                                /* of "within"; else NAN */
    const json_t *set, *against, *over; /* objects; array of objects; object of one array */
};

struct published_claim {
    const json_t *json, *halves; /* halves: what claims.c asks of it */
    const char *name, *claim, *model, *source, *kind, *unit, *group, *reason;
    const char *suspect; /* why the figure is not believed; NULL: it is */
    double published, spread;
    struct strait_published_parts parts;
    bool input; /* one of our constants was derived from it: not a prediction */
    struct published_measure measure;
};

struct published_book {
    const char *path;
    const struct strait_profile *profile;
    json_t *json;
    struct published_claim *claims;
    size_t n_claims;
    json_t *points; /* to simulate: {name, experiment, settings} */
    json_t *rows;   /* by name: {row, file, point}; null: listed, not yet simulated */
};

/** Read b->path: json and claims, those whose case is one of `cases` (0: all). The caller frees
 *  both in either case. 0, or -1 with *err INPUT. */
int published_book_read(struct published_book *b, const char *const *cases, size_t n_cases,
                        struct strait_error *err);

/* A figure that answers a measure. */
struct published_answer {
    double figure;    /* NAN: no value of `over` is a threshold */
    const json_t *at; /* the value of `over` that gives it, borrowed; NULL: none */
    size_t i;         /* which of them */
};

/** Add the points that a measure needs and b->rows lacks to b->points, each once.
 *  In:      without  as for published_measure */
int published_list_points(const struct published_book *b, const struct published_measure *m,
                          const char *without, struct strait_error *err);
/** Simulate a point of b->points on the fluid backend.
 *  Returns: new {row, file, point}: the resolved experiment and its file, or NULL with *err */
json_t *published_simulate(const struct published_book *b, const json_t *point,
                           struct strait_error *err);
/** Our figure, of b->rows; what they lack is simulated.
 *  In:      without  a constant of software that costs nothing this time; NULL: all count */
int published_measure(struct published_answer *out, const struct published_book *b,
                      const struct published_measure *m, const char *without,
                      struct strait_error *err);
/** The constants of software that decide it: new object {name: {value, model, device, figures,
 *  error, own}}, own: estimated on this model. NULL with *err. */
json_t *published_constants(const struct published_measure *m, struct strait_error *err);
/** The setting as arguments of `strait run`. */
json_t *published_setting(const struct published_measure *m, const json_t *at);
