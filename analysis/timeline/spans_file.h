/* The spans of a run in a file beside its results: JSON Lines, a line a span. */
#pragma once
#include <stdio.h>
#include "core/error.h"
#include "workloads/rank/log.h"

#define STRAIT_SPANS_SCHEMA "strait-spans/1"

/** Write {"schema", "ranks", "from_s": when the first span was lost in a full log, else null}, then
 *  for each span [rank, lane, kind, round, queued_s, start_s, end_s, bytes, raw_bytes, peer, tag,
 *  channel], kind as "compute", peer -1 for none. The file is whole or not there.
 *  Returns: 0, or -1 with *err SYSTEM */
int strait_spans_write(const char *path, const struct strait_log *logs, int n_ranks,
                       struct strait_error *err);
/** Read it.
 *  Out:     logs     new array of n_ranks; release each and free the array
 *  Returns: 0, or -1 with *err: INPUT "run/spans/KEY.jsonl:7: expected ..." */
int strait_spans_read(struct strait_log **logs, int *n_ranks, const char *path,
                      struct strait_error *err);
