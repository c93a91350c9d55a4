/* A small data set in the place of Fashion-MNIST. */
#include "fashion.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "check.h"
#include "core/random.h"
#include "folder.h"

enum { PIXELS = 784, SIDE = 28, CLASSES = 10 };

/* A class lights a column of its own and some of its rows; the rest is noise. */
unsigned char fashion_pixel(unsigned image, unsigned i)
{
    const unsigned label = image % CLASSES, x = i % SIDE, y = i / SIDE;
    const unsigned noise = (unsigned)(strait_random_bits(1, "fashion", image, i) >> 58);
    const unsigned light = (x / 2 == label + 2 ? 1u : 0) + (y / 3 == label % 5 + 2 ? 1u : 0);
    return (unsigned char)(noise + 90 * light);
}

static void write_file(const struct fashion_folder *f, const char *name, unsigned n, int images)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/fashion-mnist/%s.gz", f->path, name);
    FILE *file = fopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    const unsigned words[] = {images ? 0x803 : 0x801, n, SIDE, SIDE};
    for (int i = 0; i < (images ? 4 : 2); i++)
        for (int shift = 24; shift >= 0; shift -= 8)
            fputc((int)(words[i] >> shift & 255), file);
    for (unsigned image = 0; image < n; image++)
        for (unsigned i = 0; i < (images ? PIXELS : 1); i++)
            fputc(images ? fashion_pixel(image, i) : (int)(image % CLASSES), file);
    CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
}

void fashion_set_up(struct fashion_folder *f, unsigned n_train, unsigned n_held_out)
{
    char path[128];
    strcpy(f->path, "/tmp/strait-fashion-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(f->path));
    snprintf(path, sizeof(path), "%s/fashion-mnist", f->path);
    CU_ASSERT_EQUAL_FATAL(mkdir(path, 0700), 0);
    write_file(f, "train-images-idx3-ubyte", n_train, 1);
    write_file(f, "train-labels-idx1-ubyte", n_train, 0);
    write_file(f, "t10k-images-idx3-ubyte", n_held_out, 1);
    write_file(f, "t10k-labels-idx1-ubyte", n_held_out, 0);
    setenv("STRAIT_DATA", f->path, 1);
}

void fashion_tear_down(struct fashion_folder *f)
{
    unsetenv("STRAIT_DATA");
    folder_remove(f->path);
}
