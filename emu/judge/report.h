/* The report of an emulated run: figures, constants with their sources, reasons for INVALID. */
#pragma once
#include "emu/host/dilation.h"
#include "validity.h"

/** Fill facts from the evidence.
 *  In:      launcher  "root", "userns", "uml" or "vuml"
 *  Returns: 0, or -1 with *err NOMEM */
int strait_emu_report(struct strait_facts *facts, const struct strait_emu_evidence *e,
                      const struct strait_emu_dilation *dilation, const char *launcher,
                      struct strait_error *err);
