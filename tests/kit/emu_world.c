#include "emu_world.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "suite.h"

static unsigned one_slot(const struct strait_run *run, int rank, enum strait_resource resource)
{
    (void)run;
    (void)rank;
    return resource == STRAIT_CPU ? 2 : 1;
}

void world_init(struct world *w, int n_ranks, double rate_bits_per_s, double rtt_s)
{
    memset(w, 0, sizeof(*w));
    const struct strait_link port = {
        .rate_bits_per_s = rate_bits_per_s, .delay_s = rtt_s / 4, .queue_bytes = INFINITY};
    const struct strait_tcp tcp = {.congestion = STRAIT_RENO,
                                   .segment_bytes = 1448,
                                   .initial_window_bytes = 14480,
                                   .window_bytes = INFINITY,
                                   .rto_min_s = 0.2,
                                   .slow_start_after_idle = true};
    w->network = strait_network_star(n_ranks, port, port, port, port, 0, tcp);
    w->board =
        mmap(NULL, sizeof(*w->board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_FATAL(w->network != NULL && w->board != MAP_FAILED);
    CU_ASSERT_FATAL(strait_facts_init(&w->facts, NULL) == 0);
    w->run = (struct strait_run){.n_ranks = n_ranks,
                                 .network = w->network,
                                 .n_slots = one_slot,
                                 .seed = 1,
                                 .context = w->board,
                                 .logs = w->logs,
                                 .facts = &w->facts,
                                 .deadline_s = 60};
}

void world_release(struct world *w)
{
    for (int i = 0; i < WORLD_RANKS; i++)
        strait_log_release(&w->logs[i]);
    strait_facts_release(&w->facts);
    strait_network_free(w->network);
    munmap(w->board, sizeof(*w->board));
}

bool world_is_invalid(const struct world *w)
{
    size_t i;
    json_t *text;
    json_array_foreach (w->facts.invalid, i, text)
        fprintf(stderr, "invalid: %s\n", json_string_value(text));
    return json_array_size(w->facts.invalid) > 0;
}

struct board *board_of(const struct strait_rank *r)
{
    return r->run->context;
}

int parent_of(int pid, char *name, size_t cap)
{
    char path[64], line[512], state = 'Z';
    int parent = -1;
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *f = fopen(path, "r");
    if (!f)
        return -1;
    if (fgets(line, sizeof(line), f)) {
        char *open = strchr(line, '('), *close = strrchr(line, ')');
        if (open && close) {
            *close = '\0';
            snprintf(name, cap, "%s", open + 1);
            if (sscanf(close + 2, "%c %d", &state, &parent) != 2 || state == 'Z')
                parent = -1;
        }
    }
    fclose(f);
    return parent;
}

int descendants(int ancestor, int *pids)
{
    DIR *d = opendir("/proc");
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d)) && n < MAX_PROCESSES;) {
        char name[64];
        const int pid = atoi(e->d_name);
        int up = pid > 0 ? parent_of(pid, name, sizeof(name)) : -1;
        while (up > 1 && up != ancestor)
            up = parent_of(up, name, sizeof(name));
        if (up != ancestor)
            continue;
        if (pids)
            pids[n] = pid;
        n++;
    }
    if (d)
        closedir(d);
    return n;
}

int descendant_named(int ancestor, const char *wanted)
{
    int pids[MAX_PROCESSES];
    const int n = descendants(ancestor, pids);
    for (int i = 0; i < n; i++) {
        char name[64];
        if (parent_of(pids[i], name, sizeof(name)) > 0 && strcmp(name, wanted) == 0)
            return pids[i];
    }
    return 0;
}
