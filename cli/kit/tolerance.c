#include "tolerance.h"

#include <stdbool.h>
#include "core/units.h"

/* Nothing is closer than equal. */
static int parse(double *out, enum strait_unit unit, const char *text, const char *option,
                 struct strait_error *err)
{
    if (strait_quantity_parse(out, unit, text, option, err) != 0)
        return -1;
    return *out >= 0 ? 0
                     : strait_refuse(err, option, "expected %s of at least 0, found \"%s\"",
                                     strait_unit_noun(unit), text);
}

int strait_tolerance_parse(struct strait_compare_options *out, const struct strait_tolerance *given,
                           struct strait_error *err)
{
    const bool failed = parse(&out->tolerance_ratio, STRAIT_UNIT_PERCENT,
                              given->ratio ? given->ratio : "10 %", "--tolerance", err) != 0 ||
                        parse(&out->floor_s, STRAIT_UNIT_TIME, given->floor ? given->floor : "5 ms",
                              "--floor", err) != 0;
    return failed ? -1 : 0;
}
