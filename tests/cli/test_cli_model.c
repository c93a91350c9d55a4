/* strait model new, and the same figures in an experiment: a table that is written gives the times
 * of the figures that it was written from. */
#include <jansson.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/kit/program.h"

static struct program program;
#define CALL(...) PROGRAM_CALL(&program, __VA_ARGS__)

static const char experiment[] =
    "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"clients\":2,"
    "\"strategy\":{\"name\":\"fedavg\",\"rounds\":1,\"local_steps\":3},\"codec\":\"none\","
    "\"network\":{\"client\":{\"rate\":\"1 Gbps\"},\"server\":{\"rate\":\"1 Gbps\"}}%s}";

static void set_up(const char *more)
{
    char text[512];
    program_set_up(&program);
    snprintf(text, sizeof(text), experiment, more);
    program_write(&program, "e.json", text);
}

/* The row of the last line that is one. */
static json_t *row_of(const char *text)
{
    json_t *row = NULL;
    while (*text) {
        const size_t n = strcspn(text, "\n");
        json_t *line = json_loadb(text, n, 0, NULL);
        const char *own = json_string_value(json_object_get(line, "record"));
        if (own && strcmp(own, "row") == 0) {
            json_decref(row);
            row = json_incref(line);
        }
        json_decref(line);
        text += n + (text[n] == '\n');
    }
    return row;
}

static json_t *run_with(const char *setting)
{
    struct said s = CALL("run", "e.json", "--on", "fluid", "--json", "--set", setting);
    strait_test_context("%s: %s", setting, s.err);
    CU_ASSERT_EQUAL(s.status, 0);
    json_t *row = row_of(s.out);
    said_release(&s);
    return row;
}

static double number(const json_t *row, const char *object, const char *key)
{
    if (object)
        row = json_object_get(row, object);
    return json_number_value(json_object_get(row, key));
}

static bool says(const json_t *row, const char *text)
{
    size_t i;
    json_t *line;
    json_array_foreach (json_object_get(row, "approximations"), i, line)
        if (strstr(json_string_value(line), text))
            return true;
    return false;
}

