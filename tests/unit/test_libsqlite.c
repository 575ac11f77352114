/* SPDX-License-Identifier: Apache-2.0 */
/* Our table of SQLite's functions against its own header: what differs does not compile.
 */
#if __has_include(<sqlite3.h>)
#include <sqlite3.h>

#include "report/export/libsqlite.h"

#define LIBSQLITE(result, name, arguments) extern result name arguments;
#include "report/export/libsqlite.def"
#undef LIBSQLITE

_Static_assert(LIBSQLITE_OK == SQLITE_OK, "");
_Static_assert(LIBSQLITE_DONE == SQLITE_DONE, "");
_Static_assert(LIBSQLITE_READWRITE == SQLITE_OPEN_READWRITE, "");
_Static_assert(LIBSQLITE_NOMUTEX == SQLITE_OPEN_NOMUTEX, "");
#ifdef SQLITE_OPEN_NOFOLLOW
_Static_assert(LIBSQLITE_NOFOLLOW == SQLITE_OPEN_NOFOLLOW, "");
#endif
#define THERE true
#else
#include <stdbool.h>
#define THERE false
#endif

#include "tests/unit/unit.h"

START_TEST(the_headers_agree)
{
	ck_assert(true); /* we are here */
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("libsqlite");

	if (!THERE) {
		printf("there is no header of SQLite\n");
		return 77;
	}
	tcase_add_test(tc, the_headers_agree);
	return unit_run(tc, "libsqlite");
}
