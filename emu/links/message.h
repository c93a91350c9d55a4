/* Requests to the kernel's routing socket (rtnetlink(7)): built with libmnl, sent, answered. */
#pragma once
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/error.h"

/* Memory for a request; add attributes with mnl_attr_put and its kin on &m.head. */
union strait_emu_message {
    struct nlmsghdr head;
    unsigned char bytes[1024];
};

/** Begin a request with a fixed struct.
 *  In:      flags  of netlink(7), beside NLM_F_REQUEST and NLM_F_ACK */
void strait_emu_message_begin(union strait_emu_message *m, uint16_t type, uint16_t flags,
                              const void *fixed, size_t n_bytes);
/** Append bytes that are not an attribute, such as the struct at the start of some nested
 *  attributes. */
void strait_emu_message_put(union strait_emu_message *m, const void *bytes, size_t n_bytes);

/** Send a request and pass each answer to `each` (NULL: ignore), until the kernel acknowledges or
 *  ends its list.
 *  In:      what  for the error: "cannot <what>"
 *  Returns: 0, or -1 with *err SYSTEM and the kernel's errno */
int strait_emu_message_ask(int fd, const union strait_emu_message *m, const char *what,
                           mnl_cb_t each, void *context, struct strait_error *err);

/** Sort the attributes in n_bytes by type: found[type], NULL if absent. Of a repeated type the last
 *  one is kept; types of cap and above are ignored. */
void strait_emu_attributes(const struct nlattr **found, unsigned cap, const void *bytes,
                           size_t n_bytes);
/** Copy an attribute into out, padding with zeros; false for NULL. */
bool strait_emu_attribute_copy(void *out, size_t n_bytes, const struct nlattr *a);
