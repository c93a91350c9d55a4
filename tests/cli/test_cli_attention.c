/* strait attention from outside: its ways, its weights, what it refuses. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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

/* The table of a run, from the losses, shares and counts of the same run as JSON: a doubled weight
 * makes attention steeper, so that approximations differ. The first of each axis from which on all
 * are within 1 % of full attention is named below it. */
static void from_the_same_losses(void)
{
    static const struct {
        const char *name;
        size_t first, n;
        unsigned values[8];
    } axes[] = {{"top-k tokens", 1, 7, {1, 2, 4, 8, 16, 32, 64}},
                {"directions of keys", 8, 5, {1, 2, 4, 8, 16}},
                {"bits of keys and values", 13, 8, {1, 2, 3, 4, 5, 6, 7, 8}}};
    static const unsigned both[][3] = {{16, 1, 0},  {16, 2, 0}, {16, 4, 0}, {16, 8, 0},
                                       {16, 16, 0}, {16, 0, 1}, {16, 0, 2}, {16, 0, 4}};
    double loss[29], share[29], as_full[29];
    size_t n_bytes, n = 0;
    char *rest;
    program_set_up(&program);
    struct said s = ATTENTION("--steps", "1", "--weights", "w.f32");
    CU_ASSERT_EQUAL_FATAL(s.status, 0);
    said_release(&s);
    char *bytes = program_read_bytes(&program, "w.f32", &n_bytes);
    for (size_t i = 0; i < n_bytes / 4; i++) {
        float w;
        memcpy(&w, bytes + 4 * i, 4);
        w *= 4;
        memcpy(bytes + 4 * i, &w, 4);
    }
    program_write_bytes(&program, "w.f32", bytes, n_bytes);
    free(bytes);
    s = ATTENTION("--weights", "w.f32", "--json");
    for (char *line = strtok_r(s.out, "\n", &rest); line && n < 29;
         line = strtok_r(NULL, "\n", &rest), n++) {
        json_t *record = json_loads(line, 0, NULL);
        unsigned way[3] = {0};
        for (size_t a = 0; a < 3; a++)
            if (n >= axes[a].first && n < axes[a].first + axes[a].n)
                way[a] = axes[a].values[n - axes[a].first];
        if (n >= 21)
            memcpy(way, both[n - 21], sizeof(way));
        strait_test_context("way %zu", n);
        CU_ASSERT_EQUAL(number(record, "top_k"), way[0]);
        CU_ASSERT_EQUAL(number(record, "rank"), way[1]);
        CU_ASSERT_EQUAL(number(record, "bits"), way[2]);
        loss[n] = number(record, "loss");
        share[n] = number(record, "accuracy");
        as_full[n] = number(record, "agreement");
        json_decref(record);
    }
    CU_ASSERT_EQUAL_FATAL(n, 29);
    said_release(&s);
    s = ATTENTION("--weights", "w.f32", "--wide");
    CU_ASSERT_EQUAL(s.status, 0);
    char *to = s.out;
    for (const char *from = s.out; *from; from++)
        if (*from != ' ' || (to > s.out && to[-1] != ' '))
            *to++ = *from;
    *to = '\0';
    for (size_t i = 0; i < n; i++) {
        char row[128];
        snprintf(row, sizeof(row), " %.4f %.4f %+.2f %% %.2f %% %.2f %%\n", loss[i], exp(loss[i]),
                 100 * (exp(loss[i] - loss[0]) - 1), 100 * share[i], 100 * as_full[i]);
        CU_ASSERT_CONTAINS(s.out, row);
    }
    for (size_t a = 0; a < 3; a++) {
        char line[128];
        size_t from = axes[a].n;
        while (from > 0 && fabs(exp(loss[axes[a].first + from - 1] - loss[0]) - 1) <= 0.01)
            from--;
        if (from < axes[a].n)
            snprintf(line, sizeof(line),
                     "\n%s: within 1 %% of full attention's perplexity from %u on\n", axes[a].name,
                     axes[a].values[from]);
        else
            snprintf(line, sizeof(line),
                     "\n%s: nowhere within 1 %% of full attention's perplexity\n", axes[a].name);
        CU_ASSERT_CONTAINS(s.out, line);
    }
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
    {"the table is that of the losses", from_the_same_losses},
    {"weights are written once and read again", weights_are_kept},
    {"weights of another length and folders that are not there", refusals},
};
STRAIT_SUITE("cli/cli_attention", tests);
