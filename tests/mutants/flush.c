/* Only in `make coverage`: a child that ends with _exit writes what it has counted, too. The linker
 * leads every call of _exit here (--wrap=_exit). A process that is ended by a signal, and what runs
 * in a guest, is not counted. */
#include <unistd.h>

void __gcov_dump(void);
_Noreturn void __real__exit(int status);
_Noreturn void __wrap__exit(int status);

_Noreturn void __wrap__exit(int status)
{
    __gcov_dump();
    __real__exit(status);
}
