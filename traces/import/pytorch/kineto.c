/* Kineto traces of PyTorch's profiler: reading. Of an event nothing is kept but what its layers
 * need; of kernels their times. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/import/chrome.h"
#include "kineto.h"

static const char EVALUATE[] = "autograd::engine::evaluate_function: ";
static const char ACCUMULATE[] = "torch::autograd::AccumulateGrad";

static bool sniff(const char *head, size_t n)
{
    (void)n;
    head += strspn(head, " \t\r\n");
    if (*head != '{' && *head != '[')
        return false;
    return strstr(head, "\"traceEvents\"") || strstr(head, "\"schemaVersion\"") ||
           strstr(head, "\"deviceProperties\"") || strstr(head, "\"distributedInfo\"") ||
           (*head == '[' && strstr(head, "\"aten::"));
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool grow(void **items, size_t *cap, size_t n, size_t size)
{
    if (n < *cap)
        return true;
    const size_t more = *cap ? *cap + *cap / 2 : 4096;
    void *p = more < UINT32_MAX ? realloc(*items, more * size) : NULL;
    if (!p)
        return false;
    *items = p;
    *cap = more;
    return true;
}

uint32_t strait_kineto_label(struct strait_labels *l, const char *text)
{
    const int64_t known = strait_labels_find(l, text, strlen(text));
    if (known >= 0)
        return (uint32_t)known;
    return strait_labels_put(l, text, strlen(text), 0) ? (uint32_t)l->n - 1 : UINT32_MAX;
}

enum strait_kineto_kind strait_kineto_kind_of(const char *name)
{
    if (begins(name, "ProfilerStep"))
        return STRAIT_KINETO_ITERATION;
    if (begins(name, "Optimizer.step"))
        return STRAIT_KINETO_OPTIMISER;
    if (begins(name, EVALUATE))
        return begins(name + strlen(EVALUATE), ACCUMULATE) ? STRAIT_KINETO_ACCUMULATE
                                                           : STRAIT_KINETO_BACKWARD;
    return STRAIT_KINETO_OP;
}

static uint32_t number(double x)
{
    return x > 0 && x < UINT32_MAX ? (uint32_t)x : 0;
}

bool strait_kineto_add(struct strait_kineto *k, const struct strait_kineto_op *op)
{
    if (!grow((void **)&k->ops, &k->cap_ops, k->n_ops, sizeof(*op)))
        return false;
    k->ops[k->n_ops++] = *op;
    return true;
}

static bool keep_op(struct strait_kineto *k, const struct strait_chrome_event *e)
{
    const uint32_t lane = strait_kineto_label(&k->lanes, e->lane);
    struct strait_kineto_op op = {.start_us = e->start_us,
                                  .end_us = e->start_us + e->duration_us,
                                  .sequence = number(e->sequence + 1),
                                  .name = strait_kineto_label(&k->labels, e->name),
                                  .dims = strait_kineto_label(&k->labels, e->dims),
                                  .lane = (uint16_t)lane,
                                  .id = number(e->external_id),
                                  .kind = (uint8_t)strait_kineto_kind_of(e->name)};
    return lane <= UINT16_MAX && op.name != UINT32_MAX && op.dims != UINT32_MAX &&
           strait_kineto_add(k, &op);
}

/* PyTorch up to about 2.1 writes the correlation of a kernel and its launch as their External id
 * too, which may be by chance that of an operation that has nothing to do with them. */
static bool has_no_operation(const struct strait_chrome_event *e)
{
    return e->correlation > 0 && (e->external_id < 0 || e->external_id == e->correlation);
}

static bool keep_kernel(struct strait_kineto *k, const struct strait_chrome_event *e)
{
    const bool by_launch = has_no_operation(e);
    const uint32_t id = number(by_launch ? e->correlation : e->external_id);
    if (id == 0)
        return true;
    if (!grow((void **)&k->kernels, &k->cap_kernels, k->n_kernels, sizeof(*k->kernels)))
        return false;
    k->kernels[k->n_kernels++] =
        (struct strait_kineto_kernel){e->start_us, e->start_us + e->duration_us, id, by_launch};
    return true;
}

static bool keep_launch(struct strait_kineto *k, const struct strait_chrome_event *e)
{
    const uint32_t lane = strait_kineto_label(&k->lanes, e->lane);
    if (lane > UINT16_MAX ||
        !grow((void **)&k->launches, &k->cap_launches, k->n_launches, sizeof(*k->launches)))
        return false;
    k->launches[k->n_launches++] =
        (struct strait_kineto_launch){e->start_us, number(e->correlation), (uint16_t)lane};
    return true;
}

