/* SPDX-License-Identifier: Apache-2.0 */
/* The file has no journal: it has its name only when it is whole, and is dropped with
 * whatever went wrong. */
#include "report/export/database.h"
#include "base/utf8.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NOFOLLOW_FROM 3031000

/* SQLite gives no handle only where it has no memory for one. */
bool database_failed(struct database *d, const char *path, char *why, size_t size)
{
	snprintf(why, size, "%s: SQLite says: %s", path,
		 d->db ? libsqlite.sqlite3_errmsg(d->db) : "not enough memory");
	d->failed = true;
	return false;
}

/* Queries of our own have no rows: nobody takes any. */
static bool run_query(struct database *d, const char *query)
{
	return libsqlite.sqlite3_exec(d->db, query, NULL, NULL, NULL) == LIBSQLITE_OK;
}

/* ---- tables ---- */

/* "INSERT INTO text VALUES(?,?)": as many as there are columns. */
static bool prepare_insert(struct database *d, enum database_table table,
			   const char *name, const char *columns)
{
	char query[256];
	int n = snprintf(query, sizeof(query), "INSERT INTO %s VALUES(?", name);

	for (const char *p = columns; (p = strchr(p, ',')); p++)
		n += snprintf(query + n, sizeof(query) - (size_t)n, ",?");
	snprintf(query + n, sizeof(query) - (size_t)n, ")");
	return libsqlite.sqlite3_prepare_v2(d->db, query, -1, &d->insert[table], NULL) ==
	       LIBSQLITE_OK;
}

/* Each table has a statement that adds a row; views need all tables. */
static bool make_tables(struct database *d)
{
	static const struct {
		const char *name, *columns, *create;
	} tables[] = {
#define TABLE(name, columns) { #name, columns, "CREATE TABLE " #name "(" columns ")" },
#define VIEW(name, query)
#define INDEX(name, place)
#include "report/export/database.def"
#undef TABLE
#undef VIEW
#undef INDEX
	};
	static const char views[] = ""
#define TABLE(name, columns)
#define VIEW(name, query) "CREATE VIEW " #name " AS " query ";"
#define INDEX(name, place)
#include "report/export/database.def"
#undef TABLE
#undef VIEW
#undef INDEX
		;

	for (int i = 0; i < DATABASE_TABLES; i++)
		if (!run_query(d, tables[i].create) ||
		    !prepare_insert(d, (enum database_table)i, tables[i].name,
				    tables[i].columns))
			return false;
	return run_query(d, views);
}

/* What is true of the file is a row as well, which readers find by its key. */
static void put_meta(struct database *d, const char *key, const char *value)
{
	database_text(d, DATABASE_meta, key);
	database_text(d, DATABASE_meta, value);
	database_row(d, DATABASE_meta);
}

/* A link in place of the file is another user's: newer libraries refuse it. */
bool database_open(struct database *d, const char *path, char *why, size_t size)
{
	int flags = LIBSQLITE_READWRITE | LIBSQLITE_NOMUTEX;

	*d = (struct database){ 0 };
	if (!libsqlite_open()) {
		snprintf(why, size,
			 "%s is missing: install SQLite's library (Debian, Ubuntu: apt "
			 "install libsqlite3-0), or export --events",
			 LIBSQLITE_NAME);
		return false;
	}
	if (libsqlite.sqlite3_libversion_number() >= NOFOLLOW_FROM)
		flags |= LIBSQLITE_NOFOLLOW;
	if (libsqlite.sqlite3_open_v2(path, &d->db, flags, NULL) != LIBSQLITE_OK ||
	    !run_query(d, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
			  "PRAGMA locking_mode = EXCLUSIVE; PRAGMA temp_store = MEMORY;"
			  "PRAGMA cache_size = -16384; BEGIN") ||
	    !make_tables(d))
		return database_failed(d, path, why, size);
	put_meta(d, "schema", DATABASE_SCHEMA);
	put_meta(d, "proflaunch", VERSION);
	put_meta(d, "times", "ns; trace.base_ns makes them absolute");
	return !d->failed || database_failed(d, path, why, size);
}

