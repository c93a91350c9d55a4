/* The codec that docs/adding-a-codec.md walks through. */
#pragma once
#include "codecs/codec.h"

/* Whoever follows the page has one of this name in the tree: both are linked into the suites. */
#define strait_codec_fixed strait_example_codec

extern const struct strait_codec_ops strait_codec_fixed;
