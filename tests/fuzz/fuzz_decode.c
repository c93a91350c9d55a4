/* libFuzzer on one decoder: STRAIT_FUZZ_CODEC names the codec. An input
 * is either a stream as it is, or a true stream with bytes changed, so that the fuzzer begins deep
 * inside of every format without a corpus:
 *   u16 number of values; u8 what: odd: a stream follows
 *                                  even: u8 seed, then (u16 place, u8 exclusive-or) to its end */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "codecs/codec.h"
#include "tests/kit/tensor_kinds.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

enum { MAX_ELEMS = 5000 };

/* What the fuzzer works on; a fuzz target has no other place to keep it. */
static struct {
    const struct strait_codec_ops *ops;
    void *state;
    float x[MAX_ELEMS];
} fuzz;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    const char *name = getenv("STRAIT_FUZZ_CODEC");
    struct strait_error err = {0};
    fuzz.ops = strait_codec_find(name ? name : "sz");
    if (!fuzz.ops || strait_codec_unavailable(fuzz.ops) ||
        strait_codec_open_default(fuzz.ops, &fuzz.state, &err) != 0) {
        fprintf(stderr, "fuzz_decode: expected a codec in STRAIT_FUZZ_CODEC, found \"%s\"\n",
                name ? name : "");
        exit(2);
    }
    return 0;
}

/* A true stream of n values, of a kind and bound that the seed picks, in memory of its length. */
static unsigned char *true_stream(size_t *len, size_t n, unsigned seed)
{
    static const enum strait_bound_kind kinds[] = {STRAIT_BOUND_RANGE, STRAIT_BOUND_ABS,
                                                   STRAIT_BOUND_RMS, STRAIT_BOUND_POINTWISE,
                                                   STRAIT_BOUND_NONE};
    static const double values[] = {1e-2, 1e-4};
    struct strait_request request = {.key = seed, .n_rows = seed % 3 == 0 ? 8 : 0};
    make_tensor(fuzz.x, n, (enum tensor_kind)(seed % N_TENSOR_KINDS), seed);
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
        if (fuzz.ops->bounds >> kinds[(k + seed) % 5] & 1) {
            request.bound.kind = kinds[(k + seed) % 5];
            break;
        }
    if (request.bound.kind != STRAIT_BOUND_NONE)
        request.bound.value = values[seed / 16 % 2];
    if (fuzz.ops->flags & STRAIT_CODEC_STATEFUL) {
        fuzz.ops->close(fuzz.state);
        if (strait_codec_open_default(fuzz.ops, &fuzz.state, NULL) != 0)
            abort();
    }
    const size_t cap_bytes = fuzz.ops->max_bytes(fuzz.state, n);
    unsigned char *out = malloc(cap_bytes + 1);
    if (out && strait_codec_encode(fuzz.ops, fuzz.state, out, cap_bytes, len, fuzz.x, n, request,
                                   NULL) != 0)
        abort(); /* a true tensor is never refused */
    unsigned char *exact = out ? realloc(out, *len > 0 ? *len : 1) : NULL;
    return exact ? exact : out;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
    if (n < 3)
        return 0;
    const size_t n_elems = (data[0] | (size_t)data[1] << 8) % MAX_ELEMS;
    float *y = malloc(4 * n_elems + 1);
    unsigned char *made = NULL;
    const unsigned char *stream = data + 3;
    size_t len = n - 3;
    if (!y)
        return 0;
    if (data[2] % 2 == 0 && n > 3) {
        size_t made_len;
        made = true_stream(&made_len, n_elems, data[3]);
        for (size_t i = 4; made && made_len > 0 && i + 3 <= n; i += 3)
            made[(data[i] | (size_t)data[i + 1] << 8) % made_len] ^= data[i + 2];
        stream = made;
        len = made_len;
    }
    if (stream && fuzz.ops->decode(fuzz.state, y, n_elems, stream, len, NULL) == 0)
        for (size_t i = 0; i < n_elems; i++) /* every value was written */
            fuzz.x[i] = y[i];
    free(made);
    free(y);
    return 0;
}
