/* A plan's answer, on one screen or in full. */
#include "show_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/fields.h"
#include "analysis/label.h"
#include "analysis/table.h"
#include "core/names.h"
#include "show.h"
#include "show_why.h"

/* Columns that not every plan has. */
struct columns {
    const char *currency; /* "" for no money */
    bool energy, accuracy, time;
};

static struct columns columns_of(const json_t *candidates, const char *currency)
{
    struct columns c = {.currency = currency};
    size_t i;
    json_t *one;
    json_array_foreach (candidates, i, one) {
        c.energy = c.energy || json_is_real(json_object_get(one, "energy_a_round_j"));
        c.accuracy = c.accuracy || json_is_real(json_object_get(one, "accuracy"));
        c.time = c.time || json_is_real(json_object_get(one, "time_s"));
    }
    return c;
}

static void put_columns(struct strait_table *t, const struct columns *c)
{
    strait_table_column(t, "candidate", false);
    strait_table_key(t);
    strait_table_column(t, "round s", true);
    strait_table_column(t, "90 % within s", true);
    strait_table_column(t, "sent", true);
    if (*c->currency) {
        char title[64];
        snprintf(title, sizeof(title), "%s a round", c->currency);
        strait_table_column(t, title, true);
    }
    if (c->energy)
        strait_table_column(t, "Wh a round", true);
    if (c->accuracy)
        strait_table_column(t, "accuracy %", true);
    if (c->time)
        strait_table_column(t, "in all", true);
    strait_table_column(t, "target", false);
}

static void put_number(struct strait_table *t, double value, int digits)
{
    char number[STRAIT_NUMBER_CHARS];
    strait_table_cell(t, strait_format_number(number, value, digits));
}

/* by: the candidate, or its row by SimGrid. */
static void put_candidate(struct strait_table *t, const json_t *one, const json_t *by,
                          const struct columns *c)
{
    char interval[STRAIT_INTERVAL_CHARS], text[STRAIT_NUMBER_CHARS];
    strait_table_cell(t, strait_text_of(one, "name"));
    put_number(t, strait_row_number(by, "round_s"), 4);
    strait_table_cell(t, strait_interval_text(interval, json_object_get(by, "interval_s")));
    strait_table_cell(t, strait_bytes_text(text, strait_row_number(one, "bytes_a_round")));
    if (*c->currency)
        put_number(t, strait_row_number(one, "money_a_round"), 3);
    if (c->energy)
        put_number(t, strait_row_number(one, "energy_a_round_j") / 3600, 3);
    if (c->accuracy)
        put_number(t, 100 * strait_row_number(one, "accuracy"), 4);
    if (c->time)
        strait_table_cell(t, strait_seconds_text(text, strait_row_number(one, "time_s")));
    strait_table_cellf(t, "%s%s", strait_text_of(one, "holds"),
                       json_is_true(json_object_get(one, "eligible")) ? "" : ", accuracy?");
}

static int show_best(FILE *out, const json_t *best, const struct columns *c,
                     struct strait_error *err)
{
    size_t i;
    json_t *one;
    char limit[STRAIT_LIMIT_CHARS];
    struct strait_table *t = strait_table_new();
    put_columns(t, c);
    strait_table_column(t, "limited by", false);
    strait_table_column(t, "rests on", false);
    json_array_foreach (best, i, one) {
        const json_t *sim = json_object_get(one, "sim"), *limits = json_object_get(sim, "limits");
        put_candidate(t, one, sim, c);
        strait_table_cell(t, strait_limit_text(limit, limits));
        strait_table_cell(t, strait_text_of(json_object_get(sim, "evidence"), "basis"));
    }
    return strait_table_finish(t, out, err);
}

/* --- on one screen -------------------------------------------------------------------------- */

enum { MAX_PART = 128, MAX_TO_BUY = 4, MAX_TO_BUY_BRIEFLY = 3, MAX_REFUSED = 2 };

/* Whether ", "-separated parts have this one. */
static bool has_part(const char *name, const char *part, size_t n)
{
    for (const char *at = name; at; at = strstr(at, ", ") ? strstr(at, ", ") + 2 : NULL)
        if (strncmp(at, part, n) == 0 && (at[n] == '\0' || at[n] == ','))
            return true;
    return false;
}

