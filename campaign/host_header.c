/* The machine, from /proc and uname. */
#include <fcntl.h>
#include <math.h>
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

/* The value of "key :" in a file of /proc, in buf; "unknown" without such a line. False: the file
 * could not be opened. */
static bool proc_value(char *buf, size_t cap, const char *path, const char *key)
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
    return file != NULL;
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
    if (!proc_value(cpu, sizeof(cpu), "/proc/cpuinfo", "model name") || isinf(total_bytes))
        return NULL;
    if (host_cpu) { /* a guest's processor says nothing, and each boot leaves some MB more or less
                     */
        snprintf(cpu, sizeof(cpu), "%.200s, User-Mode Linux", host_cpu);
        total_bytes = GUEST_STEP_BYTES * ceil(total_bytes / GUEST_STEP_BYTES);
    }
    return json_pack("{s:s, s:i, s:f, s:o}", "cpu", cpu, "cores", strait_host_processors(),
                     "memory_bytes", total_bytes, "kernel", kernel_json());
}

/* A machine of which nothing could be read is another one by its hash: no key may come of it. */
int strait_host_hash(char key[STRAIT_KEY_CHARS], struct strait_error *err)
{
    static const char *const read[] = {"/proc/cpuinfo", "/proc/meminfo"};
    for (size_t i = 0; i < sizeof(read) / sizeof(read[0]); i++)
        if (access(read[i], R_OK) != 0)
            return strait_error_system(err, read[i], "cannot read");
    json_t *machine = strait_host_json();
    const char *hashed = machine ? strait_hash_json(key, machine) : NULL;
    json_decref(machine);
    return hashed ? 0 : strait_error_memory(err, "machine");
}

json_t *strait_versions_json(const char *program)
{
    char simgrid[32], own[STRAIT_KEY_CHARS] = "";
    snprintf(simgrid, sizeof(simgrid), "%d.%d.%d", SIMGRID_VERSION_MAJOR, SIMGRID_VERSION_MINOR,
             SIMGRID_VERSION_PATCH);
    if (!program && strait_program_hash(own, NULL) != 0)
        return NULL;
    return json_pack("{s:s, s:s, s:s, s:o, s:s}", "strait", STRAIT_VERSION, "simgrid", simgrid,
                     "jansson", jansson_version_str(), "kernel", kernel_json(), "program",
                     program ? program : own);
}

int strait_program_hash(char key[STRAIT_KEY_CHARS], struct strait_error *err)
{
    static const char self[] = "/proc/self/exe";
    struct stat info;
    int status = -1;
    const int fd = open(self, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) != 0) {
        strait_error_system(err, self, "cannot read");
    } else {
        void *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes == MAP_FAILED) {
            strait_error_system(err, self, "cannot map");
        } else {
            strait_hash_bytes(key, bytes, (size_t)info.st_size);
            munmap(bytes, (size_t)info.st_size);
            status = 0;
        }
    }
    if (fd >= 0)
        close(fd);
    return status;
}
