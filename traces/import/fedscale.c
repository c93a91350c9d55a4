/* FedScale's devices and their behaviour as CSV: "client_id,computation,communication" in ms a
 * sample and kbit/s, or "client_id,duration,active,inactive" with seconds when a device comes and
 * goes, separated by blanks or semicolons. Its own files are Python pickles of the same fields. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "imported.h"

static const char DEVICES[] = "client_id,computation,communication",
                  BEHAVIOUR[] = "client_id,duration,active,inactive";
enum { MAX_GROUPS = 256, MAX_CLIENTS = 1000000 };
enum { MAX_TIMETABLE_CLIENTS = 1000, MAX_TIMETABLE_EVENTS = 10000 }; /* the latter a network's */

struct device {
    double ms_per_sample, kbit_per_s;
};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool sniff(const char *head, size_t n)
{
    (void)n;
    return begins(head, DEVICES) || begins(head, BEHAVIOUR);
}

/* The next field of a line, cut at its comma. */
static char *field(char **rest)
{
    char *text = *rest;
    if (!text)
        return NULL;
    char *comma = strchr(text, ',');
    *rest = comma ? comma + 1 : NULL;
    if (comma)
        *comma = '\0';
    return text + strspn(text, " ");
}

static int number(double *out, char **rest, double min, double max, const char *expected,
                  struct strait_source *s, struct strait_error *err)
{
    const char *text = field(rest);
    return strait_source_number(out, text, NULL, min, max)
               ? 0
               : strait_source_fail_line(s, err, "expected %s, found \"%.40s\"", expected,
                                         text ? text : "");
}

/* --- devices ------------------------------------------------------------------------------ */