/* The parts of a candidate's name that all of these have, or those that not all have. */
static void put_parts(char buf[2 * MAX_PART], const char *name, const json_t *best, bool common)
{
    *buf = '\0';
    for (const char *at = name; at; at = strstr(at, ", ") ? strstr(at, ", ") + 2 : NULL) {
        const size_t n = strstr(at, ", ") ? (size_t)(strstr(at, ", ") - at) : strlen(at);
        size_t i, n_having = 0;
        json_t *one;
        json_array_foreach (best, i, one)
            n_having += has_part(strait_text_of(one, "name"), at, n);
        if ((n_having == json_array_size(best)) == common && n < MAX_PART)
            strait_text_add(buf, 2 * MAX_PART, "%s%.*s", *buf ? ", " : "", (int)n, at);
    }
}

/* The same five in fewer columns; what all have is said once, above. */
static int show_best_briefly(FILE *out, const json_t *best, const struct columns *c,
                             struct strait_error *err)
{
    size_t i;
    json_t *one;
    char text[2 * MAX_PART], interval[STRAIT_INTERVAL_CHARS];
    put_parts(text, strait_text_of(json_array_get(best, 0), "name"), best, true);
    if (*text && json_array_size(best) > 1)
        strait_prose(out, "The best %zu, all with %s:", json_array_size(best), text);
    struct strait_table *t = strait_table_new();
    strait_table_column(t, "candidate", false);
    strait_table_column(t, "round s", true);
    strait_table_column(t, "90 % within s", true);
    if (*c->currency) {
        snprintf(text, sizeof(text), "%s a round", c->currency);
        strait_table_column(t, text, true);
    }
    if (c->accuracy)
        strait_table_column(t, "accuracy %", true);
    strait_table_column(t, "target", false);
    strait_table_column(t, "limited by", false);
    json_array_foreach (best, i, one) {
        const char *name = strait_text_of(one, "name");
        const json_t *sim = json_object_get(one, "sim"), *limits = json_object_get(sim, "limits");
        put_parts(text, name, best, json_array_size(best) == 1);
        strait_table_cell(t, *text ? text : name);
        put_number(t, strait_row_number(sim, "round_s"), 4);
        strait_table_cell(t, strait_interval_text(interval, json_object_get(sim, "interval_s")));
        if (*c->currency)
            put_number(t, strait_row_number(one, "money_a_round"), 3);
        if (c->accuracy)
            put_number(t, 100 * strait_row_number(one, "accuracy"), 4);
        strait_table_cellf(t, "%s%s", strait_text_of(one, "holds"),
                           json_is_true(json_object_get(one, "eligible")) ? "" : ", accuracy?");
        strait_table_cell(t, strait_limit_short(limits));
    }
    return strait_table_finish(t, out, err);
}

static void show_headroom(FILE *out, const json_t *row)
{
    char text[512] = "";
    const char *kind;
    json_t *value;
    json_object_foreach (json_object_get(row, "utilisation"), kind, value)
        strait_text_add(text, sizeof(text), "%s%s %.0f %%", *text ? "; " : "",
                        strait_resource_name(kind),
                        fmax(0, 100 * (1 - strait_row_number(value, "most"))));
    if (*text)
        strait_prose(out, "Left of the busiest: %s.", text);
}

/* first: the name of the recommended candidate, whose codec it is if it has one. */
static void show_break_even_briefly(FILE *out, const json_t *even, const char *first)
{
    const char *of = strait_text_of(even, "of");
    const bool same = strcmp(of, first) == 0;
    char text[1024] = "";
    size_t i;
    json_t *axis;
    json_array_foreach (json_object_get(even, "axes"), i, axis) {
        const char *found = strait_text_of(axis, "text"), *range = strstr(found, "; ");
        char *name = strait_label_axis(strait_text_of(axis, "pointer"));
        if (!*strait_text_of(axis, "why") && name)
            strait_text_add(text, sizeof(text), "%s%s %.*s%s%s%s", *text ? "; " : "", name,
                            range ? (int)(range - found) : (int)strlen(found), found,
                            range ? " (" : "", range ? range + 2 : "", range ? ")" : "");
        free(name);
    }
    if (*text)
        strait_prose(out, "The codec%s%s pays: %s.", same ? "" : " of ", same ? "" : of, text);
}

