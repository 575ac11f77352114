/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/find_cupti.h"
#include "agent/core/cuda_files.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* As agent/cupti/find.c: mapped and of the runtime's major, beside the runtime, the
 * loader's; of several runtimes the newest first. */
#define LIBRARIES 8

struct library {
	char path[PATH_MAX];
	int major;
};
struct libraries {
	struct library at[LIBRARIES];
	unsigned n;
};

/* The next path in the text whose last part begins with `base`; NULL = none. */
static const char *next_path(const char *text, const char *base, char *path, size_t size)
{
	for (const char *p = text; (p = strstr(p, base)); p++) {
		const char *begin = p;
		size_t len;

		if (p == text || p[-1] != '/')
			continue;
		while (begin > text && !strchr(" \t\n", begin[-1]))
			begin--;
		len = strcspn(begin, " \t\n");
		if (len < size) {
			snprintf(path, size, "%.*s", (int)len, begin);
			return begin + len;
		}
	}
	return NULL;
}

bool find_mapped(const char *text, const char *base, char *path, size_t size)
{
	return next_path(text, base, path, size);
}

static void note(struct libraries *l, const char *path, int major)
{
	unsigned at = l->n;

	for (unsigned i = 0; i < l->n; i++)
		if (!strcmp(l->at[i].path, path))
			return;
	if (l->n == LIBRARIES)
		return;
	for (; at && l->at[at - 1].major < major; at--)
		l->at[at] = l->at[at - 1];
	snprintf(l->at[at].path, sizeof(l->at[at].path), "%s", path);
	l->at[at].major = major;
	l->n++;
}

static void list(struct libraries *l, const char *mapped, const char *stem)
{
	char path[PATH_MAX];
	int major;

	while ((mapped = next_path(mapped, stem, path, sizeof(path))))
		if ((major = cuda_major(path, stem)) >= 0)
			note(l, path, major);
}

/* 0: its name does not tell, and it is not opened here to ask. */
static bool fits(const struct libraries *runtimes, int major)
{
	for (unsigned i = 0; i < runtimes->n; i++)
		if (runtimes->at[i].major == major || !runtimes->at[i].major || !major)
			return true;
	return !runtimes->n;
}

static bool in_folder(const char *dir, int len, const char *more, int major, char *path,
		      size_t size)
{
	char name[32];

	for (unsigned n = 0; cuda_cupti_name(name, sizeof(name), major, n); n++) {
		snprintf(path, size, "%.*s%s/%s", len, dir, more, name);
		if (!access(path, F_OK))
			return true;
	}
	path[0] = '\0';
	return false;
}

static bool beside(const struct library *runtime, char *path, size_t size)
{
	const char *slash = strrchr(runtime->path, '/'), *way;

	for (unsigned n = 0; slash && (way = cuda_beside(n)); n++)
		if (in_folder(runtime->path, (int)(slash - runtime->path), way,
			      runtime->major, path, size))
			return true;
	return false;
}

static bool matches(const char *pattern, char *path, size_t size)
{
	glob_t found;

	if (glob(pattern, 0, NULL, &found))
		return false;
	snprintf(path, size, "%s", found.gl_pathv[0]);
	globfree(&found);
	return true;
}

/* No runtime yet: this Python's own packages are what it will map. */
static bool in_packages(const char *image, char *path, size_t size)
{
	static const char *const wheels[] = {
		"../lib/python3*/site-packages/nvidia/cu1*/lib/libcupti.so.1*",
		"../lib/python3*/site-packages/nvidia/cuda_cupti/lib/libcupti.so.1*",
	};
	const char *slash = strrchr(image, '/');
	char pattern[PATH_MAX + 128];

	for (size_t i = 0; slash && i < sizeof(wheels) / sizeof(*wheels); i++) {
		snprintf(pattern, sizeof(pattern), "%.*s/%s", (int)(slash - image), image,
			 wheels[i]);
		if (matches(pattern, path, size))
			return true;
	}
	return false;
}

int find_cupti(struct ask_gpu *a, const char *image, const char *mapped)
{
	static struct libraries cuptis, runtimes;
	bool found = false;
	unsigned n = 0;

	memset(&cuptis, 0, sizeof(cuptis));
	memset(&runtimes, 0, sizeof(runtimes));
	list(&cuptis, mapped, "libcupti");
	list(&runtimes, mapped, "libcudart");
	for (unsigned i = 0; i < cuptis.n && !found; i++)
		if ((found = fits(&runtimes, cuptis.at[i].major)))
			snprintf(a->cupti, sizeof(a->cupti), "%s", cuptis.at[i].path);
	for (unsigned i = 0; i < runtimes.n && !found; i++)
		found = beside(&runtimes.at[i], a->cupti, sizeof(a->cupti));
	if (!found && !runtimes.n)
		found = in_packages(image, a->cupti, sizeof(a->cupti));
	for (unsigned i = 0; i < runtimes.n && !found && n < ASK_MAJORS; i++)
		a->majors[n++] = runtimes.at[i].major;
	a->by_driver = !runtimes.n;
	return runtimes.n ? runtimes.at[0].major : 0;
}

bool find_stray(char *path, size_t size)
{
	static const char *const systems[] = {
		"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.1*",
		"/usr/local/cuda/lib64/libcupti.so.1*",
		"/usr/local/cuda-*/extras/CUPTI/lib64/libcupti.so.1*",
		"/opt/cuda/extras/CUPTI/lib64/libcupti.so.1*",
	};

	for (size_t i = 0; i < sizeof(systems) / sizeof(*systems); i++)
		if (matches(systems[i], path, size))
			return true;
	return false;
}
