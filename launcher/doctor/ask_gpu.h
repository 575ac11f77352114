/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask_gpu - asks NVIDIA's driver and CUPTI; for doctor.
 *
 * Threads  one. The libraries are opened and called in a child process: one that
 *          crashes or hangs takes nothing down, and what it said before is kept.
 * Memory   inside the struct.
 * Errors   in `end`; the driver's and CUPTI's own numbers in their fields.
 * Units    seconds; bytes.
 *
 * CUPTI is called only after cuInit has returned 0: libcupti 13.2 does not survive any
 * call without a driver.
 */
#ifndef LAUNCHER_DOCTOR_ASK_GPU_H
#define LAUNCHER_DOCTOR_ASK_GPU_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define ASK_GPUS   16
#define ASK_MAJORS 8

enum ask_stage { /* what the child was doing last */
		 ASK_OPEN_DRIVER,
		 ASK_INIT,
		 ASK_DEVICES,
		 ASK_OPEN_CUPTI,
		 ASK_VERSION,
		 ASK_STRIDES,
		 ASK_SUBSCRIBE,
		 ASK_ENABLE,
		 ASK_DONE
};

enum ask_end { ASK_ENDED, ASK_DIED, ASK_HUNG, ASK_NOT_RUN };

enum { ASK_KERNEL, ASK_COPY, ASK_SET, ASK_CALL, ASK_KINDS };

struct ask_gpu {
	char cupti[PATH_MAX]; /* the library to be tried; "" = the loader finds it */
	int majors[ASK_MAJORS]; /* ... by one of these majors, 0 ends; */
	bool by_driver; /* ... or from the driver's down */

	enum ask_end end;
	int signal; /* the signal that killed the child */
	enum ask_stage stage;
	char error[256]; /* the loader's words */
	int init; /* cuInit */
	char init_text[128];
	int driver; /* the newest CUDA that the driver knows: 13000 */
	int count; /* devices, also those that are not in `gpu` */
	struct {
		char name[128];
		int major, minor, mode; /* mode: CUDA's compute mode */
	} gpu[ASK_GPUS];
	uint32_t version; /* CUPTI's version; 0 = no answer */
	uint32_t stride[ASK_KINDS]; /* bytes of a record; 0 = no answer */
	int subscribe, enable; /* CUPTI's results */
};

/* Fills `a` from a child that has `seconds`; `cupti`, `majors` and `by_driver` are the
 * caller's question. A child that hangs is killed, and left alone when even that takes
 * more than a second. */
void ask_gpu(struct ask_gpu *a, unsigned seconds);

#endif
