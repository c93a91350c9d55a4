#include "message.h"
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

enum { ANSWER_BYTES = 65536 };

struct strait_emu_message strait_emu_message_of(uint16_t type, uint16_t flags, const void *fixed,
                                                size_t n_bytes)
{
    struct strait_emu_message m = {
        .head = {.nlmsg_len = (uint32_t)NLMSG_LENGTH(n_bytes),
                 .nlmsg_type = type,
                 .nlmsg_flags = (uint16_t)(flags | NLM_F_REQUEST | NLM_F_ACK)}};
    memcpy(m.body, fixed, n_bytes);
    return m;
}

uint32_t strait_emu_message_add(struct strait_emu_message *m, unsigned short type,
                                const void *value, size_t n_bytes)
{
    const uint32_t at = NLMSG_ALIGN(m->head.nlmsg_len);
    assert(at + RTA_SPACE(n_bytes) <= sizeof(*m));
    const struct rtattr attribute = {.rta_len = (unsigned short)RTA_LENGTH(n_bytes),
                                     .rta_type = type};
    unsigned char *const to = (unsigned char *)m + at;
    memcpy(to, &attribute, sizeof(attribute));
    if (n_bytes > 0)
        memcpy(to + RTA_LENGTH(0), value, n_bytes);
    m->head.nlmsg_len = at + (uint32_t)RTA_LENGTH(n_bytes);
    return at;
}

void strait_emu_message_add_u32(struct strait_emu_message *m, unsigned short type, uint32_t value)
{
    strait_emu_message_add(m, type, &value, sizeof(value));
}

void strait_emu_message_nest_end(struct strait_emu_message *m, uint32_t at)
{
    const unsigned short len = (unsigned short)(m->head.nlmsg_len - at);
    memcpy((unsigned char *)m + at, &len, sizeof(len)); /* rta_len comes first */
}

void strait_emu_message_put(struct strait_emu_message *m, const void *bytes, size_t n_bytes)
{
    const uint32_t at = NLMSG_ALIGN(m->head.nlmsg_len);
    assert(at + n_bytes <= sizeof(*m));
    memcpy((unsigned char *)m + at, bytes, n_bytes);
    m->head.nlmsg_len = at + (uint32_t)n_bytes;
}

/* The next bytes that the kernel sends. */
static ssize_t receive(int fd, unsigned char *buffer, size_t cap_bytes)
{
    ssize_t got;
    while ((got = recv(fd, buffer, cap_bytes, 0)) < 0 && errno == EINTR)
        continue;
    return got;
}

/* What an acknowledgement or the end of a list says. */
static int status_of(const struct nlmsghdr *head, const char *what, struct strait_error *err)
{
    int status = 0; /* comes first in both */
    if (head->nlmsg_len >= NLMSG_LENGTH(sizeof(status)))
        memcpy(&status, NLMSG_DATA(head), sizeof(status));
    errno = -status;
    return status ? strait_error_system(err, NULL, "cannot %s", what) : 0;
}

int strait_emu_message_ask(int fd, const struct strait_emu_message *m, const char *what,
                           uint16_t answer_type, unsigned char *answer, size_t cap_bytes,
                           struct strait_error *err)
{
    if (send(fd, m, m->head.nlmsg_len, 0) != (ssize_t)m->head.nlmsg_len)
        return strait_error_system(err, NULL, "cannot %s", what);
    for (;;) {
        _Alignas(struct nlmsghdr) unsigned char buffer[16384];
        const ssize_t got = receive(fd, buffer, sizeof(buffer));
        if (got < 0)
            return strait_error_system(err, NULL, "cannot %s", what);
        size_t left = (size_t)got;
        const struct nlmsghdr *head = (const void *)buffer;
        for (; NLMSG_OK(head, left); head = NLMSG_NEXT(head, left)) {
            if (head->nlmsg_type == NLMSG_ERROR)
                return status_of(head, what, err);
            if (answer && head->nlmsg_type == answer_type && head->nlmsg_len <= cap_bytes)
                memcpy(answer, head, head->nlmsg_len);
        }
    }
}

int strait_emu_message_list(int fd, const struct strait_emu_message *m, const char *what,
                            void (*each)(void *context, const struct nlmsghdr *head), void *context,
                            struct strait_error *err)
{
    if (send(fd, m, m->head.nlmsg_len, 0) != (ssize_t)m->head.nlmsg_len)
        return strait_error_system(err, NULL, "cannot %s", what);
    for (;;) {
        _Alignas(struct nlmsghdr) unsigned char buffer[ANSWER_BYTES];
        const ssize_t got = receive(fd, buffer, sizeof(buffer));
        if (got < 0)
            return strait_error_system(err, NULL, "cannot %s", what);
        size_t left = (size_t)got;
        const struct nlmsghdr *head = (const void *)buffer;
        for (; NLMSG_OK(head, left); head = NLMSG_NEXT(head, left)) {
            if (head->nlmsg_type == NLMSG_ERROR || head->nlmsg_type == NLMSG_DONE)
                return status_of(head, what, err);
            each(context, head);
        }
    }
}

void strait_emu_attributes(const struct rtattr **found, unsigned cap, const void *bytes,
                           size_t n_bytes)
{
    memset(found, 0, cap * sizeof(*found));
    const struct rtattr *a = bytes;
    for (; RTA_OK(a, n_bytes); a = RTA_NEXT(a, n_bytes))
        if ((a->rta_type & NLA_TYPE_MASK) < cap)
            found[a->rta_type & NLA_TYPE_MASK] = a;
}

bool strait_emu_attribute_copy(void *out, size_t n_bytes, const struct rtattr *a)
{
    memset(out, 0, n_bytes);
    if (a)
        memcpy(out, RTA_DATA(a), RTA_PAYLOAD(a) < n_bytes ? RTA_PAYLOAD(a) : n_bytes);
    return a != NULL;
}
