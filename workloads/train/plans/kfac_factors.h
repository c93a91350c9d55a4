/* K-FAC's Kronecker factors of a model and the cost of their work: pure functions of the layer
 * table. A layer has an input factor A and an output factor G (Martens and Grosse, ICML 2015;
 * Grosse and Martens, ICML 2016 for convolutions) if its type begins with Linear or Conv and it has
 * a weight [out, in, ...]. A has in x kernel rows, plus one if there is a bias; G has out. Both are
 * symmetric: only the triangle, d (d + 1) / 2 elements, is stored and sent. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "traces/models/model.h"
#include "workloads/ask/measured.h"

/* T_inv(d) = base e^(growth d) + cubic d^3, or as measured; and speeds of the other products. */
struct strait_factor_costs {
    double factor_speed;      /* speed of A = a'a and G = g'g relative to the layer's forward */
    double matrix_flop_per_s; /* of G^-1 dW A^-1; 0: of the table, see factors.c */
    double inverse_base_s, inverse_growth, inverse_cubic_s;
    const struct strait_measured
        *inverse_s;     /* measured, by dimension, in place of the formula; NULL or empty: none */
    size_t largest_dim; /* layers with a larger factor are not preconditioned */
};

struct strait_factor {
    int layer;             /* of the model */
    bool of_input;         /* A; else G */
    size_t dim, n_elems;   /* n_elems: of the triangle */
    double compute_s;      /* for this rank's batch */
    double inverse_s;      /* to invert it */
    double precondition_s; /* of the layer, once: stored in A, 0 in G */
    double ready_s; /* from the start of forward, if A is made before a layer's forward and G after
                       its backward */
};

size_t strait_triangle(size_t dim);
double strait_inverse_s(const struct strait_factor_costs *c, size_t dim);
/** How many layers have factors. */
int strait_n_factor_layers(const struct strait_model *m, size_t largest_dim);
/** Fill all 2 n_layers factors: first the A in the order of the forward pass, then the G in that of
 *  the backward pass, so that i and 2 n_layers - 1 - i belong to one layer. */
void strait_factors_of(struct strait_factor *all, const struct strait_model *m,
                       const struct strait_factor_costs *c);
