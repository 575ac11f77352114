/* SPDX-License-Identifier: Apache-2.0 */
/* Who watches it at the same time has the type once more each (kin.h). */
#include "agent/python/importer.h"
#include "agent/python/imported.h"
#include "agent/python/kin.h"

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
	i->kin = i->kin || kin_set(i->slot.function);
	return true;
}

void importer_leave(struct importer *i)
{
	slot_unset(&i->slot);
	if (i->kin)
		kin_unset(i->slot.function);
	i->kin = false;
}
