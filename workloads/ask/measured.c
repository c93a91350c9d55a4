#include "measured.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "traces/models/csv.h"

static int add(struct strait_measured *m, double x, double y)
{
    double *xs = realloc(m->x, (m->n + 1) * sizeof(*xs));
    if (xs)
        m->x = xs;
    double *ys = realloc(m->y, (m->n + 1) * sizeof(*ys));
    if (ys)
        m->y = ys;
    if (!xs || !ys)
        return -1;
    m->x[m->n] = x;
    m->y[m->n++] = y;
    return 0;
}

static int read_points(struct strait_measured *m, struct strait_csv *csv, double most,
                       struct strait_error *err)
{
    for (bool more;;) {
        double x, y;
        if (strait_csv_next(csv, &more, err) != 0)
            return -1;
        if (!more)
            break;
        if (strait_csv_number(csv, &x, 0, DBL_MIN, 1e15, err) != 0 ||
            strait_csv_number(csv, &y, 1, DBL_MIN, most, err) != 0)
            return -1;
        if (m->n > 0 && x <= m->x[m->n - 1])
            return strait_csv_fail(csv, err, "expected more than the %g before, found %g",
                                   m->x[m->n - 1], x);
        if (add(m, x, y) != 0)
            return strait_error_memory(err, csv->path);
    }
    return m->n > 0 ? 0 : strait_csv_fail(csv, err, "expected at least one point, found none");
}

int strait_measured_read(struct strait_measured *out, const json_t *pairs, double most,
                         const char *where, struct strait_error *err)
{
    size_t i;
    json_t *pair;
    *out = (struct strait_measured){0};
    json_array_foreach ((json_t *)pairs, i, pair) {
        const double x = json_number_value(json_array_get(pair, 0)),
                     y = json_number_value(json_array_get(pair, 1));
        if (json_array_size(pair) != 2 || !(x > (i > 0 ? out->x[i - 1] : 0) && x <= 1e15) ||
            !(y > 0 && y <= most))
            return strait_refuse(err, where,
                                 "expected pairs with an ascending first number and a second "
                                 "one of at most %g, found pair %zu",
                                 most, i + 1);
        if (add(out, x, y) != 0)
            return strait_error_memory(err, where);
    }
    return out->n > 0 ? 0 : strait_refuse(err, where, "expected at least one pair, found none");
}

int strait_measured_load(struct strait_measured *out, const char *path, const char *header,
                         double most, const char *where, struct strait_error *err)
{
    struct strait_csv csv = {0};
    struct strait_error why = {0};
    int failed;
    *out = (struct strait_measured){0};
    if (strait_csv_open(&csv, path, &why) != 0)
        failed = strait_error_set(err, why.code, where, "%s: %s", path, why.text);
    else
        failed = strait_csv_header(&csv, header, err) != 0 ? -1 : read_points(out, &csv, most, err);
    strait_csv_release(&csv);
    return failed;
}

void strait_measured_release(struct strait_measured *m)
{
    free(m->x);
    free(m->y);
    *m = (struct strait_measured){0};
}

double strait_measured_at(const struct strait_measured *m, double x)
{
    assert(m->n > 0 && x > 0);
    if (m->n == 1)
        return m->y[0];
    size_t i = 1; /* the segment that ends at or after x, or the last one */
    while (i + 1 < m->n && m->x[i] < x)
        i++;
    const double slope = log(m->y[i] / m->y[i - 1]) / log(m->x[i] / m->x[i - 1]);
    return m->y[i] * pow(x / m->x[i], slope);
}
