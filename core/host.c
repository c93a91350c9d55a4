#include "host.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

double strait_host_memory_bytes(const char *key)
{
    double kib = INFINITY;
    char line[128];
    const size_t len = strlen(key);
    FILE *f = fopen("/proc/meminfo", "re");
    if (!f)
        return INFINITY;
    while (fgets(line, sizeof(line), f))
        if (strncmp(line, key, len) == 0 && sscanf(line + len, ": %lf kB", &kib) == 1)
            break;
    fclose(f);
    return kib * 1024;
}