/* The bits of a number above 0, which rise with it. */
static uint64_t key_of(const struct device *d, bool of_rate)
{
    const double value = of_rate ? d->kbit_per_s : d->ms_per_sample;
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* Sort by one of the two, digit by digit of the key, which keeps the order of equal ones: a million
 * take a tenth of what comparisons do. spare: room for as many. */
static void sort_by(struct device *devices, struct device *spare, size_t n, bool of_rate)
{
    enum { BITS = 11, N_DIGITS = 1 << BITS, N_PASSES = (64 + BITS - 1) / BITS };
    uint32_t at[N_PASSES][N_DIGITS] = {{0}}; /* first how many have a digit, then where they go */
    struct device *from = devices, *to = spare;
    for (size_t i = 0; i < n; i++) {
        uint64_t key = key_of(&devices[i], of_rate);
        for (int pass = 0; pass < N_PASSES; pass++, key >>= BITS)
            at[pass][key & (N_DIGITS - 1)]++;
    }
    for (int pass = 0; pass < N_PASSES; pass++) {
        const int shift = pass * BITS;
        if (at[pass][key_of(&from[0], of_rate) >> shift & (N_DIGITS - 1)] == n)
            continue; /* all have the same digit here */
        for (uint32_t k = 0, sum = 0, count; k < N_DIGITS; k++, sum += count) {
            count = at[pass][k];
            at[pass][k] = sum;
        }
        for (size_t i = 0; i < n; i++)
            to[at[pass][key_of(&from[i], of_rate) >> shift & (N_DIGITS - 1)]++] = from[i];
        struct device *sorted = to;
        to = from;
        from = sorted;
    }
    if (from != devices)
        memcpy(devices, from, n * sizeof(*devices));
}

/* By rate, those of one rate by their computation. Returns: the median computation; 0: memory ran
 * out. */
static double sort_devices(struct device *devices, size_t n)
{
    struct device *spare = malloc(n * sizeof(*spare));
    if (!spare)
        return 0;
    sort_by(devices, spare, n, false);
    const double median = devices[n / 2].ms_per_sample;
    sort_by(devices, spare, n, true);
    free(spare);
    return median;
}

static json_t *port_of(double kbit_per_s, size_t count)
{
    char rate[48];
    snprintf(rate, sizeof(rate), "%.6g kbps", kbit_per_s);
    return json_pack("{s:I, s:s, s:s}", "count", (json_int_t)count, "rate", rate, "rtt", "20 ms");
}

/* Clients of one rate are one entry of "client"; with more rates than that, those of a class have
 * its median. Sorted by rate, as the slowness is. */
static json_t *ports_of(struct device *devices, size_t n, size_t *n_classes)
{
    json_t *ports = json_array();
    size_t n_rates = n > 0;
    for (size_t i = 1; i < n; i++)
        n_rates += devices[i].kbit_per_s != devices[i - 1].kbit_per_s;
    *n_classes = n_rates > MAX_GROUPS ? MAX_GROUPS : 0;
    for (size_t i = 0, end, k = 0; i < n; i = end, k++) {
        if (*n_classes > 0)
            end = (k + 1) * n / MAX_GROUPS;
        else
            for (end = i + 1; end < n && devices[end].kbit_per_s == devices[i].kbit_per_s;)
                end++;
        json_array_append_new(ports, port_of(devices[(i + end) / 2].kbit_per_s, end - i));
    }
    return ports;
}

/* "%.6g" with a line's end, which printf does in a third of the time of the whole import. What lies
 * near the middle between two texts, or needs an exponent, is left to printf. */
static void put_six_digits(FILE *f, double x)
{
    static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
    int n_places = 5; /* after the point */
    for (double y = x; y >= 10 && n_places > 0; y /= 10)
        n_places--;
    for (double y = x; y < 1 && n_places < 9; y *= 10)
        n_places++;
    const double scaled = x * powers[n_places], whole = floor(scaled + 0.5);
    if (!(whole >= 100000 && whole < 1000000) || fabs(fabs(scaled - whole) - 0.5) < 1e-6) {
        fprintf(f, "%.6g\n", x);
        return;
    }
    char text[24], *end = text + sizeof(text), *at = end;
    uint32_t rest = (uint32_t)whole;
    *--at = '\n';
    for (; n_places > 0 && rest % 10 == 0; n_places--) /* zeros at the end */
        rest /= 10;
    const bool has_point = n_places > 0;
    for (; rest > 0 || n_places >= 0; rest /= 10, n_places--) {
        if (has_point && n_places == 0)
            *--at = '.';
        *--at = (char)('0' + rest % 10);
    }
    fwrite(at, 1, (size_t)(end - at), f);
}

static int put_slowness(struct strait_import *in, const struct device *devices, size_t n,
                        double median)
{
    size_t len;
    FILE *f = open_memstream(&in->slowness, &len);
    if (!f)
        return -1;
    fputs("slowness\n", f);
    for (size_t i = 0; i < n; i++)
        put_six_digits(f, devices[i].ms_per_sample / median);
    return fclose(f);
}

static int finish_devices(struct strait_import *in, struct device *devices, size_t n,
                          struct strait_error *err)
{
    size_t n_classes;
    const double median = sort_devices(devices, n);
    if (!(median > 0))
        return strait_error_memory(err, in->path);
    json_t *ports = ports_of(devices, n, &n_classes);
    strait_import_fact(in, "clients", json_integer((json_int_t)n));
    strait_import_fact(in, "slowest_kbit_per_s", json_real(devices[0].kbit_per_s));
    strait_import_fact(in, "median_kbit_per_s", json_real(devices[n / 2].kbit_per_s));
    strait_import_fact(in, "fastest_kbit_per_s", json_real(devices[n - 1].kbit_per_s));
    strait_import_fact(in, "median_ms_a_sample", json_real(median));
    strait_import_inferred(in, "clients are sorted by their rate; slowness is computation over its "
                               "median, so that the model's times are those of the median device");
    if (n_classes > 0)
        strait_import_inferred(
            in,
            "rates are those of %d classes of equally many clients, each with its "
            "median",
            MAX_GROUPS);
    strait_import_missing(
        in, "round trips, the model and the server's port: 20 ms, cnn and 10 Gbps stand "
            "there to be replaced");
    in->experiment = json_pack("{s:s, s:{s:s}, s:I, s:{s:s, s:o, s:{s:s}}}", "model", "cnn",
                               "strategy", "name", "fedavg", "clients", (json_int_t)n, "network",
                               "topology", "star", "client", ports, "server", "rate", "10 Gbps");
    return in->experiment && put_slowness(in, devices, n, median) == 0
               ? 0
               : strait_error_memory(err, in->path);
}

static int read_devices(struct strait_import *in, struct strait_source *s, struct strait_error *err)
{
    struct device *devices = NULL;
    size_t n = 0, cap = 0;
    char *line;
    int more;
    while ((more = strait_source_line(s, &line, err)) > 0 && *line) {
        struct device one;
        char *rest = line;
        field(&rest);
        if (n == MAX_CLIENTS) {
            more = strait_source_fail_line(s, err, "expected at most %d clients", MAX_CLIENTS);
            break;
        }
        if (n == cap) {
            cap = cap ? 2 * cap : 64;
            struct device *larger = realloc(devices, cap * sizeof(*devices));
            if (!larger) {
                more = strait_error_memory(err, in->path);
                break;
            }
            devices = larger;
        }
        if (number(&one.ms_per_sample, &rest, 1e-6, 1e9, "milliseconds a sample", s, err) != 0 ||
            number(&one.kbit_per_s, &rest, 1e-3, 1e12, "kbit/s", s, err) != 0) {
            more = -1;
            break;
        }
        devices[n++] = one;
    }
    if (more >= 0 && n == 0)
        more = strait_source_fail_line(s, err, "expected at least one client, found none");
    const int status = more < 0 ? -1 : finish_devices(in, devices, n, err);
    free(devices);
    return status;
}

/* --- behaviour ---------------------------------------------------------------------------- */

/* "10;50 90": numbers that do not fall. Returns how many, -1: no such list. */
static long read_times(double **times, size_t *cap, const char *text)
{
    size_t n = 0;
    for (const char *c = text + strspn(text, " ;"); *c; c += strspn(c, " ;")) {
        double x;
        const char *end = strait_source_double(&x, c);
        if (!end || !(x >= 0 && x < 1e15) || (n > 0 && x < (*times)[n - 1]))
            return -1;
        if (n == *cap) {
            const size_t larger = *cap ? 2 * *cap : 64;
            double *more = realloc(*times, larger * sizeof(*more));
            if (!more)
                return -1;
            *times = more;
            *cap = larger;
        }
        (*times)[n++] = x;
        c = end;
    }
    return (long)n;
}

/* A device is there from each `active` to the next `inactive`, or to the end. */
static double active_s(const double *on, long n_on, const double *off, long n_off, double duration)
{
    double total = 0;
    for (long i = 0, k = 0; i < n_on; i++) {
        while (k < n_off && off[k] < on[i])
            k++;
        const double end = k < n_off ? off[k] : duration, next = i + 1 < n_on ? on[i + 1] : end;
        total += fmax(fmin(fmin(end, next), duration) - on[i], 0);
    }
    return total;
}

/* When each client is there, as entries of "client" and "events"; too many for a file: neither. */
struct timetable {
    json_t *clients, *events;
    bool too_long;
};

static void put_event(struct timetable *t, double at_s, const char *on, bool present)
{
    char at[48];
    snprintf(at, sizeof(at), "%.10g s", at_s);
    json_array_append_new(t->events,
                          json_pack("{s:s, s:s, s:b}", "at", at, "on", on, "present", present));
}

/* A client that is named by its line. Where it becomes active before it was inactive it stays. */
static void put_client(struct timetable *t, const double *on, long n_on, const double *off,
                       long n_off, double duration)
{
    char name[32];
    double until = 0; /* there up to then */
    snprintf(name, sizeof(name), "client %zu", json_array_size(t->clients) + 1);
    json_array_append_new(t->clients, json_pack("{s:s, s:i, s:s, s:s}", "name", name, "count", 1,
                                                "rate", "50 Mbps", "rtt", "40 ms"));
    for (long i = 0, k = 0; i < n_on && on[i] < duration; i++) {
        while (k < n_off && off[k] < on[i])
            k++;
        if (on[i] > until) {
            put_event(t, until, name, false);
            put_event(t, on[i], name, true);
        }
        until = fmax(until, k < n_off ? fmin(off[k], duration) : duration);
    }
    if (until < duration)
        put_event(t, until, name, false);
    t->too_long = t->too_long || json_array_size(t->clients) > MAX_TIMETABLE_CLIENTS ||
                  json_array_size(t->events) > MAX_TIMETABLE_EVENTS;
}

/* The experiment of n clients that are there for this share of their time. */
static int finish_behaviour(struct strait_import *in, const struct timetable *t, size_t n,
                            double share, struct strait_error *err)
{
    char dropout[32];
    strait_import_fact(in, "clients", json_integer((json_int_t)n));
    strait_import_fact(in, "available_share", json_real(share));
    strait_import_missing(in, "the model and the deadline of a round: cnn and 60 s stand there to "
                              "be replaced");
    if (!t->too_long) {
        strait_import_inferred(in, "clients leave and come as the file says, once: after its end "
                                   "each stays as it was");
        strait_import_missing(in, "rates: 50 Mbps and 40 ms stand there to be replaced");
        in->experiment = json_pack(
            "{s:s, s:{s:s, s:s}, s:I, s:{s:s, s:O, s:{s:s}, s:O}}", "model", "cnn", "strategy",
            "name", "fedavg", "deadline", "60 s", "clients", (json_int_t)n, "network", "topology",
            "star", "client", t->clients, "server", "rate", "10 Gbps", "events", t->events);
    } else {
        strait_import_inferred(
            in, "every client stays silent in the mean share of rounds: \"dropout\"");
        strait_import_missing(in,
                              "when each client comes and goes: an experiment has time tables "
                              "of %d clients and %d events at most",
                              MAX_TIMETABLE_CLIENTS, MAX_TIMETABLE_EVENTS);
        snprintf(dropout, sizeof(dropout), "%.4g %%", 100 * fmin(fmax(1 - share, 0), 0.99));
        in->experiment =
            json_pack("{s:s, s:{s:s, s:s, s:s}, s:I}", "model", "cnn", "strategy", "name", "fedavg",
                      "dropout", dropout, "deadline", "60 s", "clients", (json_int_t)n);
    }
    return in->experiment ? 0 : strait_error_memory(err, in->path);
}

static int read_behaviour(struct strait_import *in, struct strait_source *s,
                          struct strait_error *err)
{
    double *on = NULL, *off = NULL, share = 0, duration;
    size_t cap_on = 0, cap_off = 0, n = 0;
    struct timetable t = {json_array(), json_array(), false};
    char *line;
    int more;
    while ((more = strait_source_line(s, &line, err)) > 0 && *line) {
        char *rest = line;
        field(&rest);
        if (number(&duration, &rest, 1e-3, 1e15, "the duration in seconds", s, err) != 0) {
            more = -1;
            break;
        }
        const char *active = field(&rest), *inactive = field(&rest);
        const long n_on = active ? read_times(&on, &cap_on, active) : -1,
                   n_off = inactive ? read_times(&off, &cap_off, inactive) : -1;
        if (n_on < 0 || n_off < 0) {
            more = strait_source_fail_line(s, err,
                                           "expected rising seconds of active and inactive "
                                           "separated by blanks or semicolons");
            break;
        }
        share += active_s(on, n_on, off, n_off, duration) / duration;
        if (!t.too_long)
            put_client(&t, on, n_on, off, n_off, duration);
        n++;
    }
    if (more >= 0 && n == 0)
        more = strait_source_fail_line(s, err, "expected at least one client, found none");
    if (more >= 0)
        more = finish_behaviour(in, &t, n, share / (double)n, err);
    free(on);
    free(off);
    json_decref(t.clients);
    json_decref(t.events);
    return more < 0 ? -1 : 0;
}

static int read_all(struct strait_import *in, struct strait_source *s, struct strait_error *err)
{
    char *line;
    if (strait_source_line(s, &line, err) <= 0)
        return strait_source_fail_line(s, err, "expected a header, found no line");
    if (strcmp(line, DEVICES) == 0)
        return read_devices(in, s, err);
    if (strcmp(line, BEHAVIOUR) == 0)
        return read_behaviour(in, s, err);
    return strait_source_fail_line(s, err, "expected the header \"%s\" or \"%s\"", DEVICES,
                                   BEHAVIOUR);
}

const struct strait_import_format strait_import_fedscale = {
    .name = "fedscale",
    .summary = "FedScale's devices (computation, communication) and availability, CSV",
    .source = "SymbioticLab/FedScale, benchmark/dataset/data/device_info",
    .sniff = sniff,
    .read = read_all,
};
