/* Fashion-MNIST (Xiao, Rasul, Vollgraf, arXiv 1708.07747) as Debian's dataset-fashion-mnist has it:
 * 60,000 and 10,000 images of 28 x 28 grey pixels in ten classes. */
#pragma once
#include <stdint.h>
#include "core/error.h"

enum { STRAIT_FASHION_SIDE = 28, STRAIT_FASHION_PIXELS = 784, STRAIT_FASHION_CLASSES = 10 };
#define STRAIT_FASHION_PACKAGE "dataset-fashion-mnist"
/** Names the folder that has data sets, each in a folder of its own, instead of
 *  /usr/share/datasets. */
#define STRAIT_DATA_VARIABLE "STRAIT_DATA"

struct strait_images {
    uint32_t n;
    unsigned char *pixels; /* n x 784, row after row */
    unsigned char *labels; /* n, below 10 */
};

/** Read the training images, or the held-out ones.
 *  In:      limit  read the first so many; 0: all
 *  Returns: 0, or -1 with *err: HOST naming the package where the data set is not installed, INPUT
 *           where a file is not what it should be */
int strait_fashion_read(struct strait_images *images, int held_out, long limit,
                        struct strait_error *err);
void strait_images_release(struct strait_images *images);
/** One image as the networks take it. Out: x 784 */
void strait_fashion_scaled(float *x, const unsigned char *pixels);
