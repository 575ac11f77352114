/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unit - the few lines that every Check program needs.
 *
 * Threads  none.  Memory  none.  Errors  exit status 1 when a test failed.  Units  none.
 */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

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

static inline int unit_run(TCase *tc, const char *name)
{
	Suite *suite = suite_create(name);
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, tc);
	tcase_set_timeout(tc, UNIT_SECONDS);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
