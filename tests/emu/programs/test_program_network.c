/* The starter's end of a network: is the supervisor there? */
#include "emu/programs/program_network.h"
#include <sys/socket.h>
#include <unistd.h>
#include "tests/kit/suite.h"

static void gone(void)
{
    int pair[2];
    char word = 0;
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    struct strait_emu_program f = {.leash = pair[0]};
    CU_ASSERT_FALSE(strait_emu_program_is_gone(&f));
    close(pair[1]); /* it ended */
    CU_ASSERT_TRUE(strait_emu_program_is_gone(&f));
    strait_emu_program_stop(&f);
    CU_ASSERT_EQUAL(f.leash, -1);
    CU_ASSERT_FALSE(strait_emu_program_is_gone(&f)); /* nobody is asked any more */
    /* let go: the supervisor is told, and then nobody holds its leash */
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    f = (struct strait_emu_program){.leash = pair[0]};
    strait_emu_program_let_go(&f);
    CU_ASSERT_EQUAL(f.leash, -1);
    CU_ASSERT_EQUAL(read(pair[1], &word, 1), 1);
    CU_ASSERT_EQUAL(word, 'd');
    CU_ASSERT_EQUAL(read(pair[1], &word, 1), 0);
    close(pair[1]);
}

static const struct strait_test tests[] = {
    {"a supervisor is gone when its end is closed", gone},
};
STRAIT_SUITE("emu/programs/program_network", tests);
