/* The supervisor: the process that contains an emulated run. It is the first of a PID namespace, so
 * the kernel ends all other processes of the run with it. */
#pragma once
#include "workloads/rank/backend.h"
#include "emu/host/dilation.h"
#include "emu/links/net.h"
#include "emu/process/shared.h"

struct strait_emu_supervisor_plan {
    struct strait_run *run;
    const struct strait_backend *backend; /* of the ranks */
    struct strait_emu_shared *shared;
    struct strait_emu_dilation dilation;
    enum strait_emu_realisation realisation;
    const char *launcher; /* "root", "userns", "uml" or "vuml" */
    const char *tun_path; /* NULL: the usual one */
    int caller;           /* socket that ends when the caller does */
    int facts;            /* file for the facts as JSON */
    const int *logs;      /* files for the ranks' logs */
};

/** Build the network, run the ranks, check validity; the result goes to shared->outcome. */
void strait_emu_supervisor_main(const struct strait_emu_supervisor_plan *plan)
    __attribute__((noreturn));
