/* Logs of MG-WFBP's programs (HKBU): the lists "layerwise backward times" (seconds) and "layerwise
 * backward sizes" (elements), first layer first, and lines with the mean forward time. */
#include <stdlib.h>
#include <string.h>

#include "layers.h"

static const char TIMES[] = "layerwise backward times: [", SIZES[] = "layerwise backward sizes: [",
                  FORWARD[] = "average forward (";
enum { MAX_ITEMS = 100000 };

static bool sniff(const char *head, size_t n)
{
    (void)n;
    return strstr(head, "layerwise backward ") != NULL;
}

struct list {
    double *items;
    size_t n;
};

/* "0.1, 2e-3]" or "np.float64(0.1), ...]". */
static int read_list(struct list *list, const char *text, double max, struct strait_source *s,
                     struct strait_error *err)
{
    list->n = 0;
    for (const char *c = text; *c != ']'; c += strspn(c, ", )")) {
        double x;
        if (strncmp(c, "np.", 3) == 0 && strchr(c, '('))
            c = strchr(c, '(') + 1;
        const char *end = strait_source_double(&x, c);
        if (!end || !(x >= 0 && x <= max) || list->n == MAX_ITEMS)
            return strait_source_fail_line(s, err,
                                           "expected numbers from 0 to %g in a list that ends "
                                           "with \"]\", found \"%.20s\"",
                                           max, c);
        double *more = realloc(list->items, (list->n + 1) * sizeof(*more));
        if (!more)
            return strait_error_memory(err, s->path);
        list->items = more;
        list->items[list->n++] = x;
        c = end;
    }
    return 0;
}

struct log {
    struct list times, sizes;
    double forward_s; /* sum of the lines' means */
    size_t n_forward;
};

static int read_lines(struct log *log, struct strait_source *s, struct strait_error *err)
{
    char *line, *at;
    int more;
    while ((more = strait_source_line(s, &line, err)) > 0) {
        if ((at = strstr(line, TIMES)) &&
            read_list(&log->times, at + strlen(TIMES), 1e6, s, err) != 0)
            return -1;
        if ((at = strstr(line, SIZES)) &&
            read_list(&log->sizes, at + strlen(SIZES), 1e15, s, err) != 0)
            return -1;
        if ((at = strstr(line, FORWARD))) {
            const double x = strtod(at + strlen(FORWARD), NULL);
            if (!(x >= 0 && x < 1e6))
                return strait_source_fail_line(s, err, "expected seconds after \"%s\"", FORWARD);
            log->forward_s += x;
            log->n_forward++;
        }
    }
    if (more < 0)
        return -1;
    return log->times.n > 0 && log->times.n == log->sizes.n
               ? 0
               : strait_source_fail_line(s, err,
                                         "expected as many layerwise backward times as sizes, "
                                         "found %zu and %zu",
                                         log->times.n, log->sizes.n);
}

static int finish(struct log *log, struct strait_import *in, struct strait_error *err)
{
    struct strait_plain_layers layers = {0};
    double total = 0;
    int status = 0;
    const double forward_s = log->n_forward > 0 ? log->forward_s / (double)log->n_forward : 0;
    for (size_t i = 0; i < log->sizes.n; i++)
        total += log->sizes.items[i];
    for (size_t i = 0; i < log->sizes.n && status == 0; i++) {
        struct strait_plain_layer one = {.type = "Parameter", .bwd_s = log->times.items[i]};
        one.n_elems = log->sizes.items[i] < 1 ? 1 : log->sizes.items[i];
        one.fwd_s = total > 0 ? forward_s * log->sizes.items[i] / total : 0;
        snprintf(one.name, sizeof(one.name), "layer%zu", i);
        if (!strait_plain_layers_add(&layers, &one))
            status = strait_error_memory(err, in->path);
    }
    strait_import_fact(in, "tensors", json_integer((json_int_t)log->sizes.n));
    strait_import_missing(in, "names and shapes of layers: they are called by their place");
    strait_import_missing(in, "the optimiser's time, the batch and the device");
    if (log->n_forward > 0)
        strait_import_inferred(
            in, "the forward pass, the mean of %zu lines, is divided by elements", log->n_forward);
    else
        strait_import_missing(in,
                              "the forward pass: no line \"average forward (\"; it takes no time");
    if (status == 0)
        status = strait_plain_layers_finish(&layers, in, "a log of MG-WFBP, mean backward times",
                                            "accelerator", err);
    free(layers.items);
    return status;
}

static int read_all(struct strait_import *in, struct strait_source *s, struct strait_error *err)
{
    struct log log = {0};
    const int status = read_lines(&log, s, err) != 0 ? -1 : finish(&log, in, err);
    free(log.times.items);
    free(log.sizes.items);
    return status;
}

const struct strait_import_format strait_import_mgwfbp = {
    .name = "mgwfbp",
    .summary = "logs of MG-WFBP: backward times and sizes by layer",
    .source = "HKBU-HPML/MG-WFBP, profiling.py and distributed_optimizer.py",
    .sniff = sniff,
    .read = read_all,
};
