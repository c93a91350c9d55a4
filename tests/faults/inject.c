/* Loaded before the program (LD_PRELOAD): one call of one kind fails, the n-th of all processes of
 * a command together. STRAIT_FAULT="KIND:N" ("KIND:N+": and all later ones), STRAIT_FAULT_COUNT: a
 * file that takes the number of calls of each kind, in the order of the kinds. Counted are calls
 * out of the program, the C library and jansson: what SimGrid or a codec's library does when
 * memory runs out is its own. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): the C library's functions by
 * their names, whose parameters it calls __fd */
#define PUBLIC __attribute__((visibility("default")))

enum kind { MALLOC, OPEN, READ, WRITE, MMAP, FORK, SOCKET, CONNECT, MEMFD, SEND, RECV, N_KINDS };
static const char *const names[N_KINDS] = {"malloc", "open",    "read",  "write", "mmap", "fork",
                                           "socket", "connect", "memfd", "send",  "recv"};
static const int errors[N_KINDS] = {ENOMEM, EMFILE,       EIO,    ENOSPC,  ENOMEM, EAGAIN,
                                    ENFILE, ECONNREFUSED, ENFILE, ENOBUFS, EIO};
enum { MAX_RANGES = 64 };

static struct {
    bool ready, on, later;
    enum kind kind;
    uint64_t index;
    _Atomic(uint64_t) *counts; /* shared by all processes */
    struct {
        uintptr_t from, to;
    } ranges[MAX_RANGES];
    int n_ranges;
} fault;

/* Should this call, out of that code, fail? */
static bool strikes(enum kind kind, const void *caller)
{
    const uintptr_t at = (uintptr_t)caller;
    bool counts = false;
    if (!fault.ready)
        return false;
    for (int i = 0; i < fault.n_ranges && !counts; i++)
        counts = at >= fault.ranges[i].from && at < fault.ranges[i].to;
    if (!counts)
        return false;
    const uint64_t n = atomic_fetch_add(&fault.counts[kind], 1);
    if (!fault.on || kind != fault.kind || !(n == fault.index || (fault.later && n > fault.index)))
        return false;
    errno = errors[kind];
    return true;
}

