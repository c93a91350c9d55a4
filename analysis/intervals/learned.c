#include "learned.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/heap.h"
#include "core/names.h"
#include "traces/models/csv.h"

const char strait_learned_header[] = "point,network,congestion,family,messages,rate_mbps,rtt_ms,"
                                     "clients,model_mb,severity,low,high,miss,off,error";
enum { WORDS = 5, SCORES = 5 };

/* The most that a logarithm of the table may be, either way: a factor of 20,000. */
#define MAX_LOG 10.0

static int read_setting(struct strait_learned_setting *s, const struct strait_csv *csv,
                        struct strait_error *err)
{
    double *const numbers[SCORES] = {&s->low, &s->high, &s->miss, &s->off, &s->error};
    static const double least[SCORES] = {0, 0, -MAX_LOG, -MAX_LOG, -1},
                        most[SCORES] = {MAX_LOG, MAX_LOG, MAX_LOG, MAX_LOG, 1e6};
    if (strait_csv_text(csv, s->point, sizeof(s->point), 0, err) != 0 ||
        strait_csv_text(csv, s->network, sizeof(s->network), 1, err) != 0 ||
        strait_csv_text(csv, s->congestion, sizeof(s->congestion), 2, err) != 0 ||
        strait_csv_text(csv, s->family, sizeof(s->family), 3, err) != 0 ||
        strait_csv_text(csv, s->messages, sizeof(s->messages), 4, err) != 0)
        return -1;
    for (size_t i = 0; i < STRAIT_N_FEATURES; i++)
        if (strait_csv_number(csv, &s->features[i], WORDS + i, 0, 1e12, err) != 0)
            return -1;
    for (size_t i = 0; i < SCORES; i++)
        if (strait_csv_number(csv, numbers[i], WORDS + STRAIT_N_FEATURES + i, least[i], most[i],
                              err) != 0)
            return -1;
    return 0;
}

int strait_learned_load(struct strait_learned *out, const char *path, struct strait_error *err)
{
    struct strait_csv csv = {0};
    bool more = true;
    char *key, *value;
    memset(out, 0, sizeof(*out));
    int failed = strait_csv_open(&csv, path, err);
    if (!failed)
        strait_hash_bytes(out->hash, csv.text, strlen(csv.text));
    while (!failed && strait_csv_comment(&csv, &key, &value))
        ;
    failed = failed || strait_csv_header(&csv, strait_learned_header, err) != 0;
    while (!failed && (failed = strait_csv_next(&csv, &more, err)) == 0 && more) {
        struct strait_learned_setting *grown =
            realloc(out->settings, (out->n + 1) * sizeof(*grown));
        if (!grown) {
            failed = strait_error_memory(err, path);
            break;
        }
        out->settings = grown;
        failed = read_setting(&grown[out->n], &csv, err);
        out->n += !failed;
    }
    strait_csv_release(&csv);
    return failed ? -1 : 0;
}

void strait_learned_release(struct strait_learned *l)
{
    free(l->settings);
    memset(l, 0, sizeof(*l));
}

bool strait_learned_has(const struct strait_learned *l, const char *point)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->settings[i].point, point) == 0)
            return true;
    return false;
}

static double kept(double log)
{
    return fmax(-MAX_LOG, fmin(log, MAX_LOG));
}

const char *strait_learned_line(char buf[512], const struct strait_learned_setting *s)
{
    const double *f = s->features;
    snprintf(buf, 512, "%s,%s,%s,%s,%s,%.6g,%.6g,%.6g,%.6g,%.6g,%.5g,%.5g,%.5g,%.5g,%.4g", s->point,
             s->network, s->congestion, s->family, s->messages, f[0], f[1], f[2], f[3], f[4],
             kept(s->low), kept(s->high), kept(s->miss), kept(s->off), s->error);
    return buf;
}

/* --- margins ------------------------------------------------------------------------------ */

/* What a kind shares with the case, the narrowest kind first. */
static const struct {
    bool network, congestion, family, messages, clean; /* clean: whether the network is */
} kinds[] = {{true, true, true, true, true},     {true, false, true, true, true},
             {true, false, false, true, true},   {true, false, false, false, true},
             {false, false, false, true, true},  {false, false, false, false, true},
             {false, false, false, false, false}};
enum { N_KINDS = sizeof(kinds) / sizeof(*kinds) };
/* From so many on, an end at the level of STRAIT_INTERVAL_LEVEL is not their worst setting's alone:
 * ceil(0.95 x 40) = 38. One of 29 settings with loss once made all of them twice as wide. */
enum { MIN_SETTINGS = 39 };

static bool is_clean(const char *network)
{
    return strcmp(network, "clean") == 0;
}

static bool is_of(const struct strait_learned_setting *s, const struct strait_case *c, size_t kind)
{
    return (!kinds[kind].network || strcmp(s->network, c->network) == 0) &&
           (!kinds[kind].congestion || strcmp(s->congestion, c->congestion) == 0) &&
           (!kinds[kind].family || strcmp(s->family, c->family) == 0) &&
           (!kinds[kind].messages || strcmp(s->messages, c->messages) == 0) &&
           (!kinds[kind].clean || is_clean(s->network) == is_clean(c->network));
}

