/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's own rules (agent/cupti/lib/find.c) for a program that does not run yet: a
 * libcupti that is mapped and of the runtime's major, then one beside the runtime, then
 * the loader's; of several runtimes the newest first. The agent sees the libraries that
 * the program has mapped; here a trial run or the loader has printed their list. */
#include "launcher/doctor/find_cupti.h"
#include "base/text.h"
#include "config/cuda_files.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Of libcupti, and of runtimes: a program maps one of each, or two. */
#define LIBRARIES 8

struct library {
	char path[PATH_MAX];
	int major;
};
struct libraries {
	struct library at[LIBRARIES];
	unsigned n;
};

const char *find_mapped(const char *text, const char *base, char *path, size_t size)
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

static void note_library(struct libraries *l, const char *path, int major)
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

static void list_mapped(struct libraries *l, const char *mapped, const char *stem)
{
	char path[PATH_MAX];
	int major;

	while ((mapped = find_mapped(mapped, stem, path, sizeof(path))))
		if ((major = cuda_major(path, stem)) >= 0)
			note_library(l, path, major);
}

/* Does a libcupti of that major fit a runtime? 0: its name does not tell the major, and
 * the library is not opened to ask. */
static bool fits_a_runtime(const struct libraries *runtimes, int major)
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

static bool find_beside(const struct library *runtime, char *path, size_t size)
{
	const char *slash = strrchr(runtime->path, '/'), *way;

	for (unsigned n = 0; slash && (way = cuda_beside(n)); n++)
		if (in_folder(runtime->path, (int)(slash - runtime->path), way,
			      runtime->major, path, size))
			return true;
	return false;
}

/* Finds the first file that one of the patterns matches, in their order. */
static bool first_match(const char *dir, int len, const char *const *patterns, char *path,
			size_t size)
{
	char pattern[PATH_MAX + 128];
	glob_t found;

	for (; *patterns; patterns++) {
		snprintf(pattern, sizeof(pattern), "%.*s%s", len, dir, *patterns);
		if (glob(pattern, 0, NULL, &found))
			continue;
		snprintf(path, size, "%s", found.gl_pathv[0]);
		globfree(&found);
		return true;
	}
	return false;
}

/* Without a runtime in the list this Python's own packages are what it will map. */
static bool in_packages(const char *image, char *path, size_t size)
{
	static const char *const wheels[] = {
		"../lib/python3*/site-packages/nvidia/cu1*/lib/libcupti.so.1*",
		"../lib/python3*/site-packages/nvidia/cuda_cupti/lib/libcupti.so.1*",
		NULL,
	};

	return strchr(image, '/') &&
	       first_match(image, (int)(text_base(image) - image), wheels, path, size);
}

int find_cupti(struct ask_gpu *a, const char *image, const char *mapped)
{
	static struct libraries cuptis, runtimes;
	bool found = false;
	unsigned n = 0;

	memset(&cuptis, 0, sizeof(cuptis));
	memset(&runtimes, 0, sizeof(runtimes));
	list_mapped(&cuptis, mapped, "libcupti");
	list_mapped(&runtimes, mapped, "libcudart");
	for (unsigned i = 0; i < cuptis.n && !found; i++)
		if ((found = fits_a_runtime(&runtimes, cuptis.at[i].major)))
			snprintf(a->cupti, sizeof(a->cupti), "%s", cuptis.at[i].path);
	for (unsigned i = 0; i < runtimes.n && !found; i++)
		found = find_beside(&runtimes.at[i], a->cupti, sizeof(a->cupti));
	if (!found && !runtimes.n)
		found = in_packages(image, a->cupti, sizeof(a->cupti));
	for (unsigned i = 0; i < runtimes.n && !found && n < ASK_MAJORS; i++)
		a->majors[n++] = runtimes.at[i].major;
	a->by_driver = !runtimes.n;
	return runtimes.n ? runtimes.at[0].major : 0;
}

/* Looks where NVIDIA's installers put libcupti: the agent does not look there, for it may
 * be of another CUDA than the program's. */
bool find_stray(char *path, size_t size)
{
	static const char *const systems[] = {
		"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.1*",
		"/usr/local/cuda/lib64/libcupti.so.1*",
		"/usr/local/cuda-*/extras/CUPTI/lib64/libcupti.so.1*",
		"/opt/cuda/extras/CUPTI/lib64/libcupti.so.1*",
		NULL,
	};

	return first_match("", 0, systems, path, size);
}
