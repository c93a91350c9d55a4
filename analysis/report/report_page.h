/* Reports: results as one HTML file that asks for nothing outside of itself. */
#pragma once
#include <jansson.h>
#include <stdio.h>
#include "analysis/row_names.h"
#include "analysis/store.h"

/* The contents of one results folder's section; borrowed. */
struct strait_report_section {
    const char *folder;
    const struct strait_store *store;
    const json_t *columns;            /* of strait_columns: the latest rows */
    const struct strait_names *names; /* of these rows */
    const char *timeline;             /* SVG of strait_timeline_svg, NULL: none */
    const char *timeline_of;          /* the row that it shows */
};

/** Begin a document: the head with a strict content policy, styles and charts inlined.
 *  In:      title   of the document
 *           charts_js, charts_css, style  texts of page/uplot and page/report
 *  Ends at its contents. */
void strait_report_begin(FILE *out, const char *title, const char *charts_js,
                         const char *charts_css, const char *style);
/** One folder: the question, the answer in a sentence, curves with intervals, where the time goes,
 *  the timeline, predicted against measured, all points, settings, constants with their sources,
 *  how it was made. Charts are figures as JSON, each with its table.
 *  Returns: 0, or -1 with *err NOMEM */
int strait_report_put(FILE *out, const struct strait_report_section *s, struct strait_error *err);
/** End the document with what draws its charts. command: what made it */
void strait_report_end(FILE *out, const char *script, const char *command);
