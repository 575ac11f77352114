/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bash - the script that makes bash complete proflaunch's command line, on standard
 * output.
 *
 * Threads  one.  Memory  none.  Errors  none.  Units  none.
 */
#ifndef COMPLETION_BASH_H
#define COMPLETION_BASH_H

void bash_print(void);

#endif
