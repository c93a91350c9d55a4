/* K-FAC's Kronecker factors of a model, and what their work costs: pure functions of the layer
 * table. A layer with input factor A and output factor G (Martens and Grosse, ICML 2015; Grosse and
 * Martens, ICML 2016 for convolutions) is one whose type begins with Linear or Conv and that has a
 * weight [out, in, ...]: A has in x kernel rows and one more where there is a bias, G has out. Both
 * are symmetric: what is kept and sent is the triangle, d (d + 1) / 2 elements. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "traces/models/model.h"
#include "workloads/ask/measured.h"

/* T_inv(d) = base e^(growth d) + cubic d^3 or as measured, and how fast the other products go. */
struct strait_factor_costs {
    double factor_speed;      /* rate of A = a'a and G = g'g over that of the layer's own forward */
    double matrix_flop_per_s; /* of G^-1 dW A^-1; 0: strait_matrix_flop_per_s */
    double inverse_base_s, inverse_growth, inverse_cubic_s;
    const struct strait_measured
        *inverse_s;     /* by dimension, in place of these; NULL or empty: none */
    size_t largest_dim; /* layers with a larger factor keep their plain gradient */
};

struct strait_factor {
    int layer;             /* of the model */
    bool of_input;         /* A; else G */
    size_t dim, n_elems;   /* n_elems: of the triangle */
    double compute_s;      /* of this rank's batch */
    double inverse_s;      /* its triangle inverted */
    double precondition_s; /* of the layer, once: in A, 0 in G */
    double ready_s; /* from the start of forward, if A is made before a layer's forward and G after
                       its backward */
};

size_t strait_triangle(size_t dim);
double strait_inverse_s(const struct strait_factor_costs *c, size_t dim);
/** Batch x forward FLOPs over forward time where the model's table knows FLOPs; else a stated
 *  rate of its device (see factors.c). */
double strait_matrix_flop_per_s(const struct strait_model *m);
/** How many layers have factors. */
int strait_n_factor_layers(const struct strait_model *m, size_t largest_dim);
/** Fill all 2 n_layers factors: the A of layers in the order of the forward pass, then the G in
 *  that of the backward pass, so that i and 2 n_layers - 1 - i belong to one layer. */
void strait_factors_of(struct strait_factor *all, const struct strait_model *m,
                       const struct strait_factor_costs *c);
