/* SPDX-License-Identifier: Apache-2.0 */
/*
 * execs - starts a program in every way that the C library has.
 *
 * execs WHAT TARGET: what the target prints, its status and every error must be the same
 * with the agent and without.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char *target;
static const char *base; /* its name alone: found through PATH */

static void report(const char *what, pid_t pid)
{
	int status = -1;

	if (pid > 0)
		waitpid(pid, &status, 0);
	printf("%s: %s %d\n", what, WIFSIGNALED(status) ? "signal" : "status",
	       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	fflush(stdout);
}

#define CHILD(what, call)                               \
	do {                                            \
		pid_t pid_ = fork();                    \
		if (!pid_) {                            \
			call;                           \
			_exit(errno & 127 ? errno : 1); \
		}                                       \
		report(what, pid_);                     \
	} while (0)

static void family(void)
{
	char *argv[] = { "a0", "a1", "a2", "a3", "a4", NULL }, *env[500] = { "ONLY=1" };
	int fd = open(target, O_RDONLY | O_CLOEXEC);
	pid_t pid = -1;
	char **volatile none = NULL;
	int n = 1;

	for (char **e = environ; *e && n < 499; e++)
		env[n++] = *e;
	CHILD("execl 1", execl(target, "a0", NULL));
	CHILD("execl 2", execl(target, "a0", "a1", NULL));
	CHILD("execl 5", execl(target, "a0", "a1", "a2", "a3", "a4", NULL));
	CHILD("execlp 3", execlp(base, "a0", "a1", "a2", NULL));
	CHILD("execlp path", execlp(target, "a0", NULL));
	CHILD("execle 1", execle(target, "a0", NULL, env));
	CHILD("execle 8",
	      execle(target, "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", NULL, env));
	CHILD("execv", execv(target, argv));
	CHILD("execv 0", execv(target, argv + 5));
	CHILD("execve", execve(target, argv, env));
	CHILD("execve empty", execve(target, argv, env + n));
	CHILD("execve NULL", execve(target, argv, none));
	CHILD("execvp", execvp(base, argv));
	CHILD("execvpe", execvpe(base, argv, env));
	CHILD("fexecve", fexecve(fd, argv, env));
	CHILD("execveat", execveat(AT_FDCWD, target, argv, env, 0));
	CHILD("execveat fd", execveat(fd, "", argv, env, AT_EMPTY_PATH));
	printf("posix_spawn %d\n", posix_spawn(&pid, target, NULL, NULL, argv, env));
	report("posix_spawn", pid);
	printf("posix_spawnp %d\n", posix_spawnp(&pid, base, NULL, NULL, argv, environ));
	report("posix_spawnp", pid);
	report("system", 0 * system(base));
}

static void errors_of(const char *path)
{
	char *argv[] = { "x", NULL };
	pid_t pid = -1;
	int err;

	errno = 0;
	printf("%s: %d", path, execve(path, argv, environ));
	printf(" %d", errno);
	execv(path, argv);
	printf(" %d", errno);
	execl(path, "x", NULL);
	printf(" %d", errno);
	execveat(AT_FDCWD, path, argv, environ, AT_SYMLINK_NOFOLLOW);
	printf(" %d", errno);
	errno = 77;
	err = posix_spawn(&pid, path, NULL, NULL, argv, environ);
	printf(" %d %d", err, errno);
	err = posix_spawnp(&pid, path, NULL, NULL, argv, environ);
	printf(" %d\n", err);
}

static void names_of(const char *name)
{
	char *argv[] = { "x", NULL };

	errno = 0;
	CHILD(name, execvp(name, argv));
	CHILD(name, execlp(name, "x", NULL));
	CHILD(name, execvpe(name, argv, environ));
}

static void make(const char *name, int mode, const char *text)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (write(fd, text, strlen(text)) < 0 || fchmod(fd, (mode_t)mode))
		perror(name);
	close(fd);
}

