#include "shipped.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_LEVELS = 4 }; /* build/asan/tests/test_x is the deepest program */
/* What every folder of shipped files has. */
static const char mark[] = "traces/published.json";

/* The file that this code was loaded from: the shared library, or the program where that contains
 * it; "": nobody knows. Not dladdr's name for a program: that is argv[0]. */
static void find_self(char path[PATH_MAX])
{
    Dl_info info;
    struct link_map *map = NULL;
    if (dladdr1(mark, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || !map || !map->l_name[0]) {
        const ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
        path[n > 0 ? n : 0] = '\0';
    } else if (!realpath(map->l_name, path)) {
        path[0] = '\0';
    }
}

/* A folder that has the mark, in buf. */
static bool is_share(char *buf, size_t cap, const char *folder, const char *below)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s%s/%s", folder, below, mark);
    if (access(path, R_OK) != 0)
        return false;
    const int n = snprintf(buf, cap, "%s%s", folder, below);
    return n > 0 && (size_t)n < cap;
}

static bool find_beside_self(char *buf, size_t cap)
{
    char folder[PATH_MAX];
    find_self(folder);
    for (int i = 0; i <= MAX_LEVELS; i++) {
        char *end = strrchr(folder, '/');
        if (!end || end == folder)
            return is_share(buf, cap, "", "/share/strait");
        *end = '\0';
        if (is_share(buf, cap, folder, "/share/strait") || is_share(buf, cap, folder, ""))
            return true;
    }
    return false;
}

/* PREFIX/share/strait of `make install`, in the static library that it installs alone: a program
 * that contains it may lie anywhere. All others look beside themselves. */
extern const char strait_installed_share[] __attribute__((weak, visibility("hidden")));

static void find(char *buf, size_t cap)
{
    static const char *const systems[] = {"/usr/local", "/usr"};
    const char *given = getenv(STRAIT_SHARE_VARIABLE);
    if (given && *given) {
        char path[PATH_MAX]; /* absolute: it holds in another folder too */
        snprintf(buf, cap, "%s", realpath(given, path) ? path : given);
        return;
    }
    if (find_beside_self(buf, cap))
        return;
    if (strait_installed_share && is_share(buf, cap, strait_installed_share, ""))
        return;
    for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++)
        if (is_share(buf, cap, systems[i], "/share/strait"))
            return;
    snprintf(buf, cap, "/usr/share/strait");
}

const char *strait_share_path(char *buf, size_t cap, const char *relative)
{
    char folder[PATH_MAX];
    find(folder, sizeof(folder));
    snprintf(buf, cap, "%s%s%s", folder, *relative ? "/" : "", relative);
    return buf;
}

const char *strait_shipped_path(char *buf, size_t cap, const char *path)
{
    if (path[0] == '/' || access(path, R_OK) == 0)
        return path;
    strait_share_path(buf, cap, path);
    return access(buf, R_OK) == 0 ? buf : path;
}
