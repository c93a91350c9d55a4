/* Chakra execution traces as JSON: {"workload_graph": [{"Id", "NodeType", "runtime", "data_deps",
 * "comm_type", ...}]}, one file a rank. */
#include <stdio.h>
#include <string.h>

#include "chakra.h"
#include "pull_json.h"

static bool sniff(const char *head, size_t n)
{
    (void)n;
    return strstr(head, "\"workload_graph\"") != NULL;
}

static int take_deps(struct strait_chakra *c, struct strait_pull_json *p)
{
    enum strait_pull piece = strait_pull_next(p);
    if (piece != STRAIT_PULL_ARRAY)
        return piece == STRAIT_PULL_ERROR ? -1 : strait_pull_fail(p, "an array of ids");
    while ((piece = strait_pull_next(p)) == STRAIT_PULL_NUMBER) {
        const double id = strait_pull_number(p);
        if (!(id >= 0 && id < 9007199254740992.0))
            return strait_pull_fail(p, "an id up to 2^53");
        if (!strait_chakra_depend(&c->node, (uint64_t)id))
            return strait_pull_fail(p, "enough memory");
    }
    return piece == STRAIT_PULL_ARRAY_END ? 0
           : piece == STRAIT_PULL_ERROR   ? -1
                                          : strait_pull_fail(p, "ids");
}

static int take_field(struct strait_chakra *c, struct strait_pull_json *p)
{
    char key[32];
    const size_t len = strnlen(p->text, sizeof(key) - 1); /* of each field: snprintf takes long */
    memcpy(key, p->text, len);
    key[len] = '\0';
    if (strcmp(key, "data_deps") == 0 || strcmp(key, "ctrl_deps") == 0 ||
        strcmp(key, "ctrlDeps") == 0)
        return take_deps(c, p);
    const enum strait_pull piece = strait_pull_next(p);
    if (piece == STRAIT_PULL_NUMBER && strcmp(key, "Id") == 0) {
        const double id = strait_pull_number(p);
        if (!(id >= 0 && id < 9007199254740992.0))
            return strait_pull_fail(p, "an id up to 2^53");
        c->node.id = (uint64_t)id;
    } else if (piece == STRAIT_PULL_NUMBER || piece == STRAIT_PULL_STRING) {
        strait_chakra_attribute(&c->node, key, strait_pull_number(p), p->text);
    } else if (piece == STRAIT_PULL_TRUE || piece == STRAIT_PULL_FALSE) {
        strait_chakra_attribute(&c->node, key, piece == STRAIT_PULL_TRUE, NULL);
    }
    return strait_pull_skip(p, piece);
}

static int take_nodes(struct strait_chakra *c, struct strait_pull_json *p, struct strait_source *s,
                      struct strait_error *err)
{
    enum strait_pull piece = strait_pull_next(p);
    if (piece != STRAIT_PULL_ARRAY)
        return piece == STRAIT_PULL_ERROR ? -1 : strait_pull_fail(p, "an array of nodes");
    while ((piece = strait_pull_next(p)) == STRAIT_PULL_OBJECT) {
        strait_chakra_node_begin(&c->node);
        while ((piece = strait_pull_next(p)) == STRAIT_PULL_KEY)
            if (take_field(c, p) != 0)
                return -1;
        if (piece != STRAIT_PULL_OBJECT_END || strait_chakra_add(c, s, err) != 0)
            return -1;
    }
    return piece == STRAIT_PULL_ARRAY_END ? 0
           : piece == STRAIT_PULL_ERROR   ? -1
                                          : strait_pull_fail(p, "a node");
}

static int read_file(struct strait_chakra *c, struct strait_source *s, struct strait_error *err)
{
    struct strait_pull_json p;
    strait_pull_begin(&p, s, false, err);
    enum strait_pull piece = strait_pull_next(&p);
    int status = piece == STRAIT_PULL_OBJECT  ? 0
                 : piece == STRAIT_PULL_ERROR ? -1
                                              : strait_pull_fail(&p, "an object");
    while (status == 0 && (piece = strait_pull_next(&p)) == STRAIT_PULL_KEY)
        status = strcmp(p.text, "workload_graph") == 0 ? take_nodes(c, &p, s, err)
                                                       : strait_pull_skip_next(&p);
    if (status == 0)
        status =
            piece == STRAIT_PULL_OBJECT_END && strait_pull_next(&p) == STRAIT_PULL_END ? 0 : -1;
    strait_pull_release(&p);
    return status;
}

static int read_all(struct strait_import *in, struct strait_source *s, struct strait_error *err)
{
    return strait_chakra_read(in, s, read_file, err);
}

const struct strait_import_format strait_import_chakra_json = {
    .name = "chakra-json",
    .summary = "Chakra execution traces as JSON, one file a rank",
    .source = "mlcommons/chakra, src/feeder/json_node.cpp",
    .sniff = sniff,
    .read = read_all,
};
