/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libc - the C library's functions that we stand in front of, as libc.def has them.
 *
 * Threads  any.  Memory  none.  Errors  those of the real function.  Units  none.
 */
#ifndef HOOKS_LIBC_H
#define HOOKS_LIBC_H

#include "agent/hooks/hook.h"

#include <mqueue.h>
#include <spawn.h>
#include <sys/resource.h>

#define HOOK(type, name, parameters) HOOK_VISIBLE type HOOK_EXPORT(name) parameters;
#include "agent/hooks/libc.def"
#undef HOOK

#endif
