/* An encoded tensor in a file of its own. */
#include "container.h"
#include <assert.h>
#include "core/bytes.h"
#include "frame.h"

enum { FIXED_BYTES = 24, IS_FILE = 1, LENGTH_BYTES = 4 };

size_t strait_container_head_bytes(const struct strait_container *c)
{
    char text[STRAIT_SPEC_CHARS];
    return STRAIT_FRAME_BYTES + FIXED_BYTES + 8 * c->form.n_dims + LENGTH_BYTES +
           strlen(strait_codec_spec_text(text, &c->spec));
}

void strait_container_seal(unsigned char *file, const struct strait_container *c)
{
    char text[STRAIT_SPEC_CHARS];
    unsigned char *p = file + STRAIT_FRAME_BYTES;
    const size_t head_bytes = strait_container_head_bytes(c);
    *p = c->form.npy;
    memcpy(p + 1, c->form.dtype, 3);
    strait_put32(p + 4, c->form.n_dims);
    strait_put64(p + 8, c->key);
    strait_put64(p + 16, c->n_rows);
    p += FIXED_BYTES;
    for (unsigned i = 0; i < c->form.n_dims; i++, p += 8)
        strait_put64(p, c->form.shape[i]);
    const size_t n_text = strlen(strait_codec_spec_text(text, &c->spec));
    strait_put32(p, (uint32_t)n_text);
    memcpy(p + LENGTH_BYTES, text, n_text);
    assert(p + LENGTH_BYTES + n_text == file + head_bytes);
    const struct strait_frame frame = {
        .codec_id = c->spec.ops->id,
        .flags = IS_FILE,
        .n_elems = c->form.n_elems,
        .payload_bytes = head_bytes - STRAIT_FRAME_BYTES + c->payload_bytes,
        .raw_bytes = 4 * c->form.n_elems,
        .words = {STRAIT_CONTAINER_VERSION},
    };
    strait_frame_pack(file, &frame, file + STRAIT_FRAME_BYTES);
}

static int refuse(const char *name, const char *what, struct strait_error *err)
{
    return strait_refuse(err, name, "expected a file of strait codec encode, found %s", what);
}

static bool known_dtype(const unsigned char dtype[3])
{
    return (dtype[0] == '<' || dtype[0] == '>') && dtype[1] == 'f' &&
           (dtype[2] == '2' || dtype[2] == '4' || dtype[2] == '8');
}

/* Read everything before the codec's bytes. */
static int read_head(struct strait_container *c, struct strait_reader *r, const char *name,
                     struct strait_error *err)
{
    char text[STRAIT_SPEC_CHARS];
    const unsigned char *fixed = strait_read_bytes(r, FIXED_BYTES);
    if (!fixed || fixed[0] > 1 || !known_dtype(fixed + 1) ||
        strait_get32(fixed + 4) > STRAIT_NPY_MAX_DIMS)
        return refuse(name, "a head that is none", err);
    c->form.npy = fixed[0] == 1;
    memcpy(c->form.dtype, fixed + 1, 3);
    c->form.n_dims = strait_get32(fixed + 4);
    c->key = strait_get64(fixed + 8);
    c->n_rows = (size_t)strait_get64(fixed + 16);
    for (unsigned i = 0; i < c->form.n_dims; i++) {
        const unsigned char *dim = strait_read_bytes(r, 8);
        c->form.shape[i] = dim ? (size_t)strait_get64(dim) : 0;
    }
    const uint32_t n_text = strait_read_u32(r);
    const unsigned char *bytes = n_text < STRAIT_SPEC_CHARS ? strait_read_bytes(r, n_text) : NULL;
    if (!bytes || memchr(bytes, '\0', n_text))
        return refuse(name, "settings that are none", err);
    memcpy(text, bytes, n_text);
    text[n_text] = '\0';
    struct strait_error why = {0};
    if (strait_codec_spec_parse(&c->spec, text, &why) != 0)
        return strait_refuse(err, name, "%s", why.text);
    if (!strait_array_count(&c->form) || (!c->form.npy && c->form.n_dims != 1))
        return refuse(name, "a shape that is none", err);
    if (c->n_rows > 0 && c->form.n_elems % c->n_rows != 0)
        return refuse(name, "rows that do not fit the shape", err);
    return 0;
}

int strait_container_open(struct strait_container *c, size_t *at_bytes, const unsigned char *file,
                          size_t len_bytes, const char *name, struct strait_error *err)
{
    struct strait_frame frame;
    struct strait_error why = {0};
    *c = (struct strait_container){0};
    if (len_bytes < STRAIT_FRAME_BYTES || memcmp(file, "STRT", 4) != 0)
        return refuse(name, "something else", err);
    if (strait_frame_unpack(&frame, file, &why) != 0)
        return strait_refuse(err, name, "%s", why.text);
    if (frame.flags != IS_FILE || !(frame.words[0] == STRAIT_CONTAINER_VERSION))
        return refuse(name, "a frame of another kind or version", err);
    if (frame.payload_bytes != len_bytes - STRAIT_FRAME_BYTES)
        return strait_refuse(
            err, name, "expected %llu bytes, found %zu: the file was cut or added to",
            (unsigned long long)frame.payload_bytes + STRAIT_FRAME_BYTES, len_bytes);
    if (strait_frame_verify(file, &frame, file + STRAIT_FRAME_BYTES, &why) != 0)
        return strait_refuse(err, name, "the file does not match its checksum");
    struct strait_reader r = {.p = file + STRAIT_FRAME_BYTES, .end = file + len_bytes};
    if (read_head(c, &r, name, err) != 0)
        return -1;
    if (c->spec.ops->id != frame.codec_id || c->form.n_elems != frame.n_elems ||
        frame.raw_bytes != 4 * frame.n_elems)
        return refuse(name, "a frame and a head that disagree", err);
    *at_bytes = (size_t)(r.p - file);
    c->payload_bytes = len_bytes - *at_bytes;
    return 0;
}
