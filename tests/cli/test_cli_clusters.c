/* examples/sweep: a sweep by GNU parallel, by an array of Slurm and by MPI in Slurm has the rows of
 * one run. On two hosts, by ssh and by Slurm: an emulated network is spread over both, and MPI
 * starts ranks on both. Each is skipped where its program is not installed or cannot start. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/process.h"
#include "tests/kit/links/mpi_world.h"
#include "tests/kit/program.h"

/* Nine points with sz, three without. */
enum { N_ROWS = 12, SKIPPED = 77 };
static const char folder_of_example[] = "examples/sweep";

struct cluster {
    struct program p;
    char root[4096], example[4096 + 32];
    char out[128]; /* of the folder that has all rows in the end */
};

static void set_up(struct cluster *c)
{
    program_set_up(&c->p);
    CU_ASSERT_FATAL(getcwd(c->root, sizeof(c->root)) != NULL);
    snprintf(c->example, sizeof(c->example), "%s/%s", c->root, folder_of_example);
    snprintf(c->out, sizeof(c->out), "%s/out", c->p.folder);
    c->p.cwd = c->example;
}

static json_t *rows_of(const struct cluster *c, const char *folder, const char *expected)
{
    json_t *rows = json_array();
    struct said s =
        PROGRAM_CALL(&c->p, "run", "points.json", "--json", "--no-break-even", "--out", folder);
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_CONTAINS(s.err, expected);
    for (char *line = strtok(s.out, "\n"); line; line = strtok(NULL, "\n")) {
        json_t *row = json_loads(line, 0, NULL);
        json_object_del(row, "wall_s");
        json_object_del(row, "stored");
        json_array_append_new(rows, row);
    }
    said_release(&s);
    return rows;
}

/* What lies in the folder is complete, and what one run gives. */
static void expect_one_run(const struct cluster *c, const char *folder)
{
    char one[160];
    snprintf(one, sizeof(one), "%s/one", c->p.folder);
    json_t *a = rows_of(c, folder, "12 rows, 0 computed now"), *b = rows_of(c, one, "12 rows, ");
    CU_ASSERT_EQUAL(json_array_size(b), N_ROWS);
    CU_ASSERT(json_equal(a, b));
    json_decref(a);
    json_decref(b);
}

/* Where what is needed is missing, the test is skipped with the reason; else its exit status. */
static int run(const char *const argv[], struct strait_error *err)
{
    const int status = strait_process_run(NULL, 0, argv, NULL, 300, err);
    if (status == SKIPPED || (status < 0 && err->code == STRAIT_ERR_HOST))
        strait_test_skip(err->text);
    else if (status != 0)
        fprintf(stderr, "%s: status %d: %s\n", argv[0], status, err->text);
    return status;
}

static void by_parallel(void)
{
    struct strait_error err = {0};
    struct cluster c;
    char script[sizeof(c.example) + 32], all[160];
    static const char *const asks[] = {"parallel", "--version", NULL};
    if (run(asks, &err) != 0)
        return;
    set_up(&c);
    snprintf(script, sizeof(script), "%s/parallel.sh", c.example);
    const char *const argv[] = {"sh", script, c.p.path, c.out, NULL};
    CU_ASSERT_EQUAL(run(argv, &err), 0);
    snprintf(all, sizeof(all), "%s/all", c.out);
    expect_one_run(&c, all);
    program_tear_down(&c.p);
}

/* Run words of a shell in the example's folder, on a node of Slurm: $1 is strait, $2 the folder of
 * results. False: the test is skipped. */
static bool on_slurm(struct cluster *c, const char *words)
{
    struct strait_error err = {0};
    char node[sizeof(c->root) + 64], inside[sizeof(c->example) + 256];
    set_up(c);
    snprintf(node, sizeof(node), "%s/tests/foreign/slurm_node.sh", c->root);
    snprintf(inside, sizeof(inside), "cd %s && mkdir $2 && %s", c->example, words);
    const char *const argv[] = {"sh", node, "sh", "-c", inside, "sh", c->p.path, c->out, NULL};
    const int status = run(argv, &err);
    CU_ASSERT(status == 0 || status == SKIPPED);
    if (status == SKIPPED)
        program_tear_down(&c->p);
    return status != SKIPPED;
}

