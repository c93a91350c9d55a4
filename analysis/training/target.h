/* When runs over several seeds reached their target, and whether a codec got there sooner. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Mean over the seeds and the sample's deviation; both NAN where a seed has none, the deviation
 * alone with a single seed. */
struct strait_spread {
    double mean, sd;
};

struct strait_target {
    bool asked;                /* the experiment has "until" */
    size_t n_seeds, n_reached; /* seeds that got there */
    struct strait_spread round, time_s, bytes;
};

/** A figure of a row's spread: "accuracy", "loss", "time_s", "bytes", "reached_s". */
struct strait_spread strait_spread_of(const json_t *row, const char *figure);
/** A row's target; not asked for a row that trained nothing. */
struct strait_target strait_target_of(const json_t *row);

/** [clients, by how many times the first row was sooner at the target than the second, least,
 *  most]: null where a seed of either did not reach it; least and most, its 95 % interval from the
 *  seeds' own ratios (Student's t of their logarithms), with a single seed too. NULL where a row
 *  has no target. */
json_t *strait_target_speedup(const json_t *with, const json_t *without);
/** "pays from 8 clients on, between counts from about 5.2 (4.6 to 6) (2, 4, 8 clients run)" of an
 *  array of these, by clients: the smallest count from which every known one is above 1, and where
 *  the line to it from the count before crosses 1, in logarithms of both; not known where that
 *  count has no target in all seeds. "" for an empty one. Returns: buf */
const char *strait_target_pays_text(char *buf, size_t cap, const json_t *speedups);
