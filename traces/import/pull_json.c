#include "pull_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const size_t MAX_TEXT = (size_t)16 << 20;

void strait_pull_begin(struct strait_pull_json *p, struct strait_source *s, bool is_lenient,
                       struct strait_error *err)
{
    *p = (struct strait_pull_json){.s = s, .err = err, .is_lenient = is_lenient};
}

void strait_pull_release(struct strait_pull_json *p)
{
    free(p->text);
    *p = (struct strait_pull_json){0};
}

int strait_pull_fail(struct strait_pull_json *p, const char *expected)
{
    const bool at_end = strait_source_fill(p->s, 1) == 0;
    const unsigned char c = at_end ? 0 : p->s->buffer[p->s->at];
    if (p->has_failed)
        return -1;
    p->has_failed = true;
    p->is_cut = p->is_lenient && at_end && !p->s->has_failed && p->depth > 1 && p->closes[0] == ']';
    if (p->is_cut)
        return -1;
    if (at_end)
        strait_source_fail_byte(p->s, p->err, "expected %s, found the end of the file", expected);
    else if (c > 32 && c < 127)
        strait_source_fail_byte(p->s, p->err, "expected %s, found \"%c\"", expected, c);
    else
        strait_source_fail_byte(p->s, p->err, "expected %s, found the byte 0x%02x", expected, c);
    return -1;
}

static enum strait_pull fail(struct strait_pull_json *p, const char *expected)
{
    strait_pull_fail(p, expected);
    return STRAIT_PULL_ERROR;
}

/* The next byte, not taken; -1 at the end. */
static inline int peek(struct strait_pull_json *p)
{
    struct strait_source *s = p->s;
    return s->at < s->end || strait_source_fill(s, 1) > 0 ? s->buffer[s->at] : -1;
}

static inline int skip_blanks(struct strait_pull_json *p)
{
    int c;
    while ((c = peek(p)) == ' ' || c == '\n' || c == '\t' || c == '\r')
        p->s->at++;
    return c;
}

static bool add(struct strait_pull_json *p, const void *bytes, size_t n)
{
    if (p->len + n + 1 > p->cap) {
        const size_t cap = 2 * (p->len + n + 1);
        char *more = p->len + n < MAX_TEXT ? realloc(p->text, cap) : NULL;
        if (!more) {
            strait_source_fail_byte(p->s, p->err, "expected a text of at most 16 MB");
            p->has_failed = true;
            return false;
        }
        p->text = more;
        p->cap = cap;
    }
    memcpy(p->text + p->len, bytes, n);
    p->len += n;
    p->text[p->len] = '\0';
    return true;
}

static int hex(int c)
{
    return c >= '0' && c <= '9'                 ? c - '0'
           : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                : -1;
}

/* The four digits behind \u, as UTF-8; half a pair stands for itself as '?'. */
static bool add_unicode(struct strait_pull_json *p)
{
    unsigned code = 0;
    for (int i = 0; i < 4; i++, p->s->at++) {
        const int digit = hex(peek(p));
        if (digit < 0)
            return fail(p, "four hexadecimal digits"), false;
        code = code * 16 + (unsigned)digit;
    }
    unsigned char utf8[3] = {(unsigned char)code};
    size_t n = 1;
    if (code == 0 || (code >= 0xd800 && code < 0xe000)) {
        utf8[0] = '?';
    } else if (code >= 0x800) {
        utf8[0] = (unsigned char)(0xe0 | code >> 12);
        utf8[1] = (unsigned char)(0x80 | (code >> 6 & 0x3f));
        utf8[2] = (unsigned char)(0x80 | (code & 0x3f));
        n = 3;
    } else if (code >= 0x80) {
        utf8[0] = (unsigned char)(0xc0 | code >> 6);
        utf8[1] = (unsigned char)(0x80 | (code & 0x3f));
        n = 2;
    }
    return add(p, utf8, n);
}

static bool add_escape(struct strait_pull_json *p)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const int c = peek(p);
    const char *known = c > 0 ? strchr(from, c) : NULL;
    if (c != 'u' && !known)
        return fail(p, "an escape after \"\\\""), false;
    p->s->at++;
    return c == 'u' ? add_unicode(p) : add(p, &to[known - from], 1);
}

/* Behind the opening quote, to behind the closing one; kept in text, or not. */
static bool read_string(struct strait_pull_json *p, bool is_kept)
{
    p->len = 0;
    if (is_kept && !add(p, "", 0))
        return false;
    while (peek(p) >= 0) {
        struct strait_source *s = p->s;
        const unsigned char *from = s->buffer + s->at, *end = s->buffer + s->end, *c = from;
        while (c < end && *c != '"' && *c != '\\' && *c >= 32)
            c++;
        if (is_kept && !add(p, from, (size_t)(c - from)))
            return false;
        s->at += (size_t)(c - from);
        if (c == end)
            continue;
        if (*c < 32)
            return fail(p, "text without control characters"), false;
        s->at++;
        if (*c == '"')
            return true;
        if (is_kept ? !add_escape(p) : peek(p) < 0)
            return is_kept ? false : (fail(p, "the end of a text"), false);
        if (!is_kept)
            s->at++;
    }
    return fail(p, "the end of a text"), false;
}

