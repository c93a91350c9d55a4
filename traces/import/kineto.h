/* Inside this room: what a Kineto trace keeps of its events, and the layers that are made of it. */
#pragma once
#include "import.h"
#include "labels.h"

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

struct strait_kineto {
    struct strait_import *in;
    struct strait_labels labels, lanes, ids; /* ids: External id > op */
    struct strait_kineto_op *ops;
    size_t n_ops, cap_ops;
    struct strait_kineto_gpu *gpu; /* of each operation; NULL: the trace has no kernels */
    struct strait_kineto_kernel {
        double start_us, end_us;
        uint32_t id;
    } * kernels;
    size_t n_kernels, cap_kernels;
    json_t *collectives;
};

/** Make layers of all iterations, in in->model; none if no gradient was made.
 *  Returns: 0, or -1 with *err */
int strait_kineto_layers(struct strait_kineto *k, struct strait_error *err);
