/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of modules: `_modules` of each is a dictionary of names and modules, in the
 * order in which named_modules() goes. A module is at the first place that leads to it.
 */
#include "agent/python/paths.h"
#include "agent/core/names.h"
#include "agent/core/rare.h"
#include "agent/python/interpreter.h"
#include "agent/python/text.h"
#include "base/sys_call.h"

#define FIRST_SLOTS 1024
#define MODULES     100000 /* in one tree */
#define PATHS       (HASH_SLOTS / 2) /* stored: operators' names need places, too */
#define DEEPEST     100 /* levels: each takes room on the program's stack */
#define TEXT        512 /* bytes of a path */
#define CLASS       200 /* bytes of a class's name */
#define DICT_FLAG   (1ul << 29) /* Py_TPFLAGS_DICT_SUBCLASS */

struct paths_table paths;
static unsigned stored; /* paths, in the spool */

static struct {
	void *(*lookup)(const void *type, void *name); /* borrowed */
	void *(*intern)(const char *text);
	void *(*attribute)(const void *object, void *name);
	int (*next)(void *dict, long *at, void **key, void **value); /* borrowed */
	void *(*error)(void);
	void (*clear_error)(void);
	void (*retain)(void *object), (*release)(void *object);
	const void *object_type, *str_type, *none;
} api;
/* Made once, with the lock held. */
static struct {
	void *modules, *getattribute;
} names;

bool paths_find(void)
{
	static const struct interpreter_symbol symbols[] = {
		{ "_PyType_Lookup", &api.lookup, false },
		{ "PyUnicode_InternFromString", &api.intern, false },
		{ "PyObject_GenericGetAttr", &api.attribute, false },
		{ "PyDict_Next", &api.next, false },
		{ "PyErr_Occurred", &api.error, false },
		{ "PyErr_Clear", &api.clear_error, false },
		{ "Py_IncRef", &api.retain, false },
		{ "Py_DecRef", &api.release, false },
		{ "PyBaseObject_Type", &api.object_type, false },
		{ "PyUnicode_Type", &api.str_type, false },
		{ "_Py_NoneStruct", &api.none, false },
	};

	return interpreter_find(symbols, sizeof(symbols) / sizeof(*symbols));
}

void *paths_attribute(const void *type, const char *name)
{
	void *str = api.intern(name), *found = str ? api.lookup(type, str) : NULL;

	if (str)
		api.release(str); /* who found it has it still */
	else
		api.clear_error();
	return found;
}

/* ---- the table ---- */

/* Held while the table is exchanged, and while its memory is given back. */
static atomic_flag busy = ATOMIC_FLAG_INIT;

/* What other windows have known is left out. */
static void grow_into(struct paths_module *module, size_t slots)
{
	struct paths_table old = paths;

	paths.module = module;
	paths.slots = slots;
	for (size_t i = 0; i < old.slots; i++)
		if (old.module[i].window == old.window)
			*paths_place(old.module[i].self, old.window) = old.module[i];
	if (old.module)
		munmap(old.module, old.slots * sizeof(*module));
}

static bool grow_table(void)
{
	size_t slots = paths.slots ? 2 * paths.slots : FIRST_SLOTS;
	struct paths_module *module = sys_map(slots * sizeof(*module));

	if (!module)
		return false;
	while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
		__builtin_ia32_pause();
	grow_into(module, slots);
	atomic_flag_clear_explicit(&busy, memory_order_release);
	return true;
}

/* A thread may be reading the table, with the interpreter's lock and for the window that
 * has ended: it finds empty places. A small table stays as it is. */
