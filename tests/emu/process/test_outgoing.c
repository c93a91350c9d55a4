/* How a message is cut: into parts for connections, into writes that end with segments. */
#include "emu/process/pump.h"
#include "process/wire.h"
#include "tests/kit/suite.h"

static void parts_differ_by_a_byte_at_most_and_leave_nothing_out(void)
{
    for (size_t n_bytes = 0; n_bytes < 100; n_bytes++)
        for (int n = 1; n <= STRAIT_MAX_CONNECTIONS; n++) {
            const size_t least = n_bytes / (size_t)n;
            CU_ASSERT(strait_proc_wire_part_at(n_bytes, n, 0) == 0);
            CU_ASSERT(strait_proc_wire_part_at(n_bytes, n, n) == n_bytes);
            for (int i = 0; i < n; i++) {
                const size_t part = strait_proc_wire_part_at(n_bytes, n, i + 1) -
                                    strait_proc_wire_part_at(n_bytes, n, i);
                CU_ASSERT(part == least || part == least + 1);
            }
        }
    /* 2^32 in 3: 1431655766, 1431655765, 1431655765 */
    CU_ASSERT(strait_proc_wire_part_at((size_t)1 << 32, 3, 1) == 1431655766);
    CU_ASSERT(strait_proc_wire_part_at((size_t)1 << 32, 3, 2) == 2863311531);
}

/* 1448 bytes a segment, the frame's 96 bytes in the first one: of 16384 bytes of payload 11
 * segments less the frame; from there on, and from the middle of a segment, up to the next whole
 * one. What is less than a segment is written as it is. */
static void writes_end_with_segments(void)
{
    CU_ASSERT_EQUAL(strait_emu_outgoing_whole_bytes(0, 16384), 11 * 1448 - 96);
    CU_ASSERT_EQUAL(strait_emu_outgoing_whole_bytes(11 * 1448, 16384), 11 * 1448);
    CU_ASSERT_EQUAL(strait_emu_outgoing_whole_bytes(11 * 1448 + 1000, 16384), 11 * 1448 + 448);
    CU_ASSERT_EQUAL(strait_emu_outgoing_whole_bytes(500, 100), 100);
}

static const struct strait_test tests[] = {
    {"parts differ by a byte at most and leave nothing out",
     parts_differ_by_a_byte_at_most_and_leave_nothing_out},
    {"a write ends with a whole segment", writes_end_with_segments},
};
STRAIT_SUITE("emu/process/outgoing", tests);
