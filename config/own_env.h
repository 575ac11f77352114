/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_env - which rows of an environment are ours.
 *
 * Threads  any, also a vfork child and a signal handler.
 * Memory   the caller's.
 * Errors   none.
 * Units    bytes.
 */
#ifndef CONFIG_OWN_ENV_H
#define CONFIG_OWN_ENV_H

#include <stdbool.h>
#include <stddef.h>

#define OWN_ENV_LIBRARY       "libproflaunch.so"
#define OWN_ENV_OLD_LIBRARIES "libpthread.so.0:libdl.so.2" /* behind it, glibc < 2.34 */

/* The value of the row "NAME=value" when that is its name, else NULL. */
const char *own_env_value(const char *row, const char *name);
/* PROF_<option>, PROF_METADATA_<key>, PROF_STAGE_<name>_<key>, PROF_JOB, and
 * CUDA_INJECTION64_PATH if it names the agent. LD_PRELOAD has words of others, too: the
 * next two are for it. */
bool own_env_is(const char *row);
/* The word of a preload list that names the agent, its length; NULL = none does. */
const char *own_env_word(const char *list, size_t *len);
/* The list without such words, and its length, into `size` bytes (its own length and one
 * always do). */
size_t own_env_others(const char *list, char *buf, size_t size);

#endif
