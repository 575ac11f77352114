/* SPDX-License-Identifier: Apache-2.0 */
/* storm FORKS - many short children while threads allocate; each tells its sum by its
 * status. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int go_on = 1;

static void *allocate(void *unused)
{
	void *kept[64] = { NULL };

	for (unsigned i = 0; atomic_load(&go_on); i++) {
		free(kept[i % 64]);
		kept[i % 64] = malloc(i % 3000);
		if (i % 1000 == 0)
			usleep(200);
	}
	for (int i = 0; i < 64; i++)
		free(kept[i]);
	return unused;
}

int main(int argc, char **argv)
{
	int forks = argc > 1 ? atoi(argv[1]) : 100, right = 0;
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, allocate, NULL);
	for (int i = 0; i < forks; i++) {
		int status, sum = 0;
		pid_t pid = fork();

		if (!pid) {
			for (int k = 0; k < 200; k++) {
				char *p = malloc((size_t)k + 1);

				sum += p != NULL;
				free(p);
			}
			_exit(sum);
		}
		waitpid(pid, &status, 0);
		right += WIFEXITED(status) && WEXITSTATUS(status) == 200;
	}
	go_on = 0;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%d of %d children\n", right, forks);
	return 0;
}
