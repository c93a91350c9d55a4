/* libpressio: one of the compressors of LibPressio, liblibpressio.so, where it is installed: chosen
 * by name, absolute bound, on the values in their flat order. The stream is that of plugin.h; the
 * library's bytes are
 *
 *   u8      number of the compressor
 *   float64 bound: some compressors, such as zfp, need the encoder's options to decode
 *   bytes   of that compressor */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include "codecs/builtin.h"
#include "core/bytes.h"
#include "plugin.h"

enum { PRESSIO_FLOAT = 1, PRESSIO_BYTE = 10 }; /* enum pressio_dtype */
enum { PARAM_COMPRESSOR, N_OWN_PARAMS };
enum { HEAD_BYTES = 9 };

struct pressio;
struct pressio_compressor;
struct pressio_data;
struct pressio_options;

/* As declared in pressio.h, pressio_compressor.h, pressio_data.h and pressio_options.h. */
struct functions {
    struct pressio *(*instance)(void);
    void (*release)(struct pressio *);
    struct pressio_compressor *(*get_compressor)(struct pressio *, const char *id);
    void (*compressor_release)(struct pressio_compressor *);
    int (*set_options)(struct pressio_compressor *, const struct pressio_options *);
    int (*compress)(struct pressio_compressor *, const struct pressio_data *,
                    struct pressio_data *);
    int (*decompress)(struct pressio_compressor *, const struct pressio_data *,
                      struct pressio_data *);
    struct pressio_options *(*options_new)(void);
    void (*options_free)(struct pressio_options *);
    void (*options_set_double)(struct pressio_options *, const char *key, double);
    struct pressio_data *(*data_nonowning)(int type, void *, size_t n_dims, const size_t *dims);
    struct pressio_data *(*data_owning)(int type, size_t n_dims, const size_t *dims);
    struct pressio_data *(*data_empty)(int type, size_t n_dims, const size_t *dims);
    void (*data_free)(struct pressio_data *);
    void *(*data_ptr)(const struct pressio_data *, size_t *n_bytes);
};
typedef void (*any_function)(void);
enum { N_FUNCTIONS = sizeof(struct functions) / sizeof(any_function) };

/* In the order of the members above. */
static const char *const symbols[N_FUNCTIONS] = {"pressio_instance",
                                                 "pressio_release",
                                                 "pressio_get_compressor",
                                                 "pressio_compressor_release",
                                                 "pressio_compressor_set_options",
                                                 "pressio_compressor_compress",
                                                 "pressio_compressor_decompress",
                                                 "pressio_options_new",
                                                 "pressio_options_free",
                                                 "pressio_options_set_double",
                                                 "pressio_data_new_nonowning",
                                                 "pressio_data_new_owning",
                                                 "pressio_data_new_empty",
                                                 "pressio_data_free",
                                                 "pressio_data_ptr"};

struct library {
    void *handle;
    struct functions f;
    unsigned char compressor; /* of `compressors` */
};

static const char variable[] = "STRAIT_LIBPRESSIO_LIB";
static const char *const names[] = {"liblibpressio.so", "liblibpressio.so.1", NULL};
static const char *const compressors[] = {"sz3", "zfp", "sz", "qoz", "szx", "mgard", NULL};
static const struct strait_param params[] = {
    [PARAM_COMPRESSOR] = {"compressor",
                          "compressor plugin; which ones there are is up to the library", .min = 0,
                          .max = 5, .fallback = 0, .choices = compressors},
    STRAIT_FOREIGN_PARAMS};

/* Returns: NULL, or what is missing; the caller closes the handle unless it is NULL. */
static const char *load(struct library *l)
{
    any_function found[N_FUNCTIONS];
    l->handle = strait_plugin_load(names, variable);
    if (!l->handle)
        return getenv(variable) ? "STRAIT_LIBPRESSIO_LIB is no library that can be loaded"
                                : "liblibpressio.so is not installed";
    for (size_t i = 0; i < N_FUNCTIONS; i++) {
        found[i] = strait_plugin_symbol(l->handle, symbols[i]);
        if (!found[i])
            return "liblibpressio.so lacks the C interface of LibPressio 1";
    }
    memcpy(&l->f, found, sizeof(found));
    return NULL;
}

static void unload(void *context)
{
    struct library *l = context;
    if (l->handle)
        dlclose(l->handle);
    free(l);
}

static const char *libpressio_unavailable(void)
{
    struct library l = {0};
    const char *reason = load(&l);
    if (l.handle)
        dlclose(l.handle);
    return reason;
}

/* Objects of one call. */
struct session {
    struct pressio *pressio;
    struct pressio_compressor *compressor;
    struct pressio_options *options;
    struct pressio_data *in, *out;
};

