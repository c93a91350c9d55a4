/* sz3: SZ3's own C interface, libSZ3c.so, where it is installed: its default algorithm on the
 * values in their flat order, absolute bound. The stream is that of plugin.h.
 *
 * SZ_compress_args calls exit for unknown modes and lets C++ exceptions out; SZ_decompress writes
 * as many values as the stream says, however much room the caller has. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include "codecs/builtin.h"
#include "plugin.h"

enum { SZ3_FLOAT = 0, SZ3_ABS = 0 }; /* SZ_FLOAT and ABS of sz3c.h */

typedef unsigned char *(*compress_fn)(int type, void *data, size_t *len_bytes, int mode, double abs,
                                      double rel, double pwr, size_t r5, size_t r4, size_t r3,
                                      size_t r2, size_t r1);
typedef void *(*decompress_fn)(int type, unsigned char *in, size_t len_bytes, size_t r5, size_t r4,
                               size_t r3, size_t r2, size_t r1);
typedef void (*free_fn)(void *p);

struct library {
    void *handle;
    compress_fn compress;
    decompress_fn decompress;
    free_fn free;
};

static const char variable[] = "STRAIT_SZ3_LIB";
static const char *const names[] = {"libSZ3c.so", "libSZ3c.so.3", NULL};
static const struct strait_param params[] = {STRAIT_FOREIGN_PARAMS};

/* Returns: NULL, or what is missing; the caller closes the handle unless it is NULL. */
static const char *load(struct library *l)
{
    l->handle = strait_plugin_load(names, variable);
    if (!l->handle)
        return getenv(variable) ? "STRAIT_SZ3_LIB is no library that can be loaded"
                                : "libSZ3c.so is not installed";
    l->compress = (compress_fn)strait_plugin_symbol(l->handle, "SZ_compress_args");
    l->decompress = (decompress_fn)strait_plugin_symbol(l->handle, "SZ_decompress");
    l->free = (free_fn)strait_plugin_symbol(l->handle, "free_buf");
    return l->compress && l->decompress && l->free ? NULL
                                                   : "libSZ3c.so lacks the C interface of SZ3 3";
}

static void unload(void *context)
{
    struct library *l = context;
    if (l->handle)
        dlclose(l->handle);
    free(l);
}

static const char *sz3_unavailable(void)
{
    struct library l = {0};
    const char *reason = load(&l);
    if (l.handle)
        dlclose(l.handle);
    return reason;
}

static size_t compress(const void *context, unsigned char *out, size_t cap_bytes, const float *x,
                       size_t n_elems, double tolerance)
{
    const struct library *l = context;
    size_t len = 0;
    unsigned char *bytes = l->compress(SZ3_FLOAT, (void *)(uintptr_t)x, &len, SZ3_ABS, tolerance, 0,
                                       0, 0, 0, 0, 0, n_elems);
    const bool good = bytes && len > 0 && len <= cap_bytes;
    if (good)
        memcpy(out, bytes, len);
    l->free(bytes);
    return good ? len : 0;
}

static bool expand(const void *context, float *y, size_t n_elems, const unsigned char *in,
                   size_t len_bytes)
{
    const struct library *l = context;
    float *values =
        l->decompress(SZ3_FLOAT, (unsigned char *)(uintptr_t)in, len_bytes, 0, 0, 0, 0, n_elems);
    if (values)
        memcpy(y, values, 4 * n_elems);
    l->free(values);
    return values != NULL;
}

static const struct strait_plugin_kernel kernel = {
    .library = "libSZ3c.so",
    .compress = compress,
    .expand = expand,
    .close = unload,
};

static int sz3_open(void **state, const struct strait_codec_ops *ops, const double *values,
                    struct strait_error *err)
{
    struct library *l = calloc(1, sizeof(*l));
    const char *reason = l ? load(l) : "memory ran out";
    if (!reason)
        return strait_plugin_open(state, ops, l, values, err);
    if (l)
        unload(l);
    return strait_error_set(err, l ? STRAIT_ERR_HOST : STRAIT_ERR_NOMEM, ops->name, "%s", reason);
}

const struct strait_codec_ops strait_codec_sz3 = {
    .name = "sz3",
    .family = "error-bounded",
    .source = "libSZ3c of SZ3 3, default algorithm, one dimension",
    .id = 29,
    .flags = STRAIT_CODEC_BOUNDED | STRAIT_CODEC_MACHINE,
    .bounds = 1u << STRAIT_BOUND_ABS | 1u << STRAIT_BOUND_RANGE | 1u << STRAIT_BOUND_RMS,
    STRAIT_PARAMS(params),
    .unavailable = sz3_unavailable,
    .kernel = &kernel,
    .open = sz3_open,
    .close = strait_plugin_close,
    .max_bytes = strait_plugin_max_bytes,
    .encode = strait_plugin_encode,
    .decode = strait_plugin_decode,
};
