/* Formats that give layers or clients by figures alone: ASTRA-sim's text, MG-WFBP's logs, Horovod's
 * timelines, FedScale's tables. */
#include <math.h>
#include "core/heap.h"
#include "core/random.h"
#include "import_text.h"
#include "traces/import/source.h"

/* Layers: (rows, elements, forward, backward and ready time in seconds). */
static void expect_row(const struct strait_model *m, size_t i, const char *layer, size_t n_elems,
                       double fwd_s, double bwd_s, double ready_s)
{
    CU_ASSERT_FATAL(m && i < m->n_rows);
    strait_test_context("row %zu", i);
    CU_ASSERT_STRING_EQUAL(m->rows[i].layer, layer);
    CU_ASSERT_EQUAL(m->rows[i].n_elems, n_elems);
    CU_ASSERT_DOUBLE_EQUAL(m->rows[i].fwd_s_p50, fwd_s, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(m->rows[i].bwd_s_p50, bwd_s, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(m->rows[i].ready_s_p50, ready_s, 1e-12);
    CU_ASSERT_EQUAL(m->rows[i].ready_order, m->n_rows - 1 - i);
}

static const char astra_text[] = "DATA\n3\n"
                                 "conv -1 1000 NONE 0 2000 NONE 0 3000 ALLREDUCE 4000 50\n"
                                 "relu -1 100 NONE 0 200 NONE 0 0 NONE 0 0\n"
                                 "fc -1 500 ALLGATHER 800 600 NONE 0 700 ALLREDUCE 8000 10\n";

/* Nanoseconds; relu's 100 and 200 count for conv: 1.1 us forward, 5.2 us backward; fc 1.3 us, ready
 * then, conv at 6.5 us. */
static void astra(void)
{
    struct strait_import in;
    struct strait_error err;
    CU_ASSERT_EQUAL_FATAL(import_text(&in, astra_text, &err), 0);
    CU_ASSERT_STRING_EQUAL(in.format->name, "astra");
    expect_row(in.model, 0, "conv", 1000, 1.1e-6, 5.2e-6, 6.5e-6);
    expect_row(in.model, 1, "fc", 2000, 0.5e-6, 1.3e-6, 1.3e-6);
    const json_t *bytes = json_object_get(in.facts, "collective_bytes");
    CU_ASSERT_DOUBLE_EQUAL(json_real_value(json_object_get(bytes, "weight-gradient ALLREDUCE")),
                           12000, 0);
    CU_ASSERT_DOUBLE_EQUAL(json_real_value(json_object_get(bytes, "forward ALLGATHER")), 800, 0);
    strait_import_release(&in);
}

/* What comes before the first gradients counts for their layer: 300 and 300 + 301 of the embedding. A
 * workload without gradients has no layers, and says so before anything else. */
static void astra_first(void)
{
    struct strait_import in;
    struct strait_error err;
    CU_ASSERT_EQUAL_FATAL(
        import_text(
            &in,
            "HYBRID_DLRM\t4\n2\nembedding -1 300 ALLTOALL 800 300 ALLTOALL 800 301 NONE 0 98\n"
            "mlp\t-1\t1280\tNONE\t0\t794\tNONE\t0\t896\tALLREDUCE\t4000\t13\n",
            &err),
        0);
    expect_row(in.model, 0, "mlp", 1000, 1.58e-6, 2.291e-6, 2.291e-6);
    strait_import_release(&in);
    CU_ASSERT_EQUAL_FATAL(import_text(&in,
                                      "DISTRIBUTED_INFERENCE\n1\n"
                                      "l -1 5 ALLTOALL 800 5 NONE 0 5 NONE 0 5\n",
                                      &err),
                          0);
    CU_ASSERT_PTR_NULL(in.model);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_array_get(in.missing, 0)),
                           "layers: none sends a weight gradient");
    strait_import_release(&in);
}

static const char mgwfbp_text[] =
    "10:00 INFO layerwise backward times: [0.003, 0.002, np.float64(0.001)]\n"
    "10:00 INFO layerwise backward sizes: [100, 200, 700]\n"
    "10:01 WARN [  0][   40/  100][rank:0] loss: 1.2, average forward (0.010) and backward (0.006) "
    "time: 0.02\n"
    "10:02 WARN [  0][   80/  100][rank:0] loss: 1.1, average forward (0.030) and backward (0.006) "
    "time: 0.02\n";

