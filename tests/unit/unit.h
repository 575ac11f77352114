/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unit - the few lines that every Check program needs.
 *
 * Threads  none.  Memory  none.  Errors  exit status 1 when a test failed.  Units  none.
 */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

#include <check.h>
#include <stdlib.h>

static inline int unit_run(TCase *tc, const char *name)
{
	Suite *suite = suite_create(name);
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, tc);
	tcase_set_timeout(tc, 60);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
