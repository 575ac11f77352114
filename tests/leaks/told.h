/* SPDX-License-Identifier: Apache-2.0 */
/*
 * told - what proflaunch would record of a planted program: levels at the ends of steps,
 * exact, sampled as agent/heap/gap.h does it, and counted.
 */
#ifndef LEAKS_TOLD_H
#define LEAKS_TOLD_H

#include <stddef.h>
#include <stdint.h>

/* Returns what the block stands for in the sample: 0 where it is not in it. */
int64_t told_take(unsigned place, int64_t bytes);
void told_give(unsigned place, int64_t bytes, int64_t weight);
/* Step i ends. */
void told_step(size_t i, int64_t anonymous);
void told_write(const char *path, const char *mode, const char *space, size_t n);

#endif
