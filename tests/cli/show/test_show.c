/* Tables of rows and of comparisons made by hand. */
#include "cli/show/show.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/place.h"
#include "cli/show/show_extras.h"
#include "tests/cli/show/shown.h"
#include "tests/kit/suite.h"

/* --- rows ----------------------------------------------------------------------------------- */

#define SZ "{\"name\":\"sz\",\"bound\":{\"range\":1e-3}}"

/* A row at a place of its own, which took `round_s`. */
static json_t *row(int seed, int clients, bool plain, double round_s)
{
    json_t *codec = json_loads(plain ? "{\"name\":\"none\"}" : SZ, 0, NULL),
           *point = json_pack("{s:i, s:O, s:i}", "seed", seed, "codec", codec, "clients", clients);
    struct strait_place place;
    CU_ASSERT_EQUAL_FATAL(strait_place_of_point(&place, point, NULL), 0);
    json_t *out = json_pack(
        "{s:s, s:b, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:{s:i, s:O}, s:O, s:{s:s}, s:f, s:f}",
        "record", "row", "valid", 1, "backend", "fluid", "title", "Why?", "model", "cnn",
        "strategy", "fedavg", "payload", "sized", "cost", "profile", "clients", clients, "labels",
        "/seed", seed, "/codec", codec, "codec", codec, "download_codec", "name", "none", "round_s",
        round_s, "total_s", 2 * round_s);
    json_object_set_new(out, "rounds_s", json_pack("[f, f]", round_s, round_s));
    strait_place_put(out, &place);
    json_decref(codec);
    json_decref(point);
    return out;
}

static const char *shown(const json_t *rows, const json_t *breakevens)
{
    struct strait_error err = {0};
    FILE *f = begin();
    CU_ASSERT_EQUAL(strait_show_rows(f, rows, breakevens, &err), 0);
    return end(f);
}

