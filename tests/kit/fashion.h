/* A small data set in the place of Fashion-MNIST: for tests that do not need the real one. */
#pragma once

struct fashion_folder {
    char path[64];
};
/** Write so many images, of ten shapes that can be learnt, below a new folder under /tmp and name
 *  it in STRAIT_DATA. Image i has the label i % 10. */
void fashion_set_up(struct fashion_folder *f, unsigned n_train, unsigned n_held_out);
void fashion_tear_down(struct fashion_folder *f);
/** Pixel i of image number `image` of either set. */
unsigned char fashion_pixel(unsigned image, unsigned i);
