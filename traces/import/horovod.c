/* Horovod's timelines: each tensor is a process of the trace viewer; NEGOTIATE_... begins when a
 * first rank has it, the end of the call has its shape. Tells sizes, the order and times in which
 * tensors become ready, and what calls take; nothing of computing. */
#include <stdlib.h>
#include <string.h>

#include "core/heap.h"
#include "chrome.h"
#include "labels.h"
#include "layers.h"

static const char NEGOTIATE[] = "NEGOTIATE_";
enum { MAX_OPEN = 8, MAX_TENSORS = 100000 };

static bool sniff(const char *head, size_t n)
{
    (void)n;
    head += strspn(head, " \t\r\n");
    return *head == '[' && (strstr(head, "start_time_since_epoch_in_micros") ||
                            strstr(head, "\"NEGOTIATE_") || strstr(head, "CYCLE_START"));
}

struct tensor {
    char name[64];
    double n_elems;
    double *ready_us; /* of each negotiation */
    size_t n_ready, cap_ready;
    struct {
        char name[48];
        double start_us;
    } open[MAX_OPEN];
    int n_open;
    double offset_us; /* median of when it was ready, after the first of its iteration */
};

struct reader {
    struct strait_import *in;
    struct strait_labels lanes; /* pid > tensor + 1 */
    struct tensor *tensors;
    size_t n, cap;
    json_t *calls; /* {activity: {"calls", "time_s"}} */
};

static struct tensor *tensor_of(struct reader *r, const char *lane)
{
    int64_t at = strait_labels_find(&r->lanes, lane, strlen(lane));
    if (at >= 0)
        return &r->tensors[r->lanes.items[at].value];
    if (r->n == MAX_TENSORS)
        return NULL;
    if (r->n == r->cap) {
        const size_t cap = r->cap ? 2 * r->cap : 64;
        struct tensor *more = realloc(r->tensors, cap * sizeof(*more));
        if (!more)
            return NULL;
        r->tensors = more;
        r->cap = cap;
    }
    if (!strait_labels_put(&r->lanes, lane, strlen(lane), (uint32_t)r->n))
        return NULL;
    r->tensors[r->n] = (struct tensor){0};
    return &r->tensors[r->n++];
}

/* "[16, 2704]" or "16x2704": the product; 0: no shape. */
static double product_of(const char *shape)
{
    double n = 0;
    for (const char *c = shape + strcspn(shape, "0123456789"); *c;) {
        char *end;
        n = (n > 0 ? n : 1) * (double)strtoull(c, &end, 10);
        c = end + strcspn(end, "0123456789");
    }
    return n;
}

static bool keep_ready(struct tensor *t, double time_us)
{
    if (t->n_ready == t->cap_ready) {
        const size_t cap = t->cap_ready ? 2 * t->cap_ready : 16;
        double *more = realloc(t->ready_us, cap * sizeof(*more));
        if (!more)
            return false;
        t->ready_us = more;
        t->cap_ready = cap;
    }
    t->ready_us[t->n_ready++] = time_us;
    return true;
}

static void count_call(struct reader *r, const char *name, double time_us)
{
    json_t *entry = json_object_get(r->calls, name);
    if (!entry && json_object_size(r->calls) < 64) {
        entry = json_pack("{s:i, s:f}", "calls", 0, "time_s", 0.0);
        if (json_object_set_new(r->calls, name, entry) != 0)
            return; /* a name that is no UTF-8 is none of Horovod's */
    }
    if (!entry)
        return;
    json_object_set_new(entry, "calls",
                        json_integer(json_integer_value(json_object_get(entry, "calls")) + 1));
    json_object_set_new(
        entry, "time_s",
        json_real(json_real_value(json_object_get(entry, "time_s")) + time_us * 1e-6));
}

/* The timeline as a whole is process 0, and marks of cycles have none. */
static bool take(struct reader *r, const struct strait_chrome_event *e)
{
    const bool is_whole = e->lane[0] == '/' || (e->lane[0] == '0' && e->lane[1] == '/');
    struct tensor *t = is_whole ? NULL : tensor_of(r, e->lane);
    if (!t)
        return is_whole || r->n < MAX_TENSORS;
    if (e->phase == 'M' && strcmp(e->name, "process_name") == 0)
        snprintf(t->name, sizeof(t->name), "%.63s", e->arg_name);
    if (e->phase == 'B' && t->n_open < MAX_OPEN) {
        snprintf(t->open[t->n_open].name, sizeof(t->open[0].name), "%.47s", e->name);
        t->open[t->n_open++].start_us = e->start_us;
        if (strncmp(e->name, NEGOTIATE, strlen(NEGOTIATE)) == 0 && !keep_ready(t, e->start_us))
            return false;
    }
    if (e->phase == 'E' && t->n_open > 0) {
        t->n_open--;
        count_call(r, t->open[t->n_open].name, e->start_us - t->open[t->n_open].start_us);
        if (e->shape[0])
            t->n_elems = product_of(e->shape);
    }
    return true;
}

