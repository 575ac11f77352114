/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbolize - the hidden `proflaunch symbolize`: from module and offset to function, file
 * and line. The writer asks it (writer/symbols.h); writer/ask.h has the protocol.
 *
 * Threads  one; each module is looked into by a process of its own, which a damaged or
 *          hostile file may kill.
 * Memory   that of the process that looks: bounded.
 * Errors   a frame without an answer is answered as not known.
 * Units    offsets are the ELF file's virtual addresses.
 */
#ifndef LAUNCHER_SYMBOLIZE_H
#define LAUNCHER_SYMBOLIZE_H

int symbolize_main(void);

#endif
