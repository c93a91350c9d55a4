#include "check.h"
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/kit/runner/calling_lines.h"
#include "tests/kit/runner/suite_run.h"

enum { CONTEXT_BYTES = 256, TEXT_BYTES = 200, VALUE_BYTES = 64, N_SHOWN = 10 };

/* One process runs one test at a time; what it is at lives as long as it does. */
/* Threads of a test are at something of their own. */
static _Thread_local char context[CONTEXT_BYTES], tensor[CONTEXT_BYTES];
static atomic_uint n_failures;

void strait_test_context(const char *format, ...)
{
    va_list args;
    context[0] = '\0';
    if (!format)
        return;
    va_start(args, format);
    vsnprintf(context, sizeof(context), format, args);
    va_end(args);
}

void strait_test_tensor(const char *kind, size_t n_elems, unsigned long long seed)
{
    snprintf(tensor, sizeof(tensor), "%s n=%zu seed=%llu", kind, n_elems, seed);
}

void strait_check_begin(void)
{
    context[0] = tensor[0] = '\0';
    atomic_store(&n_failures, 0);
}

/* Prints the failure where it happens, between what the test prints, and counts it. Of one test the
 * first ones are shown. */
static void fail(const struct strait_check *c, const char *found_and_expected)
{
    char lines[2000];
    const unsigned n = atomic_fetch_add(&n_failures, 1) + 1;
    if (n <= N_SHOWN) {
        printf("    %s:%u: %s: %s\n", c->file, c->line, c->text, found_and_expected);
        if (context[0] || tensor[0])
            printf("        at: %s%s%s\n", context, context[0] && tensor[0] ? ", " : "", tensor);
        if (strait_calling_lines(lines, sizeof(lines)))
            printf("%s", lines);
    } else if (n == N_SHOWN + 1) {
        printf("    further failures of this test are not shown\n");
    }
    fflush(stdout);
    strait_suite_fail(c);
}

struct strait_value strait_value_signed(long long x)
{
    return (struct strait_value){.kind = x < 0 ? STRAIT_SIGNED : STRAIT_UNSIGNED,
                                 .as_signed = x,
                                 .as_unsigned = (unsigned long long)x,
                                 .as_real = (double)x};
}

struct strait_value strait_value_unsigned(unsigned long long x)
{
    return (struct strait_value){.kind = STRAIT_UNSIGNED, .as_unsigned = x, .as_real = (double)x};
}

struct strait_value strait_value_int(int x)
{
    return strait_value_signed(x);
}

struct strait_value strait_value_long(long x)
{
    return strait_value_signed(x);
}

struct strait_value strait_value_unsigned_int(unsigned x)
{
    return strait_value_unsigned(x);
}

struct strait_value strait_value_unsigned_long(unsigned long x)
{
    return strait_value_unsigned(x);
}

struct strait_value strait_value_float(float x)
{
    return (struct strait_value){.kind = STRAIT_REAL, .as_real = (double)x, .n_digits = 9};
}

struct strait_value strait_value_real(double x)
{
    return (struct strait_value){.kind = STRAIT_REAL, .as_real = x, .n_digits = 17};
}

struct strait_value strait_value_pointer(const volatile void *x)
{
    return (struct strait_value){.kind = STRAIT_POINTER,
                                 .as_unsigned = (unsigned long long)(uintptr_t)x};
}

static bool is_equal(const struct strait_value *x, const struct strait_value *y)
{
    if (x->kind == STRAIT_REAL || y->kind == STRAIT_REAL)
        return x->as_real == y->as_real;
    if ((x->kind == STRAIT_SIGNED) != (y->kind == STRAIT_SIGNED))
        return false; /* one of them is negative */
    return x->kind == STRAIT_SIGNED ? x->as_signed == y->as_signed
                                    : x->as_unsigned == y->as_unsigned;
}

static bool is_at_most(const struct strait_value *x, const struct strait_value *y)
{
    if (x->kind == STRAIT_REAL || y->kind == STRAIT_REAL)
        return x->as_real <= y->as_real;
    if ((x->kind == STRAIT_SIGNED) != (y->kind == STRAIT_SIGNED))
        return x->kind == STRAIT_SIGNED;
    return x->kind == STRAIT_SIGNED ? x->as_signed <= y->as_signed
                                    : x->as_unsigned <= y->as_unsigned;
}

