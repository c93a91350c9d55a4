/* The codecs that registry.c lists: one file each. */
#pragma once
#include "codec.h"

extern const struct strait_codec_ops strait_codec_none, strait_codec_zstd, strait_codec_sz,
    strait_codec_zfp;