/* In an empty folder that is the current one. */
static void errors(void)
{
	static char big[200000], *many[] = { "x", big, NULL };
	char *argv[] = { "x", NULL };
	char *volatile nowhere = (char *)1; /* compilers warn of it */

	mkdir("folder", 0755);
	make("closed", 0644, "#!/bin/sh\necho closed\n");
	make("text", 0755, "exit 5\n");
	make("odd", 0755, "\001\002\003");
	make("lost", 0755, "#!/nowhere/sh\n");
	make("carriage", 0755, "#!/bin/sh\r\nexit 3\n");
	make("script", 0755, "#!/bin/sh\nexit 4\n");
	make("half", 0755, "\177ELF\002\001\001");
	make("empty", 0755, "");
	symlink("loop", "loop");
	errors_of("nothing");
	errors_of("folder");
	errors_of("closed");
	errors_of("odd");
	errors_of("lost");
	errors_of("carriage");
	errors_of("half");
	errors_of("empty");
	errors_of("text");
	errors_of("loop");
	errors_of("closed/below");
	errors_of("");
	errors_of("/dev/null");
	memset(big, 'a', sizeof(big) - 1);
	printf("too much: %d", execve("/bin/sh", many, environ));
	printf(" %d\n", errno);
	printf("bad: %d", fexecve(-1, argv, environ));
	printf(" %d", errno);
	execve(nowhere, argv, environ);
	printf(" %d", errno);
	execve("/bin/sh", argv, (char **)nowhere);
	printf(" %d\n", errno);
	setenv("PATH", "/nowhere:folder:closed:.:/bin:/usr/bin", 1);
	names_of("nothing");
	names_of("closed");
	names_of("text");
	names_of("script");
	names_of("lost");
	names_of("loop");
	names_of("");
	names_of("./text");
	setenv("PATH", "", 1);
	names_of("script");
	unsetenv("PATH");
	names_of("true");
}

static void many_rows(void)
{
	static char text[5000][20], *env[5200];
	char *argv[] = { "a0", NULL };
	int n = 0;
	pid_t pid = -1;

	for (; n < 5000; n++) {
		snprintf(text[n], sizeof(text[n]), "V%d=%d", n, n);
		env[n] = text[n];
	}
	for (char **e = environ; *e && n < 5199; e++)
		env[n++] = *e;
	CHILD("execve", execve(target, argv, env));
	printf("posix_spawn %d\n", posix_spawn(&pid, target, NULL, NULL, argv, env));
	report("posix_spawn", pid);
	pid = vfork();
	if (!pid) {
		execve(target, argv, env);
		_exit(1);
	}
	report("vfork", pid);
}

static void *storm(void *arg)
{
	char *argv[] = { "a0", NULL };

	for (int i = 0; i < 50; i++) {
		int status = -1, how = i % 3;
		pid_t pid = -1;

		if (how == 2)
			posix_spawn(&pid, target, NULL, NULL, argv, environ);
		else
			pid = how ? vfork() : fork();
		if (!pid) {
			execv(target, argv);
			_exit(1);
		}
		waitpid(pid, &status, 0);
		if (WEXITSTATUS(status) != 6)
			*(int *)arg += 1;
	}
	return NULL;
}

/* Four threads at once: 200 in all. */
static void threads(void)
{
	pthread_t id[4];
	int bad[4] = { 0 };

	close(1);
	open("/dev/null", O_WRONLY);
	for (int i = 0; i < 4; i++)
		pthread_create(&id[i], NULL, storm, &bad[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(id[i], NULL);
	exit(bad[0] + bad[1] + bad[2] + bad[3]);
}

static void on_signal(int sig)
{
	(void)sig;
	execl(target, "a0", "a1", NULL);
	_exit(1);
}

static void from_handler(void)
{
	stack_t stack = { .ss_size = (size_t)MINSIGSTKSZ * 2 };
	struct sigaction act = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

	stack.ss_sp = malloc(stack.ss_size);
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &act, NULL);
	raise(SIGUSR1);
}

static void *on_thread(void *arg)
{
	execl(target, "a0", NULL);
	return arg;
}

static void from_small_thread(void)
{
	pthread_attr_t attr;
	pthread_t id;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, (size_t)PTHREAD_STACK_MIN);
	pthread_create(&id, &attr, on_thread, NULL);
	pthread_join(id, NULL);
}

/* A filter that a static target and exec live with, and a look at the target would not.
 */
static void behind_filter(void)
{
	struct sock_filter rows[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_access, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
	};
	struct sock_fprog filter = { sizeof(rows) / sizeof(*rows), rows };

	close(1);
	open("/dev/null", O_WRONLY);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
	execl(target, "a0", NULL);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} ways[] = {
		{ "family", family },        { "errors", errors },
		{ "many", many_rows },       { "threads", threads },
		{ "handler", from_handler }, { "thread", from_small_thread },
		{ "filter", behind_filter },
	};

	target = argc > 2 ? argv[2] : "/bin/true";
	base = strrchr(target, '/') ? strrchr(target, '/') + 1 : target;
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (argc > 1 && !strcmp(argv[1], ways[i].name))
			ways[i].run();
	return 0;
}
