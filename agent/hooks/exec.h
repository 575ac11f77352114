/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec - programs that cannot be preloaded are started without what is ours.
 *
 * Threads  any, also a vfork child, which shares its parent's memory, a child of a
 *          threaded program, and a signal handler on a small stack.
 * Memory   about 3 KiB of stack; what is larger is mapped for the call, or kept for the
 *          next one (exec_copy.c).
 * Errors   none of ours: a pointer is not followed before the kernel has said that it can
 *          be; when in doubt, or out of memory, the call goes on as it came.
 * Units    bytes.
 */
#ifndef HOOKS_EXEC_H
#define HOOKS_EXEC_H

#include "config/aside.h"

#include <limits.h>
#include <spawn.h>

/* A program named by path below `dir`, or a name that is looked for in PATH. */
enum exec_kind { EXEC_PATH, EXEC_AT, EXEC_FD, EXEC_NAME, EXEC_SPAWN, EXEC_SPAWN_NAME };

struct exec_call {
	enum exec_kind kind;
	int dir, flags;
	const char *path;
	char *const *argv, *const *envp;
	pid_t *pid; /* posix_spawn */
	const posix_spawn_file_actions_t *actions;
	const posix_spawnattr_t *attr;
};

struct exec_room {
	struct image image;
	char path[PATH_MAX];
};

/* ---- exec_seen.c: what the caller's pointers point at ---- */

#define EXEC_PAGES 8
struct exec_seen { /* zeroed; for one call */
	uintptr_t page[EXEC_PAGES]; /* that can be read, the last that were asked for */
	unsigned next;
};
/* Can `size` bytes (a page at most) be read at `at`; all of a text, with its end? */
bool exec_sees(struct exec_seen *s, const void *at, size_t size);
bool exec_sees_text(struct exec_seen *s, const char *text);

/* ---- exec_env.c: environments ---- */

struct exec_env {
	const char *preload; /* value of the row that names the agent, or NULL */
	const char *word; /* the agent in it */
	size_t word_length;
	const char *job; /* value of PROF_JOB, or NULL */
	size_t size; /* of a copy without what is ours */
	bool ours; /* the agent would be loaded from here */
	bool loads; /* what is started is valgrind */
	bool cleared; /* read to its end, and nothing of ours in it */
	bool lists; /* the loader only lists libraries (ldd): the agent is none of them */
};
/* An environment that cannot be read to its end is not ours: the kernel says EFAULT, or
 * E2BIG. */
void exec_env_read(struct exec_env *e, char *const *envp);
char **exec_env_make(char *room, size_t size, char *const *envp);

/* ---- exec_copy.c: room for one that does not fit on the stack ---- */

void *exec_copy_take(size_t size); /* NULL: none */
void exec_copy_give(void *room);

/* ---- exec_find.c: programs ---- */

enum aside exec_find(const struct exec_call *c, const struct exec_env *e);

#endif
