#include "resume_part.h"

#include <stdio.h>
#include <stdlib.h>

static bool read_file(const char *path, size_t *next, int *more)
{
    FILE *f = fopen(path, "re");
    const bool read = f && fscanf(f, "%zu %d", next, more) == 2;
    if (f)
        fclose(f);
    return read;
}

void strait_resume_load(struct strait_resume *step)
{
    size_t next;
    int more;
    *step = (struct strait_resume){.path = getenv(STRAIT_STEP_FILE)};
    step->began = step->path && read_file(step->path, &next, &more);
    if (step->began)
        step->from = step->next = next;
}

int strait_resume_save(const struct strait_resume *step, struct strait_error *err)
{
    if (!step->path)
        return 0;
    FILE *f = fopen(step->path, "we");
    const bool written = f && fprintf(f, "%zu %d\n", step->next, step->more) > 0;
    if (!f || fclose(f) != 0 || !written)
        return strait_error_system(err, step->path, "cannot be written");
    return 0;
}

size_t strait_resume_next(const char *path)
{
    size_t next;
    int more;
    return read_file(path, &next, &more) && more ? next + 1 : 0;
}
