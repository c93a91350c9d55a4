#include "imported.h"

#include <stdarg.h>
#include <stdio.h>

int strait_import_graph_begin(struct strait_import *in, int n_ranks, struct strait_error *err)
{
    in->graph = strait_program_new(n_ranks, in->is_look, err);
    return in->graph ? 0 : -1;
}

void strait_import_fact(struct strait_import *in, const char *name, json_t *value_taken)
{
    json_object_set_new(in->facts, name, value_taken);
}

__attribute__((format(printf, 2, 0))) static void add_sentence(json_t *array, const char *format,
                                                               va_list args)
{
    char text[512];
    vsnprintf(text, sizeof(text), format, args);
    json_array_append_new(array, json_string(text));
}

void strait_import_inferred(struct strait_import *in, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_sentence(in->inferred, format, args);
    va_end(args);
}

void strait_import_missing(struct strait_import *in, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_sentence(in->missing, format, args);
    va_end(args);
}
