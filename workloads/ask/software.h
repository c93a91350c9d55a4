/* Constants of named software (named.h): which of them an experiment uses, and where each was
 * estimated. */
#pragma once
#include "experiment.h"

/** The constants of its software that the strategy takes from there, above 0.
 *  Returns: new object {name: {value, model, device, figures, error, own}}: value in seconds,
 *           bytes a second or as it is; own: estimated on this model and device. "resnet50" is the
 *           model of tables made of it too, such as "resnet50-batch32" */
json_t *strait_software_used(const struct strait_experiment *e);
/** How far a used constant may be off: the figure with which its "error" begins, "0.1 ms: why", in
 *  the constant's own unit (seconds, bytes a second or as it is); on another model or device than
 *  its own that of its "elsewhere", if the file has one. In: used: its entry of
 *  strait_software_used. Returns: NAN: the file says none */
double strait_software_error(const struct strait_experiment *e, const char *constant,
                             const json_t *used);
/** The value at which a constant costs nothing: new "0 s", 0, or a speed that is never reached. */
json_t *strait_software_free(const char *constant);