/* 8 MB up and down, and 3 steps of 0.4 s. */
static void as_written(void)
{
    set_up("");
    struct said s = CALL("model", "new", "--params", "2 M", "--step", "0.4 s", "-o", "mine.csv");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_STRING_EQUAL(s.out, "");
    CU_ASSERT_CONTAINS(s.err,
                       "2000000 parameters (8 MB) in 50 tensors of 50 layers, 400 ms a step");
    said_release(&s);
    json_t *figures = run_with("/model={\"params\": \"2 M\", \"step\": \"0.4 s\"}"),
           *table = run_with("/model=./mine.csv");
    CU_ASSERT_DOUBLE_EQUAL(number(figures, "path_s", "compute"), 1.2, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(number(table, NULL, "round_s"), number(figures, NULL, "round_s"), 1e-8);
    CU_ASSERT_TRUE(says(figures, "layers are inferred from 2 M parameters"));
    CU_ASSERT_FALSE(says(table, "are inferred from"));
    json_decref(figures);
    json_decref(table);
    s = CALL("model", "new", "--params", "2 M", "--step", "0.4 s", "-o", "mine.csv");
    CU_ASSERT_EQUAL(s.status, 2); /* not over a file that is there */
    said_release(&s);
    program_tear_down(&program);
}

static bool text_is(const json_t *row, const char *key, const char *text)
{
    const char *own = json_string_value(json_object_get(row, key));
    return own && strcmp(own, text) == 0;
}

/* 350 million float32 are 1400 MB; 24 blocks of 4 matrices, the embedding and the last norm. */
static void for_programs(void)
{
    program_set_up(&program);
    struct said s = CALL("model", "new", "--params", "350 M", "--step", "0.8 s", "--json");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_STRING_EQUAL(s.err, "");
    json_t *model = json_loads(s.out, 0, NULL);
    CU_ASSERT(text_is(model, "name", "transformer, 350 M"));
    CU_ASSERT(text_is(model, "time", "stated step"));
    CU_ASSERT_EQUAL(number(model, NULL, "parameters"), 350e6);
    CU_ASSERT_DOUBLE_EQUAL(number(model, NULL, "MB"), 1400, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(number(model, NULL, "step_s"), 0.8, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(number(model, NULL, "layers_s"), 0.8, 1e-9);
    CU_ASSERT_EQUAL(number(model, NULL, "layers"), 98);
    CU_ASSERT_EQUAL(number(model, NULL, "tensors"), 98);
    CU_ASSERT(json_is_null(json_object_get(model, "batch")));
    CU_ASSERT_CONTAINS(s.out, "\"inferred\":\"layers are inferred from 350 M parameters");
    json_decref(model);
    said_release(&s);
    program_tear_down(&program);
}

/* The keys of list models, with the same values of a model that ships, come first. The cnn's table
 * has 2 tensors for each of its 4 layers. */
static void like_the_list(void)
{
    program_set_up(&program);
    struct said list = CALL("list", "models", "cnn", "--json"),
                s = CALL("model", "new", "--name", "cnn", "--json", "-o", "cnn.csv");
    CU_ASSERT_EQUAL(s.status, 0);
    const size_t n = strcspn(list.out, "}");
    CU_ASSERT(n > 0 && strncmp(s.out, list.out, n) == 0 && s.out[n] == ',');
    json_t *model = json_loads(s.out, 0, NULL);
    CU_ASSERT_EQUAL(number(model, NULL, "batch"), 64);
    CU_ASSERT_EQUAL(number(model, NULL, "layers"), 4);
    CU_ASSERT_EQUAL(number(model, NULL, "tensors"), 8);
    CU_ASSERT(json_is_null(json_object_get(model, "inferred")));
    CU_ASSERT(program_has(&program, "cnn.csv"));
    json_decref(model);
    said_release(&list);
    said_release(&s);
    s = CALL("model", "new", "--name", "cnn", "--json", "-o", "-");
    CU_ASSERT_EQUAL(s.status, 2);
    CU_ASSERT_STRING_EQUAL(s.out, "");
    CU_ASSERT_STRING_EQUAL(s.err,
                           "strait: model new: expected a file after -o beside --json, which has "
                           "standard output for itself\n");
    said_release(&s);
    program_tear_down(&program);
}

/* A setting inside of a shipped model's name, and an axis of steps. */
static void settings(void)
{
    set_up("");
    json_t *row = run_with("/model/step=2 s");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(row, "model")), "cnn");
    CU_ASSERT_TRUE(says(row, "stated step: a step of 2 s, stated by the user"));
    CU_ASSERT_DOUBLE_EQUAL(number(row, "path_s", "compute"), 6, 1e-9);
    json_decref(row);
    program_tear_down(&program);
    set_up(",\"vary\":{\"/model/step\":[\"1 s\",\"2 s\"]}");
    struct said s = CALL("check", "e.json", "--on", "fluid");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_CONTAINS(s.out, "2 points");
    said_release(&s);
    program_tear_down(&program);
}

static void refusals(void)
{
    static const struct {
        const char *option, *value, *said;
    } cases[] = {
        {"--params", "1 MB",
         "strait: --params: expected a number such as \"350 M\", found \"1 MB\""},
        {"--config", "none.json", "strait: --config: none.json: expected a JSON file"},
        {"--name", "cnnn", "strait: --name: expected a shipped model or the path of a layer table"},
        {"--batch", "8", "strait: model new: expected one of \"name\", \"config\" and \"params\""},
    };
    program_set_up(&program);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct said s = CALL("model", "new", "--step", "1 s", cases[i].option, cases[i].value);
        CU_ASSERT_EQUAL(s.status, 2);
        CU_ASSERT_STRING_EQUAL(s.out, "");
        CU_ASSERT_CONTAINS(s.err, cases[i].said);
        CU_ASSERT_EQUAL(program_n_lines(s.err), 1);
        said_release(&s);
    }
    program_tear_down(&program);
}

/* 24 blocks of 4 layers, the embedding and the last norm are 98 tensors; with the header's five
 * lines the table has 103, of which a terminal shows 12. */
static void on_a_terminal(void)
{
    static const char *const args[] = {"model",  "new",   "--params", "350 M",
                                       "--step", "0.8 s", NULL};
    char shown[16384] = "";
    size_t n = 0;
    int fd;
    program_set_up(&program);
    const pid_t pid = forkpty(&fd, NULL, NULL, NULL);
    if (pid == 0)
        program_exec(&program, args);
    CU_ASSERT_FATAL(pid > 0);
    for (ssize_t more; (more = read(fd, shown + n, sizeof(shown) - 1 - n)) > 0;)
        n += (size_t)more;
    shown[n] = '\0';
    CU_ASSERT_EQUAL(program_wait(pid), 0);
    CU_ASSERT_CONTAINS(shown, "# name: transformer, 350 M\r\n");
    CU_ASSERT_CONTAINS(shown, "\r\n6,blocks.1.attn.out,");
    CU_ASSERT_CONTAINS(shown, "\r\n... 91 more lines: --out FILE.csv writes all\r\n");
    CU_ASSERT_CONTAINS(shown, "98 tensors of 98 layers");
    CU_ASSERT_PTR_NULL(strstr(shown, "\r\n7,"));
    close(fd);
    program_tear_down(&program);
}

static const struct strait_test tests[] = {
    {"a written table gives the times of its figures", as_written},
    {"figures give a model as JSON, without a table", for_programs},
    {"a model as JSON has the keys of the list of models", like_the_list},
    {"figures of a model are set and varied", settings},
    {"bad figures are refused by their option", refusals},
    {"a terminal gets the beginning of a table, and how to have all of it", on_a_terminal},
};
STRAIT_SUITE("cli/cli_model", tests);
