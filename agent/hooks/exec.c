/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exec family and posix_spawn. What they return, and every error, is the C library's:
 * a look at the target decides about the environment alone.
 */
#include "agent/hooks/exec.h"
#include "agent/core/job_count.h"
#include "agent/hooks/enter.h"
#include "agent/hooks/libc.h"
#include "base/tls.h"

#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Bytes of an environment that may lie on the stack: 250 rows. Programs call exec on the
 * small stacks of signal handlers and of children of vfork. */
#define STACK_MOST 2048

typedef char *const *list;

extern char **environ;

static struct {
	int (*execve)(const char *, list, list);
	int (*execvpe)(const char *, list, list);
	int (*execveat)(int, const char *, list, list, int);
	int (*fexecve)(int, list, list);
	int (*spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
		     const posix_spawnattr_t *, list, list);
	int (*spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *,
		      const posix_spawnattr_t *, list, list);
} real;

/* Runs before any thread and child of the program, where dlsym is safe; another library's
 * constructor may call this earlier, two at once store the same. */
void hook_start_exec(void)
{
	int (*execve_fn)(const char *, list, list);

	if (__atomic_load_n(&real.execve, __ATOMIC_ACQUIRE))
		return;
	hook_look_dlsym(NULL, NULL);
	if (!hook_real_dlsym) /* the C library comes before us: nobody calls our hooks */
		return;
	real.execvpe = hook_real_dlsym(RTLD_NEXT, "execvpe");
	real.execveat = hook_real_dlsym(RTLD_NEXT, "execveat"); /* glibc 2.34 */
	real.fexecve = hook_real_dlsym(RTLD_NEXT, "fexecve");
	real.spawn = hook_real_dlsym(RTLD_NEXT, "posix_spawn");
	real.spawnp = hook_real_dlsym(RTLD_NEXT, "posix_spawnp");
	execve_fn = hook_real_dlsym(RTLD_NEXT, "execve");
	__atomic_store_n(&real.execve, execve_fn, __ATOMIC_RELEASE);
}

/* glibc before 2.34 has no execveat: then the system call is made here, which is all that
 * the function does. */
static int call_real(const struct exec_call *c, list envp)
{
	switch (c->kind) {
	case EXEC_PATH:
		return real.execve(c->path, c->argv, envp);
	case EXEC_AT:
		if (real.execveat)
			return real.execveat(c->dir, c->path, c->argv, envp, c->flags);
		return (int)syscall(SYS_execveat, c->dir, c->path, c->argv, envp,
				    c->flags);
	case EXEC_FD:
		return real.fexecve(c->dir, c->argv, envp);
	case EXEC_NAME:
		return real.execvpe(c->path, c->argv, envp);
	case EXEC_SPAWN:
		return real.spawn(c->pid, c->path, c->actions, c->attr, c->argv, envp);
	default:
		return real.spawnp(c->pid, c->path, c->actions, c->attr, c->argv, envp);
	}
}

/* An exec is counted before it, for there is no after; one that fails did not run. Nor
 * does what ldd starts (ASIDE_NO). */
static int call_counted(const struct exec_call *c, list envp, const char *page,
			enum aside why)
{
	bool spawns = c->kind >= EXEC_SPAWN;
	int result;

	if (why && !spawns)
		job_count_aside(page, why, 1);
	result = call_real(c, envp);
	if (why && !spawns)
		job_count_aside(page, why, -1);
	else if (why && !result)
		job_count_aside(page, why, 1);
	return result;
}

static int call_aside(const struct exec_call *c, const struct exec_env *e, enum aside why)
{
	bool small = e->size <= STACK_MOST;
	char *room = small ? alloca(e->size) : exec_copy_take(e->size);
	char **envp = room ? exec_env_make(room, e->size, c->envp) : NULL;
	int result = envp ? call_counted(c, envp, e->job, why) : call_real(c, c->envp);

	if (room && !small)
		exec_copy_give(room);
	return result;
}

/* Python's ctypes asks it where libraries are, in an environment of its own: nobody wants
 * it profiled, nor to be told that it was not. */
static bool lists_libraries(const char *path)
{
	struct exec_seen s = { { 0 } };
	const char *slash = exec_sees_text(&s, path) ? strrchr(path, '/') : NULL;

	return slash && !strcmp(slash, "/ldconfig");
}

