/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter forgets the file's name when it has executed it, so what the script is
 * called is asked while it has one: once, as it is held, and nothing else comes to lie
 * where it is. */
#include "agent/python/main_module.h"
#include "agent/python/interpreter.h"
#include "agent/python/members.h"
#include "agent/python/text.h"

#include <string.h>

static struct {
	void (*retain)(void *object);
	void *str;
} api;

static void *own_name, *file_name; /* "__main__", "__file__" */
static void *file; /* the last one that it has had */
static unsigned turn;

bool main_module_find(void)
{
	static const struct interpreter_symbol symbols[] = {
		{ "Py_IncRef", &api.retain, false },
		{ "PyUnicode_Type", &api.str, false },
	};

	return interpreter_find(symbols, sizeof(symbols) / sizeof(*symbols));
}

bool main_module_start(void *(*intern)(const char *text))
{
	if (!own_name)
		own_name = intern("__main__");
	if (!file_name)
		file_name = intern("__file__");
	return own_name && file_name;
}

static void *module_now(void)
{
	void *module = members_module(own_name);

	return module && members_is_module(module) ? module : NULL;
}

long main_module_size(void)
{
	void *module = module_now();

	return module ? members_count(module) : 0;
}

void *main_module_look(void)
{
	void *module = module_now(),
	     *now = module ? members_item(module, file_name) : NULL;

	if (now && now != file) {
		api.retain(now);
		file = now;
		turn++;
	}
	return module;
}

unsigned main_module_turn(void)
{
	return turn;
}

/* `python pkg/train.py` and `python -m pkg.train` run what a user calls train, or
 * pkg.train. */
bool main_module_is(const char *name, unsigned parts)
{
	char path[1024], *at;
	size_t len, want = 0;

	if (!file || layout_at(file, LAYOUT_TYPE) != api.str)
		return false;
	len = python_text(interpreter.layout, file, path, sizeof(path) - 1);
	path[len] = 0;
	if (len > 3 && !strcmp(path + len - 3, ".py"))
		path[len -= 3] = 0;
	if (len > 9 && !strcmp(path + len - 9, "/__main__"))
		path[len -= 9] = 0;
	for (unsigned i = 0; i < parts; i++)
		want += strcspn(name + want, ".") + 1;
	want--;
	if (want > len || (want < len && path[len - want - 1] != '/'))
		return false;
	at = path + len - want;
	for (size_t i = 0; i < want; i++)
		if (at[i] != (name[i] == '.' ? '/' : name[i]))
			return false;
	return true;
}
