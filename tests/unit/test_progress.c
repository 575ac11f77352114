/* SPDX-License-Identifier: Apache-2.0 */
/* How far the end has come, on a terminal. */
#include "launcher/progress.h"
#include "launcher/say.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <unistd.h>

#define MS INT64_C(1000000)

static int terminal; /* the side of who looks at it */

static void enter(void)
{
	int ours;

	terminal = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
	ck_assert_int_ge(terminal, 0);
	ck_assert_int_eq(grantpt(terminal) + unlockpt(terminal), 0);
	ours = open(ptsname(terminal), O_RDWR | O_NOCTTY);
	ck_assert_int_ge(ours, 0);
	dup2(ours, 2);
	say_quiet = false;
}

/* What has come since the last time. */
static const char *shown(void)
{
	static char text[4096];
	ssize_t n = read(terminal, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

START_TEST(what_is_done_is_counted_up)
{
	progress_show(1000, 100 * MS);
	progress_show(1000, 499 * MS);
	progress_clear();
	ck_assert_str_eq(shown(), "");
	progress_show(900, 500 * MS);
	ck_assert_str_eq(shown(), "\rproflaunch: finishing: 100 of 1000 spools\033[K");
	progress_show(800, 600 * MS);
	ck_assert_str_eq(shown(), "");
	progress_show(0, 701 * MS);
	ck_assert_str_eq(shown(), "\rproflaunch: finishing: 1000 of 1000 spools\033[K");
	progress_clear();
	ck_assert_str_eq(shown(), "\r\033[K");
}
END_TEST

START_TEST(nobody_is_told_who_wants_quiet)
{
	say_quiet = true;
	progress_show(10, 1000 * MS);
	progress_clear();
	ck_assert_str_eq(shown(), "");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("progress");

	tcase_add_checked_fixture(tc, enter, NULL);
	tcase_add_test(tc, what_is_done_is_counted_up);
	tcase_add_test(tc, nobody_is_told_who_wants_quiet);
	return unit_run(tc, "progress");
}
