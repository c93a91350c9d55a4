#include "qdisc.h"
#include <errno.h>
#include <inttypes.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "core/hash.h"
#include "emu/host/dilation.h"
#include "message.h"
#include "segment.h"

enum { NS_PER_TICK = 64 /* of tbf's times (PSCHED_SHIFT) */, NETEM_LIMIT_PACKETS = 1000000 };
/* With jitter, netem keeps packets in order only if it also has a rate: one so high that it takes
 * hardly any time. */
static const uint32_t ORDER_BYTES_PER_S = 4000000000U;
static const double FRAME_BYTES = STRAIT_EMU_MTU_BYTES + STRAIT_EMU_ETHERNET_BYTES;
/* With less than 1.5 ms a busy machine loses rate; in User-Mode Linux 1.5 ms lost 2 to 15 %, 5 ms
 * 0.1 %. */
static const double LATE_S = 1.5e-3, LATE_IN_UML_S = 5e-3;
/* In virtual time only the clock makes tbf late, which has steps of 256 ns: with a burst of one
 * frame, 16 uploads into a port of 1 Gbps lost 3 % of the rate. */
static const double LATE_IN_VIRTUAL_S = 2e-6;
/* There, too, a link without a delay, whose burst nothing makes up for: room for the largest
 * super-packet, 0.25 ms (gso_max_segs). With one frame a sender without a rate of its own got half
 * of a port of 1 Gbps. */
static const double SUPER_PACKET_S = 0.3e-3;
static const double MIN_FRAMES = 2; /* in a burst */
/* A tbf that shapes nothing: it cuts super-packets into frames for the netem inside. */
enum { CUT_BYTES_PER_S = 2000000000 };
static const double MAX_BYTES = 2147483647.0;
/* TCA_NETEM_PRNG_SEED of Linux 6.6; kernels before skip what they do not know. */
enum { NETEM_SEED = 14 };
static const uint32_t NETEM_HANDLE = 1U << 16, NETEM_CLASS = 1U << 16 | 1, TBF_HANDLE = 16U << 16,
                      TBF_CLASS = 16U << 16 | 1;

static void shape(struct strait_emu_qdisc *out, const struct strait_link *link, bool changes,
                  double overhead_bytes, double dilation, double late_s)
{
    const double share = FRAME_BYTES / (FRAME_BYTES + overhead_bytes);
    const double rate_bits_per_s = strait_link_bits_per_s(link, 0);
    /* netem sends at once what its table would send before it came */
    const double jitter_s = link->jitter ? link->jitter_s : fmin(link->jitter_s, link->delay_s);
    *out = (struct strait_emu_qdisc){.in_order = link->jitter_s > 0 || changes,
                                     .jitter = link->jitter,
                                     .delay_ns = llround(1e9 * dilation * link->delay_s),
                                     .jitter_ns = llround(1e9 * dilation * jitter_s),
                                     .loss = (uint32_t)llround(link->loss_ratio * UINT32_MAX)};
    out->has_netem = out->delay_ns > 0 || out->jitter_ns > 0 || out->loss > 0;
    out->has_tbf = isfinite(rate_bits_per_s);
    if (!out->has_tbf)
        return;
    const double bytes_per_s = fmax(1, round(rate_bits_per_s / 8 / dilation * share));
    const double queue_bytes = link->queue_bytes > 0 ? link->queue_bytes * share : INFINITY;
    out->rate_bytes_per_s = (uint64_t)bytes_per_s;
    const bool is_virtual = late_s <= LATE_IN_VIRTUAL_S, exact = is_virtual && out->has_netem;
    /* netem counts its queue in packets, and what it loses the tbf outside would count again. */
    if (exact && isinf(queue_bytes) && out->loss == 0 && !changes &&
        bytes_per_s < CUT_BYTES_PER_S) {
        out->netem_bytes_per_s = (uint32_t)bytes_per_s;
        out->rate_bytes_per_s = CUT_BYTES_PER_S;
        out->burst_bytes = (uint32_t)FRAME_BYTES;
        out->limit_bytes = (uint32_t)MAX_BYTES;
        return;
    }
    const double late_bytes = ceil(bytes_per_s * (is_virtual && !exact ? SUPER_PACKET_S : late_s));
    out->burst_bytes = (uint32_t)fmin(
        exact ? FRAME_BYTES + late_bytes : fmax(MIN_FRAMES * FRAME_BYTES, late_bytes), MAX_BYTES);
    /* A bucket is early by its burst, so that much later it is a link that takes its time for
     * every byte. */
    out->has_debt = exact;
    if (out->has_debt)
        out->delay_ns += llround(1e9 * out->burst_bytes / bytes_per_s);
    out->limit_bytes = (uint32_t)fmin(fmax(1, round(queue_bytes)), MAX_BYTES);
}