/* Indexes are made at once when all rows are there: that takes half of the time. */
bool database_finish(struct database *d, char *why, size_t size)
{
	static const char end[] = ""
#define TABLE(name, columns)
#define VIEW(name, query)
#define INDEX(name, place) "CREATE INDEX " #name " ON " place ";"
#include "report/export/database.def"
#undef TABLE
#undef VIEW
#undef INDEX
				  "COMMIT";

	return run_query(d, end) || database_failed(d, "the database", why, size);
}

/* Statements go first: SQLite does not close a database that has some. */
void database_close(struct database *d)
{
	for (int i = 0; d->db && i < DATABASE_TABLES; i++)
		libsqlite.sqlite3_finalize(d->insert[i]);
	if (d->db)
		libsqlite.sqlite3_close(d->db);
	json_piece_free(&d->spare);
	d->db = NULL;
}

/* ---- rows ---- */

/* A fault is kept until it is said, so that columns need no check of their own. */
static void check_result(struct database *d, int result)
{
	d->failed |= result != LIBSQLITE_OK;
}

/* Columns are filled from left to right: each call takes the next one. */
void database_number(struct database *d, enum database_table table, int64_t n)
{
	sqlite3_stmt *s = d->insert[table];

	d->at++;
	check_result(d, n == DATABASE_NULL ? libsqlite.sqlite3_bind_null(s, d->at)
					   : libsqlite.sqlite3_bind_int64(s, d->at, n));
}

/* What is negative or no finite number is not known, and becomes NULL. */
void database_share(struct database *d, enum database_table table, double x)
{
	sqlite3_stmt *s = d->insert[table];

	d->at++;
	check_result(d, x >= 0 && isfinite(x) ? libsqlite.sqlite3_bind_double(s, d->at, x)
					      : libsqlite.sqlite3_bind_null(s, d->at));
}

/* How many bytes from `p` on are UTF-8, as its readers want it. */
static size_t valid_length(const char *p, size_t n)
{
	size_t at = 0, len = 1;

	while (at < n && len) {
		len = utf8_length((const unsigned char *)p + at, n - at);
		at += len;
	}
	return at;
}

/* Readers of a database refuse a text that is no UTF-8, with all of its row. */
static const char *valid_text(struct database *d, const char *text)
{
	size_t n = strlen(text), len = valid_length(text, n);

	if (len == n)
		return text;
	d->spare.n = 0;
	for (const char *end = text + n; text < end; text += len + 1) {
		len = valid_length(text, (size_t)(end - text));
		json_piece_add(&d->spare, text, len);
		if (text + len == end)
			break;
		json_piece_literal(&d->spare, "\xef\xbf\xbd");
	}
	json_piece_add(&d->spare, "", 1);
	d->failed |= d->spare.full;
	return d->spare.full ? "" : d->spare.bytes;
}

void database_text(struct database *d, enum database_table table, const char *text)
{
	sqlite3_stmt *s = d->insert[table];
	/* SQLite copies it: the spare text is used again. */
	void (*copy)(void *) = (void (*)(void *))(intptr_t)-1;

	d->at++;
	check_result(d, text ? libsqlite.sqlite3_bind_text(s, d->at, valid_text(d, text),
							   -1, copy)
			     : libsqlite.sqlite3_bind_null(s, d->at));
}

/* Columns keep their values after a reset: each row sets all of them anew. */
void database_row(struct database *d, enum database_table table)
{
	d->at = 0;
	d->failed |= libsqlite.sqlite3_step(d->insert[table]) != LIBSQLITE_DONE;
	check_result(d, libsqlite.sqlite3_reset(d->insert[table]));
}
