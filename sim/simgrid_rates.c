#include "simgrid_rates.h"

#include <math.h>

#include "platform.h"

struct strait_simgrid_link {
    sg_link_t link; /* NULL: its rate stays */
    double now_bytes_per_s, max_bytes_per_s;
    int n_lifted; /* flows that start at this instant */
};

void strait_simgrid_rates_init(struct strait_simgrid_rates *r, const struct strait_simgrid *sg,
                               const struct strait_network *network, struct strait_child *child)
{
    const int n_links = strait_network_n_links(network);
    *r = (struct strait_simgrid_rates){.sg = sg, .links = NULL};
    if (strait_network_n_scheduled(network) == 0)
        return;
    if (strait_rate_changes_init(&r->changes, network) != 0)
        strait_child_no_memory(child);
    r->links = strait_child_alloc(child, (size_t)n_links, sizeof(*r->links));
    for (int i = 0; i < n_links; i++) {
        const struct strait_link *from = strait_network_link(network, i);
        char name[32];
        if (!from->schedule)
            continue;
        strait_platform_link_name(name, network, i);
        r->links[i].link = r->sg->sg_link_by_name(name);
        r->links[i].now_bytes_per_s = strait_rate_changes_at(network, i, 0);
        r->links[i].max_bytes_per_s = strait_goodput_bytes_per_s(network, from);
    }
}

/* A call of SimGrid may let other actors run: what they look at is changed before. */
void strait_simgrid_rates_change(struct strait_simgrid_rates *r)
{
    for (double at_s; isfinite(at_s = strait_rate_changes_next_s(&r->changes));) {
        double bytes_per_s;
        r->sg->sg_actor_sleep_until(at_s);
        for (int i; (i = strait_rate_changes_take(&r->changes, &bytes_per_s, at_s)) >= 0;) {
            struct strait_simgrid_link *l = &r->links[i];
            l->now_bytes_per_s = bytes_per_s;
            if (l->n_lifted == 0)
                r->sg->sg_link_set_bandwidth(l->link, bytes_per_s);
        }
    }
}

void strait_simgrid_rates_lift(struct strait_simgrid_rates *r, const int *links, int n_links)
{
    for (int i = 0; i < n_links; i++) {
        struct strait_simgrid_link *l = &r->links[links[i]];
        l->n_lifted++;
        if (l->link)
            r->sg->sg_link_set_bandwidth(l->link, l->max_bytes_per_s);
    }
}

void strait_simgrid_rates_lower(struct strait_simgrid_rates *r, const int *links, int n_links)
{
    for (int i = 0; i < n_links; i++) {
        struct strait_simgrid_link *l = &r->links[links[i]];
        if (--l->n_lifted == 0 && l->link)
            r->sg->sg_link_set_bandwidth(l->link, l->now_bytes_per_s);
    }
}