/* 20 ms forward by elements: 2, 4 and 14 ms. */
static void mgwfbp(void)
{
    struct strait_import in;
    struct strait_error err;
    CU_ASSERT_EQUAL_FATAL(import_text(&in, mgwfbp_text, &err), 0);
    CU_ASSERT_STRING_EQUAL(in.format->name, "mgwfbp");
    expect_row(in.model, 0, "layer0", 100, 2e-3, 3e-3, 6e-3);
    expect_row(in.model, 1, "layer1", 200, 4e-3, 2e-3, 3e-3);
    expect_row(in.model, 2, "layer2", 700, 14e-3, 1e-3, 1e-3);
    strait_import_release(&in);
}

/* Without the closing bracket, as a killed run leaves it. fc is ready at 100 and 1000, conv 300 and
 * 500 us later: the upper of two middles is 500. */
static const char horovod_text[] =
    "[\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":0,\"args\":"
    "{\"start_time_since_epoch_in_micros\":1}},\n"
    "{\"ph\":\"i\",\"name\":\"CYCLE_START\",\"ts\":90,\"s\":\"g\"},"
    "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":{\"name\":\"g.fc\"}},\n"
    "{\"ph\":\"B\",\"name\":\"NEGOTIATE_ALLREDUCE\",\"ts\":100,\"pid\":1},\n"
    "{\"ph\":\"X\",\"name\":\"0\",\"ts\":100,\"pid\":1,\"dur\":0},\n"
    "{\"ph\":\"E\",\"ts\":150,\"pid\":1},\n"
    "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":2,\"args\":{\"name\":\"g.conv\"}},\n"
    "{\"ph\":\"B\",\"name\":\"NEGOTIATE_ALLREDUCE\",\"ts\":400,\"pid\":2},{\"ph\":\"E\",\"ts\":420,"
    "\"pid\":2},\n"
    "{\"ph\":\"B\",\"name\":\"ALLREDUCE\",\"ts\":430,\"pid\":1},\n"
    "{\"ph\":\"B\",\"name\":\"NCCL_ALLREDUCE\",\"ts\":440,\"pid\":1},{\"ph\":\"E\",\"ts\":640,"
    "\"pid\":1},\n"
    "{\"ph\":\"E\",\"ts\":650,\"pid\":1,\"args\":{\"dtype\":\"float32\",\"shape\":\"[10, "
    "256]\"}},\n"
    "{\"ph\":\"B\",\"name\":\"ALLREDUCE\",\"ts\":430,\"pid\":2},\n"
    "{\"ph\":\"E\",\"ts\":650,\"pid\":2,\"args\":{\"dtype\":\"float32\",\"shape\":\"[64]\"}},\n"
    "{\"ph\":\"B\",\"name\":\"NEGOTIATE_ALLREDUCE\",\"ts\":1000,\"pid\":1},\n"
    "{\"ph\":\"B\",\"name\":\"NEGOTIATE_ALLREDUCE\",\"ts\":1500,\"pid\":2},\n";

static void horovod(void)
{
    struct strait_import in;
    struct strait_error err;
    CU_ASSERT_EQUAL_FATAL(import_text(&in, horovod_text, &err), 0);
    CU_ASSERT_STRING_EQUAL(in.format->name, "horovod");
    expect_row(in.model, 0, "g.conv", 64, 0, 500e-6, 500e-6);
    expect_row(in.model, 1, "g.fc", 2560, 0, 0, 0);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(in.facts, "tensors")), 2); /* no mark */
    const json_t *nccl = json_object_get(json_object_get(in.facts, "activities"), "NCCL_ALLREDUCE");
    CU_ASSERT_DOUBLE_EQUAL(json_real_value(json_object_get(nccl, "time_s")), 200e-6, 1e-12);
    const size_t n_activities = json_object_size(json_object_get(in.facts, "activities"));
    strait_import_release(&in);
    /* a name that is no UTF-8 is no activity, and its memory is not used again */
    char text[sizeof(horovod_text)];
    memcpy(text, horovod_text, sizeof(text));
    strstr(text, "NCCL")[2] = '\xcf';
    CU_ASSERT_EQUAL_FATAL(import_text(&in, text, &err), 0);
    CU_ASSERT_EQUAL(json_object_size(json_object_get(in.facts, "activities")), n_activities - 1);
    strait_import_release(&in);
}

