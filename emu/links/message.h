/* One message to the kernel's routing socket (rtnetlink(7)): built from attributes, sent, answered.
 */
#pragma once
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/error.h"

struct strait_emu_message {
    struct nlmsghdr head;
    unsigned char body[504];
};

/** A request that begins with a fixed struct.
 *  In:      flags  of netlink(7), beside NLM_F_REQUEST and NLM_F_ACK
 */
struct strait_emu_message strait_emu_message_of(uint16_t type, uint16_t flags, const void *fixed,
                                                size_t n_bytes);
/** Append an attribute; n_bytes 0 begins a nest. Returns: where it begins, for nest_end. */
uint32_t strait_emu_message_add(struct strait_emu_message *m, unsigned short type,
                                const void *value, size_t n_bytes);
void strait_emu_message_add_u32(struct strait_emu_message *m, unsigned short type, uint32_t value);
void strait_emu_message_nest_end(struct strait_emu_message *m, uint32_t at);
/** Append bytes that are no attribute, as some nests begin with a struct. */
void strait_emu_message_put(struct strait_emu_message *m, const void *bytes, size_t n_bytes);

/** Send and wait for the acknowledgement.
 *  Out:     answer  the first message of answer_type; NULL for none
 *  In:      what    for the error: "cannot <what>"
 */
int strait_emu_message_ask(int fd, const struct strait_emu_message *m, const char *what,
                           uint16_t answer_type, unsigned char *answer, size_t cap_bytes,
                           struct strait_error *err);
/** Send a request for a list (NLM_F_DUMP) and pass on every message of it. */
int strait_emu_message_list(int fd, const struct strait_emu_message *m, const char *what,
                            void (*each)(void *context, const struct nlmsghdr *head), void *context,
                            struct strait_error *err);

/** Sort the attributes in n_bytes by type: found[type], NULL where there is none. The last one of a
 *  type counts, types of cap and above are left out. */
void strait_emu_attributes(const struct rtattr **found, unsigned cap, const void *bytes,
                           size_t n_bytes);
/** Copy what an attribute holds into out, zeroing what it is too short for; false for NULL. */
bool strait_emu_attribute_copy(void *out, size_t n_bytes, const struct rtattr *a);
