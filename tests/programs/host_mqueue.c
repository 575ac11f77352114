/* SPDX-License-Identifier: Apache-2.0 */
/* mq_notify is taken back where any task of the process closes a copy of the queue's
 * descriptor: a message that comes later is still told of. */
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static void run_true(void)
{
	pid_t pid;
	int status = 0;

	if (posix_spawn(&pid, "/bin/true", NULL, NULL, (char *[]){ "true", NULL },
			environ) ||
	    waitpid(pid, &status, 0) != pid || status)
		printf("/bin/true: %d\n", status);
}

int main(void)
{
	struct mq_attr attr = { .mq_maxmsg = 4, .mq_msgsize = 8 };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	const struct timespec most = { 5, 0 };
	char name[64];
	sigset_t set;
	mqd_t queue;

	snprintf(name, sizeof(name), "/proflaunch-test-%d", getpid());
	queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
	if (queue == (mqd_t)-1)
		return perror("mq_open"), 1;
	mq_unlink(name);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (mq_notify(queue, &event))
		return perror("mq_notify"), 1;
	for (int i = 0; i < 1000; i++)
		free(malloc((size_t)i * 100));
	run_true();
	if (!fork())
		_exit(mq_send(queue, "x", 1, 0) != 0);
	printf("told: %s\n", sigtimedwait(&set, NULL, &most) == SIGUSR1 ? "yes" : "no");
	wait(NULL);
	return 0;
}
