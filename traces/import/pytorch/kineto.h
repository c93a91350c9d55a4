/* Inside this room: what is kept of a Kineto trace's events (kineto.c), the iterations that it has
 * (kineto_iterations.c), and the layers that are made of them (kineto_layers.c). */
#pragma once
#include "traces/import/imported.h"
#include "traces/import/labels.h"

enum strait_kineto_kind {
    STRAIT_KINETO_OP,         /* of the host: forward, or inside of another one */
    STRAIT_KINETO_BACKWARD,   /* the autograd engine runs a node */
    STRAIT_KINETO_ACCUMULATE, /* the same, of a parameter's gradient */
    STRAIT_KINETO_ITERATION,  /* ProfilerStep#N */
    STRAIT_KINETO_OPTIMISER   /* Optimizer.step#NAME */
};

struct strait_kineto_op {
    double start_us, end_us;
    uint32_t sequence;   /* + 1; 0: none */
    uint32_t name, dims; /* items of the labels */
    uint32_t id;         /* External id; 0: none */
    uint32_t top;        /* the outermost operation that it is inside of; itself if none */
    uint16_t lane;       /* item of the lanes */
    uint8_t kind;
};

/* What the kernels did that an operation, or what it called, started. */
struct strait_kineto_gpu {
    double us, start_us, end_us; /* us 0: none */
};

struct strait_kineto_kernel {
    double start_us, end_us;
    uint32_t id;    /* of the operation that started it, or */
    bool by_launch; /* of the call that did */
};

struct strait_kineto_launch { /* a call of the host that starts a kernel, by its correlation */
    double at_us;
    uint32_t id;
    uint16_t lane;
};

struct strait_kineto {
    struct strait_import *in;
    struct strait_labels labels, lanes;
    struct strait_labels ids, launched; /* External id, correlation > outermost operation */
    struct strait_kineto_op *ops;
    size_t n_ops, cap_ops;
    struct strait_kineto_gpu *gpu; /* of each operation; NULL: the trace has no kernels */
    struct strait_kineto_kernel *kernels;
    size_t n_kernels, cap_kernels;
    struct strait_kineto_launch *launches;
    size_t n_launches, cap_launches;
    json_t *collectives;
    bool counts_flop; /* the times are floating-point operations (execution_trace.c) */
};

/** The number of a text; UINT32_MAX: memory ran out. */
uint32_t strait_kineto_label(struct strait_labels *l, const char *text);
/** What an operation of this name is. */
enum strait_kineto_kind strait_kineto_kind_of(const char *name);
/** Append an operation. False when memory runs out. */
bool strait_kineto_add(struct strait_kineto *k, const struct strait_kineto_op *op);
/** Count a call of NCCL's kernels or of Gloo's and NCCL's operations, by name.
 *  In:      n_elems  that it sends; -1: unknown */
void strait_kineto_count(struct strait_kineto *k, const char *name, double n_elems, double us);
void strait_kineto_release(struct strait_kineto *k);

/* One gradient of one iteration. */
struct strait_kineto_gradient {
    uint32_t of;   /* forward operation */
    uint32_t dims; /* label */
    size_t layer;  /* place among the layers */
    double ready_us;
};

struct strait_kineto_iteration {
    double from_us, to_us;
    uint32_t *layers; /* forward operations, in their order */
    size_t n_layers;
    double *fwd_us, *bwd_us; /* of each layer */
    struct strait_kineto_gradient *gradients;
    size_t n_gradients;
    double total_us[3]; /* forward, backward, optimiser */
};

struct strait_kineto_maker {
    struct strait_kineto *k;
    uint32_t *tops; /* outermost operations, by their start */
    size_t n_tops;
    uint32_t *steps; /* of the optimiser */
    size_t n_steps;
    struct strait_labels forward; /* sequence number > outermost forward operation */
    struct strait_kineto_iteration *all;
    size_t n_all;
    bool has_marks;
};

/** Find outermost operations and iterations, and read all of these. False when memory runs out. */
bool strait_kineto_iterations(struct strait_kineto_maker *m);
/** Keep the iterations that are like the first with gradients. Returns how many others had any. */
size_t strait_kineto_keep_alike(struct strait_kineto_maker *m);
void strait_kineto_iteration_release(struct strait_kineto_iteration *it);

/** Make layers of all iterations, in in->model; none if no gradient was made.
 *  Returns: 0, or -1 with *err */
int strait_kineto_layers(struct strait_kineto *k, struct strait_error *err);
