#include "io.h"
#include <errno.h>
#include <unistd.h>

bool strait_io_read(int fd, void *data, size_t len_bytes, off_t at)
{
    for (char *p = data; len_bytes > 0;) {
        const ssize_t n = TEMP_FAILURE_RETRY(at == STRAIT_IO_HERE ? read(fd, p, len_bytes)
                                                                  : pread(fd, p, len_bytes, at));
        if (n <= 0) {
            errno = n == 0 ? 0 : errno;
            return false;
        }
        p += n;
        at += at == STRAIT_IO_HERE ? 0 : n;
        len_bytes -= (size_t)n;
    }
    return true;
}

bool strait_io_write(int fd, const void *data, size_t len_bytes, off_t at)
{
    for (const char *p = data; len_bytes > 0;) {
        const ssize_t n = TEMP_FAILURE_RETRY(at == STRAIT_IO_HERE ? write(fd, p, len_bytes)
                                                                  : pwrite(fd, p, len_bytes, at));
        if (n <= 0) {
            errno = n == 0 ? ENOSPC : errno;
            return false;
        }
        p += n;
        at += at == STRAIT_IO_HERE ? 0 : n;
        len_bytes -= (size_t)n;
    }
    return true;
}
