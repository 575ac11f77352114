/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fish - the script that makes fish complete proflaunch's command line, on standard
 * output.
 *
 * Threads  one.  Memory  none.  Errors  none.  Units  none.
 */
#ifndef COMPLETION_FISH_H
#define COMPLETION_FISH_H

void fish_print(void);

#endif
