/* Curves and dots can be told apart. */
#include <stdlib.h>
#include <string.h>
#include "analysis/plot/plot_styles.h"
#include "tests/kit/suite.h"

enum { MOST = 175 };

/* How many of n codecs with families of their own look like one before, without compression apart.
 */
static int n_alike(size_t n, enum strait_plot_drawing drawing)
{
    struct strait_grid_codec codecs[MOST + 1] = {{.is_plain = true}};
    struct strait_grid grid = {.codecs = codecs, .n_codecs = n + 1};
    char *looks[MOST + 1];
    int n_found = 0;
    for (size_t c = 0; c <= n; c++)
        snprintf(codecs[c].family, sizeof(codecs[c].family), "%zu", c);
    struct strait_plot_style *styles = strait_plot_styles(&grid);
    CU_ASSERT_PTR_NOT_NULL_FATAL(styles);
    for (size_t c = 0; c <= n; c++) {
        size_t len;
        FILE *out = open_memstream(&looks[c], &len);
        strait_plot_put_style(out, &styles[c], drawing);
        fclose(out);
        for (size_t i = 0; i < c; i++)
            if (strcmp(looks[i], looks[c]) == 0) {
                n_found++;
                break;
            }
    }
    for (size_t c = 0; c <= n; c++)
        free(looks[c]);
    free(styles);
    return n_found;
}

static void differ(void)
{
    static const size_t counts[] = {6, 7, 35, 36, 70, 71, 91};
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        strait_test_context("%zu codecs", counts[i]);
        CU_ASSERT_EQUAL(n_alike(counts[i], STRAIT_PLOT_DOTS), 0);
        CU_ASSERT_EQUAL(n_alike(counts[i], STRAIT_PLOT_BOTH), 0);
    }
    CU_ASSERT_EQUAL(n_alike(92, STRAIT_PLOT_DOTS), 1);
    CU_ASSERT_EQUAL(n_alike(MOST, STRAIT_PLOT_BOTH), 0);
}

static const struct strait_test tests[] = {
    {"no two codecs look alike, 91 as dots and 175 as lines", differ},
};
STRAIT_SUITE("analysis/plot/plot_styles", tests);
