/* The one table of index codecs. */
#include "codecs/sparse/sparse.h"

static const struct strait_index_codec *const codecs[] = {
    &strait_index_raw,    /* 32 bits each */
    &strait_index_bitmap, /* a bit for each value of the tensor */
    &strait_index_rice,   /* gaps */
    &strait_index_rle,      &strait_index_huffman,  &strait_index_bloom_p0,
    &strait_index_bloom_p1, &strait_index_bloom_p2,
};
enum { N_CODECS = sizeof(codecs) / sizeof(codecs[0]) };

const char *const strait_index_codec_names[] = {
    "raw", "bitmap", "rice", "rle", "huffman", "bloom-p0", "bloom-p1", "bloom-p2", NULL};

const struct strait_index_codec *const *strait_index_codecs(size_t *n)
{
    *n = N_CODECS;
    return codecs;
}
