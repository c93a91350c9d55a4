#include "learn/data/fashion.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "tests/kit/fashion.h"
#include "tests/kit/suite.h"

static void reads(void)
{
    struct fashion_folder f;
    struct strait_images images;
    struct strait_error err = {0};
    fashion_set_up(&f, 25, 11);
    for (int held_out = 0; held_out < 2; held_out++) {
        CU_ASSERT_EQUAL_FATAL(strait_fashion_read(&images, held_out, 0, &err), 0);
        CU_ASSERT_EQUAL_FATAL(images.n, held_out ? 11 : 25);
        for (unsigned i = 0; i < images.n; i++) {
            CU_ASSERT_EQUAL(images.labels[i], i % 10);
            CU_ASSERT_EQUAL(images.pixels[i * 784 + 783 - i], fashion_pixel(i, 783 - i));
        }
        strait_images_release(&images);
    }
    CU_ASSERT_EQUAL_FATAL(strait_fashion_read(&images, 0, 7, &err), 0);
    CU_ASSERT_EQUAL(images.n, 7);
    CU_ASSERT_EQUAL(images.labels[6], 6);
    strait_images_release(&images);
    fashion_tear_down(&f);
}

static void missing(void)
{
    struct strait_images images;
    struct strait_error err = {0};
    setenv("STRAIT_DATA", "/nowhere", 1);
    CU_ASSERT_EQUAL(strait_fashion_read(&images, 0, 0, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_HOST);
    CU_ASSERT_STRING_EQUAL(err.where, "/nowhere/fashion-mnist/train-images-idx3-ubyte.gz");
    strait_check_contains(STRAIT_AT(false, "the error"), err.text,
                          "install Debian's dataset-fashion-mnist");
    unsetenv("STRAIT_DATA");
}

/* Change one byte of a file, or cut it off there. */
static void damage(const struct fashion_folder *f, const char *name, long at, int byte)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/fashion-mnist/%s.gz", f->path, name);
    if (byte < 0) {
        CU_ASSERT_EQUAL_FATAL(truncate(path, at), 0);
        return;
    }
    FILE *file = fopen(path, "r+b");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fseek(file, at, SEEK_SET);
    fputc(byte, file);
    CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
}

static void damaged(void)
{
    static const struct {
        const char *name;
        long at;
        int byte; /* -1: the file ends here */
        const char *text;
    } cases[] = {
        {"train-images-idx3-ubyte", 3, 1, "expected idx images"},
        {"train-images-idx3-ubyte", 10, -1, "expected idx images"},
        {"train-images-idx3-ubyte", 11, 27, "expected images of 28 x 28 pixels"},
        {"train-images-idx3-ubyte", 7, 0, "expected between 1 and 10,000,000 items"},
        {"train-images-idx3-ubyte", 4, 1, "expected between 1 and 10,000,000 items"},
        {"train-images-idx3-ubyte", 16 + 24 * 784, -1, "as many items as it says, found its end"},
        {"train-labels-idx1-ubyte", 2, 9, "expected idx labels"},
        {"train-labels-idx1-ubyte", 7, 24, "as many labels as images, found 24 and 25"},
        {"train-labels-idx1-ubyte", 8 + 3, 10, "expected labels below 10, found 10"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct fashion_folder f;
        struct strait_images images;
        struct strait_error err = {0};
        strait_test_context("case %zu", i);
        fashion_set_up(&f, 25, 11);
        damage(&f, cases[i].name, cases[i].at, cases[i].byte);
        CU_ASSERT_EQUAL(strait_fashion_read(&images, 0, 0, &err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        strait_check_contains(STRAIT_AT(false, "the error"), err.text, cases[i].text);
        fashion_tear_down(&f);
    }
}

/* The real data set, where it is installed: 6000 images of each class, and pixels that scaled have
 * mean 0 and deviation 1. */
static void real(void)
{
    struct strait_images images;
    struct strait_error err = {0};
    unsetenv("STRAIT_DATA");
    const int status = strait_fashion_read(&images, 0, 0, &err);
    if (status && err.code == STRAIT_ERR_HOST) {
        strait_test_skip(STRAIT_FASHION_PACKAGE " is not installed");
        return;
    }
    CU_ASSERT_EQUAL_FATAL(status, 0);
    CU_ASSERT_EQUAL_FATAL(images.n, 60000);
    unsigned of_label[10] = {0};
    double sum = 0, squares = 0;
    for (size_t i = 0; i < images.n; i++) {
        float x[784];
        of_label[images.labels[i]]++;
        if (i % 10 > 0)
            continue;
        strait_fashion_scaled(x, images.pixels + i * 784);
        for (size_t j = 0; j < 784; j++) {
            sum += x[j];
            squares += (double)x[j] * x[j];
        }
    }
    for (size_t i = 0; i < 10; i++)
        CU_ASSERT_EQUAL(of_label[i], 6000);
    const double mean = sum / (6000 * 784);
    CU_ASSERT_DOUBLE_EQUAL(mean, 0, 0.01); /* every tenth image */
    CU_ASSERT_DOUBLE_EQUAL(sqrt(squares / (6000 * 784) - mean * mean), 1, 0.01);
    strait_images_release(&images);
}

static const struct strait_test tests[] = {
    {"images and labels are read, or the first of them", reads},
    {"a data set that is not installed is named with its package", missing},
    {"files that are not what they should be are refused", damaged},
    {"the installed data set has 6000 images of a class, mean 0 and deviation 1", real},
};
STRAIT_SUITE("learn/fashion", tests);
