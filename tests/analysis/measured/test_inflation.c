#include "analysis/measured/codec_slowdown.h"
#include <string.h>
#include "tests/kit/suite.h"

/* A server that decodes for 0.6 s, clients that encode for 0.2 s each: 1 s in all. */
static void fill(struct strait_log logs[3])
{
    memset(logs, 0, 3 * sizeof(*logs));
    logs[0].total_s[STRAIT_SPAN_DECODE] = 0.6;
    logs[1].total_s[STRAIT_SPAN_ENCODE] = logs[2].total_s[STRAIT_SPAN_ENCODE] = 0.2;
}

static void more_than_calibrated_is_flagged(void)
{
    struct strait_log here[3], then[3];
    char text[256] = "";
    fill(here);
    fill(then);
    CU_ASSERT_FALSE(strait_codec_slowdown_text(text, sizeof(text), here, then, 3));
    here[1].total_s[STRAIT_SPAN_ENCODE] += 0.049;
    here[2].total_s[STRAIT_SPAN_AGGREGATE] = here[2].total_s[STRAIT_SPAN_COMPUTE] =
        9; /* not asked */
    CU_ASSERT_FALSE(strait_codec_slowdown_text(text, sizeof(text), here, then, 3));
    CU_ASSERT_STRING_EQUAL(text, "");
    here[0].total_s[STRAIT_SPAN_DECODE] += 0.011; /* 6 % in all */
    CU_ASSERT_TRUE(strait_codec_slowdown_text(text, sizeof(text), here, then, 3));
    CU_ASSERT_STRING_EQUAL(text, "codecs took 1.06 s of processor time in all, 1 s by the "
                                 "calibration of this machine: 6.0 % more, at most 5 % expected");
    CU_ASSERT_FALSE(
        strait_codec_slowdown_text(text, sizeof(text), then, here, 3)); /* less is fine */
}

static void without_codecs_nothing_is(void)
{
    struct strait_log here[3], none[3];
    char text[256];
    fill(here);
    memset(none, 0, sizeof(none));
    CU_ASSERT_FALSE(strait_codec_slowdown_text(text, sizeof(text), none, none, 3));
    CU_ASSERT_FALSE(
        strait_codec_slowdown_text(text, sizeof(text), here, none, 3)); /* never calibrated */
}

static const struct strait_test tests[] = {
    {"more than 5 % above the calibration is flagged", more_than_calibrated_is_flagged},
    {"without codecs, or what was never calibrated, nothing is", without_codecs_nothing_is},
};
STRAIT_SUITE("analysis/measured/inflation", tests);
