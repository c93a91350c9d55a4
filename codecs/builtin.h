/* The codecs: a new one is one new file and one line here. */
#pragma once
#include "codec.h"

#define STRAIT_CODECS(X)                                                                           \
    X(none)        /* raw float32 */                                                               \
    X(zstd)        /* shuffled bytes, libzstd */                                                   \
    X(lz4)         /* shuffled bytes, liblz4 */                                                    \
    X(blosc)       /* shuffled bits or bytes, c-blosc */                                           \
    X(fpzip)       /* predicted floats, fpzip */                                                   \
    X(dfloat32)    /* coded exponents, own */                                                      \
    X(sz)          /* error-bounded, own */                                                        \
    X(zfp)         /* error-bounded, libzfp */                                                     \
    X(sz3)         /* error-bounded, libSZ3c where it is installed */                              \
    X(libpressio)  /* error-bounded, LibPressio where it is installed */                           \
    X(fp16)        /* 16 bits a value */                                                           \
    X(bf16)        /* the upper 16 bits of a float32 */                                            \
    X(dfloat16)    /* the same with coded exponents */                                             \
    X(qsgd)        /* levels of each bucket's norm, drawn */                                       \
    X(dithering)   /* levels of each bucket's norm, drawn, in Elias codes */                       \
    X(terngrad)    /* -1, 0, 1, drawn */                                                           \
    X(natural)     /* powers of two, drawn */                                                      \
    X(u8bit)       /* 8-bit data type with a dynamic exponent */                                   \
    X(block)       /* 4 or 8 bits in units of each block's largest */                              \
    X(sdp4bit)     /* drawn, 4 bits in units of blocks, after a transform */                       \
    X(mx)          /* 4 to 8 bits and a shared exponent (OCP) */                                   \
    X(dynamiq)     /* 2, 4 or 8 bits by each part's norm */                                        \
    X(thc)         /* numbers of a shared grid, after a transform; they add */                     \
    X(sketchml)    /* quantiles */                                                                 \
    X(inceptionn)  /* truncated by magnitude */                                                    \
    X(signsgd)     /* signs */                                                                     \
    X(signum)      /* signs of the momentum */                                                     \
    X(efsignsgd)   /* signs and one scale */                                                       \
    X(onebit)      /* signs and two means */                                                       \
    X(randomk)     /* elements drawn by a shared key */                                            \
    X(topk)        /* the largest elements */                                                      \
    X(threshold)   /* elements above a threshold */                                                \
    X(dgc)         /* largest by a sampled threshold */                                            \
    X(adaq)        /* largest of each sign, two means */                                           \
    X(gtopk)       /* largest, and largest of sums */                                              \
    X(chunktopk)   /* the largest of each chunk */                                                 \
    X(dcttopk)     /* the largest of each chunk's cosine transform */                              \
    X(omnireduce)  /* blocks that are not 0, or the largest */                                     \
    X(countsketch) /* counters that add, the largest estimates */                                  \
    X(cocktailsgd) /* the largest of a drawn sample, in a few bits */                              \
    X(atomo)       /* drawn by magnitude, unbiased */                                              \
    X(deepreduce)  /* chosen elements: index and value codecs */                                   \
    X(powersgd)    /* two factors by power iteration */                                            \
    X(acpsgd)      /* two factors, one of them new each step */

#define STRAIT_CODEC_DECLARE(name) extern const struct strait_codec_ops strait_codec_##name;
STRAIT_CODECS(STRAIT_CODEC_DECLARE)
#undef STRAIT_CODEC_DECLARE
