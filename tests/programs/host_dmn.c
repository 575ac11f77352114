/* SPDX-License-Identifier: Apache-2.0 */
/* dmn SECONDS - a daemon as the book has it: forks twice, closes all, opens its own, goes
 * on. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int ms = argc > 1 ? atoi(argv[1]) : 100, fd;
	static char text[1 << 20];

	free(malloc(5000));
	if (fork())
		_exit(0);
	setsid();
	if (fork())
		_exit(0);
	umask(0);
	for (fd = (int)sysconf(_SC_OPEN_MAX) > 4096 ? 4096 : 1024; fd >= 0; fd--)
		close(fd);
	open("/dev/null", O_RDWR);
	if (dup(0) != 1 || dup(0) != 2)
		return 1;
	fd = open("state", O_RDWR | O_CREAT | O_TRUNC, 0640);
	memset(text, 'S', sizeof(text));
	for (int i = 0; i < 8; i++)
		if (write(fd, text, sizeof(text)) != sizeof(text))
			return 1;
	for (int i = 0; i < 200000; i++)
		free(malloc((size_t)i % 3000));
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000L }, NULL);
	close(fd);
	fd = open("done", O_WRONLY | O_CREAT, 0644);
	dprintf(fd, "descriptor %d\n", fd);
	return 0;
}
