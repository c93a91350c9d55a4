/* Execution traces of PyTorch (ExecutionTraceObserver, "host ET"): {"schema": "1.1.0-chakra.0.0.4",
 * "nodes": [{"id", "name", "ctrl_deps", "inputs": {"shapes"}, "outputs": {"shapes"}, "attrs":
 * [{"name": "rf_id", "value": 3}, ...]}]}; up to 1.0.1 what is in "attrs" stands in the node, and
 * shapes are "input_shapes" and "output_shapes".
 *
 * There are no times. rf_id counts operations as they begin, and the file has them as they end. So
 * a clock that counts floating-point operations stands in: an operation lasts as long as the matrix
 * products and convolutions inside of it, and layers come about as those of a Kineto trace. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kineto.h"
#include "traces/import/pull_json.h"

enum { N_SHAPES = 4, MAX_SHAPE_DIMS = 8, NAME_CHARS = 192, SHORT_CHARS = 48 };
/* An rf_id is at most so far beyond the number of nodes: a few bytes must not ask for gigabytes. */
static const double MAX_SKIPPED = 1e6, MAX_EACH = 100;
/* So that what follows something begins later: this share of all, far below what counts and far
 * above what a double rounds. */
static const double TICK_RATIO = 1e-12;
enum { USER_SCOPE = 7 };               /* of c10's RecordScope: a note, no operation */
static const double FLOP_PER_S = 1e12; /* of the times that strait_model_set_device_rate replaces */

struct shape {
    unsigned n;
    double dims[MAX_SHAPE_DIMS];
};

struct node {
    char name[NAME_CHARS], lane[SHORT_CHARS];
    double begins, sequence, scope, n_elems, world; /* begins: rf_id; -1: none */
    struct shape in[N_SHAPES], out[1];
};

struct reader {
    struct strait_kineto k;
    struct strait_pull_json p;
    double *flop_at; /* by rf_id */
    double *last;    /* of each operation: the last rf_id inside of it */
    size_t cap_flop, cap_last;
    double most, n_elems, world; /* the largest rf_id; of the last message */
    size_t n_nodes;
    double flop;
};

static bool sniff(const char *head, size_t n)
{
    (void)n;
    head += strspn(head, " \t\r\n");
    return *head == '{' && strstr(head, "\"schema\"") && strstr(head, "\"nodes\"") &&
           (strstr(head, "\"ctrl_deps\"") || strstr(head, "\"rf_id\""));
}

/* --- floating-point operations ------------------------------------------------------------ */

static double product(const struct shape *s, unsigned from)
{
    double all = s->n > from ? 1 : 0;
    for (unsigned i = from; i < s->n; i++)
        all *= s->dims[i];
    return all;
}

/* Two for a multiply-add: (m x k)(k x n) has 2 m k n, and so has each of a batch. */
static double product_flop(const struct shape *a, const struct shape *b)
{
    return a->n >= 2 && a->n == b->n ? 2 * product(a, 0) * b->dims[b->n - 1] : 0;
}

/* Of operations that do nothing but products; the ones around them have theirs inside. The backward
 * pass of fused attention has five products where the forward pass has two (Dao et al. 2022). */
static double flop_of(const struct node *o)
{
    const char *name = o->name;
    const struct shape *in = o->in, *out = o->out;
    if (strcmp(name, "aten::mm") == 0 || strcmp(name, "aten::bmm") == 0)
        return product_flop(&in[0], &in[1]);
    if (strcmp(name, "aten::addmm") == 0 || strcmp(name, "aten::baddbmm") == 0)
        return product_flop(&in[1], &in[2]);
    if (strcmp(name, "aten::convolution") == 0)
        return 2 * product(&out[0], 0) * product(&in[1], 1);
    if (strcmp(name, "aten::convolution_backward") == 0) /* weight's, and input's where asked for */
        return (out[0].n > 1 ? 4 : 2) * product(&in[0], 0) * product(&in[2], 1);
    const bool is_attention =
        strncmp(name, "aten::_scaled_dot_product_", 26) == 0 && in[0].n == 4 && in[1].n == 4;
    if (is_attention && !strstr(name, "backward")) /* B x heads x L x D, and S keys */
        return 4 * product(&in[0], 0) * in[1].dims[2];
    if (is_attention && in[2].n == 4) /* the gradient, queries, keys */
        return 10 * product(&in[1], 0) * in[2].dims[2];
    return 0;
}

/* --- JSON --------------------------------------------------------------------------------- */