static enum strait_pull read_number(struct strait_pull_json *p)
{
    char *end;
    double number;
    p->len = 0;
    for (int c; (c = peek(p)) > 0 && ((c >= '0' && c <= '9') || strchr("+-.eE", c)); p->s->at++) {
        const char byte = (char)c;
        if (p->len > 64)
            return fail(p, "a number of at most 64 digits");
        if (!add(p, &byte, 1))
            return STRAIT_PULL_ERROR;
    }
    if (p->len == 0)
        return fail(p, "a value");
    if (strait_source_number(&number, p->text, NULL, -INFINITY, INFINITY)) /* much quicker */
        return p->text[0] == '+' ? fail(p, "a number") : STRAIT_PULL_NUMBER;
    strtod(p->text, &end);
    return *end || p->text[0] == '+' ? fail(p, "a number") : STRAIT_PULL_NUMBER;
}

static enum strait_pull read_word(struct strait_pull_json *p, const char *word,
                                  enum strait_pull piece)
{
    const size_t n = strlen(word);
    if (strait_source_fill(p->s, n) < n || memcmp(p->s->buffer + p->s->at, word, n) != 0)
        return fail(p, word);
    p->s->at += n;
    return piece;
}

static enum strait_pull open_value(struct strait_pull_json *p, unsigned char closes,
                                   enum strait_pull piece)
{
    if (p->depth == STRAIT_PULL_MAX_DEPTH)
        return fail(p, "at most 64 values inside of one another");
    p->s->at++;
    p->closes[p->depth++] = closes;
    p->needs_comma = false;
    return piece;
}

static enum strait_pull read_value(struct strait_pull_json *p, int c)
{
    p->after_key = false;
    if (c == '{')
        return open_value(p, '}', STRAIT_PULL_OBJECT);
    if (c == '[')
        return open_value(p, ']', STRAIT_PULL_ARRAY);
    p->needs_comma = true;
    if (c == '"') {
        p->s->at++;
        return read_string(p, true) ? STRAIT_PULL_STRING : STRAIT_PULL_ERROR;
    }
    return c == 't'   ? read_word(p, "true", STRAIT_PULL_TRUE)
           : c == 'f' ? read_word(p, "false", STRAIT_PULL_FALSE)
           : c == 'n' ? read_word(p, "null", STRAIT_PULL_NULL)
                      : read_number(p);
}

static enum strait_pull close_value(struct strait_pull_json *p)
{
    p->s->at++;
    p->needs_comma = true;
    return p->closes[--p->depth] == '}' ? STRAIT_PULL_OBJECT_END : STRAIT_PULL_ARRAY_END;
}

static enum strait_pull read_key(struct strait_pull_json *p, int c)
{
    if (c != '"')
        return fail(p, "a key in quotes");
    p->s->at++;
    if (!read_string(p, true))
        return STRAIT_PULL_ERROR;
    if (skip_blanks(p) != ':')
        return fail(p, "\":\" after a key");
    p->s->at++;
    p->after_key = true;
    return STRAIT_PULL_KEY;
}

enum strait_pull strait_pull_next(struct strait_pull_json *p)
{
    if (p->has_failed)
        return STRAIT_PULL_ERROR;
    int c = skip_blanks(p);
    if (p->depth == 0)
        return c >= 0 && !p->needs_comma ? read_value(p, c)
               : c < 0 && (p->needs_comma && !p->s->has_failed)
                   ? STRAIT_PULL_END
                   : fail(p, p->needs_comma ? "the end of the file" : "a value");
    if (p->after_key)
        return read_value(p, c);
    const unsigned char closes = p->closes[p->depth - 1];
    if (c == closes)
        return close_value(p);
    if (p->is_lenient && c < 0 && p->depth == 1 && closes == ']' && !p->s->has_failed)
        return STRAIT_PULL_END;
    if (p->needs_comma) {
        if (c != ',')
            return fail(p, closes == '}' ? "\",\" or \"}\"" : "\",\" or \"]\"");
        p->s->at++;
        p->needs_comma = false;
        c = skip_blanks(p);
        if (p->is_lenient && (c == closes || (c < 0 && p->depth == 1)))
            return strait_pull_next(p);
    }
    return closes == '}' ? read_key(p, c) : read_value(p, c);
}

int strait_pull_skip(struct strait_pull_json *p, enum strait_pull piece)
{
    if (piece != STRAIT_PULL_OBJECT && piece != STRAIT_PULL_ARRAY)
        return piece == STRAIT_PULL_ERROR ? -1 : 0;
    for (const int depth = p->depth; p->depth >= depth;)
        if (strait_pull_next(p) <= STRAIT_PULL_END)
            return p->has_failed ? -1 : strait_pull_fail(p, "the end of a value");
    return 0;
}

int strait_pull_skip_next(struct strait_pull_json *p)
{
    if (p->after_key && !p->has_failed && skip_blanks(p) == '"') { /* a text that nobody keeps */
        p->s->at++;
        p->after_key = false;
        p->needs_comma = true;
        return read_string(p, false) ? 0 : -1;
    }
    return strait_pull_skip(p, strait_pull_next(p));
}

double strait_pull_number(const struct strait_pull_json *p)
{
    double number;
    if (!p->text)
        return 0;
    return strait_source_number(&number, p->text, NULL, -INFINITY, INFINITY)
               ? number
               : strtod(p->text, NULL);
}
