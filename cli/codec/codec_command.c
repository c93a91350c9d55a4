/* strait codec: the codecs by themselves. */
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
static const struct strait_command_table table = {
    "codec", "The codecs by themselves.", commands, sizeof(commands) / sizeof(*commands),
    "  strait codec list topk\n"
    "  strait codec bench --codec sz --codec zfp\n"
    "  strait codec encode weights.npy --codec sz:range=1e-3\n"
    "  strait codec COMMAND --help             options and examples\n"};

int strait_command_codec(int argc, char **argv)
{
    return strait_command_dispatch(&table, argc, argv);
}
