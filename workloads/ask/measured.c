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
