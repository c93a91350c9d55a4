/* How far a prediction may be off: 10 % of the measured value, or 5 ms, unless a command says. */
#pragma once
#include "analysis/compare.h"
#include "options.h"

struct strait_tolerance {
    const char *ratio, *floor; /* as given; NULL: the default */
};
/* when: said before both, "both: ". */
#define STRAIT_TOLERANCE_OPTIONS(tolerance, when)                                                  \
    {"tolerance",        0,         STRAIT_OPTION_TEXT,                                            \
     &(tolerance).ratio, "PERCENT", when "allowed error of a prediction (10 %)"},                  \
    {                                                                                              \
        "floor", 0, STRAIT_OPTION_TEXT, &(tolerance).floor, "TIME",                                \
            when "ignore smaller differences (5 ms)"                                               \
    }

/** 0, or -1 with *err INPUT: "--tolerance: expected ..." */
int strait_tolerance_parse(struct strait_compare_options *out, const struct strait_tolerance *given,
                           struct strait_error *err);
