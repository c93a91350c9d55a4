#include "host.h"

#include <assert.h>
#include <cblas.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <pthread.h>
#include <stdbool.h>

double strait_host_memory_bytes(const char *key)
{
    double kib = INFINITY;
    char line[128];
    const size_t len = strlen(key);
    FILE *f = fopen("/proc/meminfo", "re");
    if (!f)
        return INFINITY;
    while (fgets(line, sizeof(line), f))
        if (strncmp(line, key, len) == 0 && sscanf(line + len, ": %lf kB", &kib) == 1)
            break;
    fclose(f);
    return kib * 1024;
}

int strait_host_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
    const long n = sysconf(_SC_NPROCESSORS_ONLN); /* more than a set has room for */
    return n > 0 ? (int)n : 1;
}

size_t strait_columns_asked(void)
{
    const char *asked = getenv("COLUMNS");
    const long columns = asked ? strtol(asked, NULL, 10) : 0;
    return columns > 1 && columns < 10000 ? (size_t)columns : 0;
}

/* The only number of a file; INFINITY: it has none, such as "max". */
static double number_in(const char *path)
{
    double value = INFINITY;
    FILE *f = fopen(path, "re");
    if (f && fscanf(f, "%lf", &value) != 1)
        value = INFINITY;
    if (f)
        fclose(f);
    return value;
}

double strait_host_free_bytes(void)
{
    static const char *const groups[][2] = {
        {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
        {"/sys/fs/cgroup/memory/memory.limit_in_bytes",
         "/sys/fs/cgroup/memory/memory.usage_in_bytes"}};
    double free_bytes = strait_host_memory_bytes("MemAvailable");
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        const double most = number_in(groups[i][0]), used = number_in(groups[i][1]);
        if (isfinite(most) && isfinite(used))
            free_bytes = fmin(free_bytes, fmax(0, most - used));
    }
    return free_bytes;
}

double strait_host_resident_bytes(int pid)
{
    char path[64];
    double pages = 0;
    snprintf(path, sizeof(path), "/proc/%d/statm", pid);
    FILE *f = fopen(path, "re");
    if (f && fscanf(f, "%*f %lf", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (double)sysconf(_SC_PAGESIZE);
}

FILE *strait_host_open(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    FILE *f = fcntl(fd, F_SETFL, 0) == 0 ? fdopen(fd, "r") : NULL;
    if (!f)
        close(fd);
    return f;
}

size_t strait_terminal_columns(int fd)
{
    struct winsize window;
    if (!isatty(fd))
        return 0;
    if (ioctl(fd, TIOCGWINSZ, &window) == 0 && window.ws_col > 1)
        return window.ws_col;
    const size_t asked = strait_columns_asked();
    return asked > 0 ? asked : 80;
}

static const char *const names[N_STRAIT_SIMD] = {"portable", "avx2", "avx512"};

enum strait_simd strait_simd_best(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    /* __builtin_cpu_supports also checks that the operating system saves the registers. */
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") ||
        !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("popcnt") ||
        !__builtin_cpu_supports("fma"))
        return STRAIT_SIMD_PORTABLE;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return STRAIT_SIMD_AVX512;
    return STRAIT_SIMD_AVX2;
#else
    return STRAIT_SIMD_PORTABLE;
#endif
}

enum strait_simd strait_simd_level(void)
{
    const enum strait_simd best = strait_simd_best();
    const char *asked = getenv("STRAIT_SIMD");
    for (unsigned level = 0; asked && level < (unsigned)best; level++)
        if (strcmp(asked, names[level]) == 0)
            return (enum strait_simd)level;
    return best;
}

const char *strait_simd_name(enum strait_simd level)
{
    assert((unsigned)level < N_STRAIT_SIMD);
    return names[level];
}

static pthread_mutex_t blas = PTHREAD_MUTEX_INITIALIZER;

static bool is_unguarded(void)
{
    return openblas_get_parallel() == OPENBLAS_SEQUENTIAL;
}

void strait_blas_begin(void)
{
    if (is_unguarded())
        pthread_mutex_lock(&blas);
}

void strait_blas_end(void)
{
    if (is_unguarded())
        pthread_mutex_unlock(&blas);
}

const char *strait_blas_better_core(void)
{
    const enum strait_simd best = strait_simd_best();
    if (best == STRAIT_SIMD_PORTABLE || getenv("OPENBLAS_CORETYPE") ||
        strcmp(openblas_get_corename(), "Prescott") != 0)
        return NULL;
    return best == STRAIT_SIMD_AVX512 ? "SkylakeX" : "Haswell";
}

/* It chooses while it is loaded, before main; these two, which builds for several processors have,
 * make it choose again. */
void strait_blas_choose_core(void)
{
    const char *better = strait_blas_better_core();
    void *const forget = dlsym(RTLD_DEFAULT, "gotoblas_dynamic_quit"), *const choose = dlsym(
                                                                           RTLD_DEFAULT,
                                                                           "gotoblas_dynamic_init");
    void (*calls[2])(void);
    static_assert(sizeof(calls) == 2 * sizeof(forget), "POSIX has one kind of address");
    if (!better || !forget || !choose || setenv("OPENBLAS_CORETYPE", better, 1) != 0)
        return;
    memcpy(calls, (void *const[]){forget, choose}, sizeof(calls));
    calls[0]();
    calls[1]();
}