/* Of a record the place of a row. */
static json_t *record(const json_t *of, const char *setting, const char *pays, const char *said)
{
    json_t *r =
        json_pack("{s:O, s:O, s:s, s:s, s:s, s:o, s:i, s:i, s:b}", "setting_key",
                  json_object_get(of, "setting_key"), "codec_key", json_object_get(of, "codec_key"),
                  "setting", setting, "codec", "sz 1e-3", "text", said, "pays",
                  json_loads(pays, 0, NULL), "first", 2, "last", 64, "every_count", 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(r);
    return r;
}

/* 16 settings of two counts and two codecs are 64 points; with 15 they are 60, a line each. A round
 * takes the seconds of its setting's number, and with sz half of it, a third at 4 clients. */
static json_t *rows_of(int n_settings)
{
    json_t *rows = json_array();
    for (int s = 1; s <= n_settings; s++)
        for (int n = 2; n <= 4; n += 2) {
            json_array_append_new(rows, row(s, n, true, s));
            json_array_append_new(rows, row(s, n, false, (double)s / (n == 2 ? 2 : 3)));
        }
    return rows;
}

/* Counts of a grid, with those between which the first one lies: found at 11, perhaps at 9, surely
 * at 14; surely nowhere; nothing known. */
static void grid_edges(void)
{
    json_t *rows = rows_of(16), *records = json_array();
    static const char *const surely[] = {"[[14, 64]]", "[]", "[[11, 64]]"},
                             *const said[] = {"11 (9 to 14)-64", "11 (9 at the earliest)-64",
                                              "11-64"};
    for (size_t i = 0; i < 3; i++) {
        json_t *one = record(json_array_get(rows, 4 * i + 1), "x", "[[11, 64]]", "");
        json_object_set_new(one, "perhaps",
                            json_loads(i < 2 ? "[[9, 64]]" : "[[11, 64]]", 0, NULL));
        json_object_set_new(one, "surely", json_loads(surely[i], 0, NULL));
        json_array_append_new(records, one);
    }
    const char *t = shown(rows, records);
    for (size_t i = 0; i < 3; i++)
        CU_ASSERT_CONTAINS(t, said[i]);
    json_decref(records);
    json_decref(rows);
}

static void grids(void)
{
    json_t *rows = rows_of(16), *records = json_array();
    static const char *const pays[] = {"[]", "[[2, 64]]", "[[2, 2]]", "[[2, 8], [38, 64]]",
                                       "[[3, 64], [9, 9]]"},
                             *const said[] = {"never", "always", "2", "2-8, 38-64", "3-64, 9"};
    for (size_t i = 0; i < 5; i++)
        json_array_append_new(records, record(json_array_get(rows, 4 * i + 1), "x", pays[i], ""));
    const char *t = shown(rows, records);
    CU_ASSERT_EQUAL(
        strncmp(t, "Why?\ncnn, fedavg; sized payload, profile cost; backend fluid\n", 60), 0);
    CU_ASSERT_CONTAINS(t, "Without compression: time of a round. Codecs: speed-up over it.\n"
                          "Pays: clients for which a round is shorter than without, of every "
                          "count from 2 to 64.\n\n");
    CU_ASSERT_CONTAINS(t, "\nsetting clients 2 4 pays\n");
    for (int s = 1; s <= 16; s++) {
        char lines[160];
        snprintf(lines, sizeof(lines), "seed %d none %d.%s s %d.%s s\nsz 1e-3 2.00x 3.00x%s%s\n", s,
                 s, s < 10 ? "00" : "0", s, s < 10 ? "00" : "0", s <= 5 ? " " : "",
                 s <= 5 ? said[s - 1] : "");
        CU_ASSERT_CONTAINS(t, lines);
    }
    json_object_set_new(json_array_get(records, 0), "every_count", json_false());
    CU_ASSERT_CONTAINS(shown(rows, records), "of counts by bisection from 2 to 64.\n");
    t = shown(rows, NULL);
    CU_ASSERT_CONTAINS(t, "Codecs: speed-up over it.\n\n");
    CU_ASSERT_CONTAINS(t, "\nsetting clients 2 4\n");
    /* a point that is missing, one without its baseline, and a setting without a codec */
    json_array_remove(rows, 8); /* 3 without, 2 clients */
    json_array_remove(rows, 6); /* 2 without, 4 clients */
    json_array_remove(rows, 1); /* 1 with, 2 clients */
    t = shown(rows, NULL);
    CU_ASSERT_CONTAINS(t, "seed 1 none 1.00 s 1.00 s\nsz 1e-3 3.00x\n");
    CU_ASSERT_CONTAINS(t, "seed 2 none 2.00 s\nsz 1e-3 2.00x 0.667 s\n");
    CU_ASSERT_CONTAINS(t, "seed 3 none 3.00 s\nsz 1e-3 1.50 s 3.00x\n");
    json_decref(rows);
    rows = rows_of(17);
    json_array_remove(rows, 15); /* 4 with, at either number of clients */
    json_array_remove(rows, 13);
    t = strstr(shown(rows, NULL), "seed 4 ");
    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    CU_ASSERT_EQUAL(strncmp(t, "seed 4 none 4.00 s 4.00 s\n", 26), 0);
    CU_ASSERT_PTR_NULL(memmem(t, (size_t)(strstr(t, "seed 5 ") - t), "sz", 2));
    json_decref(rows);
    json_decref(records);
}

/* Up to 60 points have a line each; then break-evens follow, grouped by their settings. */
static void lines(void)
{
    json_t *rows = rows_of(15), *records = json_array();
    static const char *const settings[] = {"seed 1", "seed 1", "seed 2"};
    for (size_t i = 0; i < 3; i++)
        json_array_append_new(records, record(json_array_get(rows, i < 2 ? 1 : 5), settings[i],
                                              "[]", i == 1 ? "always" : "never"));
    const char *t = shown(rows, records);
    CU_ASSERT_CONTAINS(t,
                       "Mean time of a round and its shares on the critical path; wait: a client "
                       "blocked in a receive.\n\n");
    CU_ASSERT_CONTAINS(t, "\nseed clients codec round s 2 rounds s ");
    CU_ASSERT_CONTAINS(t, "\n1 2 none 1.000 2.000 ");
    CU_ASSERT_CONTAINS(t, "\n15 4 sz 1e-3 5.000 10.00 ");
    CU_ASSERT_CONTAINS(t, "\nsetting codec compression pays\n");
    CU_ASSERT_CONTAINS(t, "seed 1 sz 1e-3 never\nsz 1e-3 always\n");
    CU_ASSERT_CONTAINS(t, "\nseed 2 sz 1e-3 never\n");
    json_decref(records);
    records = json_pack("[o]", record(json_array_get(rows, 1), "", "[]", "never"));
    CU_ASSERT_CONTAINS(shown(rows, records), "\ncodec compression pays\n");
    json_decref(records);
    json_decref(rows);
}

/* Shares below half a per cent are "<1", nothing is 0, and columns of nothing are left out. */
static void shares(void)
{
    json_t *one = row(1, 2, true, 10), *rows = json_pack("[o]", one);
    json_object_set_new(one, "path_s",
                        json_pack("{s:f, s:f, s:f, s:f}", "compute", 9.92, "encode", 0.049,
                                  "transfer", 0.051, "decode", 1e-6));
    json_object_set_new(one, "wait_s", json_real(1.5));
    json_object_set_new(one, "interval_s", json_pack("[f, f]", 9.0, 12.5));
    const char *t = shown(rows, NULL);
    CU_ASSERT_CONTAINS(
        t, "\nseed clients codec round s 90 % within s 2 rounds s compute % encode % transfer % "
           "wait s\n");
    CU_ASSERT_CONTAINS(t, "\n1 2 none 10.00 9.00 to 12.5 20.00 99 <1 1 1.50\n");
    json_decref(rows);
}

/* The time of all rounds is named by their number where all rows have one, else it is a run's. */
static void rounds(void)
{
    static const struct {
        int n[2];
        const char *title;
    } cases[] = {{{2, 2}, " round s 2 rounds s"},
                 {{1, 1}, " round s 1 round s"},
                 {{2, 1}, " round s run s"},
                 {{1, 2}, " round s run s"},
                 {{0, 0}, " round s run s"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        json_t *rows = json_pack("[o, o]", row(1, 2, true, 10), row(1, 4, true, 12));
        for (size_t k = 0; k < 2; k++) {
            json_t *all = json_object_get(json_array_get(rows, k), "rounds_s");
            json_array_clear(all);
            for (int r = 0; r < cases[i].n[k]; r++)
                json_array_append_new(all, json_real(1));
        }
        CU_ASSERT_CONTAINS(shown(rows, NULL), cases[i].title);
        json_decref(rows);
    }
}

/* What limits each row: a port or a straggler by its name, else the phase. */
static void limits(void)
{
    json_t *rows = json_array(), *first = row(1, 4, true, 1), *second = row(1, 8, true, 2);
    json_object_set_new(
        first, "limits",
        json_pack("{s:s, s:s, s:f}", "by", "link", "at", "server port in", "share", 0.72));
    json_object_set_new(
        second, "limits",
        json_pack("{s:s, s:s, s:f}", "by", "compute", "at", "client 2", "share", 0.5));
    json_array_append_new(rows, first);
    json_array_append_new(rows, second);
    const char *said = shown(rows, NULL);
    CU_ASSERT_CONTAINS(said, " limited by\n");
    CU_ASSERT_CONTAINS(said, " server port in\n");
    CU_ASSERT_CONTAINS(said, " compute\n");
    json_decref(rows);
}

/* Ends that three digits do not tell apart have more: 1.7204 to 1.7211 are not 1.72 to 1.72. What a
 * row is extrapolated to stands below, once. */
static void narrow_and_extrapolated(void)
{
    json_t *one = row(1, 2, true, 1.7207), *two = row(1, 4, true, 2), *rows;
    json_object_set_new(one, "interval_s", json_pack("[f, f]", 1.7204, 1.7211));
    rows = json_pack("[o, o]", one, two);
    CU_ASSERT_CONTAINS(shown(rows, NULL), " 1.720 to 1.721 ");
    json_object_set_new(
        two, "evidence",
        json_pack("{s:s, s:s}", "basis", "extrapolated", "why", "clients 5000, tried 2 to 36"));
    CU_ASSERT_CONTAINS(shown(rows, NULL),
                       "\nin 1 of 2 points extrapolated: clients 5000, tried 2 to 36\n");
    json_object_set_new(one, "evidence", json_pack("{s:s}", "basis", "emulated"));
    json_object_set_new(two, "evidence", json_pack("{s:s}", "basis", "emulated"));
    CU_ASSERT_PTR_NULL(strstr(shown(rows, NULL), "extrapolated"));
    json_decref(rows);
}

/* Repeats: their range, and the marks of rows that a note explains. */
static void repeats_and_notes(void)
{
    json_t *rows = json_pack("[o, o]", row(1, 2, true, 10), row(1, 2, true, 12));
    const char *t = shown(rows, NULL);
    CU_ASSERT_CONTAINS(t, " 10.0 to 12.0 ");
    json_t *first = json_array_get(rows, 0);
    json_object_set_new(first, "report", json_pack("{s:{}}", "steady"));
    CU_ASSERT_TRUE(strait_show_any_marks(rows));
    json_object_set_new(first, "log_full", json_true());
    char marks[STRAIT_MARKS_CHARS];
    CU_ASSERT_STRING_EQUAL(strait_show_marks(marks, first), "*+");
    CU_ASSERT_STRING_EQUAL(strait_show_marks(marks, json_array_get(rows, 1)), "");
    t = shown(rows, NULL);
    CU_ASSERT_CONTAINS(t, " note\n");
    CU_ASSERT_CONTAINS(t, "\n* rounds repeat: simulated until they do, the rest follows exactly\n");
    CU_ASSERT_CONTAINS(t, "\n+ a log was full: shares and wait are those of the rounds before\n");
    FILE *f = begin();
    strait_show_notes(f, rows, false);
    CU_ASSERT_STRING_EQUAL(end(f), "in 1 of 2 points rounds repeat: simulated until they do, the "
                                   "rest follows exactly\nin 1 of 2 points a log was full: shares "
                                   "and wait are those of the rounds before\n");
    json_decref(rows);
}

/* Sets of effects that no simulator has: three lines, and how many more. */
static void effects(void)
{
    json_t *rows = json_array();
    for (int i = 0; i < 6; i++) {
        json_t *one = row(1, i + 2, true, 1), *report = json_object();
        static const char *const what[] = {"loss", "loss", "jitter", "queues", "marks"};
        if (i > 0)
            json_object_set_new(report, "not_modelled", json_pack("[s]", what[i - 1]));
        json_object_set_new(one, "report", report);
        json_array_append_new(rows, one);
    }
    FILE *f = begin();
    strait_show_notes(f, rows, true);
    const char *t = end(f);
    CU_ASSERT_EQUAL(
        strncmp(t, "in 2 of 6 points not modelled, so that times are without it: loss\n", 66), 0);
    CU_ASSERT_CONTAINS(t,
                       "\nin 1 of 6 points not modelled, so that times are without it: queues\n");
    CU_ASSERT_PTR_NULL(strstr(t, "marks"));
    CU_ASSERT_CONTAINS(t, "\n... and 1 other such settings (\"approximations\" of the rows)\n");
    json_decref(rows);
}

static void heads(void)
{
    json_t *rows = json_pack("[o, o]", row(1, 2, true, 10), row(1, 4, true, 12)),
           *first = json_array_get(rows, 0), *second = json_array_get(rows, 1);
    json_object_set_new(first, "set", json_pack("{s:i}", "/clients", 2));
    json_object_set_new(second, "model", json_string("gpt"));
    json_object_set_new(first, "control", json_string("no-ramp"));
    FILE *f = begin();
    strait_show_head(f, rows);
    CU_ASSERT_STRING_EQUAL(end(f),
                           "Why?\nset: /clients=2\nseveral models, fedavg; sized payload, profile "
                           "cost; backend fluid, negative control no-ramp\n");
    /* emulated: the range of dilations, all seconds, and what is from before */
    static const double dilations[] = {4, 2};
    for (size_t i = 0; i < 2; i++) {
        json_t *one = json_array_get(rows, i);
        json_object_set_new(one, "report",
                            json_pack("{s:s, s:s, s:s, s:f}", "congestion", "reno", "realisation",
                                      "relay", "launcher", "root", "dilation", dilations[i]));
        json_object_set_new(one, "wall_s", json_real(3.25));
        json_object_set_new(one, "strategy", json_string(i == 0 ? "fedavg" : "ps"));
    }
    f = begin();
    strait_show_head(f, rows);
    const char *t = end(f);
    CU_ASSERT_CONTAINS(t, "\nseveral models, several strategies; ");
    CU_ASSERT_CONTAINS(t, "\nTCP reno; relay, launched as root; dilation 2 to 4; took 6 s\n");
    json_object_set_new(first, "stored", json_true());
    json_object_set_new(json_object_get(first, "report"), "dilation", json_integer(2));
    f = begin();
    strait_show_head(f, rows);
    CU_ASSERT_CONTAINS(end(f), "; dilation 2; took 6 s; 1 of 2 rows are from an earlier run\n");
    json_decref(rows);
}

/* Bytes over the link of a rank and a round, qualities in per cent, and what these are of. */
static void extras(void)
{
    json_t *rows = json_pack("[o, o]", row(1, 2, true, 10), row(1, 4, true, 12)),
           *first = json_array_get(rows, 0);
    json_object_set_new(first, "ranks", json_integer(3));
    json_object_set_new(first, "bytes", json_pack("{s:i}", "link", 12000000)); /* 2 rounds */
    json_object_set_new(
        first, "quality",
        json_pack("{s:f, s:s, s:f}", "top_1_recall", 0.875, "of", "as recorded", "error", 0.0125));
    const struct strait_extras x = strait_extras_find(rows);
    CU_ASSERT_TRUE(x.link);
    CU_ASSERT_EQUAL_FATAL(x.n_qualities, 2);
    CU_ASSERT_STRING_EQUAL(x.qualities[0], "top_1_recall");
    const char *t = shown(rows, NULL);
    CU_ASSERT_CONTAINS(t, " link a round top 1 recall % error %\n");
    CU_ASSERT_CONTAINS(t, " 2.00 MB 87.5 1.25\n");
    CU_ASSERT_CONTAINS(t, "\nRecall and errors are those of\nas recorded\n");
    json_object_set(json_array_get(rows, 1), "quality", json_object_get(first, "quality"));
    FILE *f = begin();
    strait_extras_notes(f, rows);
    CU_ASSERT_STRING_EQUAL(end(f), "\nRecall and errors are those of\nas recorded\n"); /* once */
    json_decref(rows);
}

/* --- comparisons ---------------------------------------------------------------------------- */

static const struct strait_compare_options options = {0.1, 0.005, false};

/* Three phases: one judged and within, one judged, one that is not. */
static json_t *pair(int seed, double transfer_s, double encode_s, bool within)
{
    json_t *phases = json_object();
    const struct {
        const char *name;
        double predicted_s;
        bool judged, within;
    } all[] = {{"compute", 9, false, true},
               {"transfer", transfer_s, true, transfer_s < 1.1},
               {"encode", encode_s, true, encode_s < 1.1}};
    for (size_t i = 0; i < 3; i++)
        json_object_set_new(phases, all[i].name,
                            json_pack("{s:f, s:f, s:f, s:f, s:b, s:b}", "predicted_s",
                                      all[i].predicted_s, "measured_s", 1.0, "difference_s",
                                      all[i].predicted_s - 1, "relative", all[i].predicted_s - 1,
                                      "judged", all[i].judged, "within", all[i].within));
    return json_pack("{s:{s:i}, s:{s:s}, s:i, s:s, s:s, s:o, s:b}", "labels", "/seed", seed,
                     "codec", "name", "none", "clients", seed + 2, "predicted", "sim", "measured",
                     "emu", "phases", phases, "within", within);
}

static const char *compared(json_t *pairs)
{
    struct strait_error err = {0};
    json_t *comparison = json_pack("{s:o, s:[s]}", "pairs", pairs, "refused", "row 7: too late");
    FILE *f = begin();
    CU_ASSERT_EQUAL(strait_show_comparison(f, comparison, &options, &err), 0);
    json_decref(comparison);
    return end(f);
}

static void comparisons(void)
{
    json_t *pairs = json_array();
    for (int i = 0; i < 8; i++)
        json_array_append_new(pairs, pair(i, 1.05, 1.5, i == 3));
    json_object_set_new(json_array_get(pairs, 1), "control", json_string("no-ramp"));
    json_t *encode = json_object_get(json_object_get(json_array_get(pairs, 2), "phases"), "encode");
    json_object_set_new(encode, "relative", json_null());
    const char *t = compared(pairs);
    CU_ASSERT_EQUAL(strncmp(t,
                            "Predicted (sim) against measured (emu), seconds a round; within 10 % "
                            "or 5.00 ms\n\n",
                            81),
                    0);
    CU_ASSERT_CONTAINS(t, "\nclients codec setting phase predicted measured difference relative "
                          "verdict\n");
    CU_ASSERT_CONTAINS(t, "2 none seed 0 compute 9.000 s 1.000 s 8.000 s +800.0 % not judged\n"
                          "transfer 1.050 s 1.000 s 50.0 ms +5.0 % within\n"
                          "encode 1.500 s 1.000 s 500 ms +50.0 % OUTSIDE\n");
    CU_ASSERT_CONTAINS(t, "3 none seed 1 control no-ramp compute ");
    CU_ASSERT_CONTAINS(t, "encode 1.500 s 1.000 s 500 ms - OUTSIDE\n");
    CU_ASSERT_CONTAINS(t, "\n1 of 8 pairs within tolerance\nnot used: row 7: too late\n");
}

/* Nine pairs and more have a line each: of the judged phase that is outside, the farthest, or else
 * of the largest difference. */
static void worst_phases(void)
{
    static const struct {
        double transfer_s, encode_s;
        const char *line;
    } cases[] = {{1.05, 1.5, "2 none seed 0 encode 1.500 s 1.000 s 500 ms +50.0 % OUTSIDE\n"},
                 {1.5, 1.05, "3 none seed 1 transfer 1.500 s 1.000 s 500 ms +50.0 % OUTSIDE\n"},
                 {1.05, 1.02, "4 none seed 2 transfer 1.050 s 1.000 s 50.0 ms +5.0 % OUTSIDE\n"},
                 {1.02, 1.05, "5 none seed 3 encode 1.050 s 1.000 s 50.0 ms +5.0 % OUTSIDE\n"},
                 {1.5, 1.7, "6 none seed 4 encode 1.700 s 1.000 s 700 ms +70.0 % OUTSIDE\n"},
                 {1.7, 1.5, "7 none seed 5 transfer 1.700 s 1.000 s 700 ms +70.0 % OUTSIDE\n"},
                 /* inside and farther away than the one that is outside */
                 {0.2, 1.2, "8 none seed 6 encode 1.200 s 1.000 s 200 ms +20.0 % OUTSIDE\n"},
                 {1.2, 0.2, "9 none seed 7 transfer 1.200 s 1.000 s 200 ms +20.0 % OUTSIDE\n"},
                 {1.0, 0.9, "10 none seed 8 encode 900 ms 1.000 s -100 ms -10.0 % OUTSIDE\n"}};
    json_t *pairs = json_array();
    for (int i = 0; i < 9; i++)
        json_array_append_new(pairs, pair(i, cases[i].transfer_s, cases[i].encode_s, false));
    const char *t = compared(pairs);
    CU_ASSERT_CONTAINS(t, " or 5.00 ms; the worst judged phase of each pair\n");
    for (size_t i = 0; i < 9; i++)
        CU_ASSERT_CONTAINS(t, cases[i].line);
    CU_ASSERT_CONTAINS(t, "\n0 of 9 pairs within tolerance\n");
}

/* 100 counts in one setting: a line each, the last one too. */
static void counts_beyond_a_grid(void)
{
    json_t *rows = json_array();
    for (int n = 1; n <= 100; n++)
        json_array_append_new(rows, row(1, n, true, n));
    const char *all = shown(rows, NULL);
    CU_ASSERT_CONTAINS(all, "Mean time of a round");
    CU_ASSERT_CONTAINS(all, "100.0"); /* seconds of 100 clients */
    json_decref(rows);
}

static const struct strait_test tests[] = {
    {"a grid says between which counts compression begins to pay", grid_edges},
    {"ends of an interval are told apart, what is extrapolated is said", narrow_and_extrapolated},
    {"many points are a grid of speed-ups", grids},
    {"more numbers of clients than fit side by side have a line each", counts_beyond_a_grid},
    {"few points have a line each, and break-evens follow", lines},
    {"shares of a round, and its range", shares},
    {"the rounds of a run are named where all rows have as many", rounds},
    {"what limits each row is named", limits},
    {"repeats are a range, and marks are explained", repeats_and_notes},
    {"effects that are not modelled, three lines of them", effects},
    {"what the rows are of", heads},
    {"bytes over the link and qualities have columns of their own", extras},
    {"few pairs are compared phase by phase", comparisons},
    {"many pairs have a line of their worst phase", worst_phases},
};
STRAIT_SUITE("cli/show/show", tests);
