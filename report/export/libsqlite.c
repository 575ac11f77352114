/* SPDX-License-Identifier: Apache-2.0 */
/* Only a database needs the library: whoever writes none needs not have it. */
#include "report/export/libsqlite.h"
#include "base/bound.h"

struct libsqlite libsqlite;

/* The library is looked for once: the first answer holds for the whole run. */
bool libsqlite_open(void)
{
	static const struct bound_function all[] = {
#define LIBSQLITE(result, name, arguments) { #name, (void **)&libsqlite.name },
#include "report/export/libsqlite.def"
#undef LIBSQLITE
	};
	static bool tried, good;

	if (tried)
		return good;
	tried = true;
	good = bound_all(dlopen(LIBSQLITE_NAME, RTLD_NOW | RTLD_LOCAL), all,
			 sizeof(all) / sizeof(*all));
	return good;
}
