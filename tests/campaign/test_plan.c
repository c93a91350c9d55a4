/* Tasks of a sweep: which there are, in which order, and what their keys depend on. */
#include "campaign/plan.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "campaign/backends.h"
#include "tests/kit/suite.h"

/* A sweep of what `text` says, on a profile; the file is gone again. */
struct world {
    struct strait_plan plan;
    struct strait_sweep *sweep;
    struct strait_profile *profile;
};

#define BASE                                                                                       \
    "\"schema\": \"strait-experiment/1\", \"model\": \"cnn\", \"clients\": 2,"                     \
    " \"strategy\": {\"name\": \"fedavg\", \"rounds\": 1}, "                                       \
    "\"network\": {\"client\": {\"rate\": \"100 Mbps\"}, \"server\": {\"rate\": \"1 Gbps\"}}"
static const char sz[] = "{" BASE ", \"codec\": {\"name\": \"sz\", \"bound\": {\"range\": 1e-3}}}";
static const char codecs[] =
    "{" BASE ", \"codec\": \"none\", \"vary\": {\"/clients\": [2, 3], \"/codec\": [\"none\","
    " {\"name\": \"sz\", \"bound\": {\"range\": 1e-3}}]}}";
static const char bounds[] =
    "{" BASE ", \"codec\": {\"name\": \"sz\", \"bound\": {\"range\": 1e-3}},"
    " \"vary\": {\"/clients\": [2, 3], \"/codec/bound/range\": [1e-3, 1e-4]}}";