/* One shape, [512, 1024]; of a list of tensors, which has shapes inside, the first. */
static int take_shape(struct reader *r, struct shape *s)
{
    enum strait_pull piece;
    int depth = 1;
    while (depth > 0) {
        piece = strait_pull_next(&r->p);
        if (piece == STRAIT_PULL_ERROR)
            return -1;
        depth += (piece == STRAIT_PULL_ARRAY) - (piece == STRAIT_PULL_ARRAY_END);
        if (piece == STRAIT_PULL_NUMBER && depth == 1 && s->n < MAX_SHAPE_DIMS)
            s->dims[s->n++] = fmax(0, strait_pull_number(&r->p));
        else if (piece == STRAIT_PULL_OBJECT || piece == STRAIT_PULL_STRING)
            return strait_pull_fail(&r->p, "a shape");
    }
    return 0;
}

static int take_shapes(struct reader *r, struct shape *s, size_t n)
{
    enum strait_pull piece = strait_pull_next(&r->p);
    if (piece != STRAIT_PULL_ARRAY)
        return piece == STRAIT_PULL_ERROR ? -1 : strait_pull_skip(&r->p, piece);
    for (size_t i = 0; (piece = strait_pull_next(&r->p)) == STRAIT_PULL_ARRAY; i++) {
        struct shape rest = {0};
        if (take_shape(r, i < n ? &s[i] : &rest) != 0)
            return -1;
    }
    return piece == STRAIT_PULL_ARRAY_END ? 0
           : piece == STRAIT_PULL_ERROR   ? -1
                                          : strait_pull_fail(&r->p, "shapes");
}

/* {"values": ..., "shapes": [...]}, or an array of values up to 1.0.1. */
static int take_tensors(struct reader *r, struct shape *s, size_t n)
{
    enum strait_pull piece = strait_pull_next(&r->p);
    if (piece != STRAIT_PULL_OBJECT)
        return piece == STRAIT_PULL_ERROR ? -1 : strait_pull_skip(&r->p, piece);
    while ((piece = strait_pull_next(&r->p)) == STRAIT_PULL_KEY)
        if ((strcmp(r->p.text, "shapes") == 0 ? take_shapes(r, s, n)
                                              : strait_pull_skip_next(&r->p)) != 0)
            return -1;
    return piece == STRAIT_PULL_ERROR ? -1 : 0;
}

static void take_number(struct node *o, const char *key, double value)
{
    if (strcmp(key, "rf_id") == 0)
        o->begins = value;
    else if (strcmp(key, "seq_id") == 0)
        o->sequence = value;
    else if (strcmp(key, "tid") == 0)
        snprintf(o->lane, sizeof(o->lane), "%.0f", value);
    else if (strcmp(key, "scope") == 0)
        o->scope = value;
    else if (strcmp(key, "in_msg_nelems") == 0)
        o->n_elems = value;
    else if (strcmp(key, "pg_size") == 0)
        o->world = value;
}

/* [{"name": "rf_id", "type": "uint64", "value": 3}, ...] */
static int take_attributes(struct reader *r, struct node *o)
{
    enum strait_pull piece = strait_pull_next(&r->p);
    if (piece != STRAIT_PULL_ARRAY)
        return piece == STRAIT_PULL_ERROR ? -1 : strait_pull_fail(&r->p, "an array of attributes");
    while ((piece = strait_pull_next(&r->p)) == STRAIT_PULL_OBJECT) {
        char name[SHORT_CHARS] = "", key[SHORT_CHARS];
        double value = NAN;
        while ((piece = strait_pull_next(&r->p)) == STRAIT_PULL_KEY) {
            snprintf(key, sizeof(key), "%.47s", r->p.text);
            piece = strait_pull_next(&r->p);
            if (piece == STRAIT_PULL_STRING && strcmp(key, "name") == 0)
                snprintf(name, sizeof(name), "%.47s", r->p.text);
            else if (piece == STRAIT_PULL_NUMBER && strcmp(key, "value") == 0)
                value = strait_pull_number(&r->p);
            if (strait_pull_skip(&r->p, piece) != 0)
                return -1;
        }
        if (piece != STRAIT_PULL_OBJECT_END)
            return -1;
        if (isfinite(value))
            take_number(o, name, value);
    }
    return piece == STRAIT_PULL_ARRAY_END ? 0
           : piece == STRAIT_PULL_ERROR   ? -1
                                          : strait_pull_fail(&r->p, "an attribute");
}