void strait_emu_qdisc_of(struct strait_emu_qdisc *out, const struct strait_link *link,
                         double overhead_bytes, double dilation, double late_s)
{
    shape(out, link, link->schedule != NULL, overhead_bytes, dilation, late_s);
}

void strait_emu_qdisc_of_step(struct strait_emu_qdisc *out, const struct strait_link *link,
                              double rate_bits_per_s, double overhead_bytes, double dilation,
                              double late_s)
{
    struct strait_link step = *link;
    step.schedule = NULL;
    step.rate_bits_per_s = rate_bits_per_s;
    shape(out, &step, link->schedule != NULL, overhead_bytes, dilation, late_s);
}

double strait_emu_qdisc_late_s(void)
{
    if (strait_emu_in_virtual_time())
        return LATE_IN_VIRTUAL_S;
    return strait_emu_in_uml() ? LATE_IN_UML_S : LATE_S;
}

double strait_emu_qdisc_credit_s(const struct strait_emu_qdisc *s)
{
    return s->has_tbf && !s->has_debt ? (double)s->burst_bytes / (double)s->rate_bytes_per_s : 0;
}

bool strait_emu_qdisc_same(char *text, size_t cap, const struct strait_emu_qdisc *wanted,
                           const struct strait_emu_qdisc *found)
{
    const struct {
        const char *what;
        double wanted, found, tolerance;
    } all[] = {
        {"netem", wanted->has_netem, found->has_netem, 0},
        {"tbf", wanted->has_tbf, found->has_tbf, 0},
        {"netem delay in ns", (double)wanted->delay_ns, (double)found->delay_ns, 0},
        {"netem jitter in ns", (double)wanted->jitter_ns, (double)found->jitter_ns, 0},
        {"netem loss of 2^32 - 1", wanted->loss, found->loss, 0},
        {"tbf rate in bytes/s", (double)wanted->rate_bytes_per_s, (double)found->rate_bytes_per_s,
         0},
        {"tbf queue in bytes", wanted->limit_bytes, found->limit_bytes, 0},
        {"netem rate in bytes/s", wanted->netem_bytes_per_s, found->netem_bytes_per_s, 0},
        /* kept in ticks of 64 ns */
        {"tbf burst in bytes", wanted->burst_bytes, found->burst_bytes,
         2 + 1e-3 * wanted->burst_bytes + 2e-9 * NS_PER_TICK * (double)wanted->rate_bytes_per_s},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (!(fabs(all[i].wanted - all[i].found) <= all[i].tolerance)) {
            snprintf(text, cap, "asked for %s %.0f, found %.0f", all[i].what, all[i].wanted,
                     all[i].found);
            return false;
        }
    return true;
}

/* --- setting ------------------------------------------------------------------------------ */

static int ask(int fd, const union strait_emu_message *m, const char *kind,
               struct strait_error *err)
{
    char what[64];
    struct strait_error why = {0};
    snprintf(what, sizeof(what), "set a %s queue", kind);
    if (strait_emu_message_ask(fd, m, what, NULL, NULL, &why) == 0)
        return 0;
    if (why.saved_errno == ENOENT)
        return strait_error_set(err, STRAIT_ERR_HOST, NULL,
                                "this kernel has no sch_%s, which the kernel realisation needs%s",
                                kind, strcmp(kind, "netem") == 0 ? " for delay and loss" : "");
    if (err && err->code == STRAIT_OK)
        *err = why;
    return -1;
}

/* flags: ADD, or 0 to change a queue that is there. */
enum { ADD = NLM_F_CREATE | NLM_F_EXCL };

static void begin_queue(union strait_emu_message *m, uint16_t flags, int index, uint32_t parent,
                        uint32_t handle, const char *kind)
{
    const struct tcmsg info = {.tcm_ifindex = index, .tcm_parent = parent, .tcm_handle = handle};
    strait_emu_message_begin(m, RTM_NEWQDISC, flags, &info, sizeof(info));
    mnl_attr_put_strz(&m->head, TCA_KIND, kind);
}

/* The values of a distribution as netem has them, 16 bits each; a queue that is changed keeps its
 * own. */
static void put_table(union strait_emu_message *m, const struct strait_jitter *j)
{
    int16_t table[NETEM_DIST_MAX];
    const size_t n = j->n < NETEM_DIST_MAX ? j->n : NETEM_DIST_MAX;
    for (size_t i = 0; i < n; i++)
        table[i] = (int16_t)fmax(INT16_MIN, fmin(INT16_MAX, round(NETEM_DIST_SCALE * j->x[i])));
    mnl_attr_put(&m->head, TCA_NETEM_DELAY_DIST, n * sizeof(*table), table);
}

static int set_netem(int fd, uint16_t flags, int index, const struct strait_emu_qdisc *s,
                     struct strait_error *err)
{
    const size_t table_bytes = flags == ADD && s->jitter ? NETEM_DIST_MAX * sizeof(int16_t) : 0;
    union strait_emu_message *m = malloc(sizeof(*m) + table_bytes);
    if (!m)
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "no memory for a queue");
    begin_queue(m, flags, index, s->netem_bytes_per_s > 0 ? TBF_CLASS : TC_H_ROOT, NETEM_HANDLE,
                "netem");
    const struct tc_netem_qopt fixed = {.limit = NETEM_LIMIT_PACKETS, .loss = s->loss};
    const struct tc_netem_rate rate = {.rate = s->netem_bytes_per_s > 0 ? s->netem_bytes_per_s
                                                                        : ORDER_BYTES_PER_S};
    struct nlattr *const options = mnl_attr_nest_start(&m->head, TCA_OPTIONS);
    strait_emu_message_put(m, &fixed, sizeof(fixed));
    mnl_attr_put(&m->head, TCA_NETEM_LATENCY64, sizeof(s->delay_ns), &s->delay_ns);
    mnl_attr_put(&m->head, TCA_NETEM_JITTER64, sizeof(s->jitter_ns), &s->jitter_ns);
    if (s->in_order || s->netem_bytes_per_s > 0)
        mnl_attr_put(&m->head, TCA_NETEM_RATE, sizeof(rate), &rate);
    if (table_bytes > 0)
        put_table(m, s->jitter);
    if (flags == ADD && s->seed != 0) /* what is changed draws on */
        mnl_attr_put_u64(&m->head, NETEM_SEED, s->seed);
    mnl_attr_nest_end(&m->head, options);
    const int status = ask(fd, m, "netem", err);
    free(m);
    return status;
}

