#include "timing.h"
#include "codecs/foreign/isolate.h"

#include <string.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/clock.h"

enum { MIN_SWEEP_BYTES = 128 << 20 };

double strait_cpu_s(void)
{
    return 1e-9 * (double)strait_cpu_thread_ns() + strait_isolated_cpu_s();
}

size_t strait_sweep_bytes(void)
{
    const long cache_bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    const bool known = cache_bytes > MIN_SWEEP_BYTES / 2 && cache_bytes <= MIN_SWEEP_BYTES;
    return known ? 2 * (size_t)cache_bytes : MIN_SWEEP_BYTES;
}

int strait_sweeper_init(struct strait_sweeper *s, struct strait_error *err)
{
    s->len_bytes = strait_sweep_bytes();
    s->memory = strait_buffer_new(s->len_bytes);
    return s->memory ? 0 : strait_error_memory(err, "timing");
}

void strait_sweeper_release(struct strait_sweeper *s)
{
    strait_buffer_free(s->memory);
    s->memory = NULL;
}

void strait_sweep(const struct strait_sweeper *s)
{
    memset(s->memory, s->memory[0] + 1, s->len_bytes);
}
