/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries that are closed, and others that come to their place: the same return
 * address, another frame.
 */
#include "agent/core/spool_view.h"
#include "tests/unit/unwind_look.h"
#include "tests/unit/unwind_walk.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int hook_test_dlclose(void *handle);

static char dir[64];

/* void call(void (*fn)(void)), in a frame of so many bytes. */
static void build(const char *name, unsigned bytes)
{
	char path[128], command[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.s", dir, name);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fprintf(f,
		".globl call\n.type call, @function\ncall:\n.cfi_startproc\n"
		"sub $%u, %%rsp\n.cfi_adjust_cfa_offset %u\ncall *%%rdi\n"
		"add $%u, %%rsp\n.cfi_adjust_cfa_offset -%u\nret\n.cfi_endproc\n"
		".size call, . - call\n.section .note.GNU-stack, \"\", @progbits\n",
		bytes, bytes, bytes, bytes);
	fclose(f);
	snprintf(command, sizeof(command), "cc -shared -o %s/%s.so %s", dir, name, path);
	ck_assert_int_eq(system(command), 0);
}

static void setup(void)
{
	strcpy(dir, "/tmp/unwind-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	build("one", 24);
	build("two", 104);
}

static void teardown(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	ck_assert_int_eq(system(command), 0);
}

static void *open_one(const char *name, void (**call)(void (*)(void)))
{
	char path[128];
	void *handle;

	snprintf(path, sizeof(path), "%s/%s.so", dir, name);
	handle = dlopen(path, RTLD_NOW);
	ck_assert_msg(handle != NULL, "%s", dlerror());
	*call = (void (*)(void (*)(void)))dlsym(handle, "call");
	return handle;
}

static void back(void)
{
	look(0);
}

static uint32_t id;
static void back_id(void)
{
	id = unwind_stack(NULL, 0);
}

START_TEST(another_library_in_its_place_has_its_own_rules)
{
	struct stack_frame frame[STACKS_MOST];
	void (*call)(void (*)(void));
	struct spool_view v;
	uintptr_t first = 0;
	unsigned same = 0, flags;

	start();
	ck_assert_int_eq(spool_view_init(&v, spool.base, spool.head->cap), 0);
	for (int i = 0; i < 200; i++) {
		const char *name = i & 1 ? "two" : "one";
		void *handle = open_one(name, &call);
		const struct stack_module *m;

		first = i ? first : (uintptr_t)call;
		same += (uintptr_t)call == first;
		call(back);
		agree(4);
		call(back_id);
		ck_assert_uint_gt(stacks_get(&v, id, frame, STACKS_MOST, &flags), 3);
		m = stacks_module_get(&v, frame[1].module);
		ck_assert_ptr_nonnull(m);
		ck_assert_ptr_nonnull(strstr(m->path, name));
		ck_assert_int_eq(hook_test_dlclose(handle), 0);
	}
	ck_assert_uint_gt(same, 100); /* else nothing was tried here */
}
END_TEST

static _Atomic bool over;
static _Atomic unsigned walks;

static __attribute__((noinline)) void deep(int depth)
{
	uintptr_t pc[100];
	volatile unsigned flags = 0, n;
	unsigned f;

	if (depth) {
		deep(depth - 1);
		__asm__ volatile(""); /* no tail call */
		return;
	}
	n = unwind_walk(pc, 100, &f);
	flags = f;
	if (n < 12 || flags)
		ck_abort_msg("%u frames, flags %u", n, flags);
	walks++;
}

static void *walker(void *arg)
{
	while (!over)
		deep(10);
	return arg;
}

START_TEST(threads_walk_while_libraries_come_and_go)
{
	void (*call)(void (*)(void));
	pthread_t t[2];

	start();
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, walker, NULL);
	for (int i = 0; i < 300; i++) {
		void *handle = open_one(i & 1 ? "two" : "one", &call);

		call(back);
		agree(4);
		ck_assert_int_eq(hook_test_dlclose(handle), 0);
	}
	over = true;
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	ck_assert_uint_gt(walks, 100);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("unwind close");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, another_library_in_its_place_has_its_own_rules);
	tcase_add_test(tc, threads_walk_while_libraries_come_and_go);
	return unit_run(tc, "unwind_close");
}