static int run_call(const struct exec_call *c)
{
	enum aside why = ASIDE_NO;
	struct exec_env e;
	bool lists = false, cleared = false;

	hook_start_exec();
	if (!real.execve) {
		errno = ENOSYS;
		return c->kind >= EXEC_SPAWN ? ENOSYS : -1;
	}
	/* Not in a process that chose which system calls it may make, or has no errno. */
	if (!sys_confined && tls_is_there()) {
		exec_env_read(&e, c->envp);
		cleared = e.cleared;
		lists = e.ours && e.lists;
		if (e.ours && !lists)
			why = exec_find(c, &e);
	}
	/* The environment names no job, so the count goes to the page that this process
	 * has mapped. */
	if (cleared)
		return call_counted(c, c->envp, NULL,
				    lists_libraries(c->path) ? ASIDE_NO : ASIDE_CLEARED);
	return why || lists ? call_aside(c, &e, why) : call_real(c, c->envp);
}

static int run_exec(enum exec_kind kind, const char *path, list argv, list envp)
{
	return run_call(&(struct exec_call){ .kind = kind,
					     .dir = AT_FDCWD,
					     .path = path,
					     .argv = argv,
					     .envp = envp });
}

static int run_spawn(enum exec_kind kind, pid_t *pid, const char *path,
		     const posix_spawn_file_actions_t *actions,
		     const posix_spawnattr_t *attr, list argv, list envp)
{
	return run_call(&(struct exec_call){ .kind = kind,
					     .dir = AT_FDCWD,
					     .path = path,
					     .argv = argv,
					     .envp = envp,
					     .pid = pid,
					     .actions = actions,
					     .attr = attr });
}

/* ---- what programs call ---- */

int HOOK_EXPORT(execve)(const char *path, list argv, list envp)
{
	return run_exec(EXEC_PATH, path, argv, envp);
}

int HOOK_EXPORT(execv)(const char *path, list argv)
{
	return run_exec(EXEC_PATH, path, argv, environ);
}

int HOOK_EXPORT(execvp)(const char *name, list argv)
{
	return run_exec(EXEC_NAME, name, argv, environ);
}

int HOOK_EXPORT(execvpe)(const char *name, list argv, list envp)
{
	return run_exec(EXEC_NAME, name, argv, envp);
}

int HOOK_EXPORT(execveat)(int dir, const char *path, list argv, list envp, int flags)
{
	return run_call(&(struct exec_call){ .kind = EXEC_AT,
					     .dir = dir,
					     .flags = flags,
					     .path = path,
					     .argv = argv,
					     .envp = envp });
}

int HOOK_EXPORT(fexecve)(int fd, list argv, list envp)
{
	return run_call(&(struct exec_call){ .kind = EXEC_FD,
					     .dir = fd,
					     .flags = AT_EMPTY_PATH,
					     .argv = argv,
					     .envp = envp });
}

int HOOK_EXPORT(posix_spawn)(pid_t *pid, const char *path,
			     const posix_spawn_file_actions_t *actions,
			     const posix_spawnattr_t *attr, list argv, list envp)
{
	return run_spawn(EXEC_SPAWN, pid, path, actions, attr, argv, envp);
}

int HOOK_EXPORT(posix_spawnp)(pid_t *pid, const char *name,
			      const posix_spawn_file_actions_t *actions,
			      const posix_spawnattr_t *attr, list argv, list envp)
{
	return run_spawn(EXEC_SPAWN_NAME, pid, name, actions, attr, argv, envp);
}

/* ---- arguments one by one: as the C library, an array of them on the stack ---- */

static size_t count_arguments(const char *first, va_list more)
{
	va_list args;
	size_t n = 0;

	va_copy(args, more);
	for (const char *arg = first; arg; arg = va_arg(args, const char *))
		n++;
	va_end(args);
	return n;
}

static int run_list(enum exec_kind kind, const char *path, const char *first,
		    va_list args, bool environment)
{
	size_t n = count_arguments(first, args);
	char **argv = alloca((n + 1) * sizeof(*argv));

	argv[0] = (char *)first;
	for (size_t i = 1; i <= n; i++)
		argv[i] = va_arg(args, char *);
	/* With no argument at all, the NULL that ends them was the last that was read. */
	return run_exec(kind, path, argv, environment ? va_arg(args, char **) : environ);
}

int HOOK_EXPORT(execl)(const char *path, const char *arg, ...)
{
	va_list args;
	int result;

	va_start(args, arg);
	result = run_list(EXEC_PATH, path, arg, args, false);
	va_end(args);
	return result;
}

int HOOK_EXPORT(execlp)(const char *name, const char *arg, ...)
{
	va_list args;
	int result;

	va_start(args, arg);
	result = run_list(EXEC_NAME, name, arg, args, false);
	va_end(args);
	return result;
}

int HOOK_EXPORT(execle)(const char *path, const char *arg, ...)
{
	va_list args;
	int result;

	va_start(args, arg);
	result = run_list(EXEC_PATH, path, arg, args, true);
	va_end(args);
	return result;
}
