/* SPDX-License-Identifier: Apache-2.0 */
/*
 * release - the caller's descriptors: the program's alone, once it runs.
 *
 * If the launcher held them, too, a pipe would not end when the program closes it, a
 * writer would not be told that nobody reads, a lock would stay.
 *
 * Threads  one.
 * Memory   the stack.
 * Errors   none: what cannot be closed stays.
 * Units    none.
 */
#ifndef LAUNCHER_RELEASE_H
#define LAUNCHER_RELEASE_H

/* Closes all descriptors that would outlive an exec: the launcher's own would not. stderr
 * stays for messages, and so does a file with a POSIX lock, which is this process's and
 * would go with it. */
void release_descriptors(void);

/* Takes the standard descriptors that the caller has closed, so that no file of the
 * launcher's gets their numbers: a message would be written into it. They act as closed
 * ones do, and are closed in the command. Before anything is opened. */
void release_standard(void);

#endif
