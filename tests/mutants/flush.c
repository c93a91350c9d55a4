/* Only in `make coverage`: a child that ends with _exit writes what it has counted, too. The linker
 * leads every call of _exit here (--wrap=_exit). A process that is ended by a signal, and what runs
 * in a guest, is not counted.
 *
 * Every process would write a file for each of some 500 objects, most of them zeros: a second a
 * process. Those are left out of libgcov's list while it writes (--wrap=__gcov_dump). */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

void __real___gcov_dump(void);
void __wrap___gcov_dump(void);
_Noreturn void __real__exit(int status);
_Noreturn void __wrap__exit(int status);

/* libgcov of GCC 12 to 14, libgcc/libgcov.h; one kind of counters, as of -fprofile-arcs. */
enum { N_KINDS = 8, MAX_OBJECTS = 4096 };

struct function {
    const void *object;
    unsigned ident, lines_checksum, checksum;
    struct {
        unsigned n;
        const int64_t *at;
    } counts;
};

struct object {
    unsigned version;
    struct object *next;
    unsigned stamp, checksum;
    const char *filename;
    void (*merge[N_KINDS])(int64_t *, unsigned);
    unsigned n_functions;
    const struct function *const *functions;
};

extern struct {
    struct object *list;
} __gcov_root;

static bool has_counted(const struct object *o)
{
    for (unsigned f = 0; f < o->n_functions; f++)
        for (unsigned i = 0; o->functions[f] && i < o->functions[f]->counts.n; i++)
            if (o->functions[f]->counts.at[i])
                return true;
    return false;
}

void __wrap___gcov_dump(void)
{
    struct object *all[MAX_OBJECTS + 1], **last = &__gcov_root.list;
    size_t n = 0;
    for (struct object *o = __gcov_root.list; o && n < MAX_OBJECTS; o = o->next)
        all[n++] = o;
    if (__GNUC__ < 12 || __GNUC__ > 14 || n == MAX_OBJECTS)
        n = 0;
    for (size_t i = 0; i < n; i++)
        if (has_counted(all[i])) {
            *last = all[i];
            last = &all[i]->next;
        }
    if (n)
        *last = NULL;
    __real___gcov_dump();
    last = &__gcov_root.list;
    for (size_t i = 0; i < n; i++) {
        *last = all[i];
        last = &all[i]->next;
    }
}

/* Before libgcov's own, which then finds that it has written. */
__attribute__((destructor)) static void at_the_end(void)
{
    __wrap___gcov_dump();
}

_Noreturn void __wrap__exit(int status)
{
    __wrap___gcov_dump();
    __real__exit(status);
}
