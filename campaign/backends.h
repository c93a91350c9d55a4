/* The backends on which a run can be computed. */
#pragma once
#include "workloads/rank/backend.h"

/** The backends of one computer, in the order in which help names them; n of them. */
const struct strait_backend *const *strait_backends(size_t *n);
/** The backend of this name, or NULL. */
const struct strait_backend *strait_backend_find(const char *name);
