#include "host_link.h"

#include <math.h>

int strait_host_link_read(struct strait_host_link *out, struct strait_object *device,
                          struct strait_error *err)
{
    struct strait_object o;
    const char *file = NULL;
    char where[STRAIT_JSON_POINTER_MAX * 2];
    *out = (struct strait_host_link){.half_row_bytes = NAN};
    if (strait_object_enter(&o, device, "link", true, err) != 0 ||
        strait_object_quantity_or(&o, &out->bytes_per_s, "rate", STRAIT_UNIT_SPEED, 1, 1e15, 25e9,
                                  err) != 0 ||
        strait_object_bool_or(&o, &out->in_memory, "in_memory", false, err) != 0)
        return -1;
    const json_t *gather = strait_object_value(&o, "gather");
    if (!json_is_array(gather) && strait_object_string_or(&o, &file, "gather", NULL, err) != 0)
        return -1;
    const bool both = gather && strait_object_has(&o, "half_row");
    if (!gather && strait_object_quantity_or(&o, &out->half_row_bytes, "half_row",
                                             STRAIT_UNIT_BYTES, 0, 1e9, 512, err) != 0)
        return -1;
    if (strait_object_close(&o, err) != 0)
        return -1;
    strait_object_where(&o, "gather", where, sizeof(where));
    if (both)
        return strait_refuse(err, where, "expected a measured curve or half_row, found both");
    if (file)
        return strait_measured_load(&out->gather, file, "row_bytes,efficiency", 1, where, err);
    return gather ? strait_measured_read(&out->gather, gather, 1, where, err) : 0;
}

void strait_host_link_release(struct strait_host_link *l)
{
    strait_measured_release(&l->gather);
}

double strait_host_link_efficiency(const struct strait_host_link *l, double row_bytes)
{
    return l->gather.n > 0 ? fmin(1, strait_measured_at(&l->gather, row_bytes))
                           : row_bytes / (row_bytes + l->half_row_bytes);
}
