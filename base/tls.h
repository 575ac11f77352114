/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls - does this task have thread-local storage? A task that a program made by clone
 * with a descriptor of nothing has none; errno lies there.
 *
 * Threads  any.  Memory  none.  Errors  none.  Units  none.
 */
#ifndef BASE_TLS_H
#define BASE_TLS_H

#include <stdbool.h>

bool tls_is_there(void);

#endif