static int take_field(struct reader *r, struct node *o)
{
    char key[SHORT_CHARS];
    snprintf(key, sizeof(key), "%.47s", r->p.text);
    if (strcmp(key, "inputs") == 0)
        return take_tensors(r, o->in, N_SHAPES);
    if (strcmp(key, "outputs") == 0)
        return take_tensors(r, o->out, 1);
    if (strcmp(key, "input_shapes") == 0)
        return take_shapes(r, o->in, N_SHAPES);
    if (strcmp(key, "output_shapes") == 0)
        return take_shapes(r, o->out, 1);
    if (strcmp(key, "attrs") == 0)
        return take_attributes(r, o);
    const enum strait_pull piece = strait_pull_next(&r->p);
    if (piece == STRAIT_PULL_STRING && strcmp(key, "name") == 0)
        snprintf(o->name, sizeof(o->name), "%.191s", r->p.text);
    else if (piece == STRAIT_PULL_NUMBER)
        take_number(o, key, strait_pull_number(&r->p));
    return strait_pull_skip(&r->p, piece);
}

/* --- nodes -------------------------------------------------------------------------------- */

static bool grow(double **items, size_t *cap, size_t n)
{
    if (n < *cap)
        return true;
    const size_t more = n + n / 2 + 4096;
    double *p = realloc(*items, more * sizeof(*p));
    if (!p)
        return false;
    memset(p + *cap, 0, (more - *cap) * sizeof(*p));
    *items = p;
    *cap = more;
    return true;
}

static void put_dims(char *text, size_t cap, const struct shape *s)
{
    *text = '\0';
    for (unsigned i = 0; i < s->n; i++) {
        const size_t n = strlen(text);
        snprintf(text + n, cap - n, "%s%.0f", i > 0 ? "x" : "", s->dims[i]);
    }
}

static const char evaluate[] = "autograd::engine::evaluate_function: ";

/* Keep an operation. What is inside of it came before, and began last of all in its thread; marks
 * of iterations hold what began in any. The node that the autograd engine runs has the number of
 * its forward operation, and stands inside of what runs it. */
static bool keep(struct reader *r, const struct node *o)
{
    struct strait_kineto *k = &r->k;
    char dims[STRAIT_MAX_DIMS * 24];
    put_dims(dims, sizeof(dims), &o->in[0]);
    const bool runs = strncmp(o->name, evaluate, strlen(evaluate)) == 0;
    const uint32_t name = strait_kineto_label(&k->labels, o->name),
                   node = strait_kineto_label(&k->labels, o->name + (runs ? strlen(evaluate) : 0)),
                   lane = strait_kineto_label(&k->lanes, o->lane),
                   its_dims = strait_kineto_label(&k->labels, dims);
    if (name == UINT32_MAX || node == UINT32_MAX || lane > UINT16_MAX || its_dims == UINT32_MAX ||
        !grow(&r->flop_at, &r->cap_flop, (size_t)o->begins + 2) ||
        !grow(&r->last, &r->cap_last, k->n_ops + 1))
        return false;
    uint32_t *const in_lane = &k->lanes.items[lane].value;
    *in_lane = o->begins > *in_lane ? (uint32_t)o->begins : *in_lane;
    r->most = fmax(r->most, o->begins);
    if (!runs && o->sequence >= 0)
        k->labels.items[node].value = (uint32_t)fmin(o->sequence, UINT32_MAX - 2) + 1;
    struct strait_kineto_op op = {.sequence = k->labels.items[node].value,
                                  .start_us = o->begins,
                                  .name = name,
                                  .dims = its_dims,
                                  .lane = (uint16_t)lane,
                                  .kind = (uint8_t)strait_kineto_kind_of(o->name)};
    if (!runs && !(o->sequence >= 0))
        op.sequence = 0;
    op.id = (uint32_t)o->begins; /* as it breaks ties */
    if (op.kind == STRAIT_KINETO_OP && o->scope == USER_SCOPE)
        return true;
    r->last[k->n_ops] = op.kind >= STRAIT_KINETO_ITERATION ? r->most : *in_lane;
    r->flop_at[(size_t)o->begins] = flop_of(o);
    return strait_kineto_add(k, &op);
}

/* record_param_comms says what was sent, and stands inside of "nccl:all_reduce". */
static bool take_message(struct reader *r, const struct node *o)
{
    if (strcmp(o->name, "record_param_comms") == 0) {
        r->n_elems = o->n_elems;
        r->world = fmax(r->world, o->world);
        return false;
    }
    if (strncmp(o->name, "nccl:", 5) != 0 && strncmp(o->name, "gloo:", 5) != 0)
        return false;
    strait_kineto_count(&r->k, o->name, r->n_elems, 0);
    r->n_elems = -1;
    return true;
}

