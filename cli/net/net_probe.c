/* strait net probe: what this machine can emulate, and what will be used. */
#include <stdio.h>
#include "net_command.h"
#include "cli/kit/probe.h"

static int probe(bool json, struct strait_error *err)
{
    struct strait_probe found;
    json_t *lines = json_array();
    if (strait_probe_emulation(&found, lines, false, err) != 0) {
        json_decref(lines);
        return -1;
    }
    const bool works = found.launcher && found.realisation;
    if (json) {
        json_t *all = json_pack("{s:b, s:s?, s:s?, s:s?, s:s?, s:O}", "works", works, "launcher",
                                found.launcher, "realisation", found.realisation, "guest",
                                found.guest, "missing_package", found.missing, "tried", lines);
        strait_command_print_json(all);
        json_decref(all);
    } else {
        strait_probe_print(lines, false);
        if (works)
            printf("\nlinks by %s, launched %s\n", found.realisation,
                   found.launcher[0] == 'r' ? "in place as root" : "in a user namespace");
        else if (found.guest)
            printf("\nonly a guest can emulate a network here: strait net run --launcher %s\n",
                   found.guest);
        else
            puts("\nnothing here can emulate a network");
    }
    json_decref(lines);
    return works ? 0 : 3;
}

int strait_net_probe(int argc, char **argv)
{
    bool json = false;
    const struct strait_option options[] = {
        {"json", 0, STRAIT_OPTION_FLAG, &json, NULL, "one JSON object on standard output"},
        STRAIT_WIDE_OPTION};
    const struct strait_usage usage = {
        "net probe", "", "Try what this machine can do, and say what will be used.",
        STRAIT_OPTIONS(options), "Each way is tried for real. Exit status 3 when none works.\n"};
    struct strait_error err = {0};
    const char *none[1];
    int status = strait_net_parse(&usage, argc, argv, none, 0, NULL, &err);
    if (status == 1)
        return 0;
    if (status == 0)
        status = probe(json, &err);
    return status < 0 ? strait_command_fail(&err) : status;
}
