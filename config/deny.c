/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of deny.def, compiled. All that fit are summed up; the first that fits
 * gives the sentence, so that the order of the rows is that of their importance. */
#include "config/deny.h"

#include <stddef.h>

static const struct {
	uint32_t low, high, driver_low, driver_high;
	bool mps;
	enum deny what;
	const char *sentence;
} rows[] = {
#define DENY(low, high, driver_low, driver_high, mps, what, sentence) \
	{ low, high, driver_low, driver_high, mps, what, sentence },
#include "config/deny.def"
#undef DENY
};

unsigned deny_look(uint32_t version, uint32_t driver, bool mps, const char **sentence)
{
	unsigned all = 0;

	*sentence = NULL;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (version < rows[i].low || version > rows[i].high ||
		    driver < rows[i].driver_low || driver > rows[i].driver_high ||
		    (rows[i].mps && !mps))
			continue;
		all |= rows[i].what;
		if (!*sentence)
			*sentence = rows[i].sentence;
	}
	return all;
}