/* --- layers ------------------------------------------------------------------------------- */

/* Later ready, earlier in the model. */
static int by_offset(const void *a, const void *b)
{
    const struct tensor *x = a, *y = b;
    return (x->offset_us < y->offset_us) - (x->offset_us > y->offset_us);
}

/* Iteration k has the k-th negotiation of each tensor. */
static bool find_offsets(struct reader *r, size_t *n_iterations)
{
    size_t n = SIZE_MAX;
    for (size_t i = 0; i < r->n; i++)
        n = r->tensors[i].n_ready > 0 && r->tensors[i].n_ready < n ? r->tensors[i].n_ready : n;
    *n_iterations = n == SIZE_MAX ? 0 : n;
    double *first = malloc((*n_iterations + 1) * sizeof(*first));
    for (size_t k = 0; first && k < *n_iterations; k++) {
        first[k] = 1e300;
        for (size_t i = 0; i < r->n; i++)
            if (r->tensors[i].n_ready > k && r->tensors[i].ready_us[k] < first[k])
                first[k] = r->tensors[i].ready_us[k];
    }
    for (size_t i = 0; first && i<r->n && * n_iterations> 0; i++) {
        struct tensor *t = &r->tensors[i];
        if (t->n_ready == 0)
            continue;
        for (size_t k = 0; k < *n_iterations; k++)
            t->ready_us[k] -= first[k];
        strait_sort(t->ready_us, *n_iterations);
        t->offset_us = t->ready_us[*n_iterations / 2];
    }
    free(first);
    return first != NULL;
}

static int finish(struct reader *r, struct strait_error *err)
{
    struct strait_import *in = r->in;
    struct strait_plain_layers layers = {0};
    size_t n_iterations, n_shapes = 0;
    int status = 0;
    if (!find_offsets(r, &n_iterations))
        return strait_error_memory(err, in->path);
    if (r->n > 0)
        qsort(r->tensors, r->n, sizeof(*r->tensors), by_offset);
    for (size_t i = 0; i < r->n && status == 0; i++) {
        const struct tensor *t = &r->tensors[i];
        const double next_us = i + 1 < r->n ? t[1].offset_us : 0;
        struct strait_plain_layer one = {
            .type = "Parameter", .n_elems = t->n_elems, .bwd_s = (t->offset_us - next_us) * 1e-6};
        if (t->n_ready == 0 || t->n_elems < 1)
            continue;
        n_shapes++;
        memcpy(one.name, t->name, sizeof(one.name));
        if (!strait_plain_layers_add(&layers, &one))
            status = strait_error_memory(err, in->path);
    }
    strait_import_fact(in, "tensors", json_integer((json_int_t)r->n));
    strait_import_fact(in, "iterations", json_integer((json_int_t)n_iterations));
    strait_import_fact(in, "activities", json_incref(r->calls));
    if (n_shapes == 0) /* first: the reason why no table can be made */
        strait_import_missing(in, "shapes of tensors");
    strait_import_missing(in,
                          "forward passes, the optimiser and the device: the timeline has calls "
                          "alone; they take no time");
    if (n_shapes > 0) {
        strait_import_inferred(in,
                               "a tensor is ready when its negotiation begins; the first one of an "
                               "iteration at its backward pass' beginning");
        strait_import_inferred(in,
                               "what lies between two tensors that become ready is the second's "
                               "backward pass; the last one is the first of the model");
        status = status != 0
                     ? -1
                     : strait_plain_layers_finish(&layers, in, "a timeline of Horovod, medians",
                                                  "accelerator", err);
    }
    free(layers.items);
    return status;
}

static int read_all(struct strait_import *in, struct strait_source *s, struct strait_error *err)
{
    struct reader r = {.in = in, .calls = json_object()};
    struct strait_chrome c;
    struct strait_chrome_event e;
    int more;
    strait_chrome_begin(&c, s, err);
    while ((more = strait_chrome_next(&c, &e)) > 0)
        if (!take(&r, &e)) {
            more = strait_error_memory(err, s->path);
            break;
        }
    const int status = more < 0 ? -1 : finish(&r, err);
    if (strait_chrome_is_cut(&c))
        strait_import_missing(in, "the end: the file is cut off within an event");
    strait_chrome_release(&c);
    strait_labels_release(&r.lanes);
    for (size_t i = 0; i < r.n; i++)
        free(r.tensors[i].ready_us);
    free(r.tensors);
    json_decref(r.calls);
    return status;
}

const struct strait_import_format strait_import_horovod = {
    .name = "horovod",
    .summary = "timelines of Horovod: tensors, when they are ready, what calls take",
    .source = "horovod/horovod, horovod/common/timeline.cc",
    .sniff = sniff,
    .read = read_all,
};