static void by_an_array(void)
{
    struct cluster c;
    char all[160];
    if (!on_slurm(&c, "sbatch --wait -o $2/%a.log array.sbatch $1 $2 && "
                      "$1 merge $2/part1 $2/part2 $2/part3 $2/part4 --out $2/all"))
        return;
    snprintf(all, sizeof(all), "%s/all", c.out);
    expect_one_run(&c, all);
    program_tear_down(&c.p);
}

static void by_mpi(void)
{
    struct cluster c;
    char why[256], all[160];
    if (!mpirun_works(why, sizeof(why))) {
        strait_test_skip(why);
        return;
    }
    if (!on_slurm(&c, "{ srun --mpi=list 2>&1 | grep -q pmix || exit 77; } && "
                      "sbatch --wait -o $2/mpi.log mpi.sbatch $1 $2"))
        return;
    snprintf(all, sizeof(all), "%s/all", c.out);
    expect_one_run(&c, all);
    program_tear_down(&c.p);
}

/* On two hosts that ssh or Slurm reaches: a network over both, whose copies say where they are,
 * then strait's own ranks, two a host, started by these words of a shell. */
static void on_two_hosts(const char *by, const char *ranks)
{
    struct cluster c;
    struct strait_error err = {0};
    char why[256], script[sizeof(c.root) + 64], words[1024];
    if (!mpirun_works(why, sizeof(why))) {
        strait_test_skip(why);
        return;
    }
    set_up(&c);
    program_write(&c.p, "net.json",
                  "{\"schema\": \"strait-experiment/1\", \"clients\": 3, \"strategy\": \"fedavg\","
                  " \"training\": {\"task\": \"quadratic\"},"
                  " \"network\": {\"client\": {\"rate\": \"100 Mbps\"},"
                  "               \"server\": {\"rate\": \"1 Gbps\"}}}\n");
    program_write(&c.p, "hosts.txt",
                  "alpha address=192.0.2.1 rate=1Gbps\nbeta address=192.0.2.2 rate=1Gbps\n");
    snprintf(words, sizeof(words),
             "cd $2 && { $1 net probe >/dev/null || exit 77; } && $1 net run net.json --hosts "
             "hosts.txt --launch \"$LAUNCH\" --ranks all -- sh -c 'echo $RANK $STRAIT_NET_ON; "
             "ping -c 1 -w 60 -q 10.0.0.4 >/dev/null' >said && %s $1 rank net.json --out mpi",
             ranks);
    snprintf(script, sizeof(script), "%s/tests/foreign/two_hosts.sh", c.root);
    const char *const argv[] = {"sh",  script, by,       "sh",       "-c",
                                words, "sh",   c.p.path, c.p.folder, NULL};
    const int status = run(argv, &err);
    CU_ASSERT(status == 0 || status == SKIPPED);
    if (status == 0) {
        char *said = program_read(&c.p, "said"), *rows = program_read(&c.p, "mpi/results.jsonl");
        CU_ASSERT_CONTAINS(said, "server | 0 alpha\n");
        CU_ASSERT_CONTAINS(said, "client1 | 1 alpha\n");
        CU_ASSERT_CONTAINS(said, "client2 | 2 beta\n");
        CU_ASSERT_CONTAINS(said, "client3 | 3 beta\n");
        CU_ASSERT_CONTAINS(rows, "\"hosts\":{\"alpha\":2,\"beta\":2}");
        free(said);
        free(rows);
    }
    program_tear_down(&c.p);
}

static void hosts_by_ssh(void)
{
    on_two_hosts("ssh", "mpirun --allow-run-as-root --host alpha:2,beta:2 --mca plm_rsh_agent "
                        "\"${LAUNCH% *}\" --mca btl tcp,self");
}

static void hosts_by_slurm(void)
{
    on_two_hosts("slurm", "{ srun --mpi=list 2>&1 | grep -q pmix || exit 77; } && "
                          "OMPI_MCA_btl=tcp,self srun -n 4 --ntasks-per-node=2 --mpi=pmix");
}

static const struct strait_test tests[] = {
    {"shards by GNU parallel are one run", by_parallel},
    {"shards by an array of Slurm are one run", by_an_array},
    {"points given out by MPI in Slurm are one run", by_mpi},
    {"two hosts share a network by ssh, and mpirun's ranks", hosts_by_ssh},
    {"two hosts share a network by srun, and srun's ranks", hosts_by_slurm},
};
STRAIT_SUITE_WITH("cli/cli_clusters", tests, .slow_s = 30, .release = true);
