/* SimGrid, loaded when a simulation asks for it: it brings thirty libraries, which take longer to
 * load than most commands take. */
#pragma once
#include <simgrid/actor.h>
#include <simgrid/comm.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/link.h>
#include <simgrid/mailbox.h>
#include <simgrid/semaphore.h>
#include <simgrid/version.h>
#include <xbt/config.h>

#include "core/error.h"

/* All that is called of it, here and by tests/bench. */
/* clang-format off */
#define STRAIT_SIMGRID_FUNCTIONS(X) \
    X(simgrid_init) X(simgrid_load_platform) X(simgrid_run) X(simgrid_get_clock) \
    X(sg_cfg_set_boolean) X(sg_cfg_set_double) X(sg_cfg_set_int) X(sg_cfg_set_string) \
    X(sg_actor_init) X(sg_actor_start_) X(sg_actor_set_data) X(sg_actor_self) \
    X(sg_actor_self_get_data) X(sg_actor_daemonize) X(sg_actor_sleep_until) X(sg_actor_yield) \
    X(sg_sem_init) X(sg_sem_acquire) X(sg_sem_acquire_timeout) X(sg_sem_release) \
    X(sg_mailbox_by_name) X(sg_mailbox_set_receiver) X(sg_mailbox_put_init) \
    X(sg_mailbox_put_async) X(sg_mailbox_get) X(sg_mailbox_get_async) X(sg_comm_wait) \
    X(sg_host_by_name) X(sg_link_by_name) X(sg_link_set_bandwidth)
/* clang-format on */
#define STRAIT_SIMGRID_MEMBER(name) __typeof__(&name) name;

struct strait_simgrid { /* each function under its own name */
    STRAIT_SIMGRID_FUNCTIONS(STRAIT_SIMGRID_MEMBER)
};

/** Load the library, of the release that this was compiled with; it stays loaded.
 *  Returns: 0, or -1 with *err HOST: it is not installed, or lacks a function */
int strait_simgrid_load(struct strait_simgrid *out, struct strait_error *err);
