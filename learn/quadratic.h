/* What a worker of the task `quadratic` minimises, element by element: for closed forms. */
#pragma once
#include "learn_network.h"

/** h_ki of quadratic.c */
double strait_quadratic_curvature(const struct strait_learn *l, int worker, size_t i);
/** c_ki */
double strait_quadratic_centre(const struct strait_learn *l, int worker, size_t i);