static int take_nodes(struct reader *r)
{
    enum strait_pull piece = strait_pull_next(&r->p);
    if (piece != STRAIT_PULL_ARRAY)
        return piece == STRAIT_PULL_ERROR ? -1 : strait_pull_fail(&r->p, "an array of nodes");
    while ((piece = strait_pull_next(&r->p)) == STRAIT_PULL_OBJECT) {
        struct node o = {.begins = -1, .sequence = -1, .scope = -1, .n_elems = -1, .world = -1};
        while ((piece = strait_pull_next(&r->p)) == STRAIT_PULL_KEY)
            if (take_field(r, &o) != 0)
                return -1;
        if (piece != STRAIT_PULL_OBJECT_END)
            return -1;
        r->n_nodes++;
        if (!(o.begins <= MAX_SKIPPED + MAX_EACH * (double)r->n_nodes))
            return strait_pull_fail(&r->p, "an rf_id that counts nodes");
        if (o.begins > 0 && *o.name && !take_message(r, &o) && !keep(r, &o))
            return strait_pull_fail(&r->p, "enough memory");
    }
    return piece == STRAIT_PULL_ARRAY_END ? 0
           : piece == STRAIT_PULL_ERROR   ? -1
                                          : strait_pull_fail(&r->p, "a node");
}

/* --- from counts to layers ---------------------------------------------------------------- */

/* Operations begin when all that began before has been counted, in microseconds at FLOP_PER_S. */
static void set_clock(struct reader *r)
{
    double us = 0;
    for (size_t i = 0; i < r->cap_flop; i++)
        r->flop += r->flop_at[i];
    const double tick_us = fmax(r->flop, 1) * 1e6 / FLOP_PER_S * TICK_RATIO;
    for (size_t i = 0; i < r->cap_flop; i++) {
        const double flop = r->flop_at[i];
        r->flop_at[i] = us;
        us += 1e6 * flop / FLOP_PER_S + tick_us;
    }
    for (size_t i = 0; i < r->k.n_ops; i++) {
        struct strait_kineto_op *op = &r->k.ops[i];
        op->start_us = r->flop_at[(size_t)op->start_us];
        op->end_us = r->flop_at[(size_t)r->last[i] + 1];
    }
}

static void describe(struct strait_import *in)
{
    struct strait_model *m = in->model;
    if (!m)
        return;
    free(in->iters); /* counts, not times */
    in->iters = NULL;
    m->opt_s = 0;
    m->device_flop_per_s = FLOP_PER_S;
    m->timing = STRAIT_TIMING_STATED_FLOPS;
    m->on_cpu = false;
    m->fwd_flop_per_sample = m->batch > 0 ? m->fwd_s * FLOP_PER_S / m->batch : 0;
    snprintf(m->device, sizeof(m->device), "a device of 1 TFLOP/s");
    snprintf(m->timing_source, sizeof(m->timing_source),
             "products and convolutions of an execution trace at 1 TFLOP/s");
    strait_import_missing(
        in, "times: an execution trace has none; layers take their products and "
            "convolutions at 1 TFLOP/s, or as strait trace import --rate or --step says");
}

static int finish(struct reader *r, struct strait_error *err)
{
    struct strait_import *in = r->k.in;
    set_clock(r);
    strait_import_fact(in, "nodes", json_integer((json_int_t)r->n_nodes));
    strait_import_fact(in, "operations", json_integer((json_int_t)r->k.n_ops));
    strait_import_fact(in, "flop", json_real(r->flop));
    if (r->world > 0)
        strait_import_fact(in, "world_size", json_integer((json_int_t)r->world));
    strait_import_fact(in, "collectives", json_incref(r->k.collectives));
    const int status = strait_kineto_layers(&r->k, err);
    if (status == 0)
        describe(in);
    return status;
}

static int read_all(struct strait_import *in, struct strait_source *s, struct strait_error *err)
{
    struct reader r = {.k = {.in = in, .collectives = json_object(), .counts_flop = true},
                       .n_elems = -1,
                       .world = -1};
    strait_pull_begin(&r.p, s, false, err);
    enum strait_pull piece = strait_pull_next(&r.p);
    int status = piece == STRAIT_PULL_OBJECT  ? 0
                 : piece == STRAIT_PULL_ERROR ? -1
                                              : strait_pull_fail(&r.p, "an object");
    while (status == 0 && (piece = strait_pull_next(&r.p)) == STRAIT_PULL_KEY)
        status = strcmp(r.p.text, "nodes") == 0 ? take_nodes(&r) : strait_pull_skip_next(&r.p);
    if (status == 0)
        status = piece == STRAIT_PULL_OBJECT_END && strait_pull_next(&r.p) == STRAIT_PULL_END
                     ? finish(&r, err)
                     : -1;
    strait_pull_release(&r.p);
    free(r.flop_at);
    free(r.last);
    strait_kineto_release(&r.k);
    return status;
}

const struct strait_import_format strait_import_pytorch_et = {
    .name = "pytorch-et",
    .summary = "execution traces of PyTorch (host ET), also gzip",
    .source = "pytorch, execution_trace_observer.cpp",
    .sniff = sniff,
    .read = read_all,
};
