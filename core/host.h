/* What this computer offers: its memory, the terminal, its vector instructions. */
#pragma once
#include <stddef.h>
#include <stdio.h>

/** A value of /proc/meminfo ("MemTotal", "MemAvailable") in bytes; INFINITY if the kernel does not
 *  say. */
double strait_host_memory_bytes(const char *key);

/** COLUMNS of the environment; 0: not there, or no number from 2 to 9999. */
size_t strait_columns_asked(void);
/** Open a file for reading. A FIFO that nobody writes is one without bytes, not a wait for ever.
 *  Returns: the file, or NULL with errno */
FILE *strait_host_open(const char *path);

/** Columns of the terminal behind a descriptor: what it says itself, else COLUMNS of the
 *  environment, else 80. 0: it is no terminal. */
size_t strait_terminal_columns(int fd);

/* The vector instructions that the codecs use: the best that the machine has, unless the user asked
 * for less. All levels give the same bytes and values; only their speed differs. */
enum strait_simd { STRAIT_SIMD_PORTABLE, STRAIT_SIMD_AVX2, STRAIT_SIMD_AVX512, N_STRAIT_SIMD };

/** The highest level that this processor and its operating system support. */
enum strait_simd strait_simd_best(void);
/** The level for codecs opened now: the best, or the one in the environment variable STRAIT_SIMD
 *  ("portable", "avx2", "avx512") if that is lower. Any other text there is ignored. */
enum strait_simd strait_simd_level(void);
const char *strait_simd_name(enum strait_simd level);
