/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads lines "steps plan-text" and prints one digit for each step from 0 (torch's
 * ProfilerAction values), or "refused".
 */
#include "agent/sched/schedule.c"
#include "base/fmt.c"
#include "base/near.c"

#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	static char line[1024];

	while (fgets(line, sizeof(line), stdin)) {
		struct schedule plan;
		char *text;
		unsigned long steps = strtoul(line, &text, 10);

		text[strcspn(text, "\n")] = 0;
		if (schedule_parse(&plan, text + (*text == ' '))) {
			puts("refused");
			continue;
		}
		for (unsigned long step = 0; step < steps; step++)
			putchar('0' + (int)schedule_at(&plan, step));
		putchar('\n');
	}
	return 0;
}
