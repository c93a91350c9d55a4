/* Reading Fashion-MNIST: files of Y. LeCun's idx format, packed by gzip or not. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include "fashion.h"

enum { PATH_CHARS = 4096, LABELS_MAGIC = 0x801, IMAGES_MAGIC = 0x803, MAX = 10000000 };

static uint32_t big_endian(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int bad(struct strait_error *err, const char *path, const char *what)
{
    return strait_refuse(err, path, "expected %s", what);
}

/* Read a file of n items (all if limit is 0) of item_bytes each, and dimensions that fit. */
static int read_items(unsigned char **out, uint32_t *n, gzFile f, const char *path, uint32_t magic,
                      size_t item_bytes, long limit, struct strait_error *err)
{
    const unsigned header_bytes = magic == IMAGES_MAGIC ? 16 : 8;
    unsigned char header[16];
    if (gzread(f, header, header_bytes) != (int)header_bytes || big_endian(header) != magic)
        return bad(err, path, magic == IMAGES_MAGIC ? "idx images" : "idx labels");
    if (magic == IMAGES_MAGIC && (big_endian(header + 8) != STRAIT_FASHION_SIDE ||
                                  big_endian(header + 12) != STRAIT_FASHION_SIDE))
        return bad(err, path, "images of 28 x 28 pixels");
    *n = big_endian(header + 4);
    if (*n == 0 || *n > MAX)
        return bad(err, path, "between 1 and 10,000,000 items");
    if (limit > 0 && (uint64_t)limit < *n)
        *n = (uint32_t)limit;
    const size_t len_bytes = *n * item_bytes;
    if (!(*out = malloc(len_bytes)))
        return strait_error_set(err, STRAIT_ERR_NOMEM, path, "no memory for %u items", *n);
    size_t have = 0;
    while (have < len_bytes) {
        const size_t left = len_bytes - have;
        const int got = gzread(f, *out + have, (unsigned)(left < 1 << 30 ? left : 1 << 30));
        if (got <= 0)
            return bad(err, path, "as many items as it says, found its end");
        have += (size_t)got;
    }
    return 0;
}

static int read_file(unsigned char **out, uint32_t *n, const char *name, uint32_t magic,
                     size_t item_bytes, long limit, struct strait_error *err)
{
    const char *folder = getenv(STRAIT_DATA_VARIABLE);
    char path[PATH_CHARS];
    snprintf(path, sizeof(path), "%s/fashion-mnist/%s.gz",
             folder && *folder ? folder : "/usr/share/datasets", name);
    if (access(path, R_OK) != 0 && errno == ENOENT)
        return strait_error_set(err, STRAIT_ERR_HOST, path,
                                "expected the data set Fashion-MNIST, found no such file: install "
                                "Debian's " STRAIT_FASHION_PACKAGE
                                " or name the folder above it in " STRAIT_DATA_VARIABLE);
    gzFile f = gzopen(path, "rb");
    if (!f)
        return strait_error_path(err, path, "cannot open");
    const int status = read_items(out, n, f, path, magic, item_bytes, limit, err);
    gzclose(f);
    return status;
}

void strait_images_release(struct strait_images *images)
{
    free(images->pixels);
    free(images->labels);
    memset(images, 0, sizeof(*images));
}

int strait_fashion_read(struct strait_images *images, int held_out, long limit,
                        struct strait_error *err)
{
    *images = (struct strait_images){0};
    uint32_t n_labels;
    if (read_file(&images->pixels, &images->n,
                  held_out ? "t10k-images-idx3-ubyte" : "train-images-idx3-ubyte", IMAGES_MAGIC,
                  STRAIT_FASHION_PIXELS, limit, err) ||
        read_file(&images->labels, &n_labels,
                  held_out ? "t10k-labels-idx1-ubyte" : "train-labels-idx1-ubyte", LABELS_MAGIC, 1,
                  limit, err))
        goto failed;
    if (n_labels != images->n) {
        strait_refuse(err, "fashion-mnist", "expected as many labels as images, found %u and %u",
                      n_labels, images->n);
        goto failed;
    }
    for (uint32_t i = 0; i < images->n; i++)
        if (images->labels[i] >= STRAIT_FASHION_CLASSES) {
            strait_refuse(err, "fashion-mnist", "expected labels below 10, found %u",
                          images->labels[i]);
            goto failed;
        }
    return 0;
failed:
    strait_images_release(images);
    return -1;
}

void strait_fashion_scaled(float *x, const unsigned char *pixels)
{
    for (int i = 0; i < STRAIT_FASHION_PIXELS; i++)
        x[i] = ((float)pixels[i] / 255 - 0.2860f) / 0.3530f;
}
