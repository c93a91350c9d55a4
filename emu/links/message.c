#include "message.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

void strait_emu_message_begin(union strait_emu_message *m, uint16_t type, uint16_t flags,
                              const void *fixed, size_t n_bytes)
{
    mnl_nlmsg_put_header(m);
    m->head.nlmsg_type = type;
    m->head.nlmsg_flags = (uint16_t)(flags | NLM_F_REQUEST | NLM_F_ACK);
    strait_emu_message_put(m, fixed, n_bytes);
}

void strait_emu_message_put(union strait_emu_message *m, const void *bytes, size_t n_bytes)
{
    memcpy(mnl_nlmsg_put_extra_header(&m->head, n_bytes), bytes, n_bytes);
}

int strait_emu_message_ask(int fd, const union strait_emu_message *m, const char *what,
                           mnl_cb_t each, void *context, struct strait_error *err)
{
    _Alignas(struct nlmsghdr) unsigned char buffer[65536];
    int status = send(fd, m, m->head.nlmsg_len, 0) < 0 ? MNL_CB_ERROR : MNL_CB_OK;
    while (status == MNL_CB_OK) {
        const ssize_t got = recv(fd, buffer, sizeof(buffer), 0);
        if (got >= 0)
            status = mnl_cb_run(buffer, (size_t)got, 0, 0, each, context);
        else if (errno != EINTR)
            status = MNL_CB_ERROR;
    }
    return status == MNL_CB_STOP ? 0 : strait_error_system(err, NULL, "cannot %s", what);
}

struct sorted {
    const struct nlattr **found;
    unsigned cap;
};

static int sort_in(const struct nlattr *a, void *context)
{
    const struct sorted *s = context;
    if (mnl_attr_get_type(a) < s->cap)
        s->found[mnl_attr_get_type(a)] = a;
    return MNL_CB_OK;
}

void strait_emu_attributes(const struct nlattr **found, unsigned cap, const void *bytes,
                           size_t n_bytes)
{
    memset(found, 0, cap * sizeof(*found));
    mnl_attr_parse_payload(bytes, n_bytes, sort_in, &(struct sorted){found, cap});
}

bool strait_emu_attribute_copy(void *out, size_t n_bytes, const struct nlattr *a)
{
    memset(out, 0, n_bytes);
    if (a)
        memcpy(out, mnl_attr_get_payload(a),
               mnl_attr_get_payload_len(a) < n_bytes ? mnl_attr_get_payload_len(a) : n_bytes);
    return a != NULL;
}
