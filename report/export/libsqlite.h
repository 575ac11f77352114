/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libsqlite - SQLite's library, opened at run time: the types of it that are needed here,
 * so that neither building nor running depends on it.
 *
 * Threads  one.
 * Memory   as SQLite's own documentation says.
 * Errors   all members of `libsqlite` are NULL until libsqlite_open has returned true.
 * Units    as SQLite's.
 */
#ifndef REPORT_EXPORT_LIBSQLITE_H
#define REPORT_EXPORT_LIBSQLITE_H

#include <stdbool.h>

#define LIBSQLITE_NAME "libsqlite3.so.0"

#ifndef SQLITE_VERSION /* a test includes the real one first */
typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
typedef long long int sqlite3_int64;
#endif

/* Numbers that SQLite defines. */
enum {
	LIBSQLITE_OK = 0,
	LIBSQLITE_DONE = 101,
	LIBSQLITE_READWRITE = 0x00000002,
	LIBSQLITE_NOMUTEX = 0x00008000,
	LIBSQLITE_NOFOLLOW = 0x01000000, /* from 3.31 on */
};

extern struct libsqlite {
#define LIBSQLITE(result, name, arguments) result(*name) arguments;
#include "report/export/libsqlite.def"
#undef LIBSQLITE
} libsqlite;

/* Opens it at the first call. False: it is not there, or lacks a function. */
bool libsqlite_open(void);

#endif
