/* SPDX-License-Identifier: Apache-2.0 */
/* All is read from the page by descriptor, a slot at a time, and nothing in it is
 * believed: a slot names its leader by number and pid, and both have to fit. A
 * leader's slot may have been taken by another process meanwhile; then its pid
 * differs, and the leader has nothing more to say. */
#include "finisher/leader.h"

#define PATIENCE_NS 60000000000ll /* as in agent/sched/tick.c */

/* A slot keeps its last JOB_WINDOWS windows; older numbers have been written over. */
static const struct job_window *window_of(const struct job_slot *s, uint64_t number)
{
	const struct job_window *w = &s->window[number % JOB_WINDOWS];

	return number && w->cycle == number ? w : NULL;
}

static bool read_leader(const struct page *p, const struct job_slot *s,
			struct job_slot *leader)
{
	uint64_t slot = s->leader & UINT32_MAX;

	return s->leader && slot < JOB_SLOTS && page_read_slot(p, (int)slot, leader) &&
	       leader->pid == s->leader >> 32;
}

/* The page may for a moment have the end of an earlier window, the leader's or the
 * follower's: such an end lies before this window's begin. */
static void look_at_leader(const struct page *p, int slot, const struct job_slot *s,
			   const struct job_window *mine)
{
	const struct job_window *its;
	struct job_slot leader;

	if (mine->end || !read_leader(p, s, &leader))
		return;
	its = window_of(&leader, s->leads);
	if (its && its->end > mine->begin)
		page_end_window(p, slot, s->gate, its->end, (enum job_fate)its->fate);
}

/* A provisional window (FATE_OPEN) becomes a real one when its process has had no
 * boundary for PATIENCE_NS: the keeper decides the same where there is one. */
static void look_at_clock(const struct page *p, int slot, const struct job_slot *s,
			  struct leader_wait *wait, int64_t now)
{
	if (wait->gate != s->gate || wait->boundaries != s->boundaries)
		*wait = (struct leader_wait){ s->gate, s->boundaries, now };
	else if (now - wait->since_ns > PATIENCE_NS)
		page_end_window(p, slot, s->gate, 0, FATE_KEPT);
}

void leader_look(const struct page *p, int slot, struct leader_wait *wait, int64_t now)
{
	const struct job_window *mine;
	struct job_slot s;

	if (!page_read_slot(p, slot, &s))
		return;
	mine = window_of(&s, s.gate);
	if (mine && s.leader)
		look_at_leader(p, slot, &s, mine);
	else if (mine && mine->fate == FATE_OPEN)
		look_at_clock(p, slot, &s, wait, now);
}

struct leader_cut leader_cut(const struct page *p, int slot)
{
	struct leader_cut cut = { 0 };
	const struct job_window *mine;
	struct job_slot s, leader;

	if (!page_read_slot(p, slot, &s) || !s.leader)
		return cut;
	mine = window_of(&s, s.gate);
	if (!mine)
		return cut;
	cut.number = s.gate;
	cut.end = mine->end;
	cut.thrown = mine->fate == FATE_THROWN;
	cut.ours = !mine->end && read_leader(p, &s, &leader) && !leader.boundaries;
	return cut;
}
