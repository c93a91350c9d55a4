/* Runs over parameter servers, on ports of a stated rate with 100 us between them. */
#pragma once
#include <stdio.h>
#include "tests/kit/harness.h"

struct setting {
    const char *strategy; /* its members: name, rounds, ... */
    int n, n_servers, n_inside;
    bool separate;
};

static inline struct strait_outcome run_at(const char *rate, const char *model,
                                           const struct setting *s, const char *codec,
                                           const struct strait_backend *backend, bool real)
{
    char text[2048];
    snprintf(text, sizeof(text),
             "{\"schema\":\"strait-experiment/1\",\"model\":\"%s\",\"clients\":%d,\"codec\":%s,"
             "\"strategy\":{%s,\"servers\":%d,\"placement\":\"%s\",\"node_size\":%d},"
             "\"network\":{\"client\":{\"rate\":\"%s\",\"rtt\":\"100 us\"},"
             "\"tcp\":{\"initial_window\":\"1 GB\"}}}",
             model, s->n, codec, s->strategy, s->n_servers, s->separate ? "separate" : "colocated",
             s->n_inside, rate);
    return strait_outcome_of(
        text, json_object(), "default", backend,
        (struct strait_trial_options){.every_round = true, .real_payload = real});
}

static inline struct strait_outcome run(const struct setting *s,
                                        const struct strait_backend *backend, bool real)
{
    return run_at("1 Gbps", "cnn", s, "\"none\"", backend, real);
}
