/* SPDX-License-Identifier: Apache-2.0 */
/* The table of layouts: one row for each minor version of CPython, since none has changed
 * them after its first release candidate. */
#include "agent/python/layout.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
#define INDEX   PYTHON_INDEX
#define POINTER PYTHON_POINTER

static const struct python_layout layouts[] = {
/* minor kind     lines           state through in   caller code where  entry owner helper unit  file name line table  first start  ascii wide call  local */
	{  8, INDEX,   CODE_LNOTAB,     24, false, 0,     24, 32, 104,   0,  0, 0, 1,    104, 112, 40, 120,    0,   0,    48, 72, 112, 360 },
	{  9, INDEX,   CODE_LNOTAB,     24, false, 0,     24, 32, 104,   0,  0, 0, 1,    104, 112, 40, 120,    0,   0,    48, 72, 112, 360 },
	{ 10, INDEX,   CODE_LINETABLE,  24, false, 0,     24, 32,  96,   0,  0, 0, 2,    104, 112, 40, 120,    0,   0,    48, 72, 120, 352 },
	{ 11, POINTER, CODE_LOCATIONS,  56, true,  8,     48, 32,  56,  68, 69, 0, 0,    112, 120, 72, 136,  168, 184,    48, 72, 120,  72 },
	{ 12, POINTER, CODE_LOCATIONS,  56, true,  0,      8,  0,  56,   0, 70, 3, 0,    112, 120, 68, 136,  176, 192,    40, 56, 128,  72 },
	{ 13, POINTER, CODE_LOCATIONS,  72, false, 0,      8,  0,  56,   0, 70, 3, 0,    112, 120, 68, 136,  184, 200,    40, 56, 128,  72 },
	{ 14, POINTER, CODE_LOCATIONS,  72, false, 0,      8,  0,  56,   0, 74, 3, 0,    112, 120, 68, 136,  192, 208,    40, 56, 136,  80 },
};
/* clang-format on */

const struct python_layout *python_layout(const char *version, const char **why)
{
	char *end;
	long major = strtol(version, &end, 10), minor = -1;

	if (*end == '.')
		minor = strtol(end + 1, &end, 10);
	if (*end == '.')
		strtol(end + 1, &end, 10);
	*why = "this version of Python is not known";
	if (strstr(version, "free-threading"))
		*why = "a Python without its lock (free-threaded) is not supported";
	else if (*end == 'a' || *end == 'b')
		*why = "a Python that is not released yet is not known";
	else
		for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
			if (major == 3 && layouts[i].minor == minor)
				return &layouts[i];
	return NULL;
}