/* Horovod flushes its file at any byte: what is whole counts, the rest is said to be missing. Here
 * the last event, the second readiness of g.conv, ends in its name. */
static void horovod_cut(void)
{
    static const char last[] = "LREDUCE\",\"ts\":1500,\"pid\":2},\n";
    struct strait_import in;
    struct strait_error err;
    char text[sizeof(horovod_text)];
    memcpy(text, horovod_text, sizeof(text));
    text[strlen(text) - strlen(last)] = '\0';
    CU_ASSERT_EQUAL_FATAL(import_text(&in, text, &err), 0);
    expect_row(in.model, 0, "g.conv", 64, 0, 300e-6, 300e-6);
    const json_t *missing = in.missing;
    CU_ASSERT_STRING_EQUAL(json_string_value(json_array_get(missing, json_array_size(missing) - 1)),
                           "the end: the file is cut off within an event");
    strait_import_release(&in);
}

static const char devices_text[] = "client_id,computation,communication\n1,100,5000\n2,50,20000\n"
                                   "3,200,5000\n";

/* Sorted by rate; the median computation is 100 ms. */
static void devices(void)
{
    struct strait_import in;
    struct strait_error err;
    CU_ASSERT_EQUAL_FATAL(import_text(&in, devices_text, &err), 0);
    const json_t *ports = json_object_get(json_object_get(in.experiment, "network"), "client");
    CU_ASSERT_EQUAL_FATAL(json_array_size(ports), 2);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_array_get(ports, 0), "count")), 2);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(json_array_get(ports, 1), "rate")),
                           "20000 kbps");
    CU_ASSERT_STRING_EQUAL(in.slowness, "slowness\n1\n2\n0.5\n");
    strait_import_release(&in);
}

/* The fifth of nine is 1, their median: slowness is the computation itself in six digits, as printf
 * has them by "%.6g"; 123456.5 is rounded to even. */
static void six_digits(void)
{
    struct strait_import in;
    struct strait_error err;
    CU_ASSERT_EQUAL_FATAL(import_text(&in,
                                      "client_id,computation,communication\n"
                                      "0,0.00001,9\n1,0.000123456789,9\n2,0.333333333,9\n"
                                      "3,0.5,9\n4,1,9\n5,9.9999996,9\n6,120,9\n"
                                      "7,123456.5,9\n8,1234567,9\n",
                                      &err),
                          0);
    CU_ASSERT_STRING_EQUAL(in.slowness, "slowness\n1e-05\n0.000123457\n0.333333\n0.5\n1\n10\n"
                                        "120\n123456\n1.23457e+06\n");
    strait_import_release(&in);
}