static void show_rest_briefly(FILE *out, const json_t *answer)
{
    const json_t *ranked = json_object_get(answer, "ranked"),
                 *rest = json_object_get(answer, "not_considered");
    char text[1024] = "";
    size_t i, n_front = 0, n_refused = 0;
    json_t *one;
    json_array_foreach (rest, i, one) {
        const char *why = json_string_value(one);
        const bool refused = *why >= '0' && *why <= '9';
        n_refused += refused;
        if (refused ? n_refused <= MAX_REFUSED
                    : strncmp(why, "codecs ", 7) == 0 || strncmp(why, "prices an hour ", 15) == 0)
            strait_text_add(text, sizeof(text), "%s%s", *text ? "; " : "", why);
    }
    if (n_refused > MAX_REFUSED)
        strait_text_add(text, sizeof(text), "; others that are not possible (--wide)");
    if (*text)
        strait_prose(out, "Not considered: %s.", text);
    json_array_foreach (ranked, i, one)
        n_front += json_is_true(json_object_get(one, "front")) &&
                   json_equal(json_object_get(one, "rank"), json_object_get(one, "equal_to"));
    strait_prose(out,
                 "%zu of %zu candidates are on the front: no other beats them in all. --wide shows "
                 "them, how busy everything is and what is not modelled; --all every candidate.",
                 n_front, json_array_size(ranked));
}

/* --- in full -------------------------------------------------------------------------------- */

/* What to buy next: steps among what may vary, then whatever helps when twice as fast. */
static int show_buy(FILE *out, const json_t *answer, const char *currency, bool brief,
                    struct strait_error *err)
{
    const size_t most = brief ? MAX_TO_BUY_BRIEFLY : MAX_TO_BUY,
                 n_priced = json_array_size(json_object_get(answer, "buy")),
                 most_faster = brief && n_priced < most ? most - n_priced
                               : brief                  ? 0
                                                        : most;
    const double round_s =
        strait_row_number(json_array_get(json_object_get(answer, "best"), 0), "round_s");
    size_t i;
    json_t *one;
    char saves[STRAIT_NUMBER_CHARS], price[STRAIT_NUMBER_CHARS];
    struct strait_table *t = strait_table_new();
    strait_table_column(t, "what to buy next", false);
    strait_table_column(t, "saves", true);
    strait_table_column(t, "%", true);
    strait_table_column(t, "for", false);
    json_array_foreach (json_object_get(answer, "buy"), i, one) {
        const double more = strait_row_number(one, "more_per_hour");
        if (i == most)
            break;
        strait_table_cell(t, strait_text_of(one, "text"));
        strait_table_cell(t, strait_seconds_text(saves, strait_row_number(one, "saves_s")));
        strait_table_cellf(t, "%.1f", 100 * strait_row_number(one, "saves_s") / round_s);
        if (isfinite(more))
            strait_table_cellf(
                t, "%s %s/h more, %s a round", strait_format_number(price, more, 3), currency,
                strait_format_number(saves, strait_row_number(one, "more_money_a_round"), 3));
        else
            strait_table_cell(t, "no price");
    }
    json_array_foreach (json_object_get(answer, "faster"), i, one) {
        if (i >= most_faster || strait_row_number(one, "saves_s") < 1e-2 * round_s)
            break;
        strait_table_cellf(t, "2 times: %s", strait_text_of(one, "text"));
        strait_table_cell(t, strait_seconds_text(saves, strait_row_number(one, "saves_s")));
        strait_table_cellf(t, "%.1f", 100 * strait_row_number(one, "saves_s") / round_s);
        strait_table_cell(t, "no price");
    }
    return strait_table_finish(t, out, err);
}

static void show_break_even(FILE *out, const json_t *even)
{
    size_t i;
    json_t *axis;
    if (!json_is_object(even))
        return;
    strait_prose(out, "Where the codec of \"%s\" pays:", strait_text_of(even, "of"));
    json_array_foreach (json_object_get(even, "axes"), i, axis) {
        const char *why = strait_text_of(axis, "why");
        char *name = strait_label_axis(strait_text_of(axis, "pointer"));
        strait_prose(out, "  %s: %s", name ? name : "", *why ? why : strait_text_of(axis, "text"));
        free(name);
    }
    fputs("\n", out);
}

static int show_ranked(FILE *out, const json_t *ranked, const struct columns *c, bool all,
                       struct strait_error *err)
{
    size_t i, n_front = 0;
    json_t *one;
    struct strait_table *t = strait_table_new();
    put_columns(t, c);
    json_array_foreach (ranked, i, one) {
        const bool first =
            json_equal(json_object_get(one, "rank"), json_object_get(one, "equal_to"));
        const bool front = first && json_is_true(json_object_get(one, "front"));
        n_front += front;
        if (front || all)
            put_candidate(t, one, one, c);
    }
    if (all)
        strait_prose(out, "All %zu candidates, by rank:", json_array_size(ranked));
    else
        strait_prose(out,
                     "The front, %zu of %zu candidates: none is better in all; equal ones once "
                     "(--all):",
                     n_front, json_array_size(ranked));
    fputs("\n", out);
    return strait_table_finish(t, out, err);
}

