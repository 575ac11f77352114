/* SPDX-License-Identifier: Apache-2.0 */
/* Which libcupti: one that is mapped, else the one beside the CUDA runtime in use. */
#include "agent/cupti/lib/find.h"
#include "base/fmt.h"
#include "base/seldom.h"
#include "base/sys.h"
#include "config/cuda_files.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

/*
 * Which libcupti: one that is mapped already and fits the CUDA runtime, else the one that
 * lies beside that runtime, else the loader's. Its major must be the runtime's: a CUPTI
 * of another major loses times without saying so.
 */
#define LIBRARIES 8

struct library {
	char path[448];
	int major; /* 0 = its name does not tell */
};
struct libraries {
	struct library cupti[LIBRARIES], runtime[LIBRARIES];
	unsigned cuptis, runtimes;
};

/* Newest major first. */
static void note_library(struct library *list, unsigned *n, const char *path, int major)
{
	unsigned at = *n;

	if (*n == LIBRARIES || strlen(path) >= sizeof(list->path))
		return;
	for (; at && list[at - 1].major < major; at--)
		list[at] = list[at - 1];
	fmt(list[at].path, sizeof(list[at].path), "%s", path);
	list[at].major = major;
	++*n;
}

static int note_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct libraries *l = arg;
	int major;

	(void)size;
	if (!info->dlpi_name || !*info->dlpi_name)
		return 0;
	if ((major = cuda_major(info->dlpi_name, "libcupti")) >= 0)
		note_library(l->cupti, &l->cuptis, info->dlpi_name, major);
	else if ((major = cuda_major(info->dlpi_name, "libcudart")) >= 0)
		note_library(l->runtime, &l->runtimes, info->dlpi_name, major);
	return 0;
}

static void *open_mapped(const char *path)
{
	return dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
}

/* A file without a number in its name: its symbols carry one. */
static int find_library_major(const struct library *l, const char *symbol,
			      const char *stem)
{
	static const char *const numbers[] = { "13", "12", "11.0" };
	void *handle = l->major ? NULL : open_mapped(l->path);
	char version[48];

	if (!handle)
		return l->major;
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		fmt(version, sizeof(version), "%s.so.%s", stem, numbers[i]);
		if (dlvsym(handle, symbol, version))
			return numbers[i][1] - '0' + 10;
	}
	return 0;
}

static bool has_runtime(const struct libraries *l, int major)
{
	for (unsigned i = 0; i < l->runtimes; i++)
		if (l->runtime[i].major == major)
			return true;
	return !l->runtimes;
}

static void *take_library(struct found *f, const char *path, bool was_mapped)
{
	void *handle = was_mapped ? open_mapped(path)
				  : dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);

	struct link_map *map;

	if (!handle)
		return NULL;
	if (!dlinfo(handle, RTLD_DI_LINKMAP, &map) && map->l_name && *map->l_name)
		path = map->l_name; /* where the loader found it */
	fmt(f->path, sizeof(f->path), "%s", path);
	f->mapped = was_mapped;
	return handle;
}

/* Tries <dir>/libcupti.so.<major>; "" is the loader's way. */
static void *in_folder(struct found *f, const char *dir, int major)
{
	char path[512], name[32];
	struct sys_stat st;
	void *handle = NULL;

	for (unsigned n = 0; !handle && cuda_cupti_name(name, sizeof(name), major, n);
	     n++) {
		fmt(path, sizeof(path), "%s%s%s", dir, *dir ? "/" : "", name);
		if (!*dir || !sys_stat(path, &st))
			handle = take_library(f, path, false);
	}
	return handle;
}

static void *load_beside(struct found *f, const struct library *runtime)
{
	char dir[512];
	const char *slash = strrchr(runtime->path, '/'), *way;
	void *handle = NULL;

	for (unsigned n = 0; slash && !handle && (way = cuda_beside(n)); n++) {
		fmt(dir, sizeof(dir), "%.*s%s", (int)(slash - runtime->path),
		    runtime->path, way);
		handle = in_folder(f, dir, runtime->major);
	}
	return handle;
}

/* The loader's CUPTI: for a runtime that is mapped; where there is none to go by (it is
 * linked in), the newest that is no newer than the driver. */
static void *load_anywhere(struct found *f, const struct libraries *l, uint32_t driver)
{
	int newest = driver ? (int)(driver / 1000) : CUDA_MAJOR_MOST;
	void *handle = NULL;

	for (unsigned i = 0; i < l->runtimes && !handle; i++)
		handle = in_folder(f, "", l->runtime[i].major);
	for (int major = newest; !l->runtimes && major >= CUDA_MAJOR_LEAST && !handle;
	     major--)
		handle = in_folder(f, "", major);
	return handle;
}

static void say_none(struct found *f, const struct libraries *l)
{
	if (l->cuptis && l->runtimes)
		fmt(f->why, sizeof(f->why),
		    "there is CUPTI %d (%s), but the program runs CUDA %d; install "
		    "CUPTI %d",
		    l->cupti[0].major, l->cupti[0].path, f->runtime, f->runtime);
	else if (f->runtime == 11 || f->runtime == 12)
		fmt(f->why, sizeof(f->why),
		    "no libcupti for CUDA %d was found; try pip install "
		    "nvidia-cuda-cupti-cu%d, or add the toolkit's extras/CUPTI/lib64 to "
		    "LD_LIBRARY_PATH",
		    f->runtime, f->runtime);
	else
		fmt(f->why, sizeof(f->why),
		    "no libcupti was found; try pip install nvidia-cuda-cupti, or add "
		    "the toolkit's extras/CUPTI/lib64 to LD_LIBRARY_PATH");
}

void *find_library(struct found *f, uint32_t driver)
{
	static SELDOM struct libraries l;
	void *handle = NULL;

	memset(&l, 0, sizeof(l));
	memset(f, 0, sizeof(*f));
	dl_iterate_phdr(note_object, &l);
	for (unsigned i = 0; i < l.runtimes; i++)
		l.runtime[i].major =
			find_library_major(&l.runtime[i], "cudaMalloc", "libcudart");
	f->runtime = l.runtimes ? l.runtime[0].major : 0;
	fmt(f->cudart, sizeof(f->cudart), "%s", l.runtime[0].path);
	for (unsigned i = 0; i < l.cuptis && !handle; i++) {
		l.cupti[i].major =
			find_library_major(&l.cupti[i], "cuptiGetVersion", "libcupti");
		if (has_runtime(&l, l.cupti[i].major) &&
		    (handle = take_library(f, l.cupti[i].path, true)))
			f->major = l.cupti[i].major;
	}
	for (unsigned i = 0; i < l.runtimes && !handle; i++)
		handle = load_beside(f, &l.runtime[i]);
	if (!handle)
		handle = load_anywhere(f, &l, driver);
	if (!handle)
		say_none(f, &l);
	else if (!f->mapped)
		f->major = cuda_major(f->path, "libcupti");
	return handle;
}
