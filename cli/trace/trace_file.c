/* The reading of a trace, of a format that may be named. */
#include "core/names.h"
#include "trace_command.h"

static int find(const struct strait_import_format **format, const char *name,
                struct strait_error *err)
{
    const char *names[32] = {0};
    size_t n;
    const struct strait_import_format *const *all = strait_import_formats(&n);
    *format = name ? strait_import_format_find(name) : NULL;
    if (!name || *format)
        return 0;
    for (size_t i = 0; i < n && i + 1 < sizeof(names) / sizeof(names[0]); i++)
        names[i] = all[i]->name;
    return strait_refuse_name(err, STRAIT_ERR_USAGE, "--format", "a format (strait list traces)",
                              name, names);
}

int strait_trace_read(struct strait_import *in, const char *path, const char *format,
                      struct strait_error *err)
{
    const struct strait_import_format *known;
    *in = (struct strait_import){0};
    return find(&known, format, err) != 0 ? -1 : strait_import_look(in, path, known, err);
}
