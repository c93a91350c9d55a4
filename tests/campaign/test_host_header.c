/* What a header of results says of the machine. */
#include "campaign/host_header.h"
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "core/host.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static void machines(void)
{
    struct utsname name;
    struct sysinfo info;
    CU_ASSERT_EQUAL_FATAL(uname(&name) == 0 && sysinfo(&info) == 0, true);
    unsetenv(STRAIT_HOST_CPU_NAME);
    json_t *host = strait_host_json();
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(host, "cores")), strait_host_processors());
    const char *kernel = text_of(host, "kernel");
    CU_ASSERT_EQUAL(strncmp(kernel, "Linux ", 6), 0);
    CU_ASSERT_CONTAINS(kernel, name.release);
    CU_ASSERT_CONTAINS(kernel, name.machine);
    /* /proc/meminfo says it in KiB */
    const double bytes = json_number_value(json_object_get(host, "memory_bytes"));
    CU_ASSERT_DOUBLE_EQUAL(bytes, (double)info.totalram * info.mem_unit, 1024);
    /* as /proc/cpuinfo has it behind "model name	: " */
    size_t n;
    char *all = folder_bytes("/", "/proc/cpuinfo", &n),
         *at = all ? strstr(all, "model name") : NULL;
    if (at) {
        at = strchr(at, ':') + 2;
        at[strcspn(at, "\n")] = '\0';
        CU_ASSERT_STRING_EQUAL(text_of(host, "cpu"), at);
    }
    free(all);
    json_decref(host);
}

/* A guest's processor is the host's, and of its memory each boot leaves some MB more or less. */
static void guests(void)
{
    char own[STRAIT_KEY_CHARS], other[STRAIT_KEY_CHARS];
    struct strait_error err = {0};
    unsetenv(STRAIT_HOST_CPU_NAME);
    json_t *host = strait_host_json();
    const double bytes = json_number_value(json_object_get(host, "memory_bytes"));
    json_decref(host);
    CU_ASSERT_EQUAL(strait_host_hash(own, &err), 0);
    setenv(STRAIT_HOST_CPU_NAME, "Xeon X", 1);
    json_t *guest = strait_host_json();
    CU_ASSERT_EQUAL(strait_host_hash(other, &err), 0);
    unsetenv(STRAIT_HOST_CPU_NAME);
    CU_ASSERT_STRING_EQUAL(text_of(guest, "cpu"), "Xeon X, User-Mode Linux");
    const double steps = json_number_value(json_object_get(guest, "memory_bytes")) / 536870912;
    CU_ASSERT_EQUAL(steps, ceil(bytes / 536870912));
    CU_ASSERT_STRING_NOT_EQUAL(own, other);
    json_decref(guest);
}

static void versions(void)
{
    char program[STRAIT_KEY_CHARS], expected[STRAIT_KEY_CHARS];
    const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct stat file;
    CU_ASSERT_FATAL(fd >= 0 && fstat(fd, &file) == 0);
    const size_t n = (size_t)file.st_size;
    void *bytes = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
    CU_ASSERT_FATAL(bytes != MAP_FAILED);
    close(fd);
    strait_hash_bytes(expected, bytes, n);
    munmap(bytes, n);
    struct strait_error err = {0};
    CU_ASSERT_EQUAL(strait_program_hash(program, &err), 0);
    CU_ASSERT_STRING_EQUAL(program, expected);
    json_t *v = strait_versions_json(NULL);
    CU_ASSERT_STRING_EQUAL(text_of(v, "program"), expected);
    CU_ASSERT_STRING_EQUAL(text_of(v, "jansson"), jansson_version_str());
    CU_ASSERT_STRING_EQUAL(text_of(v, "strait"), STRAIT_VERSION);
    int major = 0, minor = 0, patch = -1; /* the C API that we use came with 3.32 */
    CU_ASSERT_EQUAL(sscanf(text_of(v, "simgrid"), "%d.%d.%d", &major, &minor, &patch), 3);
    CU_ASSERT(major > 3 || (major == 3 && minor >= 32));
    CU_ASSERT_CONTAINS(text_of(v, "kernel"), "Linux");
    json_decref(v);
}

static const struct strait_test tests[] = {
    {"processor, memory and kernel as /proc has them", machines},
    {"a guest has its host's processor and memory in steps", guests},
    {"versions, and the program by its bytes", versions},
};
STRAIT_SUITE("campaign/host_header", tests);
