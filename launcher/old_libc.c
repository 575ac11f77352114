/* SPDX-License-Identifier: Apache-2.0 */
/*
 * old_libc - functions that glibc 2.33 and 2.34 moved out of programs, or gave another
 * version.
 *
 * Built here the launcher would ask for the newer C library without need. Here are the
 * functions whose old kind lay in each program (the stat family, the walk over the
 * constructors); the others are bound to old versions by libc_floor.h.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef void constructor(int argc, char **argv, char **env);

extern constructor *__init_array_start[] __attribute__((visibility("hidden")));
extern constructor *__init_array_end[] __attribute__((visibility("hidden")));
extern void _init(void) __attribute__((visibility("hidden")));
constructor start_init;

/* The loader has run .preinit_array, and will run the functions that end the program. */
void start_init(int argc, char **argv, char **env)
{
	size_t n = (size_t)(__init_array_end - __init_array_start);

	_init();
	for (size_t i = 0; i < n; i++)
		__init_array_start[i](argc, argv, env);
}

/* On x86-64 struct stat is the kernel's own. */
int fstatat(int at, const char *restrict path, struct stat *restrict st, int flags)
{
	return (int)syscall(SYS_newfstatat, at, path, st, flags);
}

int stat(const char *restrict path, struct stat *restrict st)
{
	return fstatat(AT_FDCWD, path, st, 0);
}

int lstat(const char *restrict path, struct stat *restrict st)
{
	return fstatat(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}

int fstat(int fd, struct stat *st)
{
	return fstatat(fd, "", st, AT_EMPTY_PATH);
}
