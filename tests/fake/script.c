/* SPDX-License-Identifier: Apache-2.0 */
/* script - settings of the fakes: the environment, fake_set over it. */
#include "tests/fake/driver_internal.h"

#include <fnmatch.h>
#include <pthread.h>
#include <unistd.h>

enum { MAX_SETTINGS = 48, MAX_ERRORS = 32 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
	char name[48];
	const char *value;
} settings[MAX_SETTINGS];
static struct value { /* all that ever were: somebody may be reading them */
	struct value *next;
	char text[];
} * values;
static size_t n_settings;
static uint64_t generation = 1;

static struct failure {
	char name[64];
	long argument, code, times; /* argument -1: any; times -1: for ever */
} failures[MAX_ERRORS];
static size_t n_failures;
static uint64_t failures_of; /* the generation they were read in */

static const char *keep(const char *text)
{
	struct value *v = malloc(sizeof(*v) + strlen(text) + 1);

	strcpy(v->text, text);
	v->next = values;
	values = v;
	return v->text;
}

EXPORT void fake_set(const char *variable, const char *value)
{
	size_t i;

	pthread_mutex_lock(&mutex);
	for (i = 0; i < n_settings && strcmp(settings[i].name, variable) != 0; i++)
		;
	if (i == MAX_SETTINGS) {
		fprintf(stderr, "fake: too many settings\n");
		abort();
	}
	if (i == n_settings) {
		snprintf(settings[i].name, sizeof(settings[i].name), "%s", variable);
		n_settings++;
	}
	settings[i].value = value ? keep(value) : NULL;
	__atomic_add_fetch(&generation, 1, __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(&mutex);
}

uint64_t script_generation(void)
{
	return __atomic_load_n(&generation, __ATOMIC_ACQUIRE);
}

const char *script_text(const char *variable)
{
	const char *value = getenv(variable);

	pthread_mutex_lock(&mutex);
	for (size_t i = 0; i < n_settings; i++)
		if (strcmp(settings[i].name, variable) == 0 && settings[i].value)
			value = settings[i].value;
	pthread_mutex_unlock(&mutex);
	return value && *value ? value : NULL;
}

long long script_number(const char *variable, long long otherwise)
{
	const char *value = script_text(variable);

	return value ? strtoll(value, NULL, 0) : otherwise;
}

bool script_hangs(const char *where)
{
	const char *value = script_text("FAKE_HANG");

	return value && strcmp(value, where) == 0;
}

bool script_match(const char *glob, const char *text)
{
	return fnmatch(glob, text, 0) == 0;
}

/* name[/argument]=code[*times],... */
static void read_failures(void)
{
	static char known[1024]; /* how often they shall fail is not counted anew */
	const char *at = script_text("FAKE_ERROR");
	char rest[80];

	if (strcmp(known, at ? at : "") == 0)
		return;
	snprintf(known, sizeof(known), "%s", at ? at : "");
	n_failures = 0;
	while (at && *at && n_failures < MAX_ERRORS) {
		struct failure *f = &failures[n_failures];
		size_t length = strcspn(at, ",");
		char *equals, *mark;

		snprintf(rest, sizeof(rest), "%.*s", (int)length, at);
		at += length + (at[length] == ',');
		equals = strchr(rest, '=');
		if (!equals)
			continue;
		*equals++ = 0;
		mark = strchr(rest, '/');
		f->argument = mark ? strtol(mark + 1, NULL, 0) : -1;
		if (mark)
			*mark = 0;
		snprintf(f->name, sizeof(f->name), "%.*s", 63, rest);
		f->code = strtol(equals, &mark, 0);
		f->times = *mark == '*' ? strtol(mark + 1, NULL, 0) : -1;
		n_failures++;
	}
}

int script_error(const char *name, long argument)
{
	static uint64_t checked;
	int code = 0;

	if (__atomic_load_n(&checked, __ATOMIC_ACQUIRE) == script_generation() &&
	    n_failures == 0)
		return 0;
	if (failures_of != script_generation()) {
		uint64_t now = script_generation();

		read_failures();
		failures_of = now;
		__atomic_store_n(&checked, now, __ATOMIC_RELEASE);
	}
	pthread_mutex_lock(&mutex);
	for (size_t i = 0; i < n_failures && code == 0; i++) {
		struct failure *f = &failures[i];

		if (strcmp(f->name, name) != 0 || f->times == 0 ||
		    (f->argument >= 0 && f->argument != argument))
			continue;
		if (f->times > 0)
			f->times--;
		code = (int)f->code;
	}
	pthread_mutex_unlock(&mutex);
	return code;
}

/* glob=ns[:registers[:shared]],... */
void script_kernel(const char *name, long long *ns, long *registers, long *shared)
{
	const char *at = script_text("FAKE_KERNELS");
	char row[256];

	*ns = *registers = *shared = -1;
	while (at && *at) {
		size_t length = strcspn(at, ",");
		char *equals, *end;

		snprintf(row, sizeof(row), "%.*s", (int)length, at);
		at += length + (at[length] == ',');
		equals = strrchr(row, '=');
		if (!equals)
			continue;
		*equals++ = 0;
		if (!script_match(row, name))
			continue;
		*ns = strtoll(equals, &end, 0);
		if (*end == ':')
			*registers = strtol(end + 1, &end, 0);
		if (*end == ':')
			*shared = strtol(end + 1, &end, 0);
		return;
	}
}
