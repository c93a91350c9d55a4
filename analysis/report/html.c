/* Escapes of HTML and of JSON in it. */
#include "html.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void strait_html_text(FILE *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        case '\'':
            fputs("&#39;", out);
            break;
        default:
            fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
        }
}

void strait_html_textf(FILE *out, const char *format, ...)
{
    va_list args;
    char *text = NULL;
    va_start(args, format);
    if (vasprintf(&text, format, args) >= 0)
        strait_html_text(out, text);
    va_end(args);
    free(text);
}

void strait_html_json(FILE *out, const json_t *value)
{
    /* plain ASCII: U+2028 and U+2029, which end lines of JavaScript, are \u already */
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    for (const char *at = text; at && *at; at++)
        if (*at == '<' || *at == '>' || *at == '&')
            fprintf(out, "\\u%04x", (unsigned)*at);
        else
            fputc(*at, out);
    free(text);
}

void strait_html_table(FILE *out, const char *caption, const char *const *columns)
{
    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"", out);
    strait_html_text(out, caption);
    fputs("\"><table><caption>", out);
    strait_html_text(out, caption);
    fputs("</caption><thead><tr>", out);
    for (; *columns; columns++) {
        fputs("<th scope=\"col\">", out);
        strait_html_text(out, *columns);
        fputs("</th>", out);
    }
    fputs("</tr></thead><tbody>\n", out);
}

void strait_html_row(FILE *out, const char *const *cells)
{
    fputs("<tr>", out);
    for (; *cells; cells++) {
        fputs("<td>", out);
        strait_html_text(out, *cells);
        fputs("</td>", out);
    }
    fputs("</tr>\n", out);
}

void strait_html_table_end(FILE *out)
{
    fputs("</tbody></table></div>\n", out);
}
