/* Bounds by tensor for a loss that is known: 1 plus the weighted squares of what was changed. */
#include "campaign/trained/sensitivity.h"
#include <math.h>
#include <stdlib.h>
#include "core/random.h"
#include "tests/kit/suite.h"

enum { MAX_ROWS = 64 };

struct known {
    const struct strait_model *model;
    float *w;
    double weight[MAX_ROWS]; /* of the mean square of a tensor's changes */
    size_t n_asked;
};

static int loss_of(void *arg, double *loss, const float *w, struct strait_error *err)
{
    struct known *k = arg;
    size_t lo = 0;
    (void)err;
    *loss = 1;
    for (size_t i = 0; i < k->model->n_rows; lo += k->model->rows[i++].n_elems) {
        double sum = 0;
        for (size_t j = lo; j < lo + k->model->rows[i].n_elems; j++)
            sum += pow((double)w[j] - (double)k->w[j], 2);
        *loss += k->weight[i] * sum / (double)k->model->rows[i].n_elems;
    }
    k->n_asked++;
    return 0;
}

static void known_init(struct known *k, struct strait_codec_choice *codec, const char *spec)
{
    struct strait_error err = {0};
    struct strait_sequence s = strait_sequence_at(11);
    struct strait_model *m;
    CU_ASSERT_EQUAL_FATAL(strait_model_load(&m, "cnn", &err), 0);
    CU_ASSERT_FATAL(m->n_rows <= MAX_ROWS);
    *k = (struct known){.model = m, .w = malloc(m->n_elems * sizeof(float))};
    CU_ASSERT_PTR_NOT_NULL_FATAL(k->w);
    for (size_t i = 0; i < m->n_elems; i++)
        k->w[i] = (float)(2 * strait_sequence_unit(&s) - 1); /* rms 1 / sqrt(3) */
    *codec = (struct strait_codec_choice){.cutoff_elems = 1024};
    CU_ASSERT_EQUAL_FATAL(strait_codec_spec_parse(&codec->spec, spec, &err), 0);
}

static void known_release(struct known *k)
{
    free(k->w);
    strait_model_free((struct strait_model *)k->model);
}

/* Errors uniform in +-e have a mean square of e^2 / 3, the codec's nearly so. A budget of 2 % gives
 * the conv2 and fc1 matrices of 4608 and 100352 elements shares of 0.02 n / 104960, and so bounds
 * of sqrt(3 share / weight). Squares of 4608 uniform numbers scatter by sqrt(4/5) / sqrt(4608) =
 * 1.3 %, so bounds by 0.7 %; the codec's last bin may be narrower, hence 5 %. */
static void as_known(void)
{
    struct known k;
    struct strait_codec_choice codec;
    struct strait_error err = {0};
    struct strait_sensitivity_found found;
    double bounds[MAX_ROWS];
    known_init(&k, &codec, "sz:abs=0.1");
    for (size_t i = 0; i < k.model->n_rows; i++)
        k.weight[i] = k.model->rows[i].n_elems > 10000 ? 30 : 5;
    const struct strait_sensitivity_asked asked = {k.model, k.w, &codec, loss_of, &k, 0.02, 3, 1};
    CU_ASSERT_EQUAL_FATAL(strait_sensitivity_find(&found, &asked, &err), 0);
    strait_sensitivity_bounds(bounds, &asked, &found);
    CU_ASSERT_DOUBLE_EQUAL(found.loss, 1, 1e-12);
    CU_ASSERT_EQUAL(found.n_losses, k.n_asked);
    int n_lossy = 0;
    for (size_t i = 0; i < k.model->n_rows; i++) {
        const size_t n = k.model->rows[i].n_elems;
        if (!found.tensors[i].is_lossy) {
            CU_ASSERT(isnan(bounds[i]));
            continue;
        }
        const double expected = found.scale * sqrt(3 * 0.02 * (double)n / 104960 / k.weight[i]);
        CU_ASSERT_DOUBLE_EQUAL(bounds[i], expected, 0.05 * expected);
        n_lossy++;
    }
    CU_ASSERT_EQUAL(n_lossy, 2);
    CU_ASSERT(found.added <= 0.02 && found.added > 0.02 * 0.2);
    CU_ASSERT(found.ratio > 2);
    strait_sensitivity_release(&found);
    known_release(&k);
}

/* Relative bounds are those of the tensor: e over its rms, 1 / sqrt(3) within 1 %, or its range,
 * 2. */
static void in_other_units(void)
{
    static const char *const specs[] = {"sz:abs=0.1", "sz:rms=0.1", "sz:range=0.1"};
    double bounds[3][MAX_ROWS];
    for (int i = 0; i < 3; i++) {
        struct known k;
        struct strait_codec_choice codec;
        struct strait_error err = {0};
        struct strait_sensitivity_found found;
        known_init(&k, &codec, specs[i]);
        for (size_t r = 0; r < k.model->n_rows; r++)
            k.weight[r] = 1;
        const struct strait_sensitivity_asked asked = {k.model, k.w,  &codec, loss_of,
                                                       &k,      0.02, 1,      1};
        CU_ASSERT_EQUAL_FATAL(strait_sensitivity_find(&found, &asked, &err), 0);
        strait_sensitivity_bounds(bounds[i], &asked, &found);
        for (size_t r = 0; r < k.model->n_rows && i > 0; r++)
            if (found.tensors[r].is_lossy)
                CU_ASSERT_DOUBLE_EQUAL(bounds[i][r], bounds[0][r] * (i == 1 ? sqrt(3) : 0.5),
                                       0.02 * bounds[i][r]);
        strait_sensitivity_release(&found);
        known_release(&k);
    }
}

static int not_finite(void *arg, double *loss, const float *w, struct strait_error *err)
{
    (void)arg, (void)w, (void)err;
    *loss = NAN;
    return 0;
}

static void no_loss(void)
{
    struct known k;
    struct strait_codec_choice codec;
    struct strait_error err = {0};
    struct strait_sensitivity_found found;
    known_init(&k, &codec, "sz:abs=0.1");
    const struct strait_sensitivity_asked asked = {k.model, k.w,  &codec, not_finite,
                                                   &k,      0.02, 1,      1};
    CU_ASSERT_EQUAL(strait_sensitivity_find(&found, &asked, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "expected a loss above 0 of the model itself, found nan");
    known_release(&k);
}

static const struct strait_test tests[] = {
    {"bounds are those of a loss that is known", as_known},
    {"relative bounds are relative to the tensor", in_other_units},
    {"a model without a loss is refused", no_loss},
};
STRAIT_SUITE("campaign/trained/sensitivity", tests);
