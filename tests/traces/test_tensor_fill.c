/* Which recordings stand for a tensor: every step of the search, on sets made for it. */
#include "traces/tensor_fill.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/random.h"
#include "tests/kit/suite.h"

enum { N_ELEMS = 72, MAX_RECORDINGS = 12 };

/* A recording in words: "gpt/fc/update/100/i", the last its class: a vector, an inner matrix or a
 * table. The n-th has values n, 2n, ... so that each has a range of its own. */
struct world {
    struct strait_recording recordings[MAX_RECORDINGS];
    float values[MAX_RECORDINGS][N_ELEMS];
    struct strait_tensors t;
    struct strait_param_row row;
    struct strait_model m;
};

static void shape_of(unsigned *n_dims, size_t shape[], char class)
{
    *n_dims = class == 'v' ? 1 : 2;
    shape[0] = class == 'v' ? 72 : class == 'i' ? 8 : 36; /* 36 x 2: 35 / 8 >= 2 */
    shape[1] = class == 'v' ? 0 : class == 'i' ? 9 : 2;
}

static void set_up(struct world *w, const char *const *recordings, const char *model,
                   enum strait_family family, char class)
{
    static char folder[] = "memory";
    memset(w, 0, sizeof(*w));
    size_t n = 0;
    for (; recordings[n]; n++) {
        struct strait_recording *r = &w->recordings[n];
        char is;
        CU_ASSERT_EQUAL_FATAL(sscanf(recordings[n], "%63[^/]/%127[^/]/%15[^/]/%ld/%c", r->model,
                                     r->layer, r->kind, &r->step, &is),
                              5);
        shape_of(&r->n_dims, r->shape, is);
        r->n_elems = N_ELEMS;
        r->values = w->values[n];
        for (size_t i = 0; i < N_ELEMS; i++)
            w->values[n][i] = (float)((n + 1) * (i + 1));
    }
    w->t = (struct strait_tensors){folder, w->recordings, n};
    w->row = (struct strait_param_row){.layer = "own", .param = "weight", .n_elems = N_ELEMS};
    shape_of(&w->row.n_dims, w->row.shape, class);
    w->m = (struct strait_model){.rows = &w->row, .n_rows = 1, .family = family};
    snprintf(w->m.name, sizeof(w->m.name), "%s", model);
}

/* What fills the row, in words, or the error. */
static const char *found(char out[512], const struct world *w, const char *kind,
                         enum strait_tensor_fill_set set)
{
    struct strait_tensor_fill_plan *p;
    struct strait_error err = {0};
    size_t at = 0;
    out[0] = '\0';
    if (strait_tensor_fill_plan_new(&p, &w->m, &w->t, kind, set, &err) != 0) {
        snprintf(out, 512, "%s", err.text);
        return out;
    }
    const struct strait_tensor_fill_row *row = &p->rows[0];
    CU_ASSERT_EQUAL(p->set, set);
    CU_ASSERT_EQUAL(row->n_elems, N_ELEMS);
    for (size_t i = 0; i < (row->recorded ? 1 : row->tiled_from->n_sources); i++) {
        const struct strait_recording *r =
            row->recorded ? row->recorded : row->tiled_from->sources[i].recording;
        at += (size_t)snprintf(out + at, 512 - at, "%s%s%s/%s/%s/%ld", i > 0 ? " " : "",
                               row->recorded ? "= " : "", r->model, r->layer, r->kind, r->step);
    }
    strait_tensor_fill_plan_free(p);
    return out;
}

