/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor_machine - a machine with a GPU as the test plays it: what doctor's part about
 * the GPU asks, and what it prints.
 *
 * Threads  one.  Memory  static.  Errors  a failed Check assertion.  Units  none.
 */
#ifndef TESTS_DOCTOR_MACHINE_H
#define TESTS_DOCTOR_MACHINE_H

#include "launcher/doctor/find_cupti.h"
#include "launcher/doctor/gpu.h"
#include "launcher/doctor/verdict.h"
#include "tests/unit/printed.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>

static struct ask_gpu answer;
static const char *cupti, *stray, *runtime, *node, *params;
static int runtime_major;
static bool gpu_only;

void ask_gpu(struct ask_gpu *a, unsigned seconds)
{
	ck_assert_uint_eq(seconds, 40);
	ck_assert_str_eq(a->cupti, cupti); /* looked for first */
	*a = answer;
	strcpy(a->cupti, cupti);
}

int find_cupti(struct ask_gpu *a, const char *image, const char *mapped)
{
	ck_assert_str_eq(image, "/program");
	ck_assert_ptr_nonnull(mapped);
	strcpy(a->cupti, cupti);
	return runtime_major;
}

const char *find_mapped(const char *text, const char *base, char *path, size_t size)
{
	ck_assert_str_eq(base, "libcudart");
	snprintf(path, size, "%s", runtime);
	return *runtime ? text : NULL;
}

bool find_stray(char *path, size_t size)
{
	snprintf(path, size, "%s", stray);
	return *stray;
}

int access(const char *path, int mode)
{
	if (!strncmp(path, "/dev/", 5) || !strncmp(path, "/proc/driver/", 13))
		return strcmp(path, node) ? (errno = ENOENT, -1) : 0;
	return (int)syscall(SYS_access, path, mode);
}

FILE *fopen(const char *path, const char *mode)
{
	int fd;

	if (strcmp(path, "/proc/driver/nvidia/params")) {
		fd = open(path, *mode == 'r' ? O_RDONLY : O_RDWR | O_CREAT | O_TRUNC,
			  0600);
	} else {
		fd = params ? memfd_create("params", 0) : -1;
		if (params && pwrite(fd, params, strlen(params), 0) < 0)
			abort();
	}
	return fd < 0 ? NULL : fdopen(fd, *mode == 'r' ? "r" : "w");
}

/* A machine with a card and all that belongs to it. */
static void machine_in_order(void)
{
	unsetenv("CUDA_INJECTION64_PATH");
	unsetenv("NVTX_INJECTION64_PATH");
	setenv("CUDA_MPS_PIPE_DIRECTORY", "/nowhere", 1);
	cupti = "/cuda/libcupti.so.13";
	runtime = "/cuda/libcudart.so.13";
	node = "/proc/driver/nvidia/version";
	stray = "";
	params = NULL;
	runtime_major = 13;
	answer = (struct ask_gpu){ .end = ASK_ENDED,
				   .stage = ASK_DONE,
				   .driver = 13040,
				   .count = 1,
				   .version = 130001,
				   .stride = { 216, 96, 88, 40 } };
	strcpy(answer.gpu[0].name, "NVIDIA H100");
	answer.gpu[0].major = 9;
}

/* True: something is off. */
static inline bool machine_asked(const char *mapped)
{
	struct config c;

	config_defaults(&c);
	if (gpu_only)
		c.activities = ACTIVITIES_CUDA;
	verdict_off = false;
	printed_begin();
	doctor_gpu(&c, "/program", mapped);
	printed();
	return verdict_off;
}

#endif
