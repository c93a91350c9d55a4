/* This computer: its memory, processors, terminal and vector instructions. */
#pragma once
#include <stddef.h>
#include <stdio.h>

/** A value of /proc/meminfo ("MemTotal", "MemAvailable") in bytes; INFINITY if the kernel does not
 *  say. */
double strait_host_memory_bytes(const char *key);

/** Number of processors that this process may use, at least 1. */
int strait_host_processors(void);

/** The environment's COLUMNS; 0 if it is unset or no number from 2 to 9999. */
size_t strait_columns_asked(void);
/** Bytes that this process may still allocate: the machine's available memory or the rest of the
 *  control group's limit, whichever is less. INFINITY if neither is known. */
double strait_host_free_bytes(void);
/** Resident memory of a process in bytes; 0 if it is gone. */
double strait_host_resident_bytes(int pid);

/** Open a file for reading. A FIFO without a writer reads as an empty file instead of blocking.
 *  Returns: the file, or NULL with errno */
FILE *strait_host_open(const char *path);

/** Columns of the terminal behind a descriptor: as the terminal reports, else the environment's
 *  COLUMNS, else 80. 0 if it is no terminal. */
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

/* OpenBLAS built without threads (Debian's libopenblas0-serial) does not lock its buffers: two
 * threads that call it at the same time may share one and get wrong numbers. There these two make
 * one call at a time. Builds with OpenMP or POSIX threads have a lock of their own, and give the
 * same digits. */
void strait_blas_begin(void);
void strait_blas_end(void);
#define STRAIT_BLAS(call)                                                                          \
    do {                                                                                           \
        strait_blas_begin();                                                                       \
        call;                                                                                      \
        strait_blas_end();                                                                         \
    } while (0)

/** OpenBLAS takes an x86 processor that is newer than itself for its oldest one, Prescott, and then
 *  trains at less than half the speed.
 *  Returns: the value of OPENBLAS_CORETYPE that suits this processor, NULL: it has found its own,
 *           or the environment names one */
const char *strait_blas_better_core(void);
/** Take those kernels; what this starts takes them too. For a program's main(), before other
 *  threads and all linear algebra: a library leaves its host's choice alone. */
void strait_blas_choose_core(void);

/* Compile a function twice and choose at load time by what the processor supports. The clones
 * differ in vector width only and give the same bits. Functions that it calls must be inline.
 *
 * Under sanitizers only the portable code is built, because their run time is not ready when the
 * choice is made; likewise with clang, which (up to 14) exports the resolvers of static functions.
 */
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) &&       \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define STRAIT_CLONED __attribute__((target_clones("avx2", "default")))
#else
#define STRAIT_CLONED
#endif
#define STRAIT_INLINE static inline __attribute__((always_inline))
