/* SPDX-License-Identifier: Apache-2.0 */
/*
 * database - traces as tables of SQLite, one transaction for all of them.
 *
 * Threads  one at a time.
 * Memory   SQLite's, and the trace that is being added; database_close.
 * Errors   false with a line in `why`, then database_close.
 * Units    nanoseconds; bytes.
 */
#ifndef REPORT_EXPORT_DATABASE_H
#define REPORT_EXPORT_DATABASE_H

#include "report/export/joined.h"
#include "report/export/json_piece.h"
#include "report/export/libsqlite.h"

#define DATABASE_SCHEMA "1"

enum database_table {
#define TABLE(name, columns) DATABASE_##name,
#define VIEW(name, query)
#define INDEX(name, place)
#include "report/export/database.def"
#undef TABLE
#undef VIEW
#undef INDEX
	DATABASE_TABLES
};

struct database {
	sqlite3 *db;
	sqlite3_stmt *insert[DATABASE_TABLES];
	int at; /* the column of the row that is being filled, from 1 on */
	bool failed;
	struct json_piece spare; /* a text that is made valid */
	uint32_t cats[SLICE_KINDS][SORT_SET + 1]; /* texts of the trace that is added */
	int64_t traces, texts, threads, steps, slices, memory; /* rows so far */
};

/* Opens an empty file that nobody else has open. */
bool database_open(struct database *d, const char *path, char *why, size_t size);
/* Makes the indexes and ends the transaction. */
bool database_finish(struct database *d, char *why, size_t size);
void database_close(struct database *d);

/* The next columns of a row; database_row stores it. NULL and INT64_MIN are NULL. */
void database_text(struct database *d, enum database_table table, const char *text);
void database_number(struct database *d, enum database_table table, int64_t n);
void database_share(struct database *d, enum database_table table, double x);
void database_row(struct database *d, enum database_table table);
#define DATABASE_NULL INT64_MIN

/* Says what SQLite says; false. */
bool database_failed(struct database *d, const char *path, char *why, size_t size);

#endif
