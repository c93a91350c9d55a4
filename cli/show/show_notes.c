/* What a reader of a table should know of its rows: not all of a point was simulated, or kept. */
#include <stdio.h>
#include "analysis/table.h"
#include "show.h"
#include "workloads/ask/packet_effects.h"

enum { MAX_EFFECTS = 3 };

/* Each of a mark, and of what it says. */
static const struct {
    char mark;
    const char *title, *text;
} notes[] = {
    {'*', "rounds repeat", "simulated until they do, the rest follows exactly"},
    {'+', "a log was full", "shares and wait are those of the rounds before"},
};
enum { REPEATS, FULL, N_NOTES };

static bool has_note(const json_t *row, int note)
{
    return note == REPEATS
               ? json_is_object(json_object_get(json_object_get(row, "report"), "steady"))
               : json_is_true(json_object_get(row, "log_full"));
}

const char *strait_show_marks(char buf[STRAIT_MARKS_CHARS], const json_t *row)
{
    size_t n = 0;
    for (int i = 0; i < N_NOTES; i++)
        if (has_note(row, i))
            buf[n++] = notes[i].mark;
    buf[n] = '\0';
    return buf;
}

bool strait_show_any_marks(const json_t *rows)
{
    char buf[STRAIT_MARKS_CHARS];
    size_t i;
    json_t *row;
    json_array_foreach (rows, i, row)
        if (*strait_show_marks(buf, row))
            return true;
    return false;
}

/* A line for each set of effects of packets that rows leave out or draw, and of how many rows. */
static void show_effects(FILE *out, const json_t *rows)
{
    char text[STRAIT_EFFECTS_CHARS];
    json_t *counts = json_object(), *row, *count;
    const char *line;
    size_t i, n_shown = 0;
    json_array_foreach (rows, i, row) {
        if (!*strait_effects_text(text, json_object_get(row, "report")))
            continue;
        const json_int_t n = json_integer_value(json_object_get(counts, text));
        json_object_set_new(counts, text, json_integer(n + 1));
    }
    json_object_foreach (counts, line, count) {
        const size_t n = (size_t)json_integer_value(count);
        if (n_shown++ == MAX_EFFECTS) {
            strait_prose(out, "... and %zu other such settings (\"approximations\" of the rows)",
                         json_object_size(counts) - MAX_EFFECTS);
            break;
        }
        if (n < json_array_size(rows))
            strait_prose(out, "in %zu of %zu points %s", n, json_array_size(rows), line);
        else
            strait_prose(out, "%s", line);
    }
    json_decref(counts);
}

void strait_show_notes(FILE *out, const json_t *rows, bool marked)
{
    show_effects(out, rows);
    for (int note = 0; note < N_NOTES; note++) {
        size_t i, n = 0;
        json_t *row;
        json_array_foreach (rows, i, row)
            n += has_note(row, note);
        if (n == 0)
            continue;
        if (marked)
            strait_prose(out, "%c %s: %s", notes[note].mark, notes[note].title, notes[note].text);
        else
            strait_prose(out, "in %zu of %zu points %s: %s", n, json_array_size(rows),
                         notes[note].title, notes[note].text);
    }
}