void strait_kineto_count(struct strait_kineto *k, const char *name, double n_elems, double us)
{
    json_t *entry = json_object_get(k->collectives, name);
    if (!entry && json_object_size(k->collectives) < 64) {
        entry = json_pack("{s:i, s:f, s:f}", "calls", 0, "elements", 0.0, "time_s", 0.0);
        if (json_object_set_new(k->collectives, name, entry) != 0)
            return; /* a name that is no UTF-8 is none of theirs */
    }
    if (!entry)
        return;
    const json_int_t calls = json_integer_value(json_object_get(entry, "calls"));
    const double elems = json_real_value(json_object_get(entry, "elements")),
                 time_s = json_real_value(json_object_get(entry, "time_s"));
    json_object_set_new(entry, "calls", json_integer(calls + 1));
    json_object_set_new(entry, "elements", json_real(elems + (n_elems > 0 ? n_elems : 0)));
    json_object_set_new(entry, "time_s", json_real(time_s + us * 1e-6));
}

static bool keep(struct strait_kineto *k, const struct strait_chrome_event *e)
{
    if (e->phase != 'X')
        return true;
    const bool is_kernel = strcmp(e->category, "kernel") == 0 || begins(e->category, "gpu_mem"),
               is_collective = (is_kernel && begins(e->name, "nccl")) || begins(e->name, "gloo:") ||
                               begins(e->name, "nccl:");
    if (is_collective)
        strait_kineto_count(k, e->collective[0] ? e->collective : e->name, e->n_elems,
                            e->duration_us);
    if (is_kernel)
        return is_collective || keep_kernel(k, e);
    if (is_collective)
        return true;
    const bool is_launch = strstr(e->category, "_runtime") || strstr(e->category, "_driver") ||
                           strcmp(e->category, "Runtime") == 0;
    if (is_launch)
        return !has_no_operation(e) || keep_launch(k, e);
    const bool is_op = e->category[0] == '\0' || strcmp(e->category, "cpu_op") == 0 ||
                       strcmp(e->category, "Operator") == 0,
               is_note = strcmp(e->category, "user_annotation") == 0;
    return is_op || (is_note && strait_kineto_kind_of(e->name) >= STRAIT_KINETO_ITERATION)
               ? keep_op(k, e)
               : true;
}

static void say(struct strait_kineto *k, const struct strait_chrome *c, size_t n_events)
{
    strait_import_fact(k->in, "events", json_integer((json_int_t)n_events));
    strait_import_fact(k->in, "operations", json_integer((json_int_t)k->n_ops));
    strait_import_fact(k->in, "kernels", json_integer((json_int_t)k->n_kernels));
    if (c->world > 0) {
        strait_import_fact(k->in, "rank", json_integer((json_int_t)c->rank));
        strait_import_fact(k->in, "world_size", json_integer((json_int_t)c->world));
        strait_import_fact(k->in, "backend", json_string(c->backend));
    }
    strait_import_fact(k->in, "collectives", json_incref(k->collectives));
}

void strait_kineto_release(struct strait_kineto *k)
{
    strait_labels_release(&k->labels);
    strait_labels_release(&k->lanes);
    strait_labels_release(&k->ids);
    strait_labels_release(&k->launched);
    free(k->launches);
    free(k->gpu);
    free(k->ops);
    free(k->kernels);
    json_decref(k->collectives);
}

static int read_all(struct strait_import *in, struct strait_source *s, struct strait_error *err)
{
    struct strait_kineto k = {.in = in, .collectives = json_object()};
    struct strait_chrome c;
    struct strait_chrome_event e;
    size_t n_events = 0;
    int more;
    strait_chrome_begin(&c, s, err);
    while ((more = strait_chrome_next(&c, &e)) > 0) {
        n_events++;
        if (!keep(&k, &e)) {
            more = strait_error_memory(err, s->path);
            break;
        }
    }
    int status = more;
    if (status == 0) {
        say(&k, &c, n_events);
        status = strait_kineto_layers(&k, err);
    }
    if (strait_chrome_is_cut(&c))
        strait_import_missing(in, "the end: the file is cut off within an event");
    strait_chrome_release(&c);
    strait_kineto_release(&k);
    return status;
}

const struct strait_import_format strait_import_kineto = {
    .name = "kineto",
    .summary = "profiles of PyTorch (Kineto, Chrome's trace format), also gzip",
    .source = "pytorch/kineto, libkineto/src/output_json.cpp",
    .sniff = sniff,
    .read = read_all,
};
