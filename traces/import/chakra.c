/* Chakra execution traces in protobuf's wire format (et_def.proto): a file is messages, each behind
 * its length; the first is GlobalMetadata, the others are nodes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chakra.h"

static const size_t MAX_MESSAGE = (size_t)64 << 20;

/* What is left of a message. */
struct bytes {
    const unsigned char *at, *end;
    bool is_bad;
};

static bool sniff(const char *head, size_t n)
{
    const unsigned char *b = (const unsigned char *)head;
    size_t at = 0;
    while (at < 4 && at + 1 < n && b[at] >= 0x80) /* the length of GlobalMetadata */
        at++;
    if (at + 3 >= n || b[at] == 0)
        return false;
    const unsigned char first = b[at + 1], len = b[at + 2];
    if (at == 0 && strchr("{[", head[0]) && (len >= 32 || strchr("\t\n\r", len)))
        return false; /* JSON with a line end behind its bracket */
    return first == 0x0a || first == 0x12;
}

static uint64_t varint(struct bytes *b)
{
    uint64_t x = 0;
    for (unsigned shift = 0; shift < 64 && b->at < b->end; shift += 7) {
        const unsigned char byte = *b->at++;
        x |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return x;
    }
    b->is_bad = true;
    return 0;
}

static struct bytes sub(struct bytes *b)
{
    const uint64_t len = varint(b);
    struct bytes inner = {b->at, b->at, false};
    if (len > (uint64_t)(b->end - b->at))
        b->is_bad = true;
    else
        inner.end = b->at += len;
    return inner;
}

static uint64_t fixed(struct bytes *b, size_t n)
{
    uint64_t x = 0;
    if ((size_t)(b->end - b->at) < n) {
        b->is_bad = true;
        return 0;
    }
    for (size_t i = 0; i < n; i++)
        x |= (uint64_t)b->at[i] << (8 * i);
    b->at += n;
    return x;
}

/* Pass over a field of this wire type. */
static void skip(struct bytes *b, unsigned wire)
{
    if (wire == 0)
        varint(b);
    else if (wire == 1 || wire == 5)
        fixed(b, wire == 1 ? 8 : 4);
    else if (wire == 2)
        sub(b);
    else
        b->is_bad = true;
}

/* The number in a field of AttributeProto's oneof; NAN for lists and texts. */
static double attribute_value(struct bytes *b, unsigned field, unsigned wire)
{
    uint64_t raw;
    double x;
    float f;
    if (field == 3 && wire == 1) {
        raw = fixed(b, 8);
        memcpy(&x, &raw, sizeof(x));
        return x;
    }
    if (field == 5 && wire == 5) {
        const uint32_t half = (uint32_t)fixed(b, 4);
        memcpy(&f, &half, sizeof(f));
        return (double)f;
    }
    if (wire == 0) {
        raw = varint(b);
        if (field == 15 || field == 17) /* zigzag */
            return (double)(int64_t)((raw >> 1) ^ (~(raw & 1) + 1));
        return field == 7 || field == 9 ? (double)(int64_t)raw : (double)raw;
    }
    if (wire == 1 || wire == 5) {
        raw = fixed(b, wire == 1 ? 8 : 4);
        return field == 23   ? (double)(int32_t)(uint32_t)raw
               : field == 25 ? (double)(int64_t)raw
                             : (double)raw;
    }
    skip(b, wire);
    return NAN;
}

static void take_text(char *out, size_t cap, struct bytes text)
{
    const size_t n = (size_t)(text.end - text.at) < cap ? (size_t)(text.end - text.at) : cap - 1;
    memcpy(out, text.at, n);
    out[n] = '\0';
}

static void take_attribute(struct strait_chakra_node *n, struct bytes *b)
{
    char name[64] = "", text[64] = "";
    double value = 0;
    while (b->at < b->end && !b->is_bad) {
        const uint64_t tag = varint(b);
        const unsigned field = (unsigned)(tag >> 3), wire = tag & 7;
        if (field == 1 && wire == 2)
            take_text(name, sizeof(name), sub(b));
        else if (field == 29 && wire == 2)
            take_text(text, sizeof(text), sub(b));
        else if (field >= 3 && field <= 27)
            value = attribute_value(b, field, wire);
        else
            skip(b, wire);
    }
    if (!isnan(value))
        strait_chakra_attribute(n, name, value, text);
}

