/* What this machine can emulate, found by trying. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "cli/kit/memory.h"
#include "analysis/table.h"
#include "emu/links/net.h"
#include "emu/links/qdisc_probe.h"
#include "emu/guest/qemu.h"
#include "emu/guest/uml.h"
#include "emu/links/userns.h"
#include "cli/kit/command.h"
#include "probe.h"

enum { TEXT_CHARS = 4200 };

void strait_probe_put(json_t *lines, const char *what, bool good, const char *found,
                      const char *hint)
{
    json_array_append_new(lines, json_pack("{s:s, s:b, s:s, s:s}", "what", what, "good", good,
                                           "found", found, "hint", good ? "" : hint));
}

static void put_answer(json_t *lines, const char *what, const struct strait_emu_answer *a,
                       const char *hint)
{
    strait_probe_put(lines, what, a->yes, a->reason, hint);
}

static bool put_guest(json_t *lines, const char *what, bool virtual_time, bool boot,
                      const char *hint)
{
    struct strait_emu_guest_kernel kernel;
    struct strait_error why = {0};
    char text[TEXT_CHARS];
    const bool boots = strait_emu_uml_find(&kernel, virtual_time, boot, &why) == 0;
    snprintf(text, sizeof(text), boots ? "booted %s" : "%s", boots ? kernel.path : why.text);
    strait_probe_put(lines, what, boots, text, hint);
    return boots;
}

int strait_probe_emulation(struct strait_probe *out, json_t *lines, bool boot,
                           struct strait_error *err)
{
    struct strait_emu_ability can;
    struct strait_emu_qdisc_support shapers;
    if (strait_emu_net_probe(&can, getenv("STRAIT_TUN"), err) != 0 ||
        strait_emu_qdisc_support_probe(&shapers, err) != 0)
        return -1;
    strait_probe_put(lines, "root", geteuid() == 0, geteuid() == 0 ? "yes" : "no",
                     "not needed where user namespaces work");
    put_answer(lines, "namespaces", &can.in_place, "run as root, or let users make namespaces");
    put_answer(lines, "user namespaces", &can.userns,
               "sysctl kernel.unprivileged_userns_clone=1, by the machine's owner");
    put_answer(lines, "TUN device", &can.tun,
               "modprobe tun; chmod 666 /dev/net/tun, by the machine's owner; or "
               "--launcher vuml or uml");
    put_answer(lines, "ping", &can.ping, "apt install iputils-ping");
    strait_probe_put(lines, "congestion controls", *can.congestion != '\0', can.congestion,
                     "reno at least");
    put_answer(lines, "veth", &shapers.veth, "not needed by relay links");
    put_answer(lines, "bridge", &shapers.bridge, "not needed by relay links");
    put_answer(lines, "tbf", &can.tbf, "a kernel with sch_tbf, or --launcher vuml or uml");
    put_answer(lines, "netem", &can.netem,
               "not needed: the relay does the same; or --launcher vuml or uml");
    put_answer(lines, "htb", &shapers.htb, "not needed by relay links");
    const bool uml = put_guest(lines, "User-Mode Linux", false, boot,
                               "apt install user-mode-linux kmod, or make vkernel "
                               "(for --launcher uml)");
    const bool vuml = put_guest(lines, "virtual time", true, boot,
                                "make vkernel, 4 minutes (for --launcher vuml)");
    struct strait_error no_qemu = {0};
    const bool qemu = strait_emu_qemu_check(&no_qemu) == 0;
    strait_probe_put(lines, "QEMU", qemu, qemu ? "installed, with a kernel for it" : no_qemu.text,
                     "make qemu (for --launcher qemu)");
    *out = (struct strait_probe){.launcher = can.in_place.yes ? "root"
                                             : can.userns.yes ? "userns"
                                                              : NULL,
                                 .guest = vuml  ? "vuml"
                                          : uml ? "uml"
                                                : NULL,
                                 .missing = can.ping.yes ? NULL : "iputils-ping"};
    if (out->launcher && (can.netem.yes || can.tun.yes))
        out->realisation =
            strait_emu_realisation_name(can.netem.yes ? STRAIT_EMU_KERNEL : STRAIT_EMU_RELAY);
    return 0;
}

void strait_probe_print(const json_t *lines, bool json)
{
    static const char *const titles[] = {"", "", "found", "to do"};
    struct strait_table *t = strait_table_new();
    const json_t *line;
    size_t i;
    for (i = 0; i < sizeof(titles) / sizeof(*titles); i++)
        strait_table_column(t, titles[i], false);
    json_array_foreach (lines, i, line) {
        strait_table_cell(t, json_is_true(json_object_get(line, "good")) ? "ok" : "--");
        strait_table_cell(t, json_string_value(json_object_get(line, "what")));
        strait_table_cell(t, json_string_value(json_object_get(line, "found")));
        strait_table_cell(t, json_string_value(json_object_get(line, "hint")));
        if (json)
            strait_command_print_json(line);
    }
    if (json)
        strait_table_free(t);
    else
        strait_show_table(t);
}
