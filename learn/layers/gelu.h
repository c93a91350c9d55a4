/* GELU by tanh (Hendrycks and Gimpel, arXiv 1606.08415; GPT-2's). */
#pragma once
#include <stddef.h>

void learn_gelu(float *y, const float *x, size_t n);
/** dy becomes dx. */
void learn_gelu_back(float *dy, const float *x, size_t n);