static bool take_deps(struct strait_chakra_node *n, struct bytes *b, unsigned wire)
{
    struct bytes packed = *b;
    if (wire == 2)
        packed = sub(b);
    do {
        struct bytes *from = wire == 2 ? &packed : b;
        if (wire == 2 && packed.at == packed.end)
            return true;
        if (!strait_chakra_depend(n, varint(from)))
            return false;
        b->is_bad = b->is_bad || from->is_bad;
    } while (wire == 2 && !b->is_bad);
    return true;
}

/* id 1, name 2, type 3, ctrl_deps 4, data_deps 5, start 6, duration 7, attributes 10. */
static bool take_node(struct strait_chakra_node *n, struct bytes *b)
{
    strait_chakra_node_begin(n);
    while (b->at < b->end && !b->is_bad) {
        const uint64_t tag = varint(b);
        const unsigned field = (unsigned)(tag >> 3), wire = tag & 7;
        if (field == 1 && wire == 0) {
            n->id = varint(b);
        } else if (field == 3 && wire == 0) {
            n->kind = (double)varint(b);
        } else if ((field == 4 || field == 5) && (wire == 0 || wire == 2)) {
            if (!take_deps(n, b, wire))
                return false;
        } else if (field == 7 && wire == 0) {
            n->duration_us = (double)varint(b);
        } else if (field == 10 && wire == 2) {
            struct bytes inner = sub(b);
            take_attribute(n, &inner);
            b->is_bad = b->is_bad || inner.is_bad;
        } else {
            skip(b, wire);
        }
    }
    return true;
}

/* The next message. 1, or 0 at the end, or -1 with *err. */
static int next_message(struct strait_source *s, unsigned char **message, size_t *cap, size_t *len,
                        struct strait_error *err)
{
    uint64_t n = 0;
    size_t done = 0;
    for (unsigned shift = 0;; shift += 7) {
        if (strait_source_fill(s, 1) == 0)
            return shift == 0 && !s->has_failed
                       ? 0
                       : strait_source_fail_byte(s, err, "expected a message, found the end");
        const unsigned char byte = s->buffer[s->at++];
        n |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            break;
        if (shift >= 28)
            return strait_source_fail_byte(s, err, "expected the length of a message");
    }
    if (n > MAX_MESSAGE)
        return strait_source_fail_byte(
            s, err, "expected messages of at most 64 MB, found %llu bytes", (unsigned long long)n);
    for (*len = (size_t)n; done < n;) {
        const size_t here = strait_source_fill(s, 1), more = here < n - done ? here : n - done;
        if (here == 0)
            return strait_source_fail_byte(
                s, err, "expected a message of %llu bytes, found the end of the file after %zu",
                (unsigned long long)n, done);
        if (done + more > *cap) { /* as bytes come, not as the length says */
            unsigned char *larger = realloc(*message, 2 * (done + more));
            if (!larger)
                return strait_error_memory(err, s->path);
            *message = larger;
            *cap = 2 * (done + more);
        }
        memcpy(*message + done, s->buffer + s->at, more);
        s->at += more;
        done += more;
    }
    return 1;
}

static int read_file(struct strait_chakra *c, struct strait_source *s, struct strait_error *err)
{
    unsigned char *message = NULL;
    size_t cap = 0, len, n = 0;
    int more = 0;
    while ((more = next_message(s, &message, &cap, &len, err)) > 0) {
        struct bytes b = {message, message ? message + len : message, false};
        if (n++ == 0)
            continue; /* GlobalMetadata */
        if (!take_node(&c->node, &b))
            more = strait_error_memory(err, s->path);
        else if (b.is_bad)
            more =
                strait_source_fail_byte(s, err, "expected a node before this, found a damaged one");
        else
            more = strait_chakra_add(c, s, err);
        if (more < 0)
            break;
    }
    free(message);
    return more < 0 ? -1 : 0;
}

static int read_all(struct strait_import *in, struct strait_source *s, struct strait_error *err)
{
    return strait_chakra_read(in, s, read_file, err);
}

const struct strait_import_format strait_import_chakra = {
    .name = "chakra",
    .summary = "Chakra execution traces of ASTRA-sim, protobuf, one file a rank, also gzip",
    .source = "mlcommons/chakra, schema/protobuf/et_def.proto",
    .sniff = sniff,
    .read = read_all,
};