/* The k-th smallest of n values such that the next one, exchangeable with them, lies at or below it
 * with a probability of at least this: k = ceil((n + 1) level). NAN: n is too small for that. */
static double quantile(double *values, size_t n, double level)
{
    const size_t k = (size_t)ceil((double)(n + 1) * level - 1e-9);
    if (k > n)
        return NAN;
    strait_sort(values, n);
    return values[k - 1];
}

/* Figures in words. */
static const struct {
    const char *name, *unit;
} said[STRAIT_N_FEATURES] = {{"narrowest port", " Mbps"},
                             {"round trip", " ms"},
                             {"clients", ""},
                             {"model", " MB"},
                             {"severity of what disturbs the network", ""}};

/* Four digits, and all those before the point. */
static int n_digits(double x)
{
    return x < 9999.5 ? 4 : 15;
}

/* How many doublings lie between a figure and the range of those tried, of severity on networks of
 * this kind. */
static double doublings_beyond(char *why, size_t cap, const struct strait_learned *l,
                               const struct strait_case *c, int feature)
{
    double least = INFINITY, most = 0;
    const double x = c->features[feature];
    for (size_t i = 0; i < l->n; i++) {
        const double y = l->settings[i].features[feature];
        if (feature == STRAIT_FEATURE_SEVERITY && strcmp(l->settings[i].network, c->network) != 0)
            continue;
        least = fmin(least, y);
        most = fmax(most, y);
    }
    if (!(x > 0) || !(most > 0) || (x >= least && x <= most))
        return 0;
    if (!*why)
        snprintf(why, cap, "%s %.*g%s, tried %.*g to %.*g", said[feature].name, n_digits(x), x,
                 said[feature].unit, n_digits(least), least, n_digits(most), most);
    return x > most ? log2(x / most) : log2(fmax(least, 1e-9) / x);
}

/* By how much a margin grows for each doubling beyond what was tried. Of 118 settings the outer
 * third by one figure, a doubling away on average, was judged by the others, for both sides of
 * rate, round trip, clients and model: 85 to 100 % hold as they are, 87 to 100 % with this. */
static const double PER_DOUBLING = 0.25;

static void widen(struct strait_margin *m, const struct strait_learned *l,
                  const struct strait_case *c)
{
    m->widened = 1;
    for (int i = 0; i < STRAIT_N_FEATURES; i++)
        m->widened += PER_DOUBLING * doublings_beyond(m->why, sizeof(m->why), l, c, i);
    m->off *= m->widened;
}

static void name_kind(char *buf, size_t cap, const struct strait_case *c, size_t kind)
{
    snprintf(buf, cap, "%s",
             kinds[kind].network    ? c->network
             : !kinds[kind].clean   ? "all"
             : is_clean(c->network) ? "clean"
                                    : "loss, jitter or queue");
    if (kinds[kind].congestion)
        strait_text_add(buf, cap, ", %s", c->congestion);
    if (kinds[kind].family)
        strait_text_add(buf, cap, ", %s", c->family);
    if (kinds[kind].messages)
        strait_text_add(buf, cap, ", %s messages", c->messages);
}

/* The figures of a kind. Returns: whether it has settings enough. */
static bool margin_of(struct strait_margin *out, const struct strait_learned *l,
                      const struct strait_case *c, size_t kind, double *room)
{
    double *const offs = room, *const downs = room + l->n, *const ups = downs + l->n;
    const double both = 1 - (1 - STRAIT_INTERVAL_LEVEL) / 2;
    size_t n = 0, k = 0;
    for (size_t i = 0; i < l->n; i++)
        if (is_of(&l->settings[i], c, kind))
            offs[n++] = fabs(l->settings[i].off);
    out->n = n;
    out->off = fmax(quantile(offs, n, STRAIT_INTERVAL_LEVEL), 1e-6);
    for (size_t i = 0; i < l->n; i++) {
        const struct strait_learned_setting *s = &l->settings[i];
        if (!is_of(s, c, kind))
            continue;
        downs[k] = -s->miss / hypot(out->off, s->low);
        ups[k++] = s->miss / hypot(out->off, s->high);
    }
    out->down = quantile(downs, n, both);
    out->up = quantile(ups, n, both);
    return isfinite(out->down) && isfinite(out->up) && (n >= MIN_SETTINGS || kind + 1 == N_KINDS);
}

double strait_margin_below(const struct strait_margin *m, double low)
{
    return m->down * hypot(m->off, low);
}

double strait_margin_above(const struct strait_margin *m, double high)
{
    return m->up * hypot(m->off, high);
}

bool strait_learned_margin(struct strait_margin *out, const struct strait_learned *l,
                           const struct strait_case *c)
{
    double *room = l->n > 0 ? malloc(3 * l->n * sizeof(*room)) : NULL;
    bool found = false;
    memset(out, 0, sizeof(*out));
    for (size_t kind = 0; kind < N_KINDS && room && !found; kind++) {
        found = margin_of(out, l, c, kind, room);
        name_kind(out->of, sizeof(out->of), c, kind);
        if (found && !kinds[kind].clean)
            snprintf(out->why, sizeof(out->why), "too few settings tried with %s", c->network);
    }
    free(room);
    if (found)
        widen(out, l, c);
    return found;
}