static void searches(void)
{
    static const struct {
        const char *recordings[MAX_RECORDINGS], *model;
        enum strait_family family;
        char class;
        const char *kind, *sent, *held;
    } cases[] = {
        /* itself: its last step, and the one before it to hold out */
        {{"m/own.weight/param/1/i", "m/own.weight/param/30/i", "m/own.weight/param/200/i"},
         "m",
         STRAIT_FAMILY_OTHER,
         'i',
         "param",
         "= m/own.weight/param/200",
         "= m/own.weight/param/30"},
        /* of another shape it is a recording of its layer as others are */
        {{"m/own.weight/param/1/t", "m/a/param/1/i"},
         "m",
         STRAIT_FAMILY_OTHER,
         'i',
         "param",
         "m/a/param/1",
         "m/own.weight/param/1"},
        /* all layers of the class, one step of each */
        {{"m/a/param/1/i", "m/a/param/2/i", "m/b/param/1/i", "m/c/param/1/v", "m/d/param/9/t"},
         "m",
         STRAIT_FAMILY_OTHER,
         'i',
         "param",
         "m/a/param/2 m/b/param/1",
         "m/a/param/1"},
        /* then the other class of matrices, but never for a vector */
        {{"m/c/param/1/v", "m/d/param/9/t"},
         "m",
         STRAIT_FAMILY_OTHER,
         'i',
         "param",
         "m/d/param/9",
         "expected recordings that are not sent to fill m with matrices of kind param, found none"},
        {{"m/c/param/1/i", "m/d/param/9/v"},
         "m",
         STRAIT_FAMILY_OTHER,
         't',
         "param",
         "m/c/param/1",
         "expected recordings that are not sent to fill m with tables of kind param, found none"},
        {{"m/c/param/1/i", "m/d/param/9/t"},
         "m",
         STRAIT_FAMILY_OTHER,
         'v',
         "param",
         "expected recordings to fill m with vectors of kind param, found none",
         "expected recordings to fill m with vectors of kind param, found none"},
        /* for updates gradients of the same model, at the step of its updates, near by ratio: of
         * 3 + 1 and 18 + 1 the latter to 10 + 1 */
        {{"m/c/update/10/v", "m/a/grad/3/i", "m/a/grad/18/i", "gpt/a/update/1/i"},
         "m",
         STRAIT_FAMILY_ATTENTION,
         'i',
         "update",
         "m/a/grad/18",
         "m/a/grad/3"},
        {{"m/a/grad/3/i", "m/a/grad/18/i"},
         "m",
         STRAIT_FAMILY_OTHER,
         'i',
         "update",
         "m/a/grad/18",
         "m/a/grad/3"}, /* there are none: at its last step */
        {{"m/a/update/3/i", "m/b/grad/3/i"},
         "m",
         STRAIT_FAMILY_OTHER,
         'i',
         "update",
         "m/a/update/3",
         "m/b/grad/3"},
        {{"m/a/update/3/t", "m/b/grad/3/i"},
         "m",
         STRAIT_FAMILY_OTHER,
         'i',
         "update",
         "m/a/update/3",
         "m/b/grad/3"}, /* another class before another kind */
        {{"m/a/update/3/i", "gpt/b/grad/3/i"},
         "m",
         STRAIT_FAMILY_OTHER,
         'i',
         "grad",
         "gpt/b/grad/3",
         "m/a/update/3"}, /* updates do not stand for gradients before others' */
        /* the nearest family: gpt, then resnet, then the first that was recorded */
        {{"x/a/param/1/i", "resnet/a/param/1/i", "gpt/a/param/1/i"},
         "m",
         STRAIT_FAMILY_ATTENTION,
         'i',
         "param",
         "gpt/a/param/1",
         "resnet/a/param/1"},
        {{"x/a/param/1/i", "resnet/a/param/1/i", "gpt/a/param/1/i"},
         "m",
         STRAIT_FAMILY_CONVOLUTIONAL,
         'i',
         "param",
         "resnet/a/param/1",
         "x/a/param/1"},
        {{"x/a/param/1/i", "resnet/a/param/1/i", "gpt/a/param/1/i"},
         "m",
         STRAIT_FAMILY_OTHER,
         'i',
         "param",
         "x/a/param/1",
         "resnet/a/param/1"},
        {{"x/a/param/1/v", "y/a/param/1/i"},
         "x",
         STRAIT_FAMILY_OTHER,
         'i',
         "param",
         "y/a/param/1",
         "expected recordings that are not sent to fill x with matrices of kind param, found none"},
        /* at last any kind: an update, a gradient, a parameter, of the nearest model that has it */
        {{"x/a/param/1/i", "x/b/grad/1/i", "x/c/update/1/i"},
         "m",
         STRAIT_FAMILY_OTHER,
         'i',
         "param",
         "x/a/param/1",
         "x/c/update/1"},
        {{"x/b/grad/1/i", "x/c/update/1/i"},
         "m",
         STRAIT_FAMILY_OTHER,
         'i',
         "param",
         "x/c/update/1",
         "x/b/grad/1"},
        {{"x/a/param/1/i", "y/a/param/1/i"},
         "m",
         STRAIT_FAMILY_OTHER,
         'i',
         "grad",
         "x/a/param/1",
         "y/a/param/1"},
    };
    struct world w;
    char out[512];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        strait_test_context("case %zu", i);
        set_up(&w, cases[i].recordings, cases[i].model, cases[i].family, cases[i].class);
        CU_ASSERT_STRING_EQUAL(found(out, &w, cases[i].kind, STRAIT_FILL_SENT), cases[i].sent);
        CU_ASSERT_STRING_EQUAL(found(out, &w, cases[i].kind, STRAIT_FILL_HELD_OUT), cases[i].held);
    }
}

/* Three recordings end to end, 1..72, then 2..144 at half the size, then 3..216 at a third: the
 * values 1..72 three times, from an offset on, each round with a factor of its own. */
