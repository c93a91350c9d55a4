/* Writer of the layer table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "layer_csv.h"
#include "model_object.h"

/* One line of text: a table's comments end with their line. */
static void comment(FILE *f, const char *key, const char *text)
{
    fprintf(f, "# %s: ", key);
    for (; *text; text++)
        fputc(*text == '\n' || *text == '\r' ? ' ' : *text, f);
    fputc('\n', f);
}

static void write_head(FILE *f, const struct strait_model *m)
{
    char device[96];
    const char *word = m->on_cpu ? "cpu" : "accelerator";
    const bool has_word = strncmp(m->device, word, strlen(word)) == 0;
    comment(f, "name", m->name);
    if (*m->source)
        comment(f, "source", m->source);
    comment(f, "timing", m->timing_source);
    if (m->batch > 0)
        fprintf(f, "# batch: %u\n", m->batch);
    snprintf(device, sizeof device, "%s, %.48s", word, m->device);
    comment(f, "device", has_word ? m->device : device);
}

char *strait_model_table_text(const struct strait_model *m)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    if (!f)
        return NULL;
    write_head(f, m);
    fprintf(f, "%s\n", STRAIT_LAYER_CSV_HEADER);
    for (size_t i = 0; i < m->n_rows; i++) {
        const struct strait_param_row *r = &m->rows[i];
        const double times_s[] = {r->fwd_s_p50, r->fwd_s_p90,   r->bwd_s_p50,
                                  r->bwd_s_p90, r->ready_s_p50, r->ready_s_p90};
        fprintf(f, "%zu,%s,%s,%s,", i, r->layer, r->param, r->type);
        for (unsigned d = 0; d < r->n_dims; d++)
            fprintf(f, "%s%zu", d > 0 ? "x" : "", r->shape[d]);
        fprintf(f, ",%zu", r->n_elems * sizeof(float));
        for (size_t t = 0; t < sizeof times_s / sizeof times_s[0]; t++)
            fprintf(f, ",%.6f", times_s[t] * 1e6);
        fprintf(f, ",%zu\n", r->ready_order);
    }
    const bool failed = ferror(f) != 0;
    if (fclose(f) != 0 || failed) {
        free(text);
        return NULL;
    }
    return text;
}
