#include <pty.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "core/host.h"
#include "tests/kit/suite.h"

static size_t columns_of(unsigned short columns)
{
    const struct winsize size = {.ws_row = 24, .ws_col = columns};
    int master, slave;
    if (openpty(&master, &slave, NULL, NULL, &size) != 0) {
        strait_test_skip("no pseudo-terminal can be opened here");
        return SIZE_MAX;
    }
    const size_t found = strait_terminal_columns(slave);
    close(slave);
    close(master);
    return found;
}

static void expect(unsigned short columns, size_t expected)
{
    const size_t found = columns_of(columns);
    CU_ASSERT(found == SIZE_MAX || found == expected);
}

static void known(void)
{
    setenv("COLUMNS", "57", 1);
    expect(43, 43);
    expect(0, 57);
    setenv("COLUMNS", "wide", 1);
    expect(0, 80);
    unsetenv("COLUMNS");
    expect(0, 80);
}

static void none(void)
{
    int ends[2];
    setenv("COLUMNS", "57", 1);
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    CU_ASSERT_EQUAL(strait_terminal_columns(ends[1]), 0);
    close(ends[0]);
    close(ends[1]);
    CU_ASSERT_EQUAL(strait_terminal_columns(-1), 0);
    unsetenv("COLUMNS");
}

static const struct strait_test tests[] = {
    {"a terminal has the columns that it says, else COLUMNS, else 80", known},
    {"a pipe and no file have none", none},
};
STRAIT_SUITE("core/host_terminal", tests);