static void tiles(void)
{
    static const char *const recordings[] = {"m/a/param/1/i", "m/b/param/1/i", "m/c/param/1/i",
                                             NULL};
    enum { N = 3 * N_ELEMS, ROUNDS = 4 };
    struct world w;
    struct strait_tensor_fill_plan *p;
    struct strait_error err = {0};
    float x[ROUNDS * N];
    set_up(&w, recordings, "m", STRAIT_FAMILY_OTHER, 'i');
    w.row.shape[0] *= 3 * ROUNDS;
    w.row.n_elems = ROUNDS * N;
    CU_ASSERT_EQUAL_FATAL(
        strait_tensor_fill_plan_new(&p, &w.m, &w.t, "param", STRAIT_FILL_SENT, &err), 0);
    CU_ASSERT_EQUAL(p->rows[0].tiled_from->n_elems, N);
    CU_ASSERT_EQUAL(p->recorded_bytes, 0);
    CU_ASSERT_EQUAL(p->tiled_bytes, 4 * ROUNDS * N);
    strait_tensor_fill_row(x, ROUNDS * N, p, 0, 0, 1);
    const size_t n_to_end = N_ELEMS - ((size_t)lroundf(x[0] * 1.002F) - 1); /* of a recording */
    double factors[ROUNDS + 1] = {0};
    size_t n_factors = 0;
    for (size_t i = 0; i < ROUNDS * N; i++) {
        const double whole = 1 + (double)((i + N_ELEMS - n_to_end) % N_ELEMS);
        const double factor = (double)x[i] / whole;
        CU_ASSERT_TRUE(factor > 255.0 / 256 - 1e-6 && factor <= 1 + 1e-6);
        if (n_factors == 0 || fabs(factor - factors[n_factors - 1]) > 1e-6) {
            CU_ASSERT_FATAL(n_factors < ROUNDS + 1);
            CU_ASSERT_EQUAL(whole, 1 + (double)(n_factors == 0 ? N_ELEMS - n_to_end : 0));
            factors[n_factors++] = factor;
        }
    }
    CU_ASSERT_EQUAL(n_factors, ROUNDS + 1); /* four times round, from somewhere inside */
    /* where, and by which factors, is drawn by rank, row and round: the same for ever */
    for (unsigned rank = 1; rank < 4; rank++) {
        const size_t offset = (size_t)(strait_random_bits(rank, "fill-offset", 0, 0) % N);
        strait_tensor_fill_row(x, ROUNDS * N, p, 0, 0, rank);
        strait_test_context("rank %u", rank);
        for (size_t i = 0; i < ROUNDS * N; i += 7) {
            const size_t at = offset + i;
            const double factor = 1 - strait_random_unit(rank, "fill-scale", 0, at / N) / 256;
            const double wanted = factor * (double)(1 + at % N_ELEMS);
            CU_ASSERT_DOUBLE_EQUAL_FATAL((double)x[i], wanted, 1e-6 * wanted);
        }
    }
    strait_tensor_fill_plan_free(p);
}

/* Half of the bytes are recorded, half tiled, and the whole of what is recorded is used. */
static void shares(void)
{
    static const char *const recordings[] = {"m/own.weight/param/1/i", "x/c/param/1/v", NULL};
    struct world w;
    struct strait_tensor_fill_plan *p;
    struct strait_error err = {0};
    float x[10];
    set_up(&w, recordings, "m", STRAIT_FAMILY_OTHER, 'i');
    struct strait_param_row rows[2] = {w.row, w.row};
    strcpy(rows[1].param, "bias");
    shape_of(&rows[1].n_dims, rows[1].shape, 'v');
    w.m.rows = rows;
    w.m.n_rows = 2;
    CU_ASSERT_EQUAL_FATAL(
        strait_tensor_fill_plan_new(&p, &w.m, &w.t, "param", STRAIT_FILL_SENT, &err), 0);
    CU_ASSERT_EQUAL(strait_tensor_fill_recorded_ratio(p), 0.5);
    CU_ASSERT_EQUAL(p->recorded_bytes, 4 * N_ELEMS);
    CU_ASSERT_EQUAL(p->tiled_bytes, 4 * N_ELEMS);
    CU_ASSERT_TRUE(strait_tensor_fill_uses(p, &w.recordings[0]));
    CU_ASSERT_TRUE(strait_tensor_fill_uses(p, &w.recordings[1]));
    strait_tensor_fill_row(x, 10, p, 0, 5, 3); /* as it was recorded, from the sixth on */
    for (int i = 0; i < 10; i++)
        CU_ASSERT_EQUAL(x[i], (float)(6 + i));
    strait_tensor_fill_plan_free(p);
    w.m.n_rows = 1;
    CU_ASSERT_EQUAL_FATAL(
        strait_tensor_fill_plan_new(&p, &w.m, &w.t, "param", STRAIT_FILL_SENT, &err), 0);
    CU_ASSERT_FALSE(strait_tensor_fill_uses(p, &w.recordings[1]));
    CU_ASSERT_EQUAL(strait_tensor_fill_recorded_ratio(p), 1);
    strait_tensor_fill_plan_free(p);
}

static const struct strait_test tests[] = {
    {"the nearest recording stands for a tensor", searches},
    {"a pool is laid end to end, each time round by a factor of its own", tiles},
    {"the shares of what is recorded and what is tiled", shares},
};
STRAIT_SUITE("traces/tensor_fill", tests);
