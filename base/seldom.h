/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seldom - large tables that most processes never touch lie behind all other data.
 *
 * Each page of ours that a process writes to costs it a fault, and each of its fork
 * children one more, with a copy. What is small and used everywhere would lie on a page
 * of its own between two tables; with the tables out of the way (.lbss, which the linker
 * puts behind .bss) it shares a few.
 */
#ifndef BASE_SELDOM_H
#define BASE_SELDOM_H

#ifdef __SANITIZE_ADDRESS__
#define SELDOM /* tables in a named section have no guards around them */
#else
#define SELDOM __attribute__((section(".lbss")))
#endif

#endif
