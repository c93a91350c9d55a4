#include "shipped.h"

#include <stdio.h>
#include <unistd.h>

const char *strait_shipped_path(char *buf, size_t cap, const char *path)
{
    if (path[0] == '/' || access(path, R_OK) == 0)
        return path;
    const int n = snprintf(buf, cap, "%s/%s", STRAIT_SHARE, path);
    return n > 0 && (size_t)n < cap && access(buf, R_OK) == 0 ? buf : path;
}
