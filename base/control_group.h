/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_group - the control groups that this process is in, up to the root.
 *
 * A limit holds for all groups below it: so each group on the way to the root is asked,
 * and the least answer counts. A container may see the path of its host, and its own
 * group as the root.
 *
 * Threads  any.
 * Memory   13 KiB of stack, and what `ask` takes.  Opens files, one at a time.
 * Errors   UINT64_MAX or below 0, as if there were no limit.
 * Units    the caller's.
 */
#ifndef BASE_CONTROL_GROUP_H
#define BASE_CONTROL_GROUP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* `group`: the group's folder. UINT64_MAX: it does not limit. */
typedef uint64_t control_group_ask(const char *group, const void *arg);

/* The least that the process's group in a hierarchy, and those above it, answer.
 * `controller` as in /proc/self/cgroup: "" = the newer hierarchy. */
uint64_t control_group_least(const char *controller, const char *mount,
			     control_group_ask *ask, const void *arg);
/* Reads a file of a group, with a NUL behind it. Returns its length; below 0: there is
 * none. */
ssize_t control_group_read(const char *group, const char *name, char *text, size_t size);

#endif
