/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unit - the few lines that every Check program needs.
 *
 * Threads  none.  Memory  none.  Errors  exit status 1 when a test failed.  Units  none.
 */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

#include <check.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Ends as a skip, with the reason, where that sanitizer itself is in the way. */
static inline void unit_not_under_thread_sanitizer(const char *why)
{
#ifdef SANITIZED_THREAD
	printf("not under ThreadSanitizer: %s\n", why);
	exit(77);
#else
	(void)why;
#endif
}

#ifdef SANITIZED_ADDRESS
/* What we keep for the life of a process is no leak, and the search for leaks dies in
 * programs whose threads are still at work when they end. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

#if defined SANITIZED_ADDRESS || defined SANITIZED_THREAD
#define UNIT_SECONDS 400
#else
#define UNIT_SECONDS 60
#endif

/* What the tests of a program make below /tmp, in a page that they share: also what a
 * test that fails has made is removed. */
#define UNIT_MADE 4000
static struct unit_made {
	_Atomic unsigned n;
	char path[UNIT_MADE][64];
} * unit_made;

static inline void unit_note_made(const char *path)
{
	unsigned at = path && unit_made ? atomic_fetch_add(&unit_made->n, 1) : UNIT_MADE;

	if (at < UNIT_MADE)
		strncpy(unit_made->path[at], path, sizeof(unit_made->path[at]) - 1);
}

static inline char *unit_mkdtemp(char *path)
{
	char *made = mkdtemp(path);

	unit_note_made(made);
	return made;
}

static inline int unit_mkstemp(char *path)
{
	int fd = mkstemp(path);

	unit_note_made(fd < 0 ? NULL : path);
	return fd;
}
#define mkdtemp unit_mkdtemp
#define mkstemp unit_mkstemp

static inline void unit_remove_made(void)
{
	struct stat st;
	char command[192];

	for (unsigned i = 0; i < unit_made->n && i < UNIT_MADE; i++) {
		const char *path = unit_made->path[i];

		if (strncmp(path, "/tmp/", 5) || lstat(path, &st))
			continue;
		snprintf(command, sizeof(command),
			 "chmod -R u+rwx '%s' 2> /dev/null; rm -rf '%s'", path, path);
		if (system(command))
			printf("%s stays\n", path);
	}
}

static inline int unit_run(TCase *tc, const char *name)
{
	Suite *suite = suite_create(name);
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, tc);
	tcase_set_timeout(tc, UNIT_SECONDS);
	unit_made = mmap(NULL, sizeof(*unit_made), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (unit_made == MAP_FAILED)
		return EXIT_FAILURE;
	srunner_run_all(runner, CK_ENV);
	unit_remove_made();
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
