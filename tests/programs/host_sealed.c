/* SPDX-License-Identifier: Apache-2.0 */
/* sealed COMMAND [ARGUMENT...] - runs it where no page can be made writable any more: the
 * kernel refuses mprotect with PROT_WRITE, as a sandbox around the program may. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(member) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define ANSWER(what) BPF_STMT(BPF_RET | BPF_K, what)

int main(int argc, char **argv)
{
	struct sock_filter code[] = {
		LOAD(nr),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
		LOAD(args[2]),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_WRITE, 0, 1),
		ANSWER(SECCOMP_RET_ERRNO | EPERM),
		ANSWER(SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(*code), code };

	if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 2;
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
