/* The codec that docs/adding-a-codec.md walks through. */
#pragma once
#include "codecs/codec.h"

extern const struct strait_codec_ops strait_codec_fixed;
