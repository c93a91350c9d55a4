#include "jitter.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/host.h"
#include "core/names.h"
#include "core/shipped.h"

enum { N_VALUES = 4096, MAX_VALUES = 16384, UNIT = 8192 }; /* netem's NETEM_DIST_MAX, _SCALE */
static const double LARGEST = 32767.0 / UNIT;

/* The value that a share u of a normal distribution is below, by halving. */
static double normal_quantile(double u)
{
    double lo = -LARGEST, hi = LARGEST;
    for (int i = 0; i < 60; i++) {
        const double middle = (lo + hi) / 2;
        if (0.5 + 0.5 * erf(middle / sqrt(2)) < u)
            lo = middle;
        else
            hi = middle;
    }
    return lo;
}

static double pareto_quantile(double u)
{
    return fmin(4.0 / 3 * (pow(1 - u, -1.0 / 3) - 1.5), LARGEST);
}

static struct strait_jitter *new_table(size_t n)
{
    struct strait_jitter *j = calloc(1, sizeof(*j));
    double *x = calloc(n, sizeof(*x));
    if (!j || !x) {
        free(j);
        free(x);
        return NULL;
    }
    j->n = n;
    j->x = x;
    return j;
}

void strait_jitter_free(struct strait_jitter *j)
{
    if (j)
        free(j->x);
    free(j);
}

static int read_table(struct strait_jitter *j, FILE *f, const char *path, struct strait_error *err)
{
    char text[1024], where[512];
    j->n = 0;
    for (size_t line = 1; fgets(text, sizeof(text), f); line++) {
        static const char blanks[] = " \t\r\n";
        char *rest = text + strspn(text, blanks), *end;
        while (*text != '#' && *rest) {
            const long value = strtol(rest, &end, 10);
            const int n_letters = (int)fmin(24, (double)strcspn(rest, blanks));
            snprintf(where, sizeof(where), "%.480s:%zu", path, line);
            if (end == rest || value < -32768 || value > 32767 || j->n == MAX_VALUES)
                return strait_refuse(
                    err, where,
                    "expected at most %d whole numbers from -32768 to 32767, found \"%.*s\"",
                    MAX_VALUES, n_letters, rest);
            j->x[j->n++] = (double)value / UNIT;
            rest = end + strspn(end, blanks);
        }
    }
    return j->n > 0 && !ferror(f)
               ? 0
               : strait_refuse(err, path, "expected a table of whole numbers, found none");
}

static int load_file(struct strait_jitter **j, const char *name, const char *where,
                     struct strait_error *err)
{
    static const char *const names[] = {"uniform", "normal", "pareto", "paretonormal", NULL};
    char shipped[4096];
    if (!strpbrk(name, "/."))
        return strait_refuse_name(err, STRAIT_ERR_INPUT, where,
                                  "uniform, normal, pareto, paretonormal or a path", name, names);
    const char *path = strait_shipped_path(shipped, sizeof(shipped), name);
    FILE *f = strait_host_open(path);
    if (!f)
        return strait_refuse(err, where, "%s: expected a file", name);
    *j = new_table(MAX_VALUES);
    const int failed = *j ? read_table(*j, f, path, err) : strait_error_memory(err, where);
    fclose(f);
    return failed;
}

int strait_jitter_load(struct strait_jitter **j, const char *name, const char *where,
                       struct strait_error *err)
{
    const bool normal = strcmp(name, "normal") == 0, pareto = strcmp(name, "pareto") == 0,
               both = strcmp(name, "paretonormal") == 0;
    const double part = normal ? 1 : both ? 0.25 : 0;
    *j = NULL;
    if (strcmp(name, "uniform") == 0)
        return 0;
    if (!normal && !pareto && !both) {
        if (load_file(j, name, where, err) != 0) {
            strait_jitter_free(*j);
            *j = NULL;
            return -1;
        }
    } else if (!(*j = new_table(N_VALUES))) {
        return strait_error_memory(err, where);
    }
    for (size_t i = 0; i < (*j)->n; i++) {
        const double u = (double)i / N_VALUES;
        if (normal || pareto || both)
            (*j)->x[i] = (part > 0 ? part * normal_quantile(u) : 0) +
                         (part < 1 ? (1 - part) * pareto_quantile(u) : 0);
        (*j)->reach = fmax((*j)->reach, fabs((*j)->x[i]));
    }
    return 0;
}

double strait_jitter_at(const struct strait_jitter *j, double u)
{
    return j ? j->x[(size_t)(u * (double)j->n)] : 2 * u - 1;
}
