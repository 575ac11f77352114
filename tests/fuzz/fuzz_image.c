/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile programs and scripts: what an exec hook looks into, in the program itself.
 *
 * fuzz_image SECONDS SEED ELF-FILE...
 */
#include "config/aside.h"
#include "tests/fuzz/fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#define HEAD 4096 /* headers and the tables behind them */

static uint64_t kinds[IMAGE_TEXT + 1];

static void read_one(int fd, const uint8_t *whole, size_t size)
{
	struct image *image = malloc(sizeof(*image)); /* so that a byte too far is seen */
	uint8_t *bytes = malloc(size);

	memcpy(bytes, whole, size);
	fuzz_mutate(bytes, size < HEAD ? size : HEAD, (unsigned)fuzz_below(6));
	fuzz_mutate(bytes, size, (unsigned)fuzz_below(60));
	if (!fuzz_below(8))
		memcpy(bytes, "#!", 2);
	fuzz_require(pwrite(fd, bytes, size, 0) == (ssize_t)size);
	fuzz_require(!ftruncate(fd, (off_t)(fuzz_below(4) ? size : fuzz_below(size))));
	image_read(image, fd);
	fuzz_require(strlen(image->interpreter) < IMAGE_LINE);
	fuzz_require(strlen(image->argument) < IMAGE_LINE);
	fuzz_require(aside_of(image) < ASIDE_KINDS);
	kinds[image->kind]++;
	free(image);
	free(bytes);
}

int main(int argc, char **argv)
{
	static uint8_t whole[1 << 20];
	int fd = memfd_create("image", 0);

	while (fuzz_goes_on(argc, argv))
		for (int i = 3; i < argc; i++) {
			FILE *in = fopen(argv[i], "rb");
			size_t size = in ? fread(whole, 1, sizeof(whole), in) : 0;

			fuzz_require(size > HEAD);
			fclose(in);
			for (int n = 0; n < 20; n++)
				read_one(fd, whole, size);
		}
	printf("%llu programs, %llu scripts\n", (unsigned long long)kinds[IMAGE_ELF],
	       (unsigned long long)kinds[IMAGE_SCRIPT]);
	fuzz_require((kinds[IMAGE_ELF] && kinds[IMAGE_SCRIPT]) || argc < 4);
	return 0;
}
