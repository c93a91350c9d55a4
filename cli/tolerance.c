#include "tolerance.h"

#include "core/units.h"

int strait_tolerance_parse(struct strait_compare_options *out, const struct strait_tolerance *given,
                           struct strait_error *err)
{
    return strait_quantity_parse(&out->tolerance_ratio, STRAIT_UNIT_PERCENT,
                                 given->ratio ? given->ratio : "10 %", "--tolerance", err) != 0 ||
                   strait_quantity_parse(&out->floor_s, STRAIT_UNIT_TIME,
                                         given->floor ? given->floor : "5 ms", "--floor", err) != 0
               ? -1
               : 0;
}
