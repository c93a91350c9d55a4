/* CUnit's assertions, so that a failed one says what it found and what it expected, the context
 * that the test has set, and the lines that led to it. Each argument is evaluated once. */
#pragma once
#include <CUnit/CUnit.h>
#include <stdbool.h>
#include <stddef.h>

/** What the running test is at, for its failures: strait_test_context("%s n=%zu", name, n). It
 *  stands until the next call or the end of the test; NULL: none. */
__attribute__((format(printf, 1, 2))) void strait_test_context(const char *format, ...);
/** The tensor that it is at beside that (make_tensor of tensor_kinds.h says it). */
void strait_test_tensor(const char *kind, size_t n_elems, unsigned long long seed);

/* A value of any scalar type. */
struct strait_value {
    enum { STRAIT_SIGNED, STRAIT_UNSIGNED, STRAIT_REAL, STRAIT_POINTER } kind;
    long long as_signed;
    unsigned long long as_unsigned;
    double as_real;
    int n_digits; /* of a real number, to read the same again */
};
/* A function for every type that -Wconversion would complain of in the other. */
struct strait_value strait_value_signed(long long x);
struct strait_value strait_value_int(int x);
struct strait_value strait_value_long(long x);
struct strait_value strait_value_unsigned(unsigned long long x);
struct strait_value strait_value_unsigned_int(unsigned x);
struct strait_value strait_value_unsigned_long(unsigned long x);
struct strait_value strait_value_float(float x);
struct strait_value strait_value_real(double x);
struct strait_value strait_value_pointer(const volatile void *x);
/* clang-format off */
#define STRAIT_VALUE(x)                                                                            \
    _Generic((x), char: strait_value_int, signed char: strait_value_int, short: strait_value_int,  \
             int: strait_value_int, long: strait_value_long, long long: strait_value_signed,       \
             bool: strait_value_unsigned_int, unsigned char: strait_value_unsigned_int,            \
             unsigned short: strait_value_unsigned_int, unsigned: strait_value_unsigned_int,       \
             unsigned long: strait_value_unsigned_long,                                            \
             unsigned long long: strait_value_unsigned, float: strait_value_float,                 \
             double: strait_value_real, default: strait_value_pointer)(x)
/* clang-format on */

/* Where a check stands: file, line, its text; and whether the test ends with it. */
struct strait_check {
    const char *file, *text;
    unsigned line;
    bool is_fatal;
};
#define STRAIT_AT(fatal, text) (&(const struct strait_check){__FILE__, text, __LINE__, fatal})

void strait_check_true(const struct strait_check *c, bool holds, bool expected);
void strait_check_equal(const struct strait_check *c, bool expected, struct strait_value found,
                        struct strait_value wanted);
void strait_check_near(const struct strait_check *c, double found, double wanted, double within);
void strait_check_text(const struct strait_check *c, bool expected, const char *found,
                       const char *wanted);
/** The text has the part in it; else all of the text is shown. */
void strait_check_contains(const struct strait_check *c, const char *text, const char *part);
/** order: "at most" or "at least". */
void strait_check_order(const struct strait_check *c, struct strait_value found, const char *order,
                        struct strait_value limit);

#undef CU_PASS
#undef CU_FAIL
#undef CU_FAIL_FATAL
#undef CU_ASSERT
#undef CU_ASSERT_FATAL
#undef CU_ASSERT_TRUE
#undef CU_ASSERT_TRUE_FATAL
#undef CU_ASSERT_FALSE
#undef CU_ASSERT_FALSE_FATAL
#undef CU_ASSERT_EQUAL
#undef CU_ASSERT_EQUAL_FATAL
#undef CU_ASSERT_NOT_EQUAL
#undef CU_ASSERT_NOT_EQUAL_FATAL
#undef CU_ASSERT_PTR_EQUAL
#undef CU_ASSERT_PTR_EQUAL_FATAL
#undef CU_ASSERT_PTR_NULL
#undef CU_ASSERT_PTR_NULL_FATAL
#undef CU_ASSERT_PTR_NOT_NULL
#undef CU_ASSERT_PTR_NOT_NULL_FATAL
#undef CU_ASSERT_DOUBLE_EQUAL
#undef CU_ASSERT_DOUBLE_EQUAL_FATAL
#undef CU_ASSERT_STRING_EQUAL
#undef CU_ASSERT_STRING_EQUAL_FATAL
#undef CU_ASSERT_STRING_NOT_EQUAL
#undef CU_ASSERT_STRING_NOT_EQUAL_FATAL

