/* "training" of an experiment from text. */
#include "training.h"
#include "check.h"

int strait_test_training_try(struct strait_training *t, const char *json, struct strait_error *err)
{
    json_error_t where;
    json_t *value = json_loads(json, 0, &where);
    CU_ASSERT_PTR_NOT_NULL_FATAL(value);
    struct strait_object o;
    int status = strait_object_open(&o, "e.json", "/training", value, err);
    if (!status)
        status = strait_training_read(t, &o, err);
    json_decref(value);
    return status;
}

struct strait_training strait_test_training(const char *json)
{
    struct strait_training t = {0};
    struct strait_error err = {0};
    CU_ASSERT_EQUAL_FATAL(strait_test_training_try(&t, json, &err), 0);
    return t;
}

struct strait_learn *strait_test_learn(const char *json, int n_workers, uint64_t seed)
{
    const struct strait_training t = strait_test_training(json);
    struct strait_learn *l = NULL;
    struct strait_error err = {0};
    CU_ASSERT_EQUAL_FATAL(strait_learn_open(&l, &t, n_workers, seed, &err), 0);
    return l;
}
