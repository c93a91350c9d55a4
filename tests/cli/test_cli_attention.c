/* strait attention from outside: its ways, its weights, what it refuses. */
#include <jansson.h>
#include <math.h>
#include <string.h>
#include "tests/kit/program.h"

static struct program program;
#define CALL(...)      PROGRAM_CALL(&program, __VA_ARGS__)
#define ATTENTION(...) CALL("attention", "--examples", "1", __VA_ARGS__)

static double number(const json_t *record, const char *key)
{
    return json_number_value(json_object_get(record, key));
}

/* Full attention; top-k by doubling below 128; ranks by doubling below 32; 1 to 8 bits; 16 tokens
 * by five ranks and three widths. */
static void ways(void)
{
    program_set_up(&program);
    struct said s = ATTENTION("--steps", "2", "--json");
    CU_ASSERT_EQUAL_FATAL(s.status, 0);
    unsigned n = 0, n_top = 0, n_rank = 0, n_bits = 0, n_both = 0;
    double full = NAN;
    for (char *line = strtok(s.out, "\n"); line; line = strtok(NULL, "\n"), n++) {
        json_t *record = json_loads(line, 0, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(record);
        const bool top = number(record, "top_k") > 0, rank = number(record, "rank") > 0,
                   bits = number(record, "bits") > 0;
        n_top += top && !rank && !bits;
        n_rank += rank && !top;
        n_bits += bits && !top;
        n_both += top && (rank || bits);
        if (n == 0) {
            full = number(record, "loss");
            CU_ASSERT_EQUAL(number(record, "agreement"), 1);
        }
        CU_ASSERT_EQUAL(number(record, "characters"), 128);
        CU_ASSERT_DOUBLE_EQUAL(number(record, "perplexity"), exp(number(record, "loss")), 1e-9);
        /* After two steps attention is still flat. */
        CU_ASSERT_DOUBLE_EQUAL(number(record, "loss"), full, 0.05);
        json_decref(record);
    }
    CU_ASSERT_EQUAL(n_top, 7);
    CU_ASSERT_EQUAL(n_rank, 5);
    CU_ASSERT_EQUAL(n_bits, 8);
    CU_ASSERT_EQUAL(n_both, 8);
    CU_ASSERT_EQUAL(n, 29);
    said_release(&s);
    program_tear_down(&program);
}

static void weights_are_kept(void)
{
    program_set_up(&program);
    struct said first = ATTENTION("--steps", "2", "--weights", "w.f32"),
                again = ATTENTION("--steps", "4000", "--weights", "w.f32");
    CU_ASSERT_EQUAL(first.status, 0);
    CU_ASSERT_EQUAL(again.status, 0);
    static const char *const names[] = {"\nfull ",   "\ntop 1 ",           "\ntop 64 ",
                                        "\nrank 1 ", "\n1 bit ",           "\n2 bits ",
                                        "\n8 bits ", "\ntop 16 by rank 2 "};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        CU_ASSERT_CONTAINS(first.out, names[i]);
    /* a line below the head and above each way's first */
    static const char *const first_ones[] = {"full ", "top 1 ", "rank 1 ", "1 bit ", "top 16 by "};
    size_t n_rules = 0;
    for (const char *at = first.out; (at = strstr(at, "\xe2\x94\x80\n")); at++, n_rules++) {
        CU_ASSERT_FATAL(n_rules < sizeof(first_ones) / sizeof(*first_ones));
        CU_ASSERT_EQUAL(strncmp(at + 4, first_ones[n_rules], strlen(first_ones[n_rules])), 0);
    }
    CU_ASSERT_EQUAL(n_rules, sizeof(first_ones) / sizeof(*first_ones));
    CU_ASSERT_STRING_EQUAL(first.out, again.out);
    CU_ASSERT_CONTAINS(first.out, "top 16 by rank 4");
    CU_ASSERT_CONTAINS(first.out, "top-k tokens: within 1 % of full attention's perplexity");
    said_release(&first);
    said_release(&again);
    program_tear_down(&program);
}

static void refusals(void)
{
    program_set_up(&program);
    program_write(&program, "short.f32", "0123");
    struct said s = ATTENTION("--weights", "short.f32");
    CU_ASSERT_EQUAL(s.status, 2);
    CU_ASSERT_STRING_EQUAL(s.err, "strait: short.f32: expected 822016 weights of 4 bytes, found "
                                  "another length\n");
    said_release(&s);
    s = ATTENTION("--steps", "1", "--weights", "nowhere/w.f32");
    CU_ASSERT_EQUAL(s.status, 2);
    CU_ASSERT_CONTAINS(s.err, "strait: nowhere/w.f32: cannot write weights");
    said_release(&s);
    program_tear_down(&program);
}

static const struct strait_test tests[] = {
    {"the ways of attention", ways},
    {"weights are written once and read again", weights_are_kept},
    {"weights of another length and folders that are not there", refusals},
};
STRAIT_SUITE("cli/cli_attention", tests);
