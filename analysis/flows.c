#include "flows.h"
#include <math.h>
#include <stdlib.h>
#include "table.h"

static const struct strait_flow unknown = {NAN, NAN, NAN, NAN};

struct strait_flow strait_flow_of(const struct strait_live_link *now,
                                  const struct strait_live_link *before, double span_s,
                                  double rate_bits_per_s)
{
    const double carried_bytes = now->carried_bytes - (before ? before->carried_bytes : 0);
    const double bits_per_s = span_s > 0 ? 8 * carried_bytes / span_s : NAN;
    if (isnan(now->carried_bytes))
        return unknown;
    return (struct strait_flow){.bits_per_s = bits_per_s,
                                .share_ratio =
                                    isfinite(rate_bits_per_s) ? bits_per_s / rate_bits_per_s : NAN,
                                .queue_bytes = now->queue_bytes,
                                .n_drops = now->n_drops};
}

static double sum(double a, double b)
{
    return isnan(b) ? a : isnan(a) ? b : a + b;
}

static void add(struct strait_flow *to, const struct strait_flow *f)
{
    to->bits_per_s = sum(to->bits_per_s, f->bits_per_s);
    to->queue_bytes = sum(to->queue_bytes, f->queue_bytes);
    to->n_drops = sum(to->n_drops, f->n_drops);
}

/* Queues and drops of all links, rates of the ports only. */
struct strait_flow_row strait_flows_total(const struct strait_flow_row *rows, size_t n)
{
    struct strait_flow_row total = {.out = unknown, .in = unknown};
    size_t n_ports = 0;
    for (size_t i = 0; i < n; i++) {
        struct strait_flow out = rows[i].out, in = rows[i].in;
        if (rows[i].inner)
            out.bits_per_s = in.bits_per_s = NAN;
        n_ports += !rows[i].inner;
        add(&total.out, &out);
        add(&total.in, &in);
    }
    snprintf(total.name, sizeof(total.name), "all %zu", n_ports);
    return total;
}

static double larger(double a, double b) /* of the known ones, else 0 */
{
    return fmax(isnan(a) ? 0 : a, isnan(b) ? 0 : b);
}

static int busier(const void *a, const void *b)
{
    const struct strait_flow_row *const *x = a, *const *y = b;
    const double x_share = larger((*x)->out.share_ratio, (*x)->in.share_ratio);
    const double y_share = larger((*y)->out.share_ratio, (*y)->in.share_ratio);
    const double x_rate = larger((*x)->out.bits_per_s, (*x)->in.bits_per_s);
    const double y_rate = larger((*y)->out.bits_per_s, (*y)->in.bits_per_s);
    if (x_share != y_share)
        return x_share < y_share ? 1 : -1;
    if (x_rate != y_rate)
        return x_rate < y_rate ? 1 : -1;
    return *x < *y ? -1 : 1;
}

/* --- the table ---------------------------------------------------------------------------- */

struct shown { /* columns, of either way */
    bool address, share, queue, drops;
};

static struct shown columns_of(const struct strait_flow_row *rows, size_t n)
{
    struct shown s = {.address = false};
    for (size_t i = 0; i < n; i++) {
        const struct strait_flow *out = &rows[i].out, *in = &rows[i].in;
        s.address |= rows[i].address[0] != '\0';
        s.share |= !isnan(out->share_ratio) || !isnan(in->share_ratio);
        s.queue |= !isnan(out->queue_bytes) || !isnan(in->queue_bytes);
        s.drops |= !isnan(out->n_drops) || !isnan(in->n_drops);
    }
    return s;
}

static void add_number(struct strait_table *t, double value, int n_digits, const char *unit)
{
    if (isnan(value))
        strait_table_cell(t, "-");
    else
        strait_table_cellf(t, "%.*f%s", n_digits, value, unit);
}

static void add_way(struct strait_table *t, const struct strait_flow *f, const struct shown *s)
{
    char bytes[STRAIT_NUMBER_CHARS];
    add_number(t, 1e-6 * f->bits_per_s, 1, "");
    if (s->share)
        add_number(t, 100 * f->share_ratio, 0, " %");
    if (s->queue)
        strait_table_cell(t, strait_bytes_text(bytes, f->queue_bytes));
    if (s->drops)
        add_number(t, f->n_drops, 0, "");
}

static void add_row(struct strait_table *t, const struct strait_flow_row *row,
                    const struct shown *s)
{
    strait_table_cell(t, row->name);
    if (s->address)
        strait_table_cell(t, row->address);
    add_way(t, &row->out, s);
    add_way(t, &row->in, s);
}

static void add_titles(struct strait_table *t, const struct shown *s)
{
    static const char *const ways[] = {"sends Mbit/s", "receives Mbit/s"};
    strait_table_column(t, "host", false);
    if (s->address)
        strait_table_column(t, "address", false);
    for (int way = 0; way < 2; way++) {
        strait_table_column(t, ways[way], true);
        if (s->share)
            strait_table_column(t, "of its rate", true);
        if (s->queue)
            strait_table_column(t, "queue", true);
        if (s->drops)
            strait_table_column(t, "drops", true);
    }
}

void strait_flows_print(FILE *out, const struct strait_flow_row *rows, size_t n, size_t most)
{
    const struct shown s = columns_of(rows, n);
    const struct strait_flow_row total = strait_flows_total(rows, n);
    const struct strait_flow_row **order = calloc(n + 1, sizeof(*order));
    struct strait_table *t = strait_table_new();
    add_titles(t, &s);
    for (size_t i = 0; order && i < n; i++)
        order[i] = &rows[i];
    if (order && n > most)
        qsort(order, n, sizeof(*order), busier);
    for (size_t i = 0; order && i < n && i < most; i++)
        add_row(t, order[i], &s);
    strait_table_rule(t);
    add_row(t, &total, &s);
    strait_table_print(t, out);
    strait_table_free(t);
    free(order);
}

void strait_flows_print_line(FILE *out, const struct strait_flow_row *rows, size_t n)
{
    const struct strait_flow_row total = strait_flows_total(rows, n), *busiest = NULL;
    for (size_t i = 0; i < n; i++)
        if (!busiest || busier(&(const struct strait_flow_row *){&rows[i]}, &busiest) < 0)
            busiest = &rows[i];
    fprintf(out, "sends %.1f Mbit/s, receives %.1f", 1e-6 * larger(total.out.bits_per_s, NAN),
            1e-6 * larger(total.in.bits_per_s, NAN));
    const double queue_bytes = sum(total.out.queue_bytes, total.in.queue_bytes);
    char text[STRAIT_NUMBER_CHARS];
    if (!isnan(queue_bytes))
        fprintf(out, ", queued %s, dropped %.0f", strait_bytes_text(text, queue_bytes),
                larger(sum(total.out.n_drops, total.in.n_drops), NAN));
    if (!busiest)
        return;
    const bool sends = larger(busiest->out.share_ratio, NAN) > larger(busiest->in.share_ratio, NAN);
    const double share = larger(busiest->out.share_ratio, busiest->in.share_ratio);
    if (share > 0)
        fprintf(out, "; busiest %s, %s at %.0f %%", busiest->name, sends ? "out" : "in",
                100 * share);
}
