/* Inside, the first error wins; a program's struct may hold anything before a call. */
#pragma once
#include "core/error.h"

static inline void forget(struct strait_error *err)
{
    if (err) {
        err->code = STRAIT_OK;
        err->saved_errno = 0;
        *err->where = *err->text = '\0';
    }
}