static int set_tbf(int fd, uint16_t flags, int index, const struct strait_emu_qdisc *s,
                   struct strait_error *err)
{
    union strait_emu_message m;
    const bool inside = s->has_netem && s->netem_bytes_per_s == 0;
    begin_queue(&m, flags, index, inside ? NETEM_CLASS : TC_H_ROOT, TBF_HANDLE, "tbf");
    struct tc_tbf_qopt fixed = {
        .limit = s->limit_bytes,
        .rate = {.linklayer = TC_LINKLAYER_ETHERNET, /* the kernel computes its own tables */
                 .rate = (uint32_t)fmin((double)s->rate_bytes_per_s, UINT32_MAX)}};
    struct nlattr *const options = mnl_attr_nest_start(&m.head, TCA_OPTIONS);
    mnl_attr_put(&m.head, TCA_TBF_PARMS, sizeof(fixed), &fixed);
    mnl_attr_put_u32(&m.head, TCA_TBF_BURST, s->burst_bytes);
    if (s->rate_bytes_per_s > UINT32_MAX)
        mnl_attr_put(&m.head, TCA_TBF_RATE64, sizeof(s->rate_bytes_per_s), &s->rate_bytes_per_s);
    mnl_attr_nest_end(&m.head, options);
    return ask(fd, &m, "tbf", err);
}

