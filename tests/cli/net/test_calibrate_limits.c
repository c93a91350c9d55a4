/* What strait calibrate net takes, to the last byte. */
#include "tests/kit/program.h"

/* The largest and the smallest of each, and just beyond them. What is within its limits goes on to
 * the next check; the last one says that the file is there. */
static void limits(void)
{
    static const struct {
        const char *address, *option, *value, *said;
    } cases[] = {{"h:1", "--packets", "99", "expected 100 to 60000 after --packets, found 99"},
                 {"h:1", "--packets", "100", "here.json"},
                 {"h:1", "--packets", "60000", "here.json"},
                 {"h:1", "--packets", "60001", "expected 100 to 60000 after --packets"},
                 {"h:0", "--packets", "100",
                  "expected a port from 1 to 65535 behind HOST:, found "
                  "\"0\""},
                 {"h:65535", "--packets", "100", "here.json"},
                 {"h:65536", "--packets", "100", "found \"65536\""},
                 {"h:1x", "--packets", "100", "found \"1x\""},
                 {":1", "--packets", "100", "expected HOST:PORT, found \":1\""},
                 {"h", "--packets", "100", "expected HOST:PORT, found \"h\""},
                 {"h:1", "--overhead", "0 B", "here.json"},
                 {"h:1", "--overhead", "1000 B", "here.json"},
                 {"h:1", "--overhead", "1001 B",
                  "expected 0 B to 1 KB after --overhead, found "
                  "\"1001 B\""},
                 {"h:1", "--burst", "99999 B", "expected 100000 B to 90000 KB after --burst"},
                 {"h:1", "--burst", "100000 B", "here.json"},
                 {"h:1", "--burst", "90 MB", "here.json"},
                 {"h:1", "--burst", "90000001 B", "expected 100000 B to 90000 KB after --burst"},
                 {"h:1", "--listen", "1", "expected either HOST:PORT or --listen, found both"},
                 {"h:1", "--on", "mpi", "found \"h:1\""},
                 {"h:1", "--on", "emu", "found \"emu\""}};
    struct program p;
    program_set_up(&p);
    program_write(&p, "here.json", "{}");
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        strait_test_context("%s %s of %s", cases[i].option, cases[i].value, cases[i].address);
        struct said s = PROGRAM_CALL(&p, "calibrate", "net", cases[i].address, "--out", "here.json",
                                     cases[i].option, cases[i].value);
        CU_ASSERT_EQUAL(s.status, 2);
        CU_ASSERT_CONTAINS(s.err, cases[i].said);
        CU_ASSERT_EQUAL(program_n_lines(s.err), 1);
        said_release(&s);
    }
    program_tear_down(&p);
}

static const struct strait_test tests[] = {
    {"what is asked for has its limits", limits},
};
STRAIT_SUITE("cli/net/calibrate_limits", tests);