static int show_check(FILE *out, const json_t *check, struct strait_error *err)
{
    size_t i;
    json_t *one;
    char interval[STRAIT_INTERVAL_CHARS];
    if (!json_is_array(check))
        return 0;
    fputs("\n", out);
    struct strait_table *t = strait_table_new();
    strait_table_column(t, "emulated", false);
    strait_table_column(t, "predicted s", true);
    strait_table_column(t, "90 % within s", true);
    strait_table_column(t, "measured s", true);
    strait_table_column(t, "", false);
    json_array_foreach (check, i, one) {
        strait_table_cell(t, strait_text_of(one, "name"));
        put_number(t, strait_row_number(one, "predicted_s"), 4);
        strait_table_cell(t, strait_interval_text(interval, json_object_get(one, "interval_s")));
        put_number(t, strait_row_number(one, "measured_s"), 4);
        strait_table_cell(t, !isfinite(strait_row_number(one, "measured_s")) ? "not emulated"
                             : !json_is_true(json_object_get(one, "valid"))  ? "INVALID"
                             : json_is_true(json_object_get(one, "inside"))  ? "inside"
                                                                             : "outside");
    }
    return strait_table_finish(t, out, err);
}

/* --- both ----------------------------------------------------------------------------------- */

static int show_briefly(FILE *out, const json_t *answer, const struct columns *c,
                        struct strait_error *err)
{
    const json_t *best = json_object_get(answer, "best");
    if (show_best_briefly(out, best, c, err) != 0)
        return -1;
    fputs("\n", out);
    if (show_buy(out, answer, c->currency, true, err) != 0)
        return -1;
    fputs("\n", out);
    show_headroom(out, json_object_get(json_array_get(best, 0), "sim"));
    show_break_even_briefly(out, json_object_get(answer, "break_even"),
                            strait_text_of(json_array_get(best, 0), "name"));
    if (show_check(out, json_object_get(answer, "check"), err) != 0)
        return -1;
    show_rest_briefly(out, answer);
    return 0;
}

/* Which losses went by a formula; "": none. */
static const char *formula_of(const json_t *row)
{
    size_t i;
    json_t *note;
    json_array_foreach (json_object_get(row, "approximations"), i, note)
        if (strncmp(json_string_value(note), "by a formula", 12) == 0)
            return json_string_value(note);
    return "";
}

int strait_show_plan(FILE *out, const json_t *answer, const char *currency,
                     enum strait_plan_detail detail, struct strait_error *err)
{
    const json_t *best = json_object_get(answer, "best"),
                 *ranked = json_object_get(answer, "ranked"),
                 *first = json_object_get(json_array_get(best, 0), "sim");
    const struct columns c = columns_of(ranked, currency);
    size_t i;
    json_t *text;
    if (*strait_text_of(answer, "title"))
        strait_prose(out, "%s", strait_text_of(answer, "title"));
    strait_prose(out, "%s", strait_text_of(answer, "text"));
    strait_prose(out, "What limits it: %s.",
                 strait_text_of(json_object_get(answer, "limits"), "text"));
    strait_show_names(out, json_object_get(answer, "names"));
    const json_t *evidence = json_object_get(first, "evidence");
    const char *why = strait_text_of(evidence, "why");
    const char *const formula = formula_of(first);
    strait_prose(out, "What it rests on: %s%s%s%s%s.", strait_text_of(evidence, "basis"),
                 *why ? ": " : "", why, *formula ? "; " : "", formula);
    fputs("\n", out);
    if (detail == STRAIT_PLAN_BRIEF)
        return show_briefly(out, answer, &c, err);
    if (show_best(out, best, &c, err) != 0)
        return -1;
    fputs("\n", out);
    if (show_buy(out, answer, currency, false, err) != 0)
        return -1;
    fputs("\n", out);
    if (strait_show_utilisation(out, first, err) != 0)
        return -1;
    fputs("\n", out);
    show_break_even(out, json_object_get(answer, "break_even"));
    if (show_ranked(out, ranked, &c, detail == STRAIT_PLAN_ALL, err) != 0 ||
        show_check(out, json_object_get(answer, "check"), err) != 0)
        return -1;
    fputs("\nNot considered, or not modelled:\n", out);
    json_array_foreach (json_object_get(answer, "not_considered"), i, text)
        strait_prose(out, "  %s", json_string_value(text));
    return 0;
}
