/* What a test reads of the tree, wherever that was moved. */
#pragma once
#include "core/shipped.h"

/** Absolute path of a file of the tree, which lives as long as the block. */
#define DATA(relative) strait_share_path((char[4096]){0}, 4096, relative)
