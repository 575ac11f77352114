/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place - where the spools of a job lie: on a disk of this machine, or nowhere.
 *
 * Threads  one at a time.
 * Memory   the caller's.
 * Errors   0 or -errno; a doubtful place is passed over, never used.
 * Units    none.
 */
#ifndef CONFIG_PLACE_H
#define CONFIG_PLACE_H

#include "config/config.h"

/*
 * `dir` becomes the directory, or "" for memory; *why says in words what decided.
 * `tmp` is $TMPDIR or NULL. Makes only the private directory below `tmp`.
 */
int place_spool(const struct config *cfg, const char *tmp, char *dir, size_t size,
		const char **why);
/* Does `path` (or what there is of it) lie on a file system of this machine? */
bool place_is_local(const char *path);

#endif
