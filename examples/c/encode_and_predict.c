/* Encode a tensor, ask what that costs, predict what it does to training over a WAN.
 *
 *     cc encode_and_predict.c $(pkg-config --cflags --libs strait) -lm -o encode_and_predict
 *     ./encode_and_predict sz:range=1e-3 wan-check */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strait.h>

enum { N_ROWS = 256, N_ELEMS = 256 * 256 };

static int fail(const struct strait_error *err)
{
    fprintf(stderr, "%s: %s\n", err->where, err->text);
    return 1;
}

/* Encode a smooth matrix and decode it again. 0, or -1 with *err. */
static int encode(const char *spec, struct strait_error *err)
{
    struct strait_tensor_codec *codec;
    if (strait_tensor_codec_new(&codec, spec, N_ELEMS, N_ROWS, err) != 0)
        return -1;
    const size_t cap_bytes = strait_tensor_codec_max_bytes(codec);
    float *x = malloc(N_ELEMS * sizeof(*x)), *y = malloc(N_ELEMS * sizeof(*y));
    unsigned char *encoded = malloc(cap_bytes);
    size_t len_bytes = 0;
    int status = -1;
    for (int i = 0; x && i < N_ELEMS; i++)
        x[i] = (float)(i % N_ROWS) / N_ROWS - (float)(i / N_ROWS) / N_ROWS;
    if (x && y && encoded &&
        strait_tensor_codec_encode(codec, encoded, cap_bytes, &len_bytes, x, 0, err) == 0 &&
        strait_tensor_codec_decode(codec, y, encoded, len_bytes, err) == 0) {
        double error = 0;
        for (int i = 0; i < N_ELEMS; i++)
            error = fmax(error, fabs((double)x[i] - (double)y[i]));
        printf("encoded %zu bytes, largest error %.3g\n", len_bytes, error);
        status = 0;
    }
    free(x);
    free(y);
    free(encoded);
    strait_tensor_codec_free(codec);
    return status;
}

int main(int argc, char **argv)
{
    const char *spec = argc > 1 ? argv[1] : "sz:range=1e-3";
    const char *experiment = argc > 2 ? argv[2] : "wan-check";
    const char *const settings[] = {"/clients=4", NULL};
    struct strait_error err = {0};
    struct strait_tensor_cost cost;
    char *rows;
    printf("strait %s\n", strait_version());
    if (encode(spec, &err) != 0 ||
        strait_tensor_cost(&cost, NULL, spec, "update", N_ELEMS, &err) != 0)
        return fail(&err);
    printf("profile: ratio %.2f, encode %.3g s, decode %.3g s\n", cost.ratio, cost.encode_s,
           cost.decode_s);
    if (strait_predict(&rows, experiment, "sim", NULL, settings, &err) != 0)
        return fail(&err);
    puts(rows);
    strait_rows_free(rows);
    return 0;
}
