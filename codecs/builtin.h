/* The codecs that registry.c lists: one file each, or one file for a few closely related ones. */
#pragma once
#include "codec.h"

/* lossless */
extern const struct strait_codec_ops strait_codec_none, strait_codec_zstd, strait_codec_lz4,
    strait_codec_blosc, strait_codec_fpzip;
/* error-bounded */
extern const struct strait_codec_ops strait_codec_sz, strait_codec_zfp, strait_codec_sz3,
    strait_codec_libpressio;
/* quantisers */
extern const struct strait_codec_ops strait_codec_fp16, strait_codec_bf16, strait_codec_qsgd,
    strait_codec_terngrad, strait_codec_natural, strait_codec_u8bit, strait_codec_sketchml,
    strait_codec_inceptionn;
/* signs */
extern const struct strait_codec_ops strait_codec_signsgd, strait_codec_signum,
    strait_codec_efsignsgd, strait_codec_onebit;
/* sparsifiers, and DeepReduce around them */
extern const struct strait_codec_ops strait_codec_randomk, strait_codec_topk,
    strait_codec_threshold, strait_codec_dgc, strait_codec_adaq, strait_codec_gtopk,
    strait_codec_deepreduce;
/* low rank */
extern const struct strait_codec_ops strait_codec_powersgd, strait_codec_acpsgd;