static int add_ranges(struct dl_phdr_info *info, size_t size, void *data)
{
    const char *name = info->dlpi_name;
    (void)size;
    (void)data;
    if (*name && !strstr(name, "libc.so") && !strstr(name, "libjansson"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum && fault.n_ranges < MAX_RANGES; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
            continue;
        fault.ranges[fault.n_ranges].from = info->dlpi_addr + p->p_vaddr;
        fault.ranges[fault.n_ranges++].to = info->dlpi_addr + p->p_vaddr + p->p_memsz;
    }
    return 0;
}

__attribute__((constructor)) static void begin(void)
{
    const char *asked = getenv("STRAIT_FAULT"), *file = getenv("STRAIT_FAULT_COUNT");
    if (!file || strcmp(program_invocation_short_name, "strait") != 0)
        return;
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return;
    void *map =
        mmap(NULL, N_KINDS * sizeof(*fault.counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return;
    fault.counts = map;
    for (int kind = 0; asked && kind < N_KINDS; kind++) {
        const size_t n = strlen(names[kind]);
        if (strncmp(asked, names[kind], n) != 0 || asked[n] != ':')
            continue;
        char *end;
        fault.kind = (enum kind)kind;
        fault.index = strtoull(asked + n + 1, &end, 10);
        fault.later = *end == '+';
        fault.on = true;
    }
    dl_iterate_phdr(add_ranges, NULL);
    fault.ready = true;
}

/* The next function of that name; dlsym may ask for memory before there is any. */
#define NEXT(name)                                                                                 \
    static __typeof__(name) *next;                                                                 \
    if (!next)                                                                                     \
    *(void **)&next = dlsym(RTLD_NEXT, #name)
#define FAILS(kind) strikes(kind, __builtin_return_address(0))

PUBLIC void *malloc(size_t n)
{
    NEXT(malloc);
    return FAILS(MALLOC) ? NULL : next(n);
}

PUBLIC void *calloc(size_t n, size_t size)
{
    static _Alignas(16) char early[4096];
    static size_t used;
    static bool asking;
    static __typeof__(calloc) *next;
    if (!next) {
        if (asking) {
            char *p = early + used;
            used += (n * size + 15) / 16 * 16;
            return used <= sizeof(early) ? p : NULL;
        }
        asking = true;
        *(void **)&next = dlsym(RTLD_NEXT, "calloc");
    }
    return FAILS(MALLOC) ? NULL : next(n, size);
}

PUBLIC void *realloc(void *p, size_t n)
{
    NEXT(realloc);
    return FAILS(MALLOC) ? NULL : next(p, n);
}

PUBLIC void *aligned_alloc(size_t alignment, size_t n)
{
    NEXT(aligned_alloc);
    return FAILS(MALLOC) ? NULL : next(alignment, n);
}

PUBLIC int posix_memalign(void **p, size_t alignment, size_t n)
{
    NEXT(posix_memalign);
    return FAILS(MALLOC) ? ENOMEM : next(p, alignment, n);
}

PUBLIC char *strdup(const char *text)
{
    NEXT(strdup);
    return FAILS(MALLOC) ? NULL : next(text);
}

static unsigned mode_of(int flags, va_list more)
{
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(more, unsigned) : 0;
}

PUBLIC int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    const unsigned mode = mode_of(flags, more);
    va_end(more);
    NEXT(open);
    return FAILS(OPEN) ? -1 : next(path, flags, mode);
}

PUBLIC FILE *fopen(const char *path, const char *mode)
{
    NEXT(fopen);
    return FAILS(OPEN) ? NULL : next(path, mode);
}

/* From now on the file's descriptor reads or writes something that cannot be. */
static void spoil(FILE *f, const char *by, int flags)
{
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, by, flags | O_CLOEXEC);
    if (fd >= 0 && fileno(f) >= 0)
        dup3(fd, fileno(f), O_CLOEXEC);
    if (fd >= 0)
        close(fd);
}

PUBLIC ssize_t read(int fd, void *to, size_t n)
{
    NEXT(read);
    return FAILS(READ) ? -1 : next(fd, to, n);
}

PUBLIC ssize_t pread(int fd, void *to, size_t n, off_t at)
{
    NEXT(pread);
    return FAILS(READ) ? -1 : next(fd, to, n, at);
}

PUBLIC size_t fread(void *to, size_t size, size_t n, FILE *f)
{
    NEXT(fread);
    if (FAILS(READ))
        spoil(f, "/", O_RDONLY);
    return next(to, size, n, f);
}

PUBLIC char *fgets(char *to, int n, FILE *f)
{
    NEXT(fgets);
    if (FAILS(READ))
        spoil(f, "/", O_RDONLY);
    return next(to, n, f);
}

PUBLIC ssize_t getline(char **line, size_t *cap, FILE *f)
{
    NEXT(getline);
    if (FAILS(READ))
        spoil(f, "/", O_RDONLY);
    return next(line, cap, f);
}

PUBLIC ssize_t write(int fd, const void *from, size_t n)
{
    NEXT(write);
    return FAILS(WRITE) ? -1 : next(fd, from, n);
}

PUBLIC ssize_t pwrite(int fd, const void *from, size_t n, off_t at)
{
    NEXT(pwrite);
    return FAILS(WRITE) ? -1 : next(fd, from, n, at);
}

PUBLIC size_t fwrite(const void *from, size_t size, size_t n, FILE *f)
{
    NEXT(fwrite);
    if (f != stderr && FAILS(WRITE))
        spoil(f, "/dev/full", O_WRONLY);
    return next(from, size, n, f);
}

PUBLIC void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
    NEXT(mmap);
    return FAILS(MMAP) ? MAP_FAILED : next(at, n, protection, flags, fd, offset);
}

PUBLIC pid_t fork(void)
{
    NEXT(fork);
    return FAILS(FORK) ? -1 : next();
}

PUBLIC int socket(int domain, int type, int protocol)
{
    NEXT(socket);
    return FAILS(SOCKET) ? -1 : next(domain, type, protocol);
}

PUBLIC int socketpair(int domain, int type, int protocol, int pair[2])
{
    NEXT(socketpair);
    return FAILS(SOCKET) ? -1 : next(domain, type, protocol, pair);
}

PUBLIC int connect(int fd, __CONST_SOCKADDR_ARG to, socklen_t n)
{
    NEXT(connect);
    return FAILS(CONNECT) ? -1 : next(fd, to, n);
}

PUBLIC int memfd_create(const char *name, unsigned flags)
{
    NEXT(memfd_create);
    return FAILS(MEMFD) ? -1 : next(name, flags);
}

PUBLIC ssize_t send(int fd, const void *from, size_t n, int flags)
{
    NEXT(send);
    return FAILS(SEND) ? -1 : next(fd, from, n, flags);
}

PUBLIC ssize_t sendmsg(int fd, const struct msghdr *h, int flags)
{
    NEXT(sendmsg);
    return FAILS(SEND) ? -1 : next(fd, h, flags);
}

PUBLIC ssize_t recv(int fd, void *to, size_t n, int flags)
{
    NEXT(recv);
    return FAILS(RECV) ? -1 : next(fd, to, n, flags);
}

PUBLIC ssize_t recvmsg(int fd, struct msghdr *h, int flags)
{
    NEXT(recvmsg);
    return FAILS(RECV) ? -1 : next(fd, h, flags);
}

/* libmnl calls the system itself: its two steps are ours to fail, for rtnetlink. */
struct mnl_socket;
PUBLIC ssize_t mnl_socket_sendto(const struct mnl_socket *s, const void *from, size_t n);
PUBLIC ssize_t mnl_socket_sendto(const struct mnl_socket *s, const void *from, size_t n)
{
    NEXT(mnl_socket_sendto);
    return FAILS(SEND) ? -1 : next(s, from, n);
}

PUBLIC ssize_t mnl_socket_recvfrom(const struct mnl_socket *s, void *to, size_t n);
PUBLIC ssize_t mnl_socket_recvfrom(const struct mnl_socket *s, void *to, size_t n)
{
    NEXT(mnl_socket_recvfrom);
    return FAILS(RECV) ? -1 : next(s, to, n);
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
