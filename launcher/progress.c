/* SPDX-License-Identifier: Apache-2.0 */
/* The line comes only after half a second of waiting: most jobs are done before, and then
 * no line flickers. */
#include "launcher/progress.h"
#include "base/sys.h"
#include "launcher/say.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define AFTER_NS 500000000ll
#define EACH_NS  200000000ll

static int64_t shown; /* at which `waited`; 0 = not yet */
static uint32_t most;

void progress_show(uint32_t left, int64_t waited)
{
	char line[96] = "\rproflaunch: finishing\033[K";

	most = left > most ? left : most;
	if (say_quiet || waited < AFTER_NS || waited - shown < EACH_NS ||
	    !isatty(STDERR_FILENO))
		return;
	shown = waited;
	if (most)
		snprintf(line, sizeof(line),
			 "\rproflaunch: finishing: %u of %u spools\033[K", most - left,
			 most);
	sys_write_all(STDERR_FILENO, line, strlen(line));
}

void progress_clear(void)
{
	if (shown)
		sys_write_all(STDERR_FILENO, "\r\033[K", 4);
}
