/* SPDX-License-Identifier: Apache-2.0 */
/* A browser lives on when the launcher has ended: it gets a session of its own, and none
 * of the terminal's descriptors. */
#include "launcher/page_file.h"
#include "launcher/result.h"
#include "launcher/say.h"

#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

bool page_file_write(const char *path, mode_t most, page_file_fill *fill, void *arg)
{
	struct result text;
	const char *wrong;

	if (!result_begin(&text))
		return false;
	text.most = most;
	wrong = fill(text.out, arg);
	if (wrong)
		say_warn("%s: %s", path, wrong);
	return result_show(&text, path, !wrong) && !wrong;
}

/* A path that ends in a slash has no last part: it is its own title. */
const char *page_file_title(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* ---- the browser ---- */

/* An empty variable is none. */
static const char *value_of(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* A BROWSER of several words, or of several browsers, is a shell's: xdg-open knows it. */
static const char *browser_program(void)
{
	const char *browser = value_of("BROWSER");

	if (browser && !strpbrk(browser, " :%"))
		return browser;
	if (browser || value_of("DISPLAY") || value_of("WAYLAND_DISPLAY"))
		return "xdg-open";
	return NULL;
}

/* The browser's own words go nowhere: they are about its profile, not about the report.
 */
static bool start_browser(const char *program, char *path)
{
	char *words[] = { (char *)program, path, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	pid_t pid;
	int err;

	if (posix_spawn_file_actions_init(&files))
		return false;
	if (posix_spawnattr_init(&how)) {
		posix_spawn_file_actions_destroy(&files);
		return false;
	}
	for (int fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
	posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSID);
	err = posix_spawnp(&pid, program, &files, &how, words, environ);
	posix_spawnattr_destroy(&how);
	posix_spawn_file_actions_destroy(&files);
	return !err;
}

/* Whatever fails here, the page is there: a line says how it is opened. */
void page_file_show(const char *path)
{
	const char *program = browser_program();
	char *whole = realpath(path, NULL);

	if (!program)
		say_note("no display here, and no BROWSER: open %s in a browser",
			 whole ? whole : path);
	else if (!whole || !start_browser(program, whole))
		say_note("%s could not be started: open %s in a browser", program,
			 whole ? whole : path);
	free(whole);
}
