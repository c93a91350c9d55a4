/* strait codec: the codecs by themselves. */
#include <stdio.h>
#include <string.h>
#include "core/json.h"
#include "core/names.h"
#include "codec_command.h"
#include "cli/kit/command.h"

static const struct strait_subcommand commands[] = {
    {"list", "[NAME]", "all codecs: family, collectives, bounds, parameters",
     strait_codec_list_command},
    {"bench", "[TENSORS]", "ratio, speed in and out, and error of codecs on tensors",
     strait_codec_bench_command},
    {"encode", "FILE", "encode a .npy or raw float32 file", strait_codec_encode_command},
    {"decode", "FILE", "decode what encode wrote", strait_codec_decode_command},
};
enum { N_COMMANDS = sizeof(commands) / sizeof(*commands) };

static void print_help(FILE *out)
{
    fputs("usage: strait codec COMMAND [ARGUMENTS]\n\nThe codecs by themselves.\n\n", out);
    for (size_t i = 0; i < N_COMMANDS; i++) {
        char left[64];
        snprintf(left, sizeof(left), "%s %s", commands[i].name, commands[i].arguments);
        fprintf(out, "  %-20s %s\n", left, commands[i].summary);
    }
    fputs("\n"
          "  strait codec list topk\n"
          "  strait codec bench --codec sz --codec zfp\n"
          "  strait codec encode weights.npy --codec sz:range=1e-3\n"
          "  strait codec COMMAND --help             options and examples\n",
          out);
}

int strait_command_codec(int argc, char **argv)
{
    const char *names[N_COMMANDS + 1] = {NULL};
    struct strait_error err = {0};
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        print_help(stdout);
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "--help=json") == 0)
        return strait_command_print_table("codec", commands, N_COMMANDS);
    for (size_t i = 0; i < N_COMMANDS; i++) {
        names[i] = commands[i].name;
        if (argc > 1 && strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    }
    static const char expected[] = "list, bench, encode or decode";
    if (argc > 1)
        strait_refuse_name(&err, STRAIT_ERR_USAGE, "codec", expected, argv[1], names);
    else
        strait_error_set(&err, STRAIT_ERR_USAGE, "codec", "expected %s, found nothing", expected);
    return strait_command_fail(&err);
}
