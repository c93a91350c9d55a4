/* Inside reports: HTML text and JSON that nothing in a title or a name can leave. */
#pragma once
#include <jansson.h>
#include <stdio.h>

/** Text for an element or a quoted attribute: & < > " ' are escaped, control characters blank. */
void strait_html_text(FILE *out, const char *text);
/** The same, printed; the result may have any length. */
void strait_html_textf(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** JSON inside a script element: < > & and the line ends of JavaScript are written as \u. */
void strait_html_json(FILE *out, const json_t *value);

/** A table that scrolls by itself, reachable by keyboard: begin it with its columns (NULL ends
 *  them), give it rows of cells, end it. */
void strait_html_table(FILE *out, const char *caption, const char *const *columns);
void strait_html_row(FILE *out, const char *const *cells); /* NULL ends them; "" is an empty one */
void strait_html_table_end(FILE *out);
