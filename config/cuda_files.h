/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_files - where CUDA's files are and what their names say, for the agent and doctor.
 *
 * Threads  any.
 * Memory   the caller's.
 * Errors   as said.
 * Units    majors as in "libcudart.so.12".
 */
#ifndef CONFIG_CUDA_FILES_H
#define CONFIG_CUDA_FILES_H

#include <stdbool.h>
#include <stddef.h>

#define CUDA_MAJOR_LEAST 11
#define CUDA_MAJOR_MOST  13 /* that we know; a newer one is used where it is mapped */

/* "libcudart.so.12.4", "libcudart-e409450e.so.11.0": 12, 11; 0 = the name does not tell.
 * -1: it is no `stem`. */
int cuda_major(const char *path, const char *stem);

/* The nth file name of a major's libcupti, likeliest first; false: there are no more. */
bool cuda_cupti_name(char *name, size_t size, int major, unsigned n);

/* The nth folder in which libcupti may lie, from that of the runtime: "" is that folder
 * itself, else it begins with a slash. NULL: there are no more. Toolkits, wheels of
 * either layout, conda, a wheel that brings both in one folder. */
const char *cuda_beside(unsigned n);

/* Is there a control pipe of MPS where programs with this environment look for it?
 * `path` gets its name. */
bool cuda_mps(char *const *env, char *path, size_t size);

#endif
