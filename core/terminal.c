/* The terminal that output goes to. */
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "terminal.h"

size_t strait_terminal_columns(int fd)
{
    struct winsize window;
    if (!isatty(fd))
        return 0;
    if (ioctl(fd, TIOCGWINSZ, &window) == 0 && window.ws_col > 1)
        return window.ws_col;
    const char *told = getenv("COLUMNS");
    const long columns = told ? strtol(told, NULL, 10) : 0;
    return columns > 1 && columns < 10000 ? (size_t)columns : 80;
}
