/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins WHAT... - a host in C: what is written in C++ comes with libraries that it
 * opens.
 *
 * +LIBRARY opens it, -LIBRARY closes it and maps something else where it was, =LIBRARY
 * makes a block in it and frees it, (LIBRARY makes one and )LIBRARY frees the last one.
 * Prints what each library says of its own blocks.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static struct plugin {
	const char *path;
	void *lib, *block;
} plugins[8];

static struct plugin *plugin(const char *path)
{
	struct plugin *p = plugins;

	while (p->path && strcmp(p->path, path))
		p++;
	p->path = path;
	return p;
}

static void *function(struct plugin *p, const char *name)
{
	void *fn = p->lib ? dlsym(p->lib, name) : NULL;

	if (!fn) {
		puts(dlerror());
		exit(3);
	}
	return fn;
}

/* Code that goes on using the old one is seen at once. */
static void leave(struct plugin *p)
{
	uintptr_t at = (uintptr_t)function(p, "make") & ~(uintptr_t)4095;

	if (dlclose(p->lib))
		exit(4);
	p->lib = NULL;
	if (mmap((void *)at, 4096, PROT_READ,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
		puts("still there");
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct plugin *p = plugin(argv[i] + 1);

		switch (argv[i][0]) {
		case '+':
			p->lib = dlopen(p->path, RTLD_NOW | RTLD_LOCAL);
			break;
		case '-':
			leave(p);
			break;
		case '=':
		case '(':
			p->block = ((void *(*)(size_t))function(p, "make"))(40);
			if (argv[i][0] == '(')
				break;
			__attribute__((fallthrough));
		case ')':
			((void (*)(void *))function(p, "drop"))(p->block);
			printf("%s: %ld of its own\n", strrchr(p->path, '/') + 1,
			       ((long (*)(void))function(p, "own"))());
			break;
		}
	}
	return 0;
}
