#include <assert.h>
#include <dlfcn.h>
#include <string.h>
#if __has_include(<microhttpd.h>)
#include "mhd.h"

int strait_mhd_load(struct strait_mhd *m, struct strait_error *err)
{
    const struct {
        const char *name;
        void *at;
    } functions[] = {{"MHD_start_daemon", &m->start_daemon},
                     {"MHD_stop_daemon", &m->stop_daemon},
                     {"MHD_run", &m->run},
                     {"MHD_get_timeout", &m->get_timeout},
                     {"MHD_get_daemon_info", &m->get_daemon_info},
                     {"MHD_get_connection_info", &m->get_connection_info},
                     {"MHD_lookup_connection_value", &m->lookup_connection_value},
                     {"MHD_suspend_connection", &m->suspend_connection},
                     {"MHD_resume_connection", &m->resume_connection},
                     {"MHD_create_response_from_buffer", &m->create_response_from_buffer},
                     {"MHD_add_response_header", &m->add_response_header},
                     {"MHD_queue_response", &m->queue_response},
                     {"MHD_destroy_response", &m->destroy_response}};
    void *library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return strait_error_set(err, STRAIT_ERR_HOST, "serve",
                                "expected libmicrohttpd (apt install libmicrohttpd12), found none");
    for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
        void *object = dlsym(library, functions[i].name);
        static_assert(sizeof(object) == sizeof(m->run), "POSIX has one kind of address");
        if (!object)
            return strait_error_set(err, STRAIT_ERR_HOST, "serve",
                                    "expected libmicrohttpd to have %s, found another version",
                                    functions[i].name);
        memcpy(functions[i].at, &object, sizeof(object));
    }
    return 0;
}
#endif