int strait_emu_qdisc_add(int fd, int index, const struct strait_emu_qdisc *s,
                         struct strait_error *err)
{
    if (s->netem_bytes_per_s > 0) /* the outer one first */
        return set_tbf(fd, ADD, index, s, err) != 0 ? -1 : set_netem(fd, ADD, index, s, err);
    if (s->has_netem && set_netem(fd, ADD, index, s, err) != 0)
        return -1;
    return s->has_tbf ? set_tbf(fd, ADD, index, s, err) : 0;
}

int strait_emu_qdisc_change(int fd, int index, const struct strait_emu_qdisc *to,
                            const struct strait_emu_qdisc *from, struct strait_error *err)
{
    if (to->has_netem && to->delay_ns != from->delay_ns && set_netem(fd, 0, index, to, err) != 0)
        return -1;
    return to->has_tbf ? set_tbf(fd, 0, index, to, err) : 0;
}

/* --- reading ------------------------------------------------------------------------------ */

struct list {
    struct strait_emu_qdisc_reading *out;
    int n, first_index;
};

static void read_netem(struct strait_emu_qdisc *s, const struct nlattr *options, bool is_inside)
{
    const struct nlattr *found[TCA_NETEM_MAX + 1];
    struct tc_netem_qopt fixed;
    const size_t head = sizeof(fixed); /* a multiple of 4, as attributes are aligned */
    strait_emu_attribute_copy(&fixed, sizeof(fixed), options);
    if (!options || mnl_attr_get_payload_len(options) < head)
        return;
    strait_emu_attributes(found, TCA_NETEM_MAX + 1,
                          (const char *)mnl_attr_get_payload(options) + head,
                          mnl_attr_get_payload_len(options) - head);
    s->has_netem = true;
    s->loss = fixed.loss;
    strait_emu_attribute_copy(&s->delay_ns, sizeof(s->delay_ns), found[TCA_NETEM_LATENCY64]);
    strait_emu_attribute_copy(&s->jitter_ns, sizeof(s->jitter_ns), found[TCA_NETEM_JITTER64]);
    struct tc_netem_rate rate;
    if (is_inside && strait_emu_attribute_copy(&rate, sizeof(rate), found[TCA_NETEM_RATE]))
        s->netem_bytes_per_s = rate.rate;
}

static void read_tbf(struct strait_emu_qdisc *s, const struct nlattr *options)
{
    const struct nlattr *found[TCA_TBF_MAX + 1];
    struct tc_tbf_qopt fixed;
    if (!options)
        return;
    strait_emu_attributes(found, TCA_TBF_MAX + 1, mnl_attr_get_payload(options),
                          mnl_attr_get_payload_len(options));
    s->has_tbf = strait_emu_attribute_copy(&fixed, sizeof(fixed), found[TCA_TBF_PARMS]);
    if (!strait_emu_attribute_copy(&s->rate_bytes_per_s, sizeof(s->rate_bytes_per_s),
                                   found[TCA_TBF_RATE64]))
        s->rate_bytes_per_s = fixed.rate.rate;
    s->limit_bytes = fixed.limit;
    s->burst_bytes =
        (uint32_t)round(1e-9 * NS_PER_TICK * fixed.buffer * (double)s->rate_bytes_per_s);
}

