/* Whole reads and writes: interrupted and short ones go on. A single call that a signal may
 * interrupt is wrapped in glibc's TEMP_FAILURE_RETRY instead. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

/* Where the file stands; a pipe or a socket knows no other place. */
#define STRAIT_IO_HERE ((off_t)-1)

/** Read len_bytes from a place of the file, or from where it stands.
 *  Returns: whether all came; false at the end of the file (errno is 0) or with errno set. */
bool strait_io_read(int fd, void *data, size_t len_bytes, off_t at);

/** Write len_bytes at a place of the file, or where it stands.
 *  Returns: whether all went; false with errno set. */
bool strait_io_write(int fd, const void *data, size_t len_bytes, off_t at);
