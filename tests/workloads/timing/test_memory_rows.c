/* Rows that are gathered from memory: whole ones, in ascending order, each at most once. */
#include <string.h>
#include "tests/kit/check.h"
#include "tests/kit/suite.h"
#include "workloads/timing/memory_rows.h"

enum { N_STORED = 1000, ROW = 24 };

/* Row i holds i, over and over. */
static void store(uint16_t *stored, size_t n_rows)
{
    for (size_t i = 0; i < n_rows * ROW / 2; i++)
        stored[i] = (uint16_t)(i / (ROW / 2));
}

/* One of each tenth, third or half of what is stored: the i-th lies in its own part, all of a row
 * comes, two gathers draw others, and no byte behind the last row is written. */
static void one_of_each_part(void)
{
    static uint16_t stored[N_STORED * ROW / 2], to[N_STORED * ROW / 2 + 1],
        again[N_STORED * ROW / 2];
    static const size_t counts[] = {1, 100, 333, 500, 999};
    store(stored, N_STORED);
    for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
        const size_t n = counts[c];
        struct strait_gather g = {
            (unsigned char *)to, (unsigned char *)stored, ROW, n, N_STORED, 7};
        to[n * ROW / 2] = 0xabcd;
        strait_gather(&g);
        CU_ASSERT_EQUAL(to[n * ROW / 2], 0xabcd);
        for (size_t i = 0; i < n; i++) {
            const uint16_t row = to[i * ROW / 2];
            CU_ASSERT(row >= i * N_STORED / n && row < (i + 1) * N_STORED / n);
            CU_ASSERT(i == 0 || row > to[(i - 1) * ROW / 2]);
            for (size_t k = 1; k < ROW / 2; k++)
                CU_ASSERT_EQUAL(to[i * ROW / 2 + k], row);
        }
        g.to = (unsigned char *)again;
        strait_gather(&g);
        CU_ASSERT(n == 999 || memcmp(to, again, n * ROW) != 0);
    }
}

static void all_of_them(void)
{
    static uint16_t stored[N_STORED * ROW / 2], to[N_STORED * ROW / 2];
    store(stored, N_STORED);
    struct strait_gather g = {
        (unsigned char *)to, (unsigned char *)stored, ROW, N_STORED, N_STORED, 1};
    strait_gather(&g);
    CU_ASSERT_EQUAL(memcmp(to, stored, sizeof(stored)), 0);
}

/* Longer rows lie further apart: what is measured has no closed form, but a form. */
static void measured(void)
{
    struct strait_gather_speed speed;
    struct strait_error err = {0};
    CU_ASSERT_EQUAL_FATAL(strait_time_gather(&speed, 1, &err), 0);
    CU_ASSERT(speed.bytes_per_s > 0);
    for (size_t i = 0; i < STRAIT_N_GATHER_ROWS; i++) {
        CU_ASSERT_DOUBLE_EQUAL(speed.row_bytes[i], (double)(64 << i), 0);
        CU_ASSERT(speed.efficiency[i] > 0 && speed.efficiency[i] <= 1);
    }
}

static const struct strait_test tests[] = {
    {"one row of each part comes, whole and in order", one_of_each_part},
    {"all rows come as they are stored", all_of_them},
    {"every row length has an efficiency", measured},
};
STRAIT_SUITE_WITH("workloads/timing/memory_rows", tests, .release = true);
