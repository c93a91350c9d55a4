/* Little-endian numbers and variable-length integers in byte streams; readers never overrun. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline void strait_put16(unsigned char *p, uint16_t v)
{
    for (int i = 0; i < 2; i++)
        p[i] = (unsigned char)(v >> (8 * i));
}

static inline void strait_put32(unsigned char *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (unsigned char)(v >> (8 * i));
}

/* One store on a little-endian machine: gcc 12 does not merge the loop. */
static inline void strait_put64(unsigned char *p, uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(p, &v, sizeof(v));
#else
    for (int i = 0; i < 8; i++)
        p[i] = (unsigned char)(v >> (8 * i));
#endif
}

static inline uint32_t strait_get16(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static inline uint32_t strait_get32(const unsigned char *p)
{
    return strait_get16(p) | strait_get16(p + 2) << 16;
}

static inline uint64_t strait_get64(const unsigned char *p)
{
    return strait_get32(p) | (uint64_t)strait_get32(p + 4) << 32;
}

static inline void strait_put_float(unsigned char *p, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    strait_put32(p, bits);
}

static inline float strait_get_float(const unsigned char *p)
{
    const uint32_t bits = strait_get32(p);
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static inline void strait_put_double(unsigned char *p, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof(bits));
    strait_put64(p, bits);
}

static inline double strait_get_double(const unsigned char *p)
{
    const uint64_t bits = strait_get64(p);
    double x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/** Copy floats to and from their little-endian bytes. n may be 0, and x then NULL. */
static inline void strait_put_floats(unsigned char *p, const float *x, size_t n)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (n > 0)
        memcpy(p, x, 4 * n);
#else
    for (size_t i = 0; i < n; i++)
        strait_put_float(p + 4 * i, x[i]);
#endif
}

static inline void strait_get_floats(float *x, const unsigned char *p, size_t n)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (n > 0)
        memcpy(x, p, 4 * n);
#else
    for (size_t i = 0; i < n; i++)
        x[i] = strait_get_float(p + 4 * i);
#endif
}

/* A bounded output buffer. After the first write that does not fit, nothing more is written. */
struct strait_writer {
    unsigned char *p, *end;
    bool full;
};

static inline bool strait_write_room(struct strait_writer *w, size_t n)
{
    if (w->full || (size_t)(w->end - w->p) < n)
        w->full = true;
    return !w->full;
}

static inline void strait_write_bytes(struct strait_writer *w, const void *bytes, size_t n)
{
    if (n == 0 || !strait_write_room(w, n))
        return;
    memcpy(w->p, bytes, n);
    w->p += n;
}

static inline void strait_write_u8(struct strait_writer *w, unsigned v)
{
    if (strait_write_room(w, 1))
        *w->p++ = (unsigned char)v;
}

static inline void strait_write_u32(struct strait_writer *w, uint32_t v)
{
    if (strait_write_room(w, 4)) {
        strait_put32(w->p, v);
        w->p += 4;
    }
}

static inline void strait_write_varint(struct strait_writer *w, uint64_t v)
{
    for (; v >= 128; v >>= 7)
        strait_write_u8(w, (unsigned)(v & 127) | 128);
    strait_write_u8(w, (unsigned)v);
}

/* A bounded input. A read past the end sets `bad` and gives zeros. */
struct strait_reader {
    const unsigned char *p, *end;
    bool bad;
};

/** The next n bytes, or NULL. */
static inline const unsigned char *strait_read_bytes(struct strait_reader *r, size_t n)
{
    if (r->bad || (size_t)(r->end - r->p) < n) {
        r->bad = true;
        return NULL;
    }
    r->p += n;
    return r->p - n;
}

static inline unsigned strait_read_u8(struct strait_reader *r)
{
    const unsigned char *p = strait_read_bytes(r, 1);
    return p ? *p : 0;
}

static inline uint32_t strait_read_u32(struct strait_reader *r)
{
    const unsigned char *p = strait_read_bytes(r, 4);
    return p ? strait_get32(p) : 0;
}

static inline uint64_t strait_read_varint(struct strait_reader *r)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const unsigned byte = strait_read_u8(r);
        if (shift == 63 && byte > 1)
            break;
        v |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return v;
    }
    r->bad = true;
    return 0;
}
