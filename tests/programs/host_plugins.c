/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins WAY NAME... - a program in C opens plugins in C++ one after the other, and has
 * blocks of each allocated before and freed after something that WAY says: `full`: all
 * descriptors are taken, `none`: there may be none, `unknown`: it was never seen before.
 */
#include <dlfcn.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static struct plugin {
	void *(*make_one)(void), *(*make_many)(int);
	void (*end_one)(void *), (*end_many)(void *);
	int (*refuses)(void);
	int *strangers;
	void *one, *many;
} plugin[8];

static int open_plugin(struct plugin *p, const char *program, const char *name)
{
	char folder[4096], path[8192];
	void *handle;

	snprintf(folder, sizeof(folder), "%s", program);
	snprintf(path, sizeof(path), "%s/plugin-%s.so", dirname(folder), name);
	handle = dlopen(path, RTLD_NOW);
	if (!handle)
		return !puts(dlerror());
	*(void **)&p->make_one = dlsym(handle, "make_one");
	*(void **)&p->make_many = dlsym(handle, "make_many");
	*(void **)&p->end_one = dlsym(handle, "end_one");
	*(void **)&p->end_many = dlsym(handle, "end_many");
	*(void **)&p->refuses = dlsym(handle, "refuses");
	p->strangers = dlsym(handle, "strangers");
	return 1;
}

static void use(struct plugin *p)
{
	p->end_one(p->make_one());
	p->end_many(p->make_many(100));
}

static void limit_files(const char *way)
{
	struct rlimit files = { 0, 64 };

	if (!strcmp(way, "full"))
		files.rlim_cur = 64;
	if (strcmp(way, "full") && strcmp(way, "none"))
		return;
	setrlimit(RLIMIT_NOFILE, &files);
	while (dup(1) >= 0)
		;
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	int n = 0;

	for (; n + 2 < argc && n < 8; n++) {
		if (!open_plugin(&plugin[n], argv[0], argv[n + 2]))
			return 1;
		if (strcmp(way, "unknown") != 0)
			use(&plugin[n]);
		plugin[n].one = plugin[n].make_one();
		plugin[n].many = plugin[n].make_many(1000);
	}
	dlclose(dlopen("libm.so.6", RTLD_NOW));
	limit_files(way);
	for (int i = 0; i < n; i++) {
		plugin[i].end_one(plugin[i].one);
		plugin[i].end_many(plugin[i].many);
		use(&plugin[i]);
		printf("%s: %d blocks of others, %s\n", argv[i + 2], *plugin[i].strangers,
		       plugin[i].refuses() ? "none too large" : "one too large");
	}
	return 0;
}