static void session_end(struct session *s, const struct functions *f)
{
    if (s->in)
        f->data_free(s->in);
    if (s->out)
        f->data_free(s->out);
    if (s->options)
        f->options_free(s->options);
    if (s->compressor)
        f->compressor_release(s->compressor);
    if (s->pressio)
        f->release(s->pressio);
}

/* Sets the bound unless it is 0. */
static bool session_begin(struct session *s, const struct library *l, double tolerance)
{
    const struct functions *f = &l->f;
    *s = (struct session){.pressio = f->instance()};
    s->compressor = s->pressio ? f->get_compressor(s->pressio, compressors[l->compressor]) : NULL;
    if (!s->compressor || !(tolerance > 0))
        return s->compressor != NULL;
    s->options = f->options_new();
    f->options_set_double(s->options, "pressio:abs", tolerance);
    return f->set_options(s->compressor, s->options) == 0;
}

static bool probe(const void *context)
{
    const struct library *l = context;
    struct session s;
    const bool good = session_begin(&s, l, 0);
    session_end(&s, &l->f);
    return good;
}

static size_t compress(const void *context, unsigned char *out, size_t cap_bytes, const float *x,
                       size_t n_elems, double tolerance)
{
    const struct library *l = context;
    const struct functions *f = &l->f;
    struct session s;
    size_t len = 0;
    bool good = session_begin(&s, l, tolerance);
    if (good) {
        s.in = f->data_nonowning(PRESSIO_FLOAT, (void *)(uintptr_t)x, 1, &n_elems);
        s.out = f->data_empty(PRESSIO_BYTE, 0, NULL);
        good = f->compress(s.compressor, s.in, s.out) == 0;
    }
    const unsigned char *bytes = good ? f->data_ptr(s.out, &len) : NULL;
    good = bytes && len > 0 && cap_bytes > HEAD_BYTES && len <= cap_bytes - HEAD_BYTES;
    if (good) {
        out[0] = l->compressor;
        strait_put_double(out + 1, tolerance);
        memcpy(out + HEAD_BYTES, bytes, len);
    }
    session_end(&s, f);
    return good ? len + HEAD_BYTES : 0;
}

static bool expand(const void *context, float *y, size_t n_elems, const unsigned char *in,
                   size_t len_bytes)
{
    const struct library *l = context;
    const struct functions *f = &l->f;
    struct session s;
    size_t len = 0;
    if (len_bytes <= HEAD_BYTES || in[0] != l->compressor)
        return false;
    const size_t in_bytes = len_bytes - HEAD_BYTES;
    const double tolerance = strait_get_double(in + 1);
    bool good = session_begin(&s, l, tolerance);
    if (good) {
        s.in = f->data_nonowning(PRESSIO_BYTE, (void *)(uintptr_t)(in + HEAD_BYTES), 1, &in_bytes);
        s.out = f->data_owning(PRESSIO_FLOAT, 1, &n_elems);
        good = f->decompress(s.compressor, s.in, s.out) == 0;
    }
    const void *values = good ? f->data_ptr(s.out, &len) : NULL;
    good = values && len == 4 * n_elems;
    if (good)
        memcpy(y, values, len);
    session_end(&s, f);
    return good;
}

static const struct strait_plugin_kernel kernel = {
    .library = "liblibpressio.so",
    .compress = compress,
    .expand = expand,
    .probe = probe,
    .probe_expects = "a compressor that this liblibpressio.so was built with",
    .close = unload,
};

static int libpressio_open(void **state, const struct strait_codec_ops *ops, const double *values,
                           struct strait_error *err)
{
    struct library *l = calloc(1, sizeof(*l));
    const char *reason = l ? load(l) : "memory ran out";
    if (!reason) {
        l->compressor = (unsigned char)values[PARAM_COMPRESSOR];
        return strait_plugin_open(state, ops, l, values + N_OWN_PARAMS, err);
    }
    if (l)
        unload(l);
    return strait_error_set(err, l ? STRAIT_ERR_HOST : STRAIT_ERR_NOMEM, ops->name, "%s", reason);
}

const struct strait_codec_ops strait_codec_libpressio = {
    .name = "libpressio",
    .family = "error-bounded",
    .source = "a compressor of LibPressio 1, absolute bound, one dimension",
    .id = 30,
    .flags = STRAIT_CODEC_BOUNDED | STRAIT_CODEC_MACHINE,
    .bounds = 1u << STRAIT_BOUND_ABS | 1u << STRAIT_BOUND_RANGE | 1u << STRAIT_BOUND_RMS,
    STRAIT_PARAMS(params),
    .unavailable = libpressio_unavailable,
    .kernel = &kernel,
    .open = libpressio_open,
    .close = strait_plugin_close,
    .max_bytes = strait_plugin_max_bytes,
    .encode = strait_plugin_encode,
    .decode = strait_plugin_decode,
};
