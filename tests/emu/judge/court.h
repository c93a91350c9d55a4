/* Evidence of a run for strait_emu_validity(), and what it must say. */
#pragma once
#include <stdio.h>
#include <string.h>
#include "emu/judge/validity.h"
#include "tests/kit/emu_world.h"
#include "tests/kit/suite.h"

/* Three ranks, RTT 40 ms, and evidence of a run of 10 s at k = 4 against which nothing speaks. */
struct court {
    struct world w;
    struct strait_emu_shared *shared;
    struct strait_emu_link_report links[6];
    struct strait_emu_counters counters[6];
    struct strait_emu_evidence e;
};

static void court_open(struct court *c)
{
    memset(c, 0, sizeof(*c));
    world_init(&c->w, 3, 1e9, 0.04);
    c->shared = strait_emu_shared_new(&c->w.run, 4, 1, NULL);
    CU_ASSERT_FATAL(c->shared != NULL);
    c->e = (struct strait_emu_evidence){.run = &c->w.run,
                                        .shared = c->shared,
                                        .shaped = true,
                                        .run_s = 10,
                                        .wall_s = 40,
                                        .dilation = 4,
                                        .n_probes = 1,
                                        .before = c->counters,
                                        .after = c->counters + 3};
    c->e.probes[0] = (struct strait_emu_probe){0, 2, 0.0401, 0.04};
    c->e.relay.n_nodes = 3;
    c->e.relay.out = c->links;
    c->e.relay.in = c->links + 3;
    c->e.relay.late_p99_s = 0.0015; /* below 1 % of 4 x 40 ms */
}

static void court_close(struct court *c)
{
    strait_emu_shared_free(c->shared);
    world_release(&c->w);
}

/* Is there exactly one text, and does it have that part? part NULL: there is none. */
static void expect_in(struct court *c, const char *part, bool in_flags)
{
    json_t *texts = json_array(), *others = json_array();
    CU_ASSERT(strait_emu_validity(in_flags ? others : texts, in_flags ? texts : others, &c->e,
                                  NULL) == 0);
    CU_ASSERT_EQUAL(json_array_size(others), 0);
    CU_ASSERT_EQUAL(json_array_size(texts), part ? 1 : 0);
    const char *text = json_string_value(json_array_get(texts, 0));
    if (part && text)
        CU_ASSERT_PTR_NOT_NULL(strstr(text, part));
    if (text && (!part || !strstr(text, part)))
        printf("    found: %s\n", text);
    json_decref(texts);
    json_decref(others);
}

static void expect(struct court *c, const char *part)
{
    expect_in(c, part, false);
}
