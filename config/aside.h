/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aside - programs that the agent cannot be preloaded into, or would break.
 *
 * Threads  any, also a vfork child and a signal handler.
 * Memory   the caller's struct image; a small table of single words that remembers what
 *          files were found to be, static or the job's.
 * Errors   when in doubt ASIDE_NO: a program is never held back for what was not seen.
 * Units    none.
 */
#ifndef CONFIG_ASIDE_H
#define CONFIG_ASIDE_H

#include "base/image.h"
#include "base/sys.h"

enum aside {
	ASIDE_NO, /* the agent can go with it, or the file does not tell */
#define ASIDE(name, text) ASIDE_##name,
#include "config/aside.def"
#undef ASIDE
	ASIDE_KINDS
};
extern const char *const aside_text[ASIDE_KINDS];

#define ASIDE_SCRIPTS 5 /* as deep as the kernel follows #! lines */
#define ASIDE_KNOWN   128 /* files that are remembered, a word each */

/* From here on findings are kept in these words, which processes of a job share: a
 * process finds what another has found. A wrong word makes a program run with or
 * without the agent, and no more. */
void aside_share(_Atomic uint64_t known[ASIDE_KNOWN]);

/* What an image that was read (ELF) and the rights of its file say. */
enum aside aside_of(const struct image *image);
/* The loader drops LD_PRELOAD when the program gains rights. */
bool aside_raises(const struct sys_stat *st);
bool aside_raises_caps(int fd);
/* A file that was looked into before, as stat shows it. False: only a look would tell. */
bool aside_known(const struct sys_stat *st, enum aside *why);
/* The program that execveat(dir, path, flags) would start now; follows #! lines. */
enum aside aside_look(struct image *room, int dir, const char *path, int flags);
/* Can the file be opened with the rights that this process has now? True in doubt. */
bool aside_reads(const char *library);

#endif
