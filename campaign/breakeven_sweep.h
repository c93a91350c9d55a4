/* From how many clients on compression pays: every curve of a sweep, count by count, by the fluid
 * backend. */
#pragma once
#include <jansson.h>
#include "analysis/store.h"
#include "plan.h"

/** Find the break-even of every codec and setting of a sweep that varies /clients.
 *  Out:     records  new array of {"record": "break-even", "key", "sweep", "setting", "codec",
 *                    "setting_key", "codec_key", "first", "last", "every_count",
 *                    "pays": [[first, last]], "text", "backend", "counts", "with_s", "without_s"};
 *                    empty where clients are not varied
 *  In:      plan     of this sweep: its set-up, and what the files say that its points name
 *           store    records that it has are taken from there unless fresh; new ones
 *                    are added
 *  Returns: 0, or -1 with *err: INPUT by name of what the fluid backend cannot do */
int strait_breakeven_sweep_find(json_t **records, const struct strait_sweep *sweep,
                                const struct strait_plan *plan, struct strait_store *store,
                                int n_workers, bool fresh, struct strait_error *err);
/** Hash of what the curves of a planned sweep depend on, for records and headers. Returns key. */
const char *strait_breakeven_sweep_hash(char key[STRAIT_KEY_CHARS],
                                        const struct strait_sweep *sweep,
                                        const struct strait_plan *plan);
