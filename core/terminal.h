/* The terminal that output goes to. */
#pragma once
#include <stddef.h>

/** Columns of the terminal behind a descriptor: what it says itself, else COLUMNS of the
 *  environment, else 80. 0: it is no terminal. */
size_t strait_terminal_columns(int fd);
