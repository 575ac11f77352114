/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_file - the page of a report as a new file, and in the user's browser.
 *
 * Threads  one.
 * Memory   none of its own.
 * Errors   false after a line on stderr; the file is then as it was before.
 * Units    none.
 */
#ifndef LAUNCHER_PAGE_FILE_H
#define LAUNCHER_PAGE_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* Writes the page. Returns NULL, or what went wrong, which is said behind the file's
 * name. */
typedef const char *page_file_fill(FILE *out, void *arg);
#define PAGE_FILE_NO_MEMORY \
	"not enough memory for the page: fewer slices by --html-limit, or other traces"

/* `most`: its permissions, as new_file_as says them. */
bool page_file_write(const char *path, mode_t most, page_file_fill *fill, void *arg);
/* Starts $BROWSER, or xdg-open where there is a display, and does not wait for it.
 * Without either a line says which file to open. */
void page_file_show(const char *path);
/* What a run is called in a page: its file's name. */
const char *page_file_title(const char *path);

#endif
