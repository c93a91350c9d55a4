/* Folders that tests made: what lies in them, who works in them. */
#pragma once
#include <stddef.h>

/** A file there, or of anywhere ("/..."), with a NUL behind its end; NULL when there is none. */
char *folder_bytes(const char *folder, const char *name, size_t *len_bytes);
/** The same as text, "" when there is none. */
char *folder_text(const char *folder, const char *name);
/** Remove it with all that is in it. Asserts success. */
void folder_remove(const char *folder);
/** Processes that have its name in their "cmdline" or "environ". */
int folder_n_processes(const char *folder, const char *where);
