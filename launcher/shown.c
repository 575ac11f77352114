/* SPDX-License-Identifier: Apache-2.0 */
/* A screen of the right width over a text in memory. */
#include "launcher/shown.h"
#include "launcher/result.h"
#include "launcher/say.h"

#include <unistd.h>

int shown_print(const char *output, mode_t most, bool colour,
		bool (*print)(const void *what, const struct screen *to),
		const void *what)
{
	struct result text;
	struct screen screen;
	bool fine;

	if (!result_begin(&text))
		return 2;
	text.most = most;
	screen_begin(&screen, text.out,
		     !output && isatty(STDOUT_FILENO) ? STDOUT_FILENO : -1);
	screen.colour &= colour;
	fine = print(what, &screen);
	if (!fine)
		say_warn("not enough memory");
	return result_show(&text, output, fine) && fine ? 0 : 2;
}
