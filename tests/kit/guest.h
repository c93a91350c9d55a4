/* Guests in which tests run programs of this build. */
#pragma once
#include <stdbool.h>
#include "emu/guest/uml.h"
#include "suite.h"

/** Can such a guest be booted here? If not, the test is skipped. */
static inline bool guest_boots(bool virtual_time)
{
    struct strait_error err = {0};
    if (IS_SANITIZED) {
        strait_test_skip("a sanitizer's memory does not fit into User-Mode Linux");
        return false;
    }
    if (strait_emu_uml_check(virtual_time, &err) == 0)
        return true;
    strait_test_skip(err.text);
    return false;
}