/* Shortest digits that read the same again: 0.1 and not 0.10000000000000001. */
static const char *value_text(char text[VALUE_BYTES], const struct strait_value *v)
{
    if (v->kind == STRAIT_SIGNED)
        snprintf(text, VALUE_BYTES, "%lld", v->as_signed);
    else if (v->kind == STRAIT_UNSIGNED)
        snprintf(text, VALUE_BYTES, "%llu", v->as_unsigned);
    else if (v->kind == STRAIT_POINTER && v->as_unsigned == 0)
        snprintf(text, VALUE_BYTES, "NULL");
    else if (v->kind == STRAIT_POINTER)
        snprintf(text, VALUE_BYTES, "%#llx", v->as_unsigned);
    else
        for (int digits = v->n_digits == 9 ? 6 : 15; digits <= v->n_digits; digits++) {
            snprintf(text, VALUE_BYTES, "%.*g", digits, v->as_real);
            const double again = strtod(text, NULL);
            if (again == v->as_real || (v->n_digits == 9 && (float)again == (float)v->as_real))
                break;
        }
    return text;
}

void strait_check_true(const struct strait_check *c, bool holds, bool expected)
{
    if (holds != expected)
        fail(c, expected ? "does not hold" : "holds");
}

void strait_check_equal(const struct strait_check *c, bool expected, struct strait_value found,
                        struct strait_value wanted)
{
    char said[2 * VALUE_BYTES + 64], texts[2][VALUE_BYTES];
    if (is_equal(&found, &wanted) == expected)
        return;
    snprintf(said, sizeof(said), "found %s, expected %s%s", value_text(texts[0], &found),
             expected ? "" : "anything but ", value_text(texts[1], &wanted));
    fail(c, said);
}

void strait_check_near(const struct strait_check *c, double found, double wanted, double within)
{
    char said[4 * VALUE_BYTES + 64], texts[4][VALUE_BYTES];
    if (fabs(found - wanted) <= fabs(within)) /* false for NaN */
        return;
    const struct strait_value values[] = {strait_value_real(found), strait_value_real(wanted),
                                          strait_value_real(fabs(within))};
    snprintf(said, sizeof(said), "found %s, expected %s within %s (off by %.3g)",
             value_text(texts[0], &values[0]), value_text(texts[1], &values[1]),
             value_text(texts[2], &values[2]), fabs(found - wanted));
    fail(c, said);
}

void strait_check_order(const struct strait_check *c, struct strait_value found, const char *order,
                        struct strait_value limit)
{
    char said[2 * VALUE_BYTES + 64], texts[2][VALUE_BYTES];
    if (strcmp(order, "at most") == 0 ? is_at_most(&found, &limit) : is_at_most(&limit, &found))
        return;
    snprintf(said, sizeof(said), "found %s, expected %s %s", value_text(texts[0], &found), order,
             value_text(texts[1], &limit));
    fail(c, said);
}

/* In quotes, newlines as \n, from shortly before what differs. */
static const char *quoted(char text[TEXT_BYTES], const char *s, size_t first_difference)
{
    const size_t start = first_difference > 60 ? first_difference - 40 : 0;
    size_t n = 0;
    if (!s)
        return "NULL";
    n += (size_t)snprintf(text, TEXT_BYTES, "%s\"", start > 0 ? "..." : "");
    for (s += start; *s && n < TEXT_BYTES - 8; s++)
        if (*s == '\n' || *s == '\t')
            n += (size_t)snprintf(text + n, TEXT_BYTES - n, "\\%c", *s == '\n' ? 'n' : 't');
        else
            text[n++] = *s;
    snprintf(text + n, TEXT_BYTES - n, "\"%s", *s ? "..." : "");
    return text;
}

void strait_check_text(const struct strait_check *c, bool expected, const char *found,
                       const char *wanted)
{
    char said[2 * TEXT_BYTES + 64], texts[2][TEXT_BYTES];
    size_t same = 0;
    if ((found && wanted ? strcmp(found, wanted) == 0 : found == wanted) == expected)
        return;
    while (found && wanted && found[same] && found[same] == wanted[same])
        same++;
    snprintf(said, sizeof(said), "found %s, expected %s%s", quoted(texts[0], found, same),
             expected ? "" : "anything but ", quoted(texts[1], wanted, same));
    fail(c, said);
}

void strait_check_contains(const struct strait_check *c, const char *text, const char *part)
{
    char said[2 * TEXT_BYTES + 64], texts[2][TEXT_BYTES];
    if (text && strstr(text, part))
        return;
    snprintf(said, sizeof(said), "expected %s in it, found %s", quoted(texts[0], part, 0),
             quoted(texts[1], text, 0));
    fail(c, said);
}
