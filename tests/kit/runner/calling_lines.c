#include "calling_lines.h"
#include <execinfo.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "core/process.h"

enum { N_FRAMES = 40, OUT_BYTES = 16384, ADDRESS_BYTES = 24 };
static const double LIMIT_S = 60;

/* The first object is the program: where it was loaded. */
static int take_base(struct dl_phdr_info *info, size_t size, void *base)
{
    (void)size;
    *(uintptr_t *)base = info->dlpi_addr;
    return 1;
}

/* Lines of addr2line come in pairs: a function, then FILE:LINE. */
static bool ask(char *out, char program[PATH_MAX])
{
    void *frames[N_FRAMES];
    char addresses[N_FRAMES][ADDRESS_BYTES];
    const char *argv[N_FRAMES + 8] = {"addr2line", "-f", "-i", "-e", program};
    uintptr_t base = 0;
    const ssize_t len = readlink("/proc/self/exe", program, PATH_MAX - 1);
    if (len <= 0)
        return false;
    program[len] = '\0';
    dl_iterate_phdr(take_base, &base);
    const int n = backtrace(frames, N_FRAMES);
    for (int i = 0; i < n; i++) { /* a return address is behind its call */
        snprintf(addresses[i], ADDRESS_BYTES, "%#lx",
                 (unsigned long)((uintptr_t)frames[i] - base - 1));
        argv[5 + i] = addresses[i];
    }
    return strait_process_run(out, OUT_BYTES, argv, NULL, LIMIT_S, NULL) == 0;
}

bool strait_calling_lines(char *out, size_t cap_bytes)
{
    char said[OUT_BYTES] = "", program[PATH_MAX], *rest = said, *function, *place;
    size_t n = 0;
    bool is_check = true; /* the innermost function outside of check.c: its line is known */
    out[0] = '\0';
    if (!ask(said, program))
        return false;
    while ((function = strsep(&rest, "\n")) && (place = strsep(&rest, "\n"))) {
        const char *from = strstr(place, "/tests/");
        char *more = strstr(place, " (discriminator");
        if (more)
            *more = '\0';
        if (from && strstr(from, "/runner/suite_run.c"))
            break;
        if (!from || strstr(from, "/kit/check.c") || strstr(from, "/runner/calling_lines.c"))
            continue;
        if (!is_check && n < cap_bytes)
            n += (size_t)snprintf(out + n, cap_bytes - n, "        called from %s (%s)\n", from + 1,
                                  function);
        is_check = false;
    }
    return n > 0 && n < cap_bytes;
}
