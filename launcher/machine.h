/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine - what the machine says of itself: its processor and its system.
 *
 * Threads  one.
 * Memory   the caller's.
 * Errors   "" or 0: it does not say.
 * Units    none.
 */
#ifndef LAUNCHER_MACHINE_H
#define LAUNCHER_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* "AMD EPYC 7B13". */
void machine_cpu(char *to, size_t size);
/* "Debian GNU/Linux 12 (bookworm), Linux 6.1.0-18-amd64, x86_64". */
void machine_system(char *to, size_t size);
/* The processors that this process may use. */
int64_t machine_cpus(void);

#endif
