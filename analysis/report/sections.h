/* Inside reports: their sections, in the order in which they stand. */
#pragma once
#include <stdio.h>

struct strait_report_section; /* report_page.h */

/** The question's answer in words: the fastest point with its interval, the break-even, what limits
 *  it. */
void strait_report_answer(FILE *out, const struct strait_report_section *s);
void strait_report_curves(FILE *out, const struct strait_report_section *s);
void strait_report_phases(FILE *out, const struct strait_report_section *s);
void strait_report_agreement(FILE *out, const struct strait_report_section *s);
void strait_report_points(FILE *out, const struct strait_report_section *s);
/** Settings, constants, versions, approximations, the command. */
void strait_report_sources(FILE *out, const struct strait_report_section *s);
