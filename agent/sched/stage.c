/* SPDX-License-Identifier: Apache-2.0 */
/* The user's stages as the options have them, and the run itself. */
#include "agent/sched/stage.h"
#include "agent/sched/state.h"
#include "base/fmt.h"
#include "base/log.h"
#include "base/seldom.h"

#include <string.h>

struct stage stage_run;
unsigned stage_count;
static SELDOM struct stage stages[STAGES_MOST];
static SELDOM uint64_t groups[STAGE_TRIGGERS];
static bool with_names;

/* ---- from the options ---- */

/* The user's plan, or why it is none; "": there is no plan. */
static const char *read_plan(struct stage *s, const char *text)
{
	const char *why = *text ? schedule_parse(&s->plan, text) : "";

	s->given = !why;
	if (why)
		schedule_parse(&s->plan, SCHEDULE_DEFAULT);
	return why;
}

static void read_marker(struct marker *m, const char *text, const char *what)
{
	const char *why = marker_parse(m, text);

	if (!why)
		return;
	log_warn("%s = %s: %s; going on with auto", what, text, why);
	memset(m, 0, sizeof(*m));
}

static bool ends_so(const char *text, const char *end)
{
	size_t len = strlen(text), n = strlen(end);

	return len >= n && !strcmp(text + len - n, end);
}

/* A function that nobody says more of enters a stage as it begins. */
static void read_edge(struct stage *s, enum stage_role role, const char *text)
{
	struct marker *m = &s->edge[role];

	if (*text && marker_parse(m, text))
		memset(m, 0, sizeof(*m));
	m->at_begin |= role == STAGE_ENTER && !ends_so(text, "@end");
}

static void read_stage(struct stage *s, const struct stages_row *row,
		       const char *schedule)
{
	fmt(s->name, sizeof(s->name), "%s", row->name);
	read_marker(&s->marker, row->marker, row->name);
	read_edge(s, STAGE_WITHIN, row->within);
	read_edge(s, STAGE_ENTER, row->enter);
	read_edge(s, STAGE_LEAVE, row->leave);
	s->bare = !*s->edge[STAGE_WITHIN].text && !*s->edge[STAGE_ENTER].text;
	read_plan(s, *row->schedule ? row->schedule : schedule);
}

/* None of the run's own steps is seen, and none is recorded. */
static void leave_run_alone(void)
{
	memset(&stage_run, 0, sizeof(stage_run));
	stage_run.marker.kind = MARKER_OUTSIDE;
	stage_run.plan = (struct schedule){ .skip_first = UINT64_MAX, .active = 1 };
	stage_run.given = true;
}

static void read_run(const struct config *cfg)
{
	const char *why;

	read_marker(&stage_run.marker, cfg->marker, "marker");
	why = read_plan(&stage_run, cfg->schedule);
	if (why && *why)
		log_warn("schedule = %s: %s; going on with the default", cfg->schedule,
			 why);
	if (stage_run.marker.kind == MARKER_NONE && *cfg->schedule)
		log_note(
			"schedule is not used: marker = none makes the whole run one window");
}

/* ---- triggers ---- */

struct stage *stage_of(unsigned trigger)
{
	unsigned number = trigger / STAGE_ROLES;

	return number ? &stages[number - 1] : &stage_run;
}

const struct marker *stage_marker(unsigned trigger)
{
	enum stage_role role = trigger % STAGE_ROLES;

	return role == STAGE_STEP ? &stage_of(trigger)->marker
				  : &stage_of(trigger)->edge[role];
}

bool stage_wants_names(void)
{
	return with_names;
}

static bool has_name(const struct stage *s, const char *name, size_t len)
{
	return s->marker.kind == MARKER_TORCH && marker_matches(&s->marker, name, len);
}

/* Where several have the name the one that is on comes first. */
int stage_find(const char *name, size_t len)
{
	const struct stage *now = sched.now;

	if (has_name(now, name, len))
		return now->number * STAGE_ROLES;
	for (unsigned i = 0; i < stage_count; i++)
		if (has_name(&stages[i], name, len))
			return (int)((i + 1) * STAGE_ROLES);
	return -1;
}

_Static_assert(STAGE_TRIGGERS == SCHED_TRIGGERS, "what sched.h says of them");

static const char *function_of(unsigned trigger)
{
	const struct marker *m = stage_marker(trigger);

	if (trigger / STAGE_ROLES > stage_count)
		return NULL;
	return m->kind == MARKER_PYTHON && *m->text ? m->text : NULL;
}

const char *stage_function(unsigned trigger)
{
	const char *name = function_of(trigger);

	return name && !(stage_group(trigger) & (((uint64_t)1 << trigger) - 1)) ? name
										: NULL;
}

uint64_t stage_group(unsigned trigger)
{
	return stage_count ? groups[trigger] : (uint64_t)1 << trigger;
}

static void join_triggers(void)
{
	for (unsigned i = 0; i < STAGE_TRIGGERS; i++) {
		const char *name = function_of(i);

		groups[i] = (uint64_t)1 << i;
		for (unsigned k = 0; name && k < STAGE_TRIGGERS; k++)
			if (function_of(k) && !strcmp(function_of(k), name))
				groups[i] |= (uint64_t)1 << k;
	}
}

/* ---- the start ---- */

/* Is there a line of that name? */
static bool is_asked(const char *lines, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = lines; *p; p += strcspn(p, "\n") + 1)
		if (!strncmp(p, name, len) && p[len] == '.')
			return true;
	return false;
}

/* The launcher has judged them; without it nobody has. */
static unsigned count_stages(const struct config *cfg, struct stages_row *row)
{
	const char *why = stages_any(cfg) ? stages_check(cfg) : NULL;

	if (why)
		log_warn("stages: %s; going on without them", why);
	return stages_any(cfg) && !why ? (unsigned)stages_of(cfg, row) : 0;
}

void stage_start(const struct config *cfg)
{
	struct stages_row row[STAGES_MOST];

	sched.now = &stage_run;
	stage_count = count_stages(cfg, row);
	if (stage_count)
		leave_run_alone();
	else
		read_run(cfg);
	with_names = stage_run.marker.kind == MARKER_TORCH;
	sched.ops = marker_may_be_op(&stage_run.marker);
	for (unsigned i = 0; i < stage_count; i++) {
		struct stage *s = &stages[i];

		s->number = (uint8_t)(i + 1);
		read_stage(s, &row[i], cfg->schedule);
		s->asked = is_asked(cfg->stages, s->name);
		with_names |= s->marker.kind == MARKER_TORCH;
		sched.ops |= marker_may_be_op(&s->marker);
	}
	if (stage_count)
		join_triggers();
}

void stage_reset(void)
{
	stage_run.settled = false;
	stage_run.step = 0;
	for (unsigned i = 0; i < stage_count; i++) {
		stages[i].settled = false;
		stages[i].step = 0;
		stages[i].held = NULL;
	}
}
