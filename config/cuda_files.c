/* SPDX-License-Identifier: Apache-2.0 */
/* The agent looks for CUDA's libraries among those that the program has mapped, doctor
 * before anything is mapped: both must come to the same file, so that names and
 * folders stand here once. A wheel of torch that brings a CUDA of its own puts a hash
 * into the name (auditwheel: "libcudart-e409450e.so.11.0"). */
#include "config/cuda_files.h"
#include "base/fmt.h"
#include "base/sys.h"
#include "base/text.h"
#include "config/config_file.h"

#include <string.h>

#define NEWEST_11 8 /* 11.x has its minor in the name */

int cuda_major(const char *path, const char *stem)
{
	const char *base = text_base(path), *so;
	int major = 0;

	if (strncmp(base, stem, strlen(stem)))
		return -1;
	base += strlen(stem);
	if (*base != '.' && *base != '-')
		return -1;
	so = strstr(base, ".so");
	if (!so || (so[3] && so[3] != '.'))
		return -1;
	for (so += so[3] == '.' ? 4 : 3; *so >= '0' && *so <= '9' && major < 1000; so++)
		major = major * 10 + (*so - '0');
	return major;
}

bool cuda_cupti_name(char *name, size_t size, int major, unsigned n)
{
	if (major == 11)
		fmt(name, size, "libcupti.so.11.%d", NEWEST_11 - (int)n);
	else
		fmt(name, size, "libcupti.so.%d", major);
	return major == 11 ? n <= NEWEST_11 : !n;
}

const char *cuda_beside(unsigned n)
{
	static const char *const folders[] = {
		"",
		"/../extras/CUPTI/lib64",
		"/../../../extras/CUPTI/lib64",
		"/../../cuda_cupti/lib",
		"/../extras/CUPTI/lib",
	};

	return n < sizeof(folders) / sizeof(*folders) ? folders[n] : NULL;
}

bool cuda_mps(char *const *env, char *path, size_t size)
{
	const char *pipe = config_getenv(env, "CUDA_MPS_PIPE_DIRECTORY");
	struct sys_stat st;

	fmt(path, size, "%s/control", pipe && *pipe ? pipe : "/tmp/nvidia-mps");
	return !sys_stat(path, &st);
}
