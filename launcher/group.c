/* SPDX-License-Identifier: Apache-2.0 */
/* The witness is forked after the command and stands in the launcher's group. The
 * launcher asks it by a word in a shared page (`asked`); the witness takes all signals
 * that wait for it, notes the time of each kind, and answers by another word. Both words
 * are futexes: so neither descriptors nor signals are needed, and a signal would look
 * like one to be handed on. */
#include "launcher/group.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define KINDS    65
#define FRESH_NS 100000000ll /* how old a signal at the witness may be as we ask ... */
#define WAIT_NS  100000000ll /* ... and how long we wait for its answer */
#define LONG_NS  3600000000000ll

static struct {
	_Atomic uint32_t asked, answered; /* futexes */
	_Atomic int64_t at[KINDS]; /* when the witness took each kind last */
} * page;

static pid_t witness;

/* ---- the witness ---- */

/* Takes another name: pkill by the launcher's name, or by a word of its command line,
 * means the launcher; if it found the witness, too, that would look like a signal to the
 * group. */
static void change_name(void)
{
	static const char name[] = "job-group";
	char bytes[4096];
	size_t room = 0;
	ssize_t n;
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);

	prctl(PR_SET_NAME, name);
	while (fd >= 0 && (n = read(fd, bytes, sizeof(bytes))) > 0)
		room += (size_t)n;
	memset(program_invocation_name, 0, room);
	if (room > sizeof(name))
		memcpy(program_invocation_name, name, sizeof(name));
}

static void take_signals(const sigset_t *all)
{
	const struct timespec now = { 0 };
	int sig;

	while ((sig = sigtimedwait(all, NULL, &now)) > 0 || errno == EINTR)
		if (sig > 0 && sig < KINDS)
			atomic_store(&page->at[sig], sys_clock_ns(CLOCK_MONOTONIC));
}

/* The prctl tells nothing of a launcher that ended before it: so the witness looks once.
 * 0 is a parent in an outer pid namespace. */
static _Noreturn void stand_by(pid_t launcher)
{
	sigset_t all;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() && getppid() != launcher)
		_exit(0);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	change_name();
	/* The caller's pipes must end when the command closes them: the witness holds
	 * none. */
	sys_close_from(0);
	for (;;) {
		uint32_t asked = atomic_load(&page->asked);

		if (asked == atomic_load(&page->answered)) {
			sys_futex_wait_all(&page->asked, asked, LONG_NS);
			continue;
		}
		take_signals(&all);
		atomic_store(&page->answered, asked);
		sys_futex_wake_all(&page->answered);
	}
}

/* ---- the launcher ---- */

void group_start(void)
{
	pid_t launcher = getpid();

	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		page = NULL;
	if (!page)
		return;
	witness = fork();
	if (!witness)
		stand_by(launcher);
}

/* The kernel sends to the youngest process of a group first: a signal to the group waits
 * for the witness already when the launcher gets it. */
enum group_answer group_got(int sig)
{
	int64_t since = sys_clock_ns(CLOCK_MONOTONIC), at;
	uint32_t want, have;

	if (witness <= 0 || sig >= KINDS)
		return GROUP_UNKNOWN;
	want = atomic_fetch_add(&page->asked, 1) + 1;
	sys_futex_wake_all(&page->asked);
	while (have = atomic_load(&page->answered), have != want) {
		if (sys_clock_ns(CLOCK_MONOTONIC) - since > WAIT_NS)
			return GROUP_UNKNOWN;
		sys_futex_wait_all(&page->answered, have, WAIT_NS);
	}
	/* A signal of the same kind that the group got long before tells nothing of this
	 * one. */
	at = atomic_load(&page->at[sig]);
	return at && at > since - FRESH_NS ? GROUP_YES : GROUP_NO;
}

void group_ended(pid_t pid)
{
	if (pid == witness)
		witness = 0;
}

void group_end(void)
{
	if (witness > 0) {
		kill(witness, SIGKILL);
		while (waitpid(witness, NULL, 0) < 0 && errno == EINTR)
			;
	}
	witness = 0;
	if (page)
		munmap(page, sizeof(*page));
	page = NULL;
}