/* clang-format off: a line each, and its body */
#define CU_FAIL(text)      strait_check_true(STRAIT_AT(false, text), false, true)
#define CU_ASSERT(x)       strait_check_true(STRAIT_AT(false, #x), (x), true)
#define CU_ASSERT_TRUE(x)  strait_check_true(STRAIT_AT(false, #x), (x), true)
#define CU_ASSERT_FALSE(x) strait_check_true(STRAIT_AT(false, #x), (x), false)
#define CU_ASSERT_EQUAL(x, y)                                                                      \
    strait_check_equal(STRAIT_AT(false, #x), true, STRAIT_VALUE(x), STRAIT_VALUE(y))
#define CU_ASSERT_NOT_EQUAL(x, y)                                                                  \
    strait_check_equal(STRAIT_AT(false, #x), false, STRAIT_VALUE(x), STRAIT_VALUE(y))
#define CU_ASSERT_PTR_EQUAL(x, y)                                                                  \
    strait_check_equal(STRAIT_AT(false, #x), true, STRAIT_VALUE(x), STRAIT_VALUE(y))
#define CU_ASSERT_PTR_NULL(x)                                                                      \
    strait_check_equal(STRAIT_AT(false, #x), true, strait_value_pointer(x),                        \
                       strait_value_pointer(NULL))
#define CU_ASSERT_PTR_NOT_NULL(x)                                                                  \
    strait_check_equal(STRAIT_AT(false, #x), false, strait_value_pointer(x),                       \
                       strait_value_pointer(NULL))
#define CU_ASSERT_STRING_EQUAL(x, y)         strait_check_text(STRAIT_AT(false, #x), true, x, y)
#define CU_ASSERT_STRING_NOT_EQUAL(x, y)     strait_check_text(STRAIT_AT(false, #x), false, x, y)
#define CU_ASSERT_CONTAINS(x, part)          strait_check_contains(STRAIT_AT(false, #x), x, part)
#define CU_ASSERT_DOUBLE_EQUAL(x, y, within) strait_check_near(STRAIT_AT(false, #x), x, y, within)
#define CU_ASSERT_AT_MOST(x, most)                                                                 \
    strait_check_order(STRAIT_AT(false, #x), STRAIT_VALUE(x), "at most", STRAIT_VALUE(most))
#define CU_ASSERT_AT_LEAST(x, least)                                                               \
    strait_check_order(STRAIT_AT(false, #x), STRAIT_VALUE(x), "at least", STRAIT_VALUE(least))
#define CU_FAIL_FATAL(text)      strait_check_true(STRAIT_AT(true, text), false, true)
#define CU_ASSERT_FATAL(x)       strait_check_true(STRAIT_AT(true, #x), (x), true)
#define CU_ASSERT_TRUE_FATAL(x)  strait_check_true(STRAIT_AT(true, #x), (x), true)
#define CU_ASSERT_FALSE_FATAL(x) strait_check_true(STRAIT_AT(true, #x), (x), false)
#define CU_ASSERT_EQUAL_FATAL(x, y)                                                                \
    strait_check_equal(STRAIT_AT(true, #x), true, STRAIT_VALUE(x), STRAIT_VALUE(y))
#define CU_ASSERT_NOT_EQUAL_FATAL(x, y)                                                            \
    strait_check_equal(STRAIT_AT(true, #x), false, STRAIT_VALUE(x), STRAIT_VALUE(y))
#define CU_ASSERT_PTR_EQUAL_FATAL(x, y)                                                            \
    strait_check_equal(STRAIT_AT(true, #x), true, STRAIT_VALUE(x), STRAIT_VALUE(y))
#define CU_ASSERT_PTR_NULL_FATAL(x)                                                                \
    strait_check_equal(STRAIT_AT(true, #x), true, strait_value_pointer(x),                         \
                       strait_value_pointer(NULL))
#define CU_ASSERT_PTR_NOT_NULL_FATAL(x)                                                            \
    strait_check_equal(STRAIT_AT(true, #x), false, strait_value_pointer(x),                        \
                       strait_value_pointer(NULL))
#define CU_ASSERT_STRING_EQUAL_FATAL(x, y)     strait_check_text(STRAIT_AT(true, #x), true, x, y)
#define CU_ASSERT_STRING_NOT_EQUAL_FATAL(x, y) strait_check_text(STRAIT_AT(true, #x), false, x, y)
#define CU_ASSERT_DOUBLE_EQUAL_FATAL(x, y, within)                                                 \
    strait_check_near(STRAIT_AT(true, #x), x, y, within)
#define CU_ASSERT_AT_MOST_FATAL(x, most)                                                           \
    strait_check_order(STRAIT_AT(true, #x), STRAIT_VALUE(x), "at most", STRAIT_VALUE(most))
#define CU_ASSERT_AT_LEAST_FATAL(x, least)                                                         \
    strait_check_order(STRAIT_AT(true, #x), STRAIT_VALUE(x), "at least", STRAIT_VALUE(least))
/* clang-format on */
