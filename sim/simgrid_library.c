#include "simgrid_library.h"

#include <assert.h>
#include <dlfcn.h>
#include <string.h>

/* Its releases are named by two numbers, and each may break what another one's programs expect. */
#define TEXT_OF(x)   #x
#define NUMBER_OF(x) TEXT_OF(x)
#define LIBRARY                                                                                    \
    "libsimgrid.so." NUMBER_OF(SIMGRID_VERSION_MAJOR) "." NUMBER_OF(SIMGRID_VERSION_MINOR)

#define FUNCTION(name) {#name, &out->name},

int strait_simgrid_load(struct strait_simgrid *out, struct strait_error *err)
{
    const struct {
        const char *name;
        void *at;
    } functions[] = {STRAIT_SIMGRID_FUNCTIONS(FUNCTION)};
    void *library = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL);
    if (!library)
        return strait_error_set(err, STRAIT_ERR_HOST, "sim",
                                "expected SimGrid (apt install libsimgrid-dev, then make), "
                                "found none: %s",
                                dlerror());
    for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
        void *object = dlsym(library, functions[i].name);
        static_assert(sizeof(object) == sizeof(out->simgrid_run), "POSIX has one kind of address");
        if (!object)
            return strait_error_set(err, STRAIT_ERR_HOST, "sim",
                                    "expected SimGrid to have %s, found another release",
                                    functions[i].name);
        memcpy(functions[i].at, &object, sizeof(object));
    }
    return 0;
}
