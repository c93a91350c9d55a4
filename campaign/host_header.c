/* The machine, from /proc and uname. */
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <xbt/base.h>
#include <simgrid/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "core/host.h"
#include "host_header.h"

/* Granularity of a guest's memory (emu/guest/uml.c). */
static const double GUEST_STEP_BYTES = 512.0 * 1048576;

/* The value of "key :" in a file of /proc, in buf. */
static const char *proc_value(char *buf, size_t cap, const char *path, const char *key)
{
    char line[512];
    FILE *file = fopen(path, "re");
    snprintf(buf, cap, "unknown");
    while (file && fgets(line, sizeof(line), file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, key, strlen(key)) != 0 || !colon)
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        colon[strcspn(colon, "\n")] = '\0';
        snprintf(buf, cap, "%s", colon);
        break;
    }
    if (file)
        fclose(file);
    return buf;
}

int strait_host_n_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

static json_t *kernel_json(void)
{
    struct utsname name;
    char text[256] = "unknown";
    if (uname(&name) == 0)
        snprintf(text, sizeof(text), "%.60s %.100s %.60s", name.sysname, name.release,
                 name.machine);
    return json_string(text);
}

json_t *strait_host_json(void)
{
    char cpu[256];
    const char *host_cpu = getenv(STRAIT_HOST_CPU_NAME);
    double total_bytes = strait_host_memory_bytes("MemTotal");
    proc_value(cpu, sizeof(cpu), "/proc/cpuinfo", "model name");
    if (host_cpu) { /* a guest's processor says nothing, and each boot leaves some MB more or less
                     */
        snprintf(cpu, sizeof(cpu), "%.200s, User-Mode Linux", host_cpu);
        total_bytes = GUEST_STEP_BYTES * ceil(total_bytes / GUEST_STEP_BYTES);
    }
    return json_pack("{s:s, s:i, s:f, s:o}", "cpu", cpu, "cores", strait_host_n_cores(),
                     "memory_bytes", isfinite(total_bytes) ? total_bytes : 0, "kernel", kernel_json());
}

const char *strait_host_hash(char key[STRAIT_KEY_CHARS])
{
    json_t *machine = strait_host_json();
    const char *hashed = strait_hash_json(key, machine);
    json_decref(machine);
    return hashed;
}

json_t *strait_versions_json(void)
{
    char simgrid[32], program[STRAIT_KEY_CHARS];
    int major = 0, minor = 0, patch = 0;
    sg_version_get(&major, &minor, &patch);
    snprintf(simgrid, sizeof(simgrid), "%d.%d.%d", major, minor, patch);
    return json_pack("{s:s, s:s, s:s, s:o, s:s}", "strait", STRAIT_VERSION, "simgrid", simgrid,
                     "jansson", jansson_version_str(), "kernel", kernel_json(), "program",
                     strait_program_hash(program));
}

const char *strait_program_hash(char key[STRAIT_KEY_CHARS])
{
    struct stat info;
    const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    snprintf(key, STRAIT_KEY_CHARS, "%s", STRAIT_VERSION);
    if (fd < 0 || fstat(fd, &info) != 0 || info.st_size <= 0) {
        if (fd >= 0)
            close(fd);
        return key;
    }
    void *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (bytes == MAP_FAILED)
        return key;
    strait_hash_bytes(key, bytes, (size_t)info.st_size);
    munmap(bytes, (size_t)info.st_size);
    return key;
}
