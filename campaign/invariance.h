/* Whether an emulated point takes as long at twice the dilation: if not, the host distorted it. */
#pragma once
#include <jansson.h>

/** The dilation that a row was emulated at. */
double strait_invariance_dilation(const json_t *row);
/** Compare the median rounds of a row and of the same point at twice its dilation. The row gets
 *  "invariance", and becomes INVALID where they differ by more than 2 % or the second is INVALID
 *  itself. */
void strait_invariance_note(json_t *row, const json_t *again);
