/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deny - what is left out with a CUPTI that is known to do harm (deny.def).
 *
 * Threads  any.
 * Memory   static.
 * Errors   none: what is not in the table is used as it is.
 * Units    versions as cuptiGetVersion and cuDriverGetVersion tell them.
 */
#ifndef CONFIG_DENY_H
#define CONFIG_DENY_H

#include <stdbool.h>
#include <stdint.h>

enum deny {
	DENY_USE = 1, /* this combination is not used at all */
	DENY_KERNELS_OFF = 2, /* CONCURRENT_KERNEL is never switched off again */
	DENY_GRAPH_TRACE = 4, /* whole graphs are not asked for */
	DENY_EMPTY = 8, /* kinds stay on until a first record has come */
	DENY_FLUSH = 16, /* records are fetched after a seal, by force at exit */
};
/* What is left out for this combination; the sentence of the first row that is hit. */
unsigned deny_look(uint32_t version, uint32_t driver, bool mps, const char **sentence);

#endif
