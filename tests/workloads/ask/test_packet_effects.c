/* What a network asks for that only packets have, in words. */
#include <math.h>
#include <string.h>
#include "workloads/ask/packet_effects.h"
#include "tests/kit/suite.h"

enum { N_RANKS = 4 };

static struct strait_network *network(bool has_server)
{
    const struct strait_link link = {.rate_bits_per_s = 1e9, .queue_bytes = INFINITY};
    const struct strait_tcp tcp = {.segment_bytes = 1448};
    struct strait_network *n = strait_network_star(N_RANKS, link, link, link, link, 24, tcp);
    CU_ASSERT_PTR_NOT_NULL_FATAL(n);
    n->has_server = has_server;
    return n;
}

/* Whether the texts are these, what is left out before what is drawn; releases n. */
static void expect(struct strait_network *n, const char *const *texts)
{
    json_t *effects = strait_packet_effects(n), *found = json_array();
    json_array_extend(found, json_object_get(effects, "not_modelled"));
    json_array_extend(found, json_object_get(effects, "drawn"));
    json_decref(effects);
    size_t i = 0;
    for (; texts[i]; i++) {
        const char *text = json_string_value(json_array_get(found, i));
        CU_ASSERT_PTR_NOT_NULL_FATAL(text);
        CU_ASSERT_STRING_EQUAL(text, texts[i]);
        if (strcmp(text, texts[i]) != 0)
            fprintf(stderr, "expected %s, found %s\n", texts[i], text);
    }
    CU_ASSERT_EQUAL(json_array_size(found), i);
    json_decref(found);
    strait_network_free(n);
}
#define EXPECT(n, ...) expect(n, (const char *const[]){__VA_ARGS__, NULL})

static void nothing(void)
{
    expect(network(true), (const char *const[]){NULL});
}

static void both_ways(void)
{
    struct strait_network *n = network(true);
    for (int i = 1; i < N_RANKS; i++)
        n->out[i].loss_ratio = n->in[i].loss_ratio = 0.01;
    EXPECT(n, "loss 1 % on client links");
}

static void one_way(void)
{
    struct strait_network *n = network(true);
    for (int i = 1; i < N_RANKS; i++)
        n->out[i].jitter_s = 0.001 * i; /* 1, 2 and 3 ms */
    n->in[0].queue_bytes = 250e3;
    EXPECT(n, "jitter 1 ms to 3 ms on client uplinks", "queues of 250 KB on server downlink");
}

static void some(void)
{
    struct strait_network *n = network(false); /* rank 0 is a client too */
    n->out[0].loss_ratio = n->out[3].loss_ratio = 0.005;
    EXPECT(n, "loss 0.5 % on 2 of 4 client uplinks");
}

static void sites(void)
{
    static const char text[] =
        "{\"network\": {\"topology\": \"sites\", \"client\": {\"rate\": \"1 Gbps\"},"
        "\"site\": {\"ranks\": 1, \"rate\": \"1 Gbps\", \"loss\": \"2 %\"},"
        "\"between\": [{\"from\": 0, \"to\": 1, \"rate\": \"1 Gbps\", \"jitter\": \"4 ms\"}]}}";
    struct strait_error err = {0};
    struct strait_object o;
    struct strait_network *n = NULL;
    json_t *json = json_loads(text, 0, NULL);
    CU_ASSERT_EQUAL_FATAL(strait_object_open(&o, "x.json", "", json, &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_network_read(&n, &o, 4, false, &err), 0);
    json_decref(json);
    EXPECT(n, "loss 2 % on site links", "jitter 4 ms on links between sites");
}

/* Flows have none of them; packets have all. */
static void left_out_or_drawn(void)
{
    for (int flows = 0; flows < 2; flows++) {
        struct strait_network *n = network(true);
        n->detail = flows ? STRAIT_DETAIL_FLOWS : STRAIT_DETAIL_CHOSEN;
        n->in[0].loss_ratio = 0.02;
        n->in[0].jitter_s = 0.001;
        n->in[0].queue_bytes = 1e6;
        json_t *effects = strait_packet_effects(n);
        const json_t *there = json_object_get(effects, flows ? "not_modelled" : "drawn");
        CU_ASSERT_EQUAL(json_object_size(effects), 1);
        CU_ASSERT_EQUAL(json_array_size(there), 3);
        CU_ASSERT_STRING_EQUAL(json_string_value(json_array_get(there, 0)),
                               "loss 2 % on server downlink");
        json_decref(effects);
        strait_network_free(n);
    }
}

/* A formula has losses alone. */
static void by_formula(void)
{
    struct strait_network *n = network(true);
    char text[STRAIT_EFFECTS_CHARS];
    n->detail = STRAIT_DETAIL_FORMULA;
    n->in[0].loss_ratio = 0.02;
    n->in[0].jitter_s = 0.001;
    json_t *effects = strait_packet_effects(n);
    CU_ASSERT_STRING_EQUAL(strait_effects_text(text, effects),
                           "not modelled, so that times are without it: jitter 1 ms on server "
                           "downlink; by a formula, not packet by packet: loss 2 % on server "
                           "downlink");
    json_decref(effects);
    strait_network_free(n);
}

/* Packets have no use for shares that an experiment states. */
static void stated_shares(void)
{
    struct strait_network *n = network(true);
    CU_ASSERT_EQUAL(strait_network_spread_shares(n, 0.3, 1, true), 0);
    n->detail = STRAIT_DETAIL_PACKETS;
    EXPECT(n, "share_spread (packets share links by themselves)");
}

static void sentence(void)
{
    char text[STRAIT_EFFECTS_CHARS];
    json_t *effects = json_pack("{s:[s, s], s:[s]}", "not_modelled", "a", "b", "drawn", "c");
    CU_ASSERT_STRING_EQUAL(strait_effects_text(text, effects),
                           "not modelled, so that times are without it: a, b; packet by packet, "
                           "drawn by the seed: c");
    json_object_del(effects, "not_modelled");
    CU_ASSERT_STRING_EQUAL(strait_effects_text(text, effects),
                           "packet by packet, drawn by the seed: c");
    json_object_del(effects, "drawn");
    CU_ASSERT_STRING_EQUAL(strait_effects_text(text, effects), "");
    json_t *list = json_array();
    for (int i = 0; i < 200; i++)
        json_array_append_new(list, json_string("longer than fits"));
    json_object_set_new(effects, "drawn", list);
    CU_ASSERT_EQUAL(strlen(strait_effects_text(text, effects)), sizeof(text) - 1);
    json_decref(effects);
}

static const struct strait_test tests[] = {
    {"a network without loss, jitter and queues has no effects", nothing},
    {"the same figure both ways is told once", both_ways},
    {"each way has its figures, from the least to the most", one_way},
    {"where only some links have it, it says how many", some},
    {"sites and links between them are told apart", sites},
    {"what is drawn is told apart from what is left out", left_out_or_drawn},
    {"a formula has losses, and names the jitter that it leaves out", by_formula},
    {"shares that are stated are left out where packets move", stated_shares},
    {"the sentence lists all effects and is cut where it is too long", sentence},
};
STRAIT_SUITE("workloads/ask/packet_effects", tests);
