#include "run_delay.h"

#include <dirent.h>
#include <stdio.h>

double strait_emu_run_delay_s(const char *tasks)
{
    double sum_s = 0;
    DIR *dir = opendir(tasks);
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        char path[320];
        unsigned long long delay_ns;
        snprintf(path, sizeof(path), "%.48s/%s/schedstat", tasks, e->d_name);
        FILE *f = *e->d_name == '.' ? NULL : fopen(path, "re");
        if (f && fscanf(f, "%*u %llu", &delay_ns) == 1)
            sum_s += 1e-9 * (double)delay_ns;
        if (f)
            fclose(f);
    }
    if (dir)
        closedir(dir);
    return sum_s;
}
