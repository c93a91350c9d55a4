/* What things cost, from a file that its user edits; nothing has a price of its own. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include "core/error.h"
#include "core/json.h"

struct strait_prices {
    bool any;                             /* money is known */
    char currency[16];                    /* "EUR" */
    double server_per_gb, clients_per_gb; /* of what they send */
    double accelerator_per_h, core_per_h; /* of each client's, and of each of the server's cores */
    double accelerator_w, core_w;         /* while busy; 0: not known */
    json_t *per_h;                        /* {pointer: {value as text: money}}; owned */
};

/** Read {"schema": "strait-prices/1", "egress", "accelerator", "core", "watts", "per_hour"} at this
 *  place of a file. 0, or -1 with *err INPUT. Release in either case. */
int strait_prices_read(struct strait_prices *p, const char *file, const char *pointer,
                       const json_t *json, struct strait_error *err);
void strait_prices_release(struct strait_prices *p);

/* What a round used. */
struct strait_use_of_round {
    double round_s, n_accelerators, n_server_cores;
    double server_bytes, clients_bytes;     /* sent, frames included */
    double accelerator_busy_s, core_busy_s; /* of all together */
};
/** Money of a round; NAN where no price is known. labels: values of varied pointers; point: the
 *  experiment, for what stands at other pointers. */
double strait_prices_of_round(const struct strait_prices *p, const struct strait_use_of_round *use,
                              const json_t *labels, const json_t *point);
/** Money an hour for what has a price an hour alone. A quantity has it in whatever unit it is
 *  written. */
double strait_prices_per_h(const struct strait_prices *p, const json_t *labels,
                           const json_t *point);
/** Energy of a round in joules, of accelerators and cores while they are busy; NAN: no watts. */
double strait_energy_of_round_j(const struct strait_prices *p,
                                const struct strait_use_of_round *use);
/** "100 EUR" or with `per` "0.09 EUR/GB": the number, and the currency, which must be *currency
 *  where that is set. 0, or -1 with *err INPUT. */
int strait_money_parse(double *value, char currency[16], const char *text, const char *per,
                       const char *where, struct strait_error *err);