static void set_up(struct world *w, const char *text)
{
    char path[] = "/tmp/strait-plan-XXXXXX.json";
    struct strait_error err = {0};
    *w = (struct world){0};
    const int fd = mkstemps(path, 5);
    CU_ASSERT_FATAL(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    CU_ASSERT_EQUAL_FATAL(strait_sweep_load(&w->sweep, path, NULL, 0, &err), 0);
    unlink(path);
    CU_ASSERT_EQUAL_FATAL(strait_profile_load(&w->profile, "default", &err), 0);
    w->plan.setup = (struct strait_plan_setup){.file = "x.json", .profile = w->profile};
    CU_ASSERT_EQUAL_FATAL(strait_plan_setup_hashes(&w->plan.setup, &err), 0);
}

static void tear_down(struct world *w)
{
    strait_plan_release(&w->plan);
    CU_ASSERT_EQUAL(w->plan.n_tasks, 0);
    CU_ASSERT_PTR_NULL(w->plan.tasks);
    strait_profile_free(w->profile);
    strait_sweep_free(w->sweep);
}

static int clients_of(const struct strait_task_plan *t)
{
    return (int)json_integer_value(json_object_get(t->resolved, "clients"));
}

/* The last axis varies fastest. Each point of a codec is compared with one without, which is there
 * already. */
static void points(void)
{
    struct world w;
    struct strait_error err = {0};
    set_up(&w, codecs);
    CU_ASSERT_EQUAL_FATAL(strait_plan_add(&w.plan, w.sweep, &strait_fluid, 1, true, &err), 0);
    CU_ASSERT_EQUAL_FATAL(w.plan.n_tasks, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct strait_task_plan *t = &w.plan.tasks[i];
        CU_ASSERT_EQUAL(clients_of(t), i < 2 ? 2 : 3);
        CU_ASSERT_EQUAL(json_is_string(json_object_get(t->resolved, "codec")), i % 2 == 0);
        CU_ASSERT_EQUAL(json_object_size(t->labels), 2);
        CU_ASSERT_FALSE(t->reference);
        CU_ASSERT_PTR_EQUAL(t->backend, &strait_fluid);
        for (size_t j = 0; j < i; j++)
            CU_ASSERT_STRING_NOT_EQUAL(t->key, w.plan.tasks[j].key);
    }
    tear_down(&w);
}

/* Two bounds are compared with one point without a codec, for each number of clients. */
static void references(void)
{
    struct world w;
    struct strait_error err = {0};
    set_up(&w, bounds);
    CU_ASSERT_EQUAL_FATAL(strait_plan_add(&w.plan, w.sweep, &strait_fluid, 1, true, &err), 0);
    CU_ASSERT_EQUAL_FATAL(w.plan.n_tasks, 4 + 2);
    for (size_t i = 0; i < 6; i++) {
        const struct strait_task_plan *t = &w.plan.tasks[i];
        CU_ASSERT_EQUAL(t->reference, i >= 4);
        CU_ASSERT_EQUAL(clients_of(t), i < 4 ? 2 + (int)i / 2 : (int)i - 2);
        CU_ASSERT_EQUAL(json_object_size(t->labels), i < 4 ? 2 : 1); /* without the codec's */
        const json_t *name = json_object_get(json_object_get(t->resolved, "codec"), "name");
        CU_ASSERT_STRING_EQUAL(json_string_value(name), i < 4 ? "sz" : "none");
    }
    CU_ASSERT_PTR_NOT_NULL(json_object_get(w.plan.tasks[4].labels, "/clients"));
    strait_plan_release(&w.plan);
    CU_ASSERT_EQUAL_FATAL(strait_plan_add(&w.plan, w.sweep, &strait_fluid, 1, false, &err), 0);
    CU_ASSERT_EQUAL(w.plan.n_tasks, 4);
    tear_down(&w);
}

static void repeats(void)
{
    struct world w;
    struct strait_error err = {0};
    set_up(&w, codecs);
    /* 35 of each of four: more than the table had room for at first */
    CU_ASSERT_EQUAL_FATAL(strait_plan_add(&w.plan, w.sweep, &strait_emu, 35, false, &err), 0);
    CU_ASSERT_EQUAL_FATAL(w.plan.n_tasks, 140);
    for (size_t i = 0; i < 140; i++) {
        CU_ASSERT_EQUAL(w.plan.tasks[i].repeat, (int)(i % 35));
        CU_ASSERT_EQUAL(clients_of(&w.plan.tasks[i]), i < 70 ? 2 : 3);
    }
    CU_ASSERT_STRING_NOT_EQUAL(w.plan.tasks[0].key, w.plan.tasks[1].key);
    tear_down(&w);
}

/* The key of the point with one thing set otherwise. */
static void key_with(char key[STRAIT_KEY_CHARS], struct world *w,
                     const struct strait_backend *backend, const struct strait_plan_setup *setup)
{
    struct strait_error err = {0};
    const struct strait_plan_setup before = w->plan.setup;
    w->plan.setup = *setup;
    CU_ASSERT_EQUAL_FATAL(strait_plan_add(&w->plan, w->sweep, backend, 1, false, &err), 0);
    snprintf(key, STRAIT_KEY_CHARS, "%s", w->plan.tasks[0].key);
    strait_plan_release(&w->plan);
    w->plan.setup = before;
}

/* A row is computed again when anything that decides it has changed, and only then. */
static void keys(void)
{
    struct world w;
    char sim[STRAIT_KEY_CHARS], emu[STRAIT_KEY_CHARS], key[STRAIT_KEY_CHARS];
    set_up(&w, sz);
    struct strait_plan_setup other[8];
    for (int i = 0; i < 8; i++)
        other[i] = w.plan.setup;
    other[0].timing = "replay";
    other[1].realisation = "relay";
    other[2].launcher = "userns";
    other[3].check = true;
    other[4].every_round = true;
    strcpy(other[5].machine, "another");
    strcpy(other[6].program, "another");
    strcpy(other[7].profile_hash, "another");
    /* what only measures asks the profile for nothing but sizes, and emulates every round anyway */
    static const bool changes_sim[8] = {false, false, false, false, true, false, true, true},
                      changes_emu[8] = {true, true, true, true, false, true, true, false};
    key_with(sim, &w, &strait_fluid, &w.plan.setup);
    key_with(emu, &w, &strait_emu, &w.plan.setup);
    CU_ASSERT_STRING_NOT_EQUAL(sim, emu);
    for (int i = 0; i < 8; i++) {
        strait_test_context("setup %d", i);
        key_with(key, &w, &strait_fluid, &other[i]);
        CU_ASSERT_EQUAL(strcmp(key, sim) != 0, changes_sim[i]);
        key_with(key, &w, &strait_emu, &other[i]);
        CU_ASSERT_EQUAL(strcmp(key, emu) != 0, changes_emu[i]);
    }
    struct strait_plan_setup control = w.plan.setup;
    control.control = "no-ramp"; /* of a simulation */
    key_with(key, &w, &strait_fluid, &control);
    CU_ASSERT_STRING_NOT_EQUAL(key, sim);
    key_with(key, &w, &strait_emu, &control);
    CU_ASSERT_STRING_EQUAL(key, emu);
    control.control = "unshaped"; /* of an emulation */
    key_with(key, &w, &strait_fluid, &control);
    CU_ASSERT_STRING_EQUAL(key, sim);
    key_with(key, &w, &strait_emu, &control);
    CU_ASSERT_STRING_NOT_EQUAL(key, emu);
    tear_down(&w);
}

/* A codec that the profile lacks is the experiment's error. */
static void missing_entries(void)
{
    struct world w;
    struct strait_error err = {0};
    set_up(&w, sz);
    json_t *bound = json_object_get(json_object_get(w.sweep->base, "codec"), "bound");
    json_object_set_new(bound, "range", json_real(1e-9));
    CU_ASSERT_EQUAL(strait_plan_add(&w.plan, w.sweep, &strait_fluid, 1, false, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err.where, "x.json#/codec");
    CU_ASSERT_CONTAINS(err.text, "found 1e-09");
    err = (struct strait_error){0}; /* measured there */
    CU_ASSERT_EQUAL(strait_plan_add(&w.plan, w.sweep, &strait_emu, 1, false, &err), 0);
    tear_down(&w);
}

static void controls(void)
{
    static const struct {
        const char *control;
        bool of_sim;
    } cases[] = {
        {"no-ramp", true}, {"no-codec-cost", true}, {"unshaped", false}, {"loopback", false}};
    const struct strait_plan_setup none = {0};
    CU_ASSERT_PTR_NULL(strait_plan_control(&none, &strait_fluid));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct strait_plan_setup s = {.control = cases[i].control};
        const char *sim = strait_plan_control(&s, &strait_sim),
                   *emu = strait_plan_control(&s, &strait_emu);
        CU_ASSERT_PTR_EQUAL(sim, cases[i].of_sim ? s.control : NULL);
        CU_ASSERT_PTR_EQUAL(emu, cases[i].of_sim ? NULL : s.control);
    }
}

/* Values are real and costs measured in an emulation that is not a replay. */
static void options(void)
{
    struct strait_plan_setup s = {.dilation = 3, .realisation = "relay", .launcher = "userns"};
    struct strait_trial_options o = strait_plan_point_options(&s, &strait_emu);
    CU_ASSERT_TRUE(o.real_payload);
    CU_ASSERT_TRUE(o.measured_cost);
    CU_ASSERT_FALSE(o.one_at_a_time);
    CU_ASSERT_FALSE(o.every_round);
    CU_ASSERT_EQUAL(o.dilation, 3);
    CU_ASSERT_STRING_EQUAL(o.realisation, "relay");
    CU_ASSERT_STRING_EQUAL(o.launcher, "userns");
    s.timing = "serial";
    o = strait_plan_point_options(&s, &strait_emu);
    CU_ASSERT_TRUE(o.real_payload);
    CU_ASSERT_TRUE(o.one_at_a_time);
    s.timing = "live";
    CU_ASSERT_FALSE(strait_plan_point_options(&s, &strait_emu).one_at_a_time);
    s.timing = "replay";
    s.every_round = true;
    o = strait_plan_point_options(&s, &strait_emu);
    CU_ASSERT_FALSE(o.real_payload);
    CU_ASSERT_FALSE(o.measured_cost);
    CU_ASSERT_FALSE(o.one_at_a_time);
    CU_ASSERT_TRUE(o.every_round);
    s.timing = "serial"; /* nothing runs beside anything in a simulation */
    o = strait_plan_point_options(&s, &strait_fluid);
    CU_ASSERT_FALSE(o.real_payload);
    CU_ASSERT_FALSE(o.measured_cost);
    CU_ASSERT_FALSE(o.one_at_a_time);
}

/* What a network costs is remembered by what it is and how it is run. */
static void network_costs(void)
{
    char key[STRAIT_KEY_CHARS], other[STRAIT_KEY_CHARS];
    struct strait_plan_setup s = {.machine = "m", .program = "p"};
    json_t *point = json_pack("{s:{s:s}, s:i}", "network", "rate", "1 Gbps", "clients", 4);
    CU_ASSERT_PTR_EQUAL(strait_plan_net_cpu_key(key, &s, point, 5), key);
    CU_ASSERT_EQUAL(strait_plan_net_cpu_s(&s, point, 5), 0); /* nothing is known */
    s.net_cpus = json_pack("{s:f}", key, 0.25);
    CU_ASSERT_EQUAL(strait_plan_net_cpu_s(&s, point, 5), 0.25);
    CU_ASSERT_EQUAL(strait_plan_net_cpu_s(&s, point, 6), 0);
    json_object_set_new(point, "clients", json_integer(9)); /* not of the network */
    CU_ASSERT_EQUAL(strait_plan_net_cpu_s(&s, point, 5), 0.25);
    struct strait_plan_setup changed[5] = {s, s, s, s, s};
    strcpy(changed[0].machine, "n");
    strcpy(changed[1].program, "q");
    changed[2].realisation = "relay";
    changed[3].launcher = "userns";
    changed[4].timing = "serial";
    for (int i = 0; i < 5; i++) {
        strait_plan_net_cpu_key(other, &changed[i], point, 5);
        CU_ASSERT_STRING_NOT_EQUAL(other, key);
    }
    json_object_set_new(point, "network", json_pack("{s:s}", "rate", "2 Gbps"));
    CU_ASSERT_EQUAL(strait_plan_net_cpu_s(&s, point, 5), 0);
    json_decref(s.net_cpus);
    json_decref(point);
}

static const struct strait_test tests[] = {
    {"a task a point, the last axis fastest", points},
    {"points with a codec are compared with one point without", references},
    {"repeats are tasks of their own", repeats},
    {"a key changes with what decides the row, and with nothing else", keys},
    {"an entry that the profile lacks is blamed on the experiment", missing_entries},
    {"each control is of one kind of backend", controls},
    {"how points of a backend are run", options},
    {"what a network costs is known by its key", network_costs},
};
STRAIT_SUITE("campaign/plan", tests);
