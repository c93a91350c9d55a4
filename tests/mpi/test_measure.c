/* What a collective takes beside its steps. */
#include <math.h>
#include "mpi/measure.h"
#include "tests/kit/suite.h"

/* 5 ranks need 3 steps. 9 ms less 3 halves of 4 ms are 3 ms; the errors of 0.5 ms and 3 halves of
 * 0.8 ms are 1.3 ms together. */
static void beside(void)
{
    static const int steps[][2] = {{2, 1}, {3, 2}, {4, 2}, {5, 3}, {8, 3}, {9, 4}};
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
        CU_ASSERT_EQUAL(strait_mpi_steps(steps[i][0]), steps[i][1]);
    const struct strait_mpi_figure call = {9e-3, 0.5e-3, 5}, rtt = {4e-3, 0.8e-3, 41};
    const struct strait_mpi_figure f = strait_mpi_beside(call, rtt, 5);
    CU_ASSERT_DOUBLE_EQUAL(f.value, 3e-3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(f.error, 1.3e-3, 1e-12);
    CU_ASSERT_EQUAL(f.n, 5);
    CU_ASSERT_EQUAL(strait_mpi_beside(rtt, call, 5).value, 0); /* never less than none */
}

static const struct strait_test tests[] = {
    {"a collective's steps are half a round trip each", beside},
};
STRAIT_SUITE("mpi/measure", tests);
