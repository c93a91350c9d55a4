/* The trade-off table: accuracy, bytes and time of every codec, the Pareto front marked. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/table.h"
#include "show.h"

static double number_of(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static void put_line(struct strait_table *t, const json_t *line)
{
    char text[STRAIT_NUMBER_CHARS];
    const double accuracy = number_of(json_object_get(line, "accuracy"));
    size_t s;
    json_t *round_s;
    strait_table_cell(t, json_string_value(json_object_get(line, "codec")));
    strait_table_cellf(t, "%lld", (long long)json_integer_value(json_object_get(line, "clients")));
    if (isnan(accuracy))
        strait_table_cell(t, "-");
    else
        strait_table_cellf(t, "%.2f \u00b1%.2f", 100 * accuracy,
                           100 * number_of(json_object_get(line, "accuracy_spread")));
    strait_table_cell(t, strait_bytes_text(text, number_of(json_object_get(line, "bytes_up"))));
    strait_table_cell(t, strait_format_number(text, number_of(json_object_get(line, "ratio")), 3));
    strait_table_cell(t, strait_seconds_text(text, number_of(json_object_get(line, "encode_s"))));
    strait_table_cell(t, strait_seconds_text(text, number_of(json_object_get(line, "decode_s"))));
    json_array_foreach (json_object_get(line, "round_s"), s, round_s) {
        const bool front = json_is_true(json_array_get(json_object_get(line, "front"), s));
        strait_table_cellf(t, "%s%s", strait_seconds_text(text, number_of(round_s)),
                           front ? " *" : "  ");
    }
}

int strait_show_tradeoff(FILE *out, const json_t *tradeoff, struct strait_error *err)
{
    struct strait_table *t = strait_table_new();
    size_t i;
    json_t *value;
    strait_table_column(t, "codec", false);
    strait_table_column(t, "clients", true);
    strait_table_key(t);
    strait_table_column(t, "accuracy %", true);
    strait_table_column(t, "upload", true);
    strait_table_column(t, "ratio", true);
    strait_table_column(t, "encode", true);
    strait_table_column(t, "decode", true);
    json_array_foreach (json_object_get(tradeoff, "settings"), i, value) {
        const char *text = json_string_value(value);
        char *title = NULL;
        if (asprintf(&title, "round%s%s  ", *text ? ", " : "", text) < 0)
            title = NULL;
        strait_table_column(t, title ? title : "round", true);
        free(title);
    }
    strait_table_rule(t);
    json_array_foreach (json_object_get(tradeoff, "lines"), i, value)
        put_line(t, value);
    if (strait_table_finish(t, out, err) != 0)
        return -1;
    fputs("\n", out);
    strait_prose(
        out, "Accuracy: recorded training with this codec on the uploads, mean of the last three "
             "rounds; - where none was recorded.\n\u00b1: what chance does to it, half of a 95 %% "
             "interval: from runs with another seed, or else from the swing of those rounds.\n"
             "Upload: payload of one client and round. Encode: a client's, decode: the server's of "
             "all clients, a round; medians over the columns where they were measured.\n"
             "*: on the Pareto front of accuracy and round time: no quicker codec with a * is as "
             "accurate. Accuracies are told apart where they differ by more than chance does: a "
             "difference within the root of both \u00b1 squared is no gain.");
    return 0;
}
