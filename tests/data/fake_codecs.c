/* A library with the functions of SZ3's and LibPressio's C interfaces that strait uses, for
 * tests/codecs/foreign/test_adapters.c: it keeps the upper half of every float, and misbehaves as
 * the environment variable FAKE asks. Compiled by the test. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int asked(const char *what)
{
    const char *fake = getenv("FAKE");
    return fake && strcmp(fake, what) == 0;
}

static void misbehave(const char *where)
{
    const char *fake = getenv("FAKE");
    if (!fake || strncmp(fake, where, strlen(where)) != 0)
        return;
    const char *what = fake + strlen(where);
    if (strcmp(what, "exit") == 0)
        exit(0);
    if (strcmp(what, "abort") == 0)
        abort();
    if (strcmp(what, "crash") == 0)
        *(volatile int *)8 = 1;
    while (strcmp(what, "loop") == 0)
        ;
    while (strcmp(what, "memory") == 0) {
        char *p = malloc(1 << 20);
        if (!p)
            abort();
        memset(p, 1, 1 << 20);
    }
    if (strcmp(what, "busy") == 0)
        for (const clock_t end = clock() + CLOCKS_PER_SEC / 50; clock() < end;)
            ;
}

static void upper_halves(unsigned char *out, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        memcpy(out + 2 * i, (const char *)&x[i] + 2, 2);
}

static void from_upper_halves(float *y, const unsigned char *in, size_t n)
{
    memset(y, 0, n * sizeof(*y));
    for (size_t i = 0; i < n; i++)
        memcpy((char *)&y[i] + 2, in + 2 * i, 2);
    for (size_t i = 9; i < n && asked("loose"); i += 10)
        y[i] += 1;
}

unsigned char *SZ_compress_args(int type, void *data, size_t *len, int mode, double abs, double rel,
                                double pwr, size_t r5, size_t r4, size_t r3, size_t r2, size_t r1)
{
    (void)mode, (void)abs, (void)rel, (void)pwr, (void)r5, (void)r4, (void)r3, (void)r2;
    misbehave("encode ");
    unsigned char *out = malloc(2 * r1 + 1);
    if (type != 0 || !out || asked("null"))
        return NULL;
    upper_halves(out, data, r1);
    *len = asked("huge") ? (size_t)1 << 40 : asked("tiny") ? 1 : 2 * r1;
    return out;
}

void *SZ_decompress(int type, unsigned char *in, size_t len, size_t r5, size_t r4, size_t r3,
                    size_t r2, size_t r1)
{
    (void)r5, (void)r4, (void)r3, (void)r2;
    float *y = malloc(r1 * sizeof(*y) + 1);
    misbehave("decode ");
    if (len > 2 && memcmp(in, "die", 3) == 0) /* a stream that kills the library */
        abort();
    if (type != 0 || len != 2 * r1 || !y)
        return NULL;
    from_upper_halves(y, in, r1);
    return y;
}

void free_buf(void *p)
{
    free(p);
}

/* LibPressio: one compressor, "zfp", that both sides have to tell its bound. */
struct pressio {
    int unused;
};
struct pressio_options {
    double abs;
};
struct pressio_compressor {
    struct pressio_options options;
};
struct pressio_data {
    void *bytes;
    size_t n_bytes;
    int owned;
};

struct pressio *pressio_instance(void)
{
    return calloc(1, sizeof(struct pressio));
}

void pressio_release(struct pressio *p)
{
    free(p);
}

struct pressio_compressor *pressio_get_compressor(struct pressio *p, const char *id)
{
    return p && strcmp(id, "zfp") == 0 ? calloc(1, sizeof(struct pressio_compressor)) : NULL;
}

void pressio_compressor_release(struct pressio_compressor *c)
{
    free(c);
}

struct pressio_options *pressio_options_new(void)
{
    return calloc(1, sizeof(struct pressio_options));
}

void pressio_options_free(struct pressio_options *o)
{
    free(o);
}

void pressio_options_set_double(struct pressio_options *o, const char *key, double value)
{
    if (strcmp(key, "pressio:abs") == 0)
        o->abs = value;
}

int pressio_compressor_set_options(struct pressio_compressor *c, const struct pressio_options *o)
{
    c->options = *o;
    return 0;
}

struct pressio_data *pressio_data_new_nonowning(int type, void *p, size_t n_dims,
                                                const size_t *dims)
{
    struct pressio_data *d = calloc(1, sizeof(*d));
    d->bytes = p;
    d->n_bytes = n_dims > 0 ? dims[0] * (type == 1 ? 4 : 1) : 0;
    return d;
}

struct pressio_data *pressio_data_new_owning(int type, size_t n_dims, const size_t *dims)
{
    struct pressio_data *d = pressio_data_new_nonowning(type, NULL, n_dims, dims);
    d->bytes = malloc(d->n_bytes + 1);
    d->owned = 1;
    return d;
}

struct pressio_data *pressio_data_new_empty(int type, size_t n_dims, const size_t *dims)
{
    return pressio_data_new_nonowning(type, NULL, n_dims, dims);
}

void pressio_data_free(struct pressio_data *d)
{
    if (d->owned)
        free(d->bytes);
    free(d);
}

void *pressio_data_ptr(const struct pressio_data *d, size_t *n_bytes)
{
    *n_bytes = d->n_bytes;
    return d->bytes;
}

int pressio_compressor_compress(struct pressio_compressor *c, const struct pressio_data *in,
                                struct pressio_data *out)
{
    misbehave("encode ");
    if (!(c->options.abs > 0) || asked("null"))
        return 1;
    out->n_bytes = in->n_bytes / 2;
    out->bytes = malloc(out->n_bytes + 1);
    out->owned = 1;
    upper_halves(out->bytes, in->bytes, in->n_bytes / 4);
    return 0;
}

int pressio_compressor_decompress(struct pressio_compressor *c, const struct pressio_data *in,
                                  struct pressio_data *out)
{
    misbehave("decode ");
    if (!(c->options.abs > 0) || 2 * in->n_bytes != out->n_bytes)
        return 1;
    from_upper_halves(out->bytes, in->bytes, out->n_bytes / 4);
    return 0;
}
