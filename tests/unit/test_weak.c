/* SPDX-License-Identifier: Apache-2.0 */
/* Who asks whether a function is there must not find ours alone: libraries that the test
 * builds, of which one plays the agent. */
#include "agent/hooks/weak.c"
#include "agent/patch/steps.h"
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <stdio.h>

#define PAGE 4096ul

static char dir[64];

static void *library(const char *name, const char *flags, const char *text, int mode)
{
	char command[1024], path[128];
	void *handle;

	snprintf(path, sizeof(path), "%s/%s.so", dir, name);
	snprintf(command, sizeof(command), "echo '%s' | cc -x c - -shared -fPIC %s -o %s",
		 text, flags, path);
	ck_assert_int_eq(system(command), 0);
	handle = dlopen(path, RTLD_NOW | mode);
	ck_assert_msg(handle != NULL, "%s", dlerror());
	return handle;
}

static const struct link_map *map_of(void *handle)
{
	struct link_map *map;

	ck_assert_int_eq(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
	return map;
}

#define ASKS(name)                                                         \
	"extern int " name "(void) __attribute__((weak)); void *has_" name \
	"(void) { return (void *)" name "; } "

static const char user[] = ASKS("hooked") ASKS("also") ASKS("proflaunch_step")
	ASKS("nowhere") "int own(void) { return 5; } ";

static bool has(void *handle, const char *name)
{
	void *(*ask)(void) = (void *(*)(void))dlsym(handle, name);

	ck_assert_ptr_nonnull(ask);
	return ask() != NULL;
}

static struct sealed {
	uintptr_t object;
	unsigned pages;
} sealed;

/* What the loader made read-only is so again. */
static int check_sealed(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size, (void)arg;
	for (unsigned i = 0; info->dlpi_addr == sealed.object && i < info->dlpi_phnum;
	     i++) {
		const Elf64_Phdr *p = &info->dlpi_phdr[i];
		uintptr_t at = (info->dlpi_addr + p->p_vaddr) & ~(PAGE - 1);
		uintptr_t end = (info->dlpi_addr + p->p_vaddr + p->p_memsz) & ~(PAGE - 1);

		for (; p->p_type == PT_GNU_RELRO && at < end; at += PAGE) {
			ck_assert_int_eq(patch_prot(at), PROT_READ);
			sealed.pages++;
		}
	}
	return 0;
}

START_TEST(a_function_that_only_we_have_is_not_there)
{
	static const char *const flags[] = { "-Wl,-z,relro,-z,now",
					     "-Wl,-z,norelro -Wl,-z,lazy",
					     "-Wl,-z,relro,-z,now -Wl,--hash-style=gnu" };
	struct look l;
	void *us, *it;

	strcpy(dir, "/tmp/weak-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	us = library("us", "",
		     "int hooked(void) { return 1; } int also(void) { return 2; } "
		     "int proflaunch_step(void) { return 3; }",
		     RTLD_GLOBAL);
	library("other", "", "int also(void) { return 4; }", RTLD_GLOBAL);
	it = library("user", flags[_i], user, RTLD_LOCAL);
	ck_assert(has(it, "has_hooked") && has(it, "has_also"));
	l.own = map_of(us);
	ck_assert_int_eq(dl_iterate_phdr(find_us, &l), 1);
	dl_iterate_phdr(each_object, &l);
	ck_assert(!has(it, "has_hooked"));
	ck_assert(has(it, "has_also")); /* another library has it */
	ck_assert(has(it, "has_proflaunch_step")); /* to be asked for so */
	ck_assert(!has(it, "has_nowhere"));
	sealed.object = map_of(it)->l_addr;
	dl_iterate_phdr(check_sealed, NULL);
	ck_assert_int_eq(sealed.pages != 0, _i != 1);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("weak");

	tcase_add_loop_test(tc, a_function_that_only_we_have_is_not_there, 0, 3);
	return unit_run(tc, "weak");
}