static int by_both(const void *a, const void *b)
{
    const double *x = a, *y = b;
    for (int i = 0; i < 2; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

/* 3000 drawn devices, every third with the rate of the one before: as compared one with another,
 * by rate and then by computation. */
static void many_devices(void)
{
    enum { N = 3000 };
    static double all[N][2];
    double alone[N], slowness;
    struct strait_import in;
    struct strait_error err;
    struct strait_sequence drawn = strait_sequence_at(7);
    char *text = malloc(64 * N),
         *at = text + sprintf(text, "client_id,computation,communication\n");
    for (int i = 0; i < N; i++) {
        all[i][0] = i % 3 == 2 ? all[i - 1][0] : 0.001 + 1e5 * strait_sequence_unit(&drawn);
        alone[i] = all[i][1] = 1e-3 + 1000 * strait_sequence_unit(&drawn);
        at += sprintf(at, "%d,%.17g,%.17g\n", i, all[i][1], all[i][0]);
    }
    CU_ASSERT_EQUAL_FATAL(import_text(&in, text, &err), 0);
    qsort(all, N, sizeof(*all), by_both);
    strait_sort(alone, N);
    const char *rest = strchr(in.slowness, '\n');
    for (int i = 0; i < N && rest; i++) {
        CU_ASSERT_EQUAL_FATAL(sscanf(rest, "%lf", &slowness), 1);
        CU_ASSERT_DOUBLE_EQUAL(slowness, all[i][1] / alone[N / 2], 1e-5 * slowness);
        rest = strchr(rest + 1, '\n');
    }
    strait_import_release(&in);
    free(text);
}

/* Any decimal is what strtod makes of it, to the last bit: drawn ones of 1 to 20 digits, and those
 * that lie halfway between two numbers, or a digit beside it. */
static void decimals(void)
{
    static const char *const texts[] = {"0.0",
                                        "0.1",
                                        "9007199254740993.0",
                                        "9007199254740992.9",
                                        "9007199254740993.1",
                                        "4503599627370497.5",
                                        "4503599627370496.5",
                                        "4503599627370497.51",
                                        "1125899906842624.125",
                                        "1125899906842624.375",
                                        "0.000000000000000001",
                                        "12345678901234567.891234",
                                        "1.7976931348623157"};
    struct strait_sequence drawn = strait_sequence_at(8);
    char text[64];
    double found;
    for (int i = 0; i < 200000; i++) {
        if (i < (int)(sizeof(texts) / sizeof(*texts)))
            snprintf(text, sizeof(text), "%s", texts[i]);
        else
            snprintf(text, sizeof(text), "%.*g", 1 + i % 20,
                     pow(10, 12 * strait_sequence_unit(&drawn) - 4));
        CU_ASSERT_TRUE_FATAL(strait_source_number(&found, text, NULL, 0, 1e18));
        strait_test_context("%s", text);
        CU_ASSERT_EQUAL(found, strtod(text, NULL));
    }
    CU_ASSERT_FALSE(strait_source_number(&found, "1.5.2", NULL, 0, 9));
    CU_ASSERT_FALSE(strait_source_number(&found, "1.5x", NULL, 0, 9));
    CU_ASSERT_TRUE(strait_source_number(&found, "1.5b", "b", 0, 9));
    CU_ASSERT_TRUE(strait_source_number(&found, "1.5e0", NULL, 0, 9));
    CU_ASSERT_TRUE(strait_source_number(&found, "1.", NULL, 0, 9));
}

/* The first is there from 0 to 50 and from 60 to 90 of 100 s, the second from 20 on: 80 % both; the
 * third from 10 to 40, since it becomes active again at 30 before it was inactive, the fourth
 * never: 30 and 0 %. */
static const char *const behaviour_text = "client_id,duration,active,inactive\na,100,0;60,50;90\n"
                                          "b,100,20,\nc,100,10;30,40;120\nd,100,,\n";

static void behaviour(void)
{
    struct strait_import in;
    struct strait_error err;
    CU_ASSERT_EQUAL_FATAL(import_text(&in, behaviour_text, &err), 0);
    const json_t *network = json_object_get(in.experiment, "network"), *event;
    static const char *const events[] = {
        "client 1 leaves at 50 s", "client 1 comes at 60 s",  "client 1 leaves at 90 s",
        "client 2 leaves at 0 s",  "client 2 comes at 20 s",  "client 3 leaves at 0 s",
        "client 3 comes at 10 s",  "client 3 leaves at 40 s", "client 4 leaves at 0 s"};
    size_t i;
    CU_ASSERT_EQUAL(json_array_size(json_object_get(network, "client")), 4);
    CU_ASSERT_EQUAL_FATAL(json_array_size(json_object_get(network, "events")), 9);
    json_array_foreach (json_object_get(network, "events"), i, event) {
        char text[80];
        snprintf(text, sizeof(text), "%s %s at %s", json_string_value(json_object_get(event, "on")),
                 json_is_true(json_object_get(event, "present")) ? "comes" : "leaves",
                 json_string_value(json_object_get(event, "at")));
        CU_ASSERT_STRING_EQUAL(text, events[i]);
    }
    CU_ASSERT_DOUBLE_EQUAL(json_real_value(json_object_get(in.facts, "available_share")),
                           (0.8 + 0.8 + 0.3 + 0) / 4, 1e-12);
    strait_import_release(&in);
}

/* 1001 clients of b are too many for a table: all of them stay silent in 20 % of the rounds. */
static void long_behaviour(void)
{
    struct strait_import in;
    struct strait_error err;
    char text[16384] = "client_id,duration,active,inactive\n";
    for (int i = 0; i < 1001; i++)
        strcat(text, "b,100,20,\n");
    CU_ASSERT_EQUAL_FATAL(import_text(&in, text, &err), 0);
    CU_ASSERT_PTR_NULL(json_object_get(in.experiment, "network"));
    CU_ASSERT_STRING_EQUAL(
        json_string_value(json_object_get(json_object_get(in.experiment, "strategy"), "dropout")),
        "20 %");
    strait_import_release(&in);
}

static void refused(void)
{
    static const struct refused_trace cases[] = {
        {"DATA\nx\n", ":2", "expected the number of layers, found \"x\""},
        {"DATA\n2\nl -1 1 NONE 0 1 NONE 0 1 NONE 4 1\n", ":4", "expected 2 layers, found 1"},
        {"DATA\n1\nl -1 1 NONE 0 1 NONE -4 1 NONE 4 1\n", ":3",
         "of the input-gradient pass of \"l\""},
        {"DATA\n1\nl -1 1 NONE 0 1 NONE 0 1 NONE 4\n", ":3", "the time of the update last"},
        {"layerwise backward times: [1, x]\n", ":1", "found \"x]\""},
        {"layerwise backward times: [1, 2\n", ":1", "a list that ends with \"]\""},
        {"layerwise backward times: [1]\nlayerwise backward sizes: [1, 2]\n", ":3",
         "found 1 and 2"},
        {"layerwise backward times: [1]\nlayerwise backward sizes: [9e15]\n", ":2",
         "numbers from 0 to 1e+15"},
        {"client_id,computation,communication\n1,0,5\n", ":2", "expected milliseconds a sample"},
        {"client_id,computation,communication\n1,5\n", ":2", "expected kbit/s, found \"\""},
        {"client_id,computation,communication\n", ":2", "expected at least one client"},
        {"client_id,computation,communication,x\n1,2,3,4\n", ":1", "expected the header"},
        {"client_id,duration,active,inactive\n1,5,3;2,\n", ":2", "expected rising seconds"},
    };
    expect_refused(cases, sizeof(cases) / sizeof(cases[0]));
}

static void damaged(void)
{
    static const char *const texts[] = {astra_text, mgwfbp_text, horovod_text, devices_text,
                                        behaviour_text},
                             *const names[] = {"astra", "mgwfbp", "horovod", "fedscale devices",
                                               "fedscale behaviour"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        expect_survives(names[i], texts[i], strlen(texts[i]));
}

/* A table has 100,000 layers at most; those that send nothing are none. */
static void many_layers(void)
{
    enum { N = 100001 };
    static const char sends[] = "l -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 004 1\n",
                      none[] = "l -1 1 NONE 0 1 NONE 0 1 NONE 000000000 1\n";
    char *text = malloc(32 + (size_t)N * sizeof(none));
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    for (int of = 0; of < 2; of++) {
        struct strait_import in;
        struct strait_error err;
        char *to = text + sprintf(text, "DATA\n%d\n", N);
        for (int i = 0; i < N; i++)
            to = stpcpy(to, i > 0 && of == 1 ? none : sends);
        CU_ASSERT_EQUAL(import_text(&in, text, &err), of == 0 ? -1 : 0);
        if (of == 0) {
            CU_ASSERT_STRING_EQUAL(err.where, ":100003");
            CU_ASSERT_CONTAINS(err.text, "at most 100000 layers that send weight gradients");
        } else {
            CU_ASSERT_EQUAL(in.model->n_layers, 1);
        }
        strait_import_release(&in);
    }
    free(text);
}

static const struct strait_test tests[] = {
    {"an ASTRA-sim workload's layers have its times and sizes", astra},
    {"times before an ASTRA-sim workload's first gradients count for their layer", astra_first},
    {"a workload of more layers than a table has is refused", many_layers},
    {"a log of MG-WFBP gives backward times, and divides the forward pass", mgwfbp},
    {"a Horovod timeline gives sizes and when tensors are ready", horovod},
    {"a Horovod timeline that is cut off counts as far as it goes", horovod_cut},
    {"FedScale's devices become ports and slowness", devices},
    {"a slowness has six digits, however large it is", six_digits},
    {"many devices are sorted by rate and then by computation", many_devices},
    {"decimals are read as strtod does, to the last bit", decimals},
    {"FedScale's availability becomes events of each client", behaviour},
    {"time tables of too many clients are their mean share", long_behaviour},
    {"whatever is wrong is refused with its line", refused},
    {"any damage is read or refused as it was", damaged},
};
STRAIT_SUITE("traces/import/logs", tests);
