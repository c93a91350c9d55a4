/* Common to processes that serve a network: they end with the process that started them, and
 * inherit none of its files but their own. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/** In the child, first: signals as in a new program but those of a terminal, which are for the
 *  parent; the end with the parent.
 *  In:      name  that ps shows; NULL: none
 *  Returns: false where the parent has ended already */
bool strait_emu_helper_begin(pid_t parent, const char *name);
/** Close all descriptors but these, which are sorted: an inherited pipe would hide its end from
 *  others. */
void strait_emu_helper_keep(int *keep, size_t n);
/** Real-time priority, of its threads alone: the lowest, or one above what it inherits, so that
 *  programs that were started with one (chrt) do not keep a network from carrying their messages.
 *  Returns: false where it may not */
bool strait_emu_helper_hurry(void);
