/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffer_need - how large a buffer must be to hold what a smaller one could not.
 *
 * Threads  any.
 * Memory   none.
 * Errors   none.
 * Units    MiB; records.
 */
#ifndef BASE_BUFFER_NEED_H
#define BASE_BUFFER_NEED_H

#include <stdint.h>

/* `kept` records filled a buffer of `mb`, and `lost` more came. 0: nobody knows, or there
 * is no such buffer. */
uint64_t buffer_need(uint64_t mb, uint64_t kept, uint64_t lost);

#endif
