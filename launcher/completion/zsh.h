/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zsh - the script that makes zsh complete proflaunch's command line, on standard output.
 *
 * Threads  one.  Memory  none.  Errors  none.  Units  none.
 */
#ifndef COMPLETION_ZSH_H
#define COMPLETION_ZSH_H

void zsh_print(void);

#endif
