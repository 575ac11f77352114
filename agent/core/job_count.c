/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/job_count.h"
#include "base/fmt.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD offsetof(struct job_page, slot) /* bytes: all counters lie there */

static bool ends_with(const char *path, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && !memcmp(path + len - n, end, n);
}

/* The page that is mapped anyway, if that is "<directory>/<id>/page". */
static struct job_page *mapped_page(const char *path)
{
	char name[sizeof(job->id) + 8];

	if (!job || !path)
		return job;
	fmt(name, sizeof(name), "/%.*s/" JOB_PAGE, (int)strnlen(job->id, sizeof(job->id)),
	    job->id);
	return ends_with(path, strlen(path), name) ? job : NULL;
}

/* As job_join: only a file that we ourselves own, of the right size, is believed. */
static struct job_page *open_head(const char *named)
{
	const char *path = named + strspn(named, "0123456789");
	int fd = sys_open(*path == ':' ? path + 1 : path,
			  O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
	void *p = MAP_FAILED;
	struct sys_stat st;

	if (fd < 0)
		return NULL;
	if (!sys_fstat(fd, &st) && S_ISREG(st.mode) && st.uid == geteuid() &&
	    st.size >= sizeof(struct job_page))
		p = mmap(NULL, HEAD, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	sys_close(fd);
	if (p == MAP_FAILED)
		return NULL;
	if (!memcmp(((struct job_page *)p)->magic, JOB_MAGIC, 8))
		return p;
	munmap(p, HEAD);
	return NULL;
}

/* The counter is named by its offset, because the page may be one that is mapped for
 * this call alone: a program may have set PROF_JOB to another job's. */
static void add_to_page_counter(const char *path, size_t at, int by)
{
	int saved = errno;
	struct job_page *mapped = mapped_page(path), *page = mapped;

	if (!page && path)
		page = open_head(path);
	if (page)
		__atomic_fetch_add((uint32_t *)((char *)page + at), (uint32_t)by,
				   __ATOMIC_RELAXED);
	if (page && !mapped)
		munmap(page, HEAD);
	errno = saved;
}

void job_count_aside(const char *page, enum aside why, int by)
{
	add_to_page_counter(
		page, offsetof(struct job_page, aside) + why * sizeof(uint32_t), by);
}

void job_count_inner(const char *page)
{
	if (page)
		add_to_page_counter(page, offsetof(struct job_page, inner), 1);
}