void paths_end(void)
{
	if (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
		return;
	if (!sys_confined && paths.slots > FIRST_SLOTS)
		SYS_CALL(SYS_madvise, paths.module, paths.slots * sizeof(*paths.module),
			 MADV_DONTNEED);
	atomic_flag_clear_explicit(&busy, memory_order_release);
}

/* Half of the table at most is in use. */
static struct paths_module *place_for(const void *self, uint64_t window)
{
	if (paths.window != window) {
		paths.window = window;
		paths.n = 0;
	}
	if (2 * (paths.n + 1) > paths.slots && !grow_table())
		return NULL;
	return paths_place(self, window);
}

/* ---- the tree ---- */

struct visit {
	uint64_t window;
	const void *root;
	unsigned left, depth;
	size_t len;
	char text[TEXT];
};

static bool is_dict(const void *object)
{
	return (uintptr_t)layout_at(layout_at(object, LAYOUT_TYPE), LAYOUT_FLAGS) &
	       DICT_FLAG;
}

/* A new reference to `_modules`, where no code of the class's runs to get it. */
static void *submodules_of(const void *module)
{
	const void *type = layout_at(module, LAYOUT_TYPE);
	void *found;

	if (api.lookup(type, names.modules) ||
	    api.lookup(type, names.getattribute) !=
		    api.lookup(api.object_type, names.getattribute))
		return NULL;
	found = api.attribute(module, names.modules);
	if (!found)
		api.clear_error();
	if (!found || is_dict(found))
		return found;
	api.release(found);
	return NULL;
}

/* Is its path one that stays? It is not where it was called before what it is below, nor
 * was found under one of those. */
static bool has_place(const struct visit *v, const struct paths_module *m)
{
	const struct paths_module *root = paths_place(m->root, v->window);

	return m->root == v->root || (m->root != m->self && !(root->window == v->window &&
							      root->root == v->root));
}

static uint32_t path_id(const char *text, size_t len)
{
	uint32_t id = names_find(text, len);

	if (id || stored >= PATHS)
		return id;
	stored++;
	return names_add(text, len, NULL, 0);
}

uint32_t paths_class(const void *type)
{
	const char *class = layout_at(type, LAYOUT_NAME);

	return names_add(class, strnlen(class, CLASS), NULL, 0);
}

/* NULL: it has a path already, and so has what is below it; or no memory. */
static struct paths_module *enter_module(struct visit *v, const void *self)
{
	const void *type = layout_at(self, LAYOUT_TYPE);
	struct paths_module *m = place_for(self, v->window);
	bool again = m && m->window == v->window && m->type == type;

	if (!m || !v->left || (again && has_place(v, m)))
		return NULL;
	v->left--;
	paths.n += m->window != v->window;
	if (!again)
		m->name = paths_class(type);
	m->self = self;
	m->type = type;
	m->root = v->root;
	m->window = v->window;
	m->path = 0;
	if (self == v->root)
		m->path = m->name;
	else if (v->len)
		m->path = path_id(v->text, v->len);
	return m;
}

/* Puts a name behind the text, and returns how long that was before. What does not fit
 * makes it empty. */
static size_t add_name(struct visit *v, const void *key)
{
	size_t before = v->len, len, at = before + (before != 0);

	v->len = 0;
	if (layout_at(key, LAYOUT_TYPE) != api.str_type || at + 64 > TEXT)
		return before;
	if (before)
		v->text[before] = '.';
	len = python_text(interpreter.layout, key, v->text + at, TEXT - at);
	if (len && at + len + 4 < TEXT) /* else it may be cut */
		v->len = at + len;
	return before;
}

static void visit_module(struct visit *v, const void *self)
{
	void *dict, *key, *value;
	size_t before;
	long at = 0;

	if (!enter_module(v, self) || v->depth == DEEPEST ||
	    !(dict = submodules_of(self)))
		return;
	v->depth++;
	while (api.next(dict, &at, &key, &value)) {
		if (value == api.none)
			continue;
		before = add_name(v, key);
		/* An attribute that is missing makes an object, and up to 3.11 that may
		 * collect garbage: the program's own code then changes the dictionary. */
		api.retain(value);
		if (v->len)
			visit_module(v, value);
		api.release(value);
		v->len = before;
	}
	v->depth--;
	api.release(dict);
}

struct paths_module *paths_learn(const void *self, uint64_t window)
{
	struct visit v = { .window = window, .root = self, .left = MODULES };
	struct paths_module *m = paths_known(self, window);
	struct rare rare; /* a tree may be large: no sample of a call */

	if (m || api.error())
		return m;
	if (!names.modules)
		names.modules = api.intern("_modules");
	if (!names.getattribute)
		names.getattribute = api.intern("__getattribute__");
	if (!names.modules || !names.getattribute) {
		api.clear_error(); /* no memory: ours alone, as none was pending */
		return NULL;
	}
	rare_begin(&rare);
	visit_module(&v, self);
	rare_end(&rare);
	return paths_known(self, window);
}

struct paths_module *paths_at(const void *self, const void *type, uint64_t window)
{
	struct paths_module *m = paths.slots ? paths_place(self, window) : NULL;

	return m && m->window == window && m->type == type ? m : NULL;
}

/* Windows are numbered anew, and the spool is another one. The table stays mapped:
 * another thread may have been about to grow it, so that its size is not known. */
void paths_fork_child(void)
{
	paths = (struct paths_table){ 0 };
	atomic_flag_clear(&busy);
	stored = 0;
}
