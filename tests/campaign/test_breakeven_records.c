/* What a results folder keeps of break-evens: found by the question and the curve, and once. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/fields.h"
#include "tests/kit/program.h"

/* All records of a kind in the results of a folder. */
static json_t *records_of(const struct program *p, const char *kind)
{
    json_t *found = json_array();
    char *text = program_read(p, "r/results.jsonl");
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        json_t *record = json_loads(line, 0, NULL);
        if (strcmp(strait_text_of(record, "record"), kind) == 0)
            json_array_append(found, record);
        json_decref(record);
    }
    free(text);
    return found;
}

static void run(const struct program *p, const char *more)
{
    struct said s =
        PROGRAM_CALL(p, "run", "e.json", "--on", "fluid", "--out", "r", "-j", "1", more);
    CU_ASSERT_EQUAL(s.status, 0);
    said_release(&s);
}

/* Of two codecs at two rates there are four curves, each with a key of its own and that of the
 * question. The second run finds them all; another question has its own; asked freshly, each is
 * there twice. */
static void kept(void)
{
    struct program p;
    program_set_up(&p);
    program_write(&p, "e.json",
                  "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"clients\":2,"
                  "\"strategy\":{\"name\":\"fedavg\",\"rounds\":1,\"local_steps\":1},\"codec\":"
                  "\"none\",\"network\":{\"client\":{\"rate\":\"1 Gbps\"},\"server\":{\"rate\":"
                  "\"1 Gbps\"}},\"vary\":{\"/clients\":[2,3],\"/codec\":[\"none\",\"u8bit\","
                  "\"fp16\"],\"/network/client/rate\":[\"1 Gbps\",\"2 Gbps\"]}}");
    run(&p, NULL);
    json_t *headers = records_of(&p, "header"), *curves = records_of(&p, "break-even"), *curve,
           *keys;
    const char *sweep = strait_text_of(json_array_get(headers, 0), "sweep");
    size_t i;
    CU_ASSERT_EQUAL(json_array_size(curves), 4);
    CU_ASSERT_STRING_NOT_EQUAL(sweep, "");
    keys = json_object();
    json_array_foreach (curves, i, curve) {
        CU_ASSERT_STRING_EQUAL(strait_text_of(curve, "sweep"), sweep);
        CU_ASSERT_STRING_NOT_EQUAL(strait_text_of(curve, "key"), sweep);
        json_object_set_new(keys, strait_text_of(curve, "key"), json_true());
    }
    CU_ASSERT_EQUAL(json_object_size(keys), 4);
    json_decref(curves);
    run(&p, NULL);
    curves = records_of(&p, "break-even");
    CU_ASSERT_EQUAL(json_array_size(curves), 4);
    json_decref(curves);
    run(&p, "--set=/seed=2");
    curves = records_of(&p, "break-even");
    CU_ASSERT_EQUAL(json_array_size(curves), 8);
    json_array_foreach (curves, i, curve)
        json_object_set_new(keys, strait_text_of(curve, "key"), json_true());
    CU_ASSERT_EQUAL(json_object_size(keys), 8);
    json_decref(curves);
    run(&p, "--fresh");
    curves = records_of(&p, "break-even");
    CU_ASSERT_EQUAL(json_array_size(curves), 12);
    json_array_foreach (curves, i, curve)
        json_object_set_new(keys, strait_text_of(curve, "key"), json_true());
    CU_ASSERT_EQUAL(json_object_size(keys), 8);
    json_decref(curves);
    json_decref(keys);
    json_decref(headers);
    program_tear_down(&p);
}

static const struct strait_test tests[] = {
    {"a curve is found again by its question, and once", kept},
};
STRAIT_SUITE("campaign/breakeven_records", tests);
