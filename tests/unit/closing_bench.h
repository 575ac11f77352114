/* SPDX-License-Identifier: Apache-2.0 */
/* The closing words of what a test puts into these. */
#ifndef CLOSING_BENCH_H
#define CLOSING_BENCH_H

#include "launcher/closing.h"
#include "launcher/say.h"
#include "tests/unit/unit.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct config config;
static struct totals totals;
static struct spool_header *head;
static char said[65536];
static uint32_t confined, cleared;
static uint64_t finisher_ns;
static int64_t waited_ns;
static struct tally programs;

static void begin(void)
{
	config_defaults(&config);
	strcpy(config.logdir, "/tmp/log");
	strcpy(config.marker, "auto");
	config.malloc = 3;
	memset(&totals, 0, sizeof(totals));
	memset(&programs, 0, sizeof(programs));
	head = calloc(1, sizeof(*head));
}

static void end(void)
{
	free(head);
}

static void say(void)
{
	struct closing c = { .config = &config,
			     .finisher_ns = finisher_ns,
			     .waited_ns = waited_ns,
			     .confined = confined,
			     .programs = &programs,
			     .aside[ASIDE_CLEARED] = cleared,
			     .totals = &totals,
			     .spool_dir = "/tmp/log/.proflaunch/job",
			     .seconds = 1 };
	int old = dup(2), fd = memfd_create("said", MFD_CLOEXEC);
	ssize_t n;

	dup2(fd, 2);
	closing_say(&c);
	dup2(old, 2);
	n = pread(fd, said, sizeof(said) - 1, 0);
	said[n > 0 ? n : 0] = '\0';
	close(fd);
	close(old);
}

static void says(const char *part)
{
	say();
	ck_assert_msg(strstr(said, part) != NULL, "no \"%s\" in\n%s", part, said);
}

#endif
