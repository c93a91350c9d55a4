/* What a collective takes beside its steps. */
#include <math.h>
#include "mpi/measure.h"
#include "tests/kit/suite.h"

/* 9 ms less 6 ms are 3 ms; independent errors of 0.5 and 1.2 ms are 1.3 ms together. */
static void beside(void)
{
    const struct strait_mpi_figure call = {9e-3, 0.5e-3, 5}, steps = {6e-3, 1.2e-3, 5};
    const struct strait_mpi_figure f = strait_mpi_beside(call, steps);
    CU_ASSERT_DOUBLE_EQUAL(f.value, 3e-3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(f.error, 1.3e-3, 1e-12);
    CU_ASSERT_EQUAL(f.n, 5);
    CU_ASSERT_EQUAL(strait_mpi_beside(steps, call).value, 0); /* never less than none */
}

static const struct strait_test tests[] = {
    {"what a collective takes beside its steps has both errors", beside},
};
STRAIT_SUITE("mpi/measure", tests);
