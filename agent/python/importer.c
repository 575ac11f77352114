/* SPDX-License-Identifier: Apache-2.0 */
/* The marker's search for its function (seek.h) may have exchanged the type before, and
 * wants it to stay. */
#include "agent/python/importer.h"
#include "agent/python/imported.h"
#include "agent/python/kin.h"

static unsigned watchers; /* that need the type */
static bool exchanged; /* by us */

bool importer_ready(void)
{
	return imported_find() && kin_find();
}

const char *importer_find(struct importer *i, slot_call *ours)
{
	void *function = imported_item("_frozen_importlib", "_find_and_load");

	return function ? slot_find(&i->slot, function, ours) : "there is no importer";
}

bool importer_watch(struct importer *i)
{
	if (!slot_set_locked(&i->slot))
		return false;
	exchanged |= kin_set(i->slot.function);
	watchers += !i->kin;
	i->kin = true;
	return true;
}

void importer_leave(struct importer *i)
{
	slot_unset(&i->slot);
	if (!i->kin)
		return;
	i->kin = false;
	if (--watchers || !exchanged)
		return;
	kin_unset(i->slot.function);
	exchanged = false;
}
