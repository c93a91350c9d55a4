/* The document around its sections. */
#include "report_page.h"

#include <string.h>

#include "analysis/fields.h"
#include "html.h"
#include "sections.h"

void strait_report_begin(FILE *out, const char *title, const char *charts_js,
                         const char *charts_css, const char *style)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "script-src 'unsafe-inline'; style-src 'unsafe-inline'; base-uri 'none'; "
          "form-action 'none'\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"referrer\" content=\"no-referrer\">\n<title>",
          out);
    strait_html_text(out, title);
    fprintf(out, "</title>\n<style>\n%s\n%s\n</style>\n<script>\n%s\n</script>\n</head>\n<body>\n",
            charts_css, style, charts_js);
    fputs("<a class=\"skip\" href=\"#contents\">To the contents</a>\n<main id=\"contents\">\n<h1>",
          out);
    strait_html_text(out, title);
    fputs("</h1>\n", out);
}

int strait_report_put(FILE *out, const struct strait_report_section *s, struct strait_error *err)
{
    const json_t *first = json_object_get(json_array_get(s->columns, 0), "row");
    const char *title = strait_text_of(first, "title");
    fputs("<section>\n<h2>", out);
    strait_html_text(out, *title ? title : s->folder);
    fputs("</h2>\n", out);
    strait_report_answer(out, s);
    strait_report_curves(out, s);
    strait_report_phases(out, s);
    if (s->timeline) {
        fputs("<h3>One round</h3>\n<p>", out);
        strait_html_textf(
            out, "What every rank does when: %s. Colours as above; outlined: on the critical path.",
            s->timeline_of);
        fprintf(out,
                "</p>\n<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Timeline\">"
                "%s</div>\n",
                s->timeline);
    }
    strait_report_agreement(out, s);
    strait_report_points(out, s);
    strait_report_sources(out, s);
    fputs("</section>\n", out);
    return ferror(out) ? strait_error_memory(err, "report") : 0;
}

void strait_report_end(FILE *out, const char *script, const char *command)
{
    fputs("<footer><p>Made by <code>", out);
    strait_html_text(out, command);
    fprintf(out, "</code></p></footer>\n</main>\n<script>\n%s\n</script>\n</body>\n</html>\n",
            script);
}