/* Hash of one queue: kind, parent, options. */
static uint64_t settings_of(const struct tcmsg *info, const struct nlattr *kind,
                            const struct nlattr *options)
{
    const struct {
        uint64_t kind, options;
        uint32_t parent, handle;
    } all = {strait_checksum(mnl_attr_get_payload(kind), mnl_attr_get_payload_len(kind)),
             options
                 ? strait_checksum(mnl_attr_get_payload(options), mnl_attr_get_payload_len(options))
                 : 0,
             info->tcm_parent, info->tcm_handle};
    return strait_checksum(&all, sizeof(all));
}

static int read_one(const struct nlmsghdr *head, void *context)
{
    const size_t head_bytes = sizeof(struct tcmsg);
    const struct list *l = context;
    struct tcmsg info;
    if (head->nlmsg_type != RTM_NEWQDISC || mnl_nlmsg_get_payload_len(head) < head_bytes)
        return MNL_CB_OK;
    memcpy(&info, mnl_nlmsg_get_payload(head), sizeof(info));
    const int at = info.tcm_ifindex - l->first_index;
    const struct nlattr *found[TCA_MAX + 1], *stats[TCA_STATS_MAX + 1] = {NULL};
    strait_emu_attributes(found, TCA_MAX + 1, mnl_nlmsg_get_payload_offset(head, head_bytes),
                          mnl_nlmsg_get_payload_len(head) - head_bytes);
    if (at < 0 || at >= l->n || !found[TCA_KIND])
        return MNL_CB_OK;
    struct strait_emu_qdisc_reading *r = &l->out[at];
    r->settings += settings_of(&info, found[TCA_KIND], found[TCA_OPTIONS]);
    struct gnet_stats_basic basic;
    struct gnet_stats_queue queue;
    if (found[TCA_STATS2])
        strait_emu_attributes(stats, TCA_STATS_MAX + 1, mnl_attr_get_payload(found[TCA_STATS2]),
                              mnl_attr_get_payload_len(found[TCA_STATS2]));
    strait_emu_attribute_copy(&basic, sizeof(basic), stats[TCA_STATS_BASIC]);
    strait_emu_attribute_copy(&queue, sizeof(queue), stats[TCA_STATS_QUEUE]);
    const char *kind = mnl_attr_get_payload(found[TCA_KIND]);
    const bool netem = strncmp(kind, "netem", mnl_attr_get_payload_len(found[TCA_KIND])) == 0;
    if (!netem && strncmp(kind, "tbf", mnl_attr_get_payload_len(found[TCA_KIND])) != 0)
        return MNL_CB_OK;
    if (netem) {
        read_netem(&r->shaper, found[TCA_OPTIONS], info.tcm_parent != TC_H_ROOT);
        r->netem_drops = queue.drops;
    } else {
        read_tbf(&r->shaper, found[TCA_OPTIONS]);
        r->tbf_drops = queue.drops;
    }
    if (info.tcm_parent == TC_H_ROOT) { /* the root passes everything that the others pass */
        r->bytes = basic.bytes;
        r->n_segments = basic.packets;
        r->backlog_bytes = queue.backlog;
    }
    return MNL_CB_OK;
}

int strait_emu_qdisc_read(struct strait_emu_qdisc_reading *out, int n, int first_index, int fd,
                          struct strait_error *err)
{
    const struct tcmsg info = {.tcm_family = AF_UNSPEC};
    union strait_emu_message m;
    strait_emu_message_begin(&m, RTM_GETQDISC, NLM_F_DUMP, &info, sizeof(info));
    struct list l = {out, n, first_index};
    memset(out, 0, (size_t)n * sizeof(*out));
    return strait_emu_message_ask(fd, &m, "read the queues", read_one, &l, err);
}
